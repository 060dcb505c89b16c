"""Whole jobs: an input and all that is to be written of it, resumable, one or many, one after another or at once."""

import logging
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from plucc.context.shipped import SHIPPED_WEIGHTS as SHIPPED_PLAYERS
from plucc.data.rows import Row, check_table, read_rows, write_rows
from plucc.draw import write_picture
from plucc.journal import Journal, Mark, identity_of
from plucc.locator import (
    SHIPPED_MODEL,
    Locator,
    Piece,
    Settings,
    is_pictures,
    locate,
    locate_pictures,
    locate_pieces,
    picture_files,
)
from plucc.marking import film_piece
from plucc.observing import Looking, Registrar
from plucc.overlay import draw_heatmap
from plucc.pipeline import Stopwatch
from plucc.recording import check_recording, join_pieces
from plucc.rink.sheet import Sheet, sheet_by_name
from plucc.runtime.onnx import read_card
from plucc.second_look import second_look_file
from plucc.sighting import PuckFinder
from plucc.summary import check_summary, write_summary
from plucc.types import InputError, PluccError, Progress, silent
from plucc.video import Frame, VideoReader, read_image

if TYPE_CHECKING:
    from plucc.register import GameCamera

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RinkChoice:
    """The sheet that is filmed, by name and width where that varies, or by the file of the game's camera."""

    name: str = ""
    width_m: float | None = None
    camera: Path | None = None

    def sheet(self) -> Sheet:
        return sheet_by_name(self.name, self.width_m) if self.camera is None else self._game_camera().sheet

    def registrar(self) -> Registrar:
        from plucc.register import Registrar as RinkRegistrar  # noqa: PLC0415 - only where metres are asked for

        if self.camera is None:
            return RinkRegistrar(self.sheet())
        game = self._game_camera()
        return RinkRegistrar(game.sheet, game)

    def _game_camera(self) -> "GameCamera":
        from plucc.register import read_game_camera  # noqa: PLC0415

        if self.camera is None:
            raise InputError("no file of a game's camera was named: name one, or a sheet")
        return read_game_camera(self.camera)


@dataclass(frozen=True, slots=True)
class Job:
    """One input and what to write: always a table of rows, and an overlay and a summary where they are named.

    `rink` says which sheet to register frames on; None leaves metres out.
    """

    sources: tuple[Path, ...]  # one video or folder, or pictures
    table: Path
    overlay: Path | None = None
    summary: Path | None = None
    settings: Settings = field(default_factory=Settings)
    rink: RinkChoice | None = None
    model: Path = SHIPPED_MODEL
    threads: int | None = None
    resume: bool = False

    def check(self) -> None:
        """Refuse outputs that could not be written, before hours are spent on them."""
        check_table(self.table)
        if self.overlay is not None:
            check_recording(self.overlay)
        if self.summary is not None:
            check_summary(self.summary)
        if self.rink is not None:
            self.rink.sheet()
        if self.is_pictures and (self.overlay is not None or self.resume):
            raise InputError("an overlay and --resume are for videos: leave them out for pictures, or give a video")

    @property
    def is_pictures(self) -> bool:
        return _are_pictures(self.sources)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a job came to: rows written, whether the input broke off on the way, and the work of its stages."""

    rows: int
    breaks_off: bool
    stages: tuple[tuple[str, int, float], ...]
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class Finished:
    """One of many jobs after it ended, well or not."""

    job: Job
    outcome: Outcome | None
    fault: str = ""


def run_job(job: Job, finder: PuckFinder | None = None, *, progress: Progress = silent) -> Outcome:
    """Do a job; killed, it leaves what is finished beside the table, and with `resume` goes on from there.

    Another finder than the job's model may be handed in.
    """
    job.check()
    watch = Stopwatch()
    video = None if job.is_pictures else VideoReader(job.sources[0])  # before the models: it may not be one
    finder = finder or Locator(job.model, threads=job.threads)
    if video is None:
        files = _files(job)
        rows = locate_pictures(files, finder, job.settings, _registrar(job))
        total = len(range(0, len(files), job.settings.span.every))
        count = write_rows(job.table, progress(rows, total=total, label="locating"))
        breaks_off = False
    else:
        count, breaks_off = _run_video(_Run(job, video, finder, watch, progress)), video.breaks_off
    if job.summary is not None:
        with watch.stage("summary"):
            source = None if job.is_pictures else job.sources[0]
            write_summary(job.summary, list(read_rows(job.table)), source, _sheet(job))
    return Outcome(count, breaks_off, tuple(watch.table()), watch.elapsed_s)


def run_jobs(jobs: Iterable[Job], workers: int, *, progress: Progress = silent) -> Iterator[Finished]:
    """Do many jobs, so many at once, each in a process of its own; one that fails does not stop the others."""
    if workers <= 1:
        for job in jobs:
            yield _tried(job, progress)
        return
    shared = max(1, (os.cpu_count() or 1) // workers)
    queued = [replace(job, threads=job.threads or shared) for job in jobs]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures: dict[Future[Finished], Job] = {pool.submit(_tried, job): job for job in queued}
        for future in progress(as_completed(futures), total=len(futures), label="videos"):
            error = future.exception()
            yield Finished(futures[future], None, f"the process died: {error}") if error else future.result()


def fan_out(job: Job, inputs: Sequence[tuple[Path, ...]]) -> list[Job]:
    """Return a job for each of many inputs; table, overlay and summary of the given one name folders.

    Outputs are called as their inputs; where two are called the same, the folders above are added to the name.
    """
    for path in (job.table, job.overlay, job.summary):
        if path is not None and path.suffix and not path.is_dir():
            raise InputError(f"{path} is one file and there are {len(inputs)} inputs: name a folder for what they give")
    names = _unique_names([sources[0] for sources in inputs])
    return [
        replace(
            job,
            sources=sources,
            table=job.table / f"{name}.csv",
            overlay=None if job.overlay is None or _are_pictures(sources) else job.overlay / f"{name}.mp4",
            summary=None if job.summary is None else job.summary / f"{name}.png",
            resume=job.resume and not _are_pictures(sources),
        )
        for name, sources in zip(names, inputs, strict=True)
    ]


def stream_rows(job: Job) -> Iterator[Row]:
    """Yield the rows of a job's input as soon as they are decided, and write nothing."""
    finder = Locator(job.model, threads=job.threads)
    if job.is_pictures:
        yield from locate_pictures(_files(job), finder, job.settings, _registrar(job))
    else:
        yield from locate(job.sources[0], finder, job.settings, registrar=_registrar(job))


def write_heatmaps(job: Job, wanted: Collection[int], folder: Path) -> int:
    """Write chosen frames with their heatmaps over them; each is looked at as a whole. Return how many there were."""
    finder, written = Locator(job.model, threads=job.threads), 0
    for frame in _chosen_frames(job, sorted(set(wanted))):
        image = draw_heatmap(frame.image, finder.frame(frame.image).probability)
        write_picture(image, folder / f"{job.sources[0].stem}-{frame.index:06d}.png")
        written += 1
    return written


def _chosen_frames(job: Job, wanted: Sequence[int]) -> Iterator[Frame]:
    if job.is_pictures:
        files = _files(job)
        yield from (Frame(index, 0.0, read_image(files[index])) for index in wanted if index < len(files))
        return
    video = VideoReader(job.sources[0])
    for index in wanted:
        yield from video.frames(index, index + 1)


def _files(job: Job) -> list[Path]:
    return [file for source in job.sources for file in picture_files(source)]


def _are_pictures(sources: tuple[Path, ...]) -> bool:
    return len(sources) > 1 or is_pictures(sources[0])


def _unique_names(paths: Sequence[Path]) -> list[str]:
    """Return short names for files, longer by one folder at a time until no two are the same."""
    depth = 1
    while True:
        names = ["_".join((*path.resolve().parts[-depth:-1], path.stem)) for path in paths]
        if len(set(names)) == len(names) or depth > max(len(path.resolve().parts) for path in paths):
            return names if len(set(names)) == len(names) else [f"{name}-{n}" for n, name in enumerate(names)]
        depth += 1


def _tried(job: Job, progress: Progress = silent) -> Finished:
    try:
        return Finished(job, run_job(job, progress=progress))
    except PluccError as error:
        return Finished(job, None, str(error))
    except OSError as error:
        return Finished(job, None, f"{error.filename or job.table}: {error.strerror}: the finished part is kept")


@dataclass(frozen=True, slots=True)
class _Run:
    """A job at work on a video."""

    job: Job
    video: VideoReader
    finder: PuckFinder
    watch: Stopwatch
    progress: Progress


def _run_video(run: _Run) -> int:
    job, source, journal = run.job, run.job.sources[0], Journal(run.job.table)
    journal.open(identity_of(source, _work(job), _models(job)), resume=job.resume)
    try:
        _locate_rest(run, journal)
    except BaseException:
        if journal.marks:
            log.warning("what is finished is kept in %s: --resume goes on from there", journal.folder)
        else:
            journal.remove()
        raise
    with run.watch.stage("write"):
        count = write_rows(job.table, journal.rows())
        if job.overlay is not None:
            join_pieces(journal.films(), source, job.overlay)
    journal.remove()
    return count


def _locate_rest(run: _Run, journal: Journal) -> None:
    """Look at what is still to do; each piece is finished in the background while the next is looked at."""
    job, start = run.job, journal.next_start
    if start is None:
        return
    looking = Looking(job.settings.follow, job.overlay is not None, _registrar(job), run.progress)
    with ThreadPoolExecutor(1) as pool:
        pending: Future[None] | None = None
        for piece in locate_pieces(run.video, run.finder, job.settings, looking, start, run.watch):
            if pending is not None:
                pending.result()
            pending = pool.submit(_finish, run, journal, piece)
        if pending is not None:
            pending.result()


def _finish(run: _Run, journal: Journal, piece: Piece) -> None:
    number, job = len(journal.marks), run.job
    journal.write_rows(number, piece.rows)
    if job.overlay is not None:
        with run.watch.stage("overlay"):
            film_piece(journal.film_path(number), run.video, piece, _sheet(job), job.settings.span.every)
    journal.commit(Mark(piece.observed[0].time_s, piece.next_start))


def _models(job: Job) -> tuple[Path, ...]:
    second = second_look_file(job.model, read_card(job.model))
    return (job.model, SHIPPED_PLAYERS) if second is None else (job.model, SHIPPED_PLAYERS, second)


def _work(job: Job) -> dict[str, object]:
    """Return what of a job its pieces depend on."""
    rink = None if job.rink is None else [job.rink.name, job.rink.width_m, str(job.rink.camera)]
    return {"settings": asdict(job.settings), "rink": rink, "overlay": job.overlay is not None}


def _sheet(job: Job) -> Sheet | None:
    return None if job.rink is None else job.rink.sheet()


def _registrar(job: Job) -> Registrar | None:
    return None if job.rink is None else job.rink.registrar()
