"""A video, a picture or a folder of pictures -> rows: what the frames say, joined into one path for each shot."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from plucc.data.rows import Row
from plucc.observing import Looking, Observed, Registrar, Registration, Start, observe_frames, warm_start
from plucc.pipeline import Stopwatch
from plucc.puck_finder import SHIPPED_MODEL, Locator, observe
from plucc.sighting import Observation, PuckFinder, StagedFinder, WholeFrames
from plucc.track import CandidateFrame, TrackLimits, TrackPoint, track_live, track_shot
from plucc.types import InputError, Point, Size, Source
from plucc.video import IMAGE_SUFFIXES, Span, VideoReader, read_image

__all__ = [
    "SHIPPED_MODEL",
    "Locator",
    "Observation",
    "Piece",
    "Settings",
    "is_pictures",
    "locate",
    "locate_pictures",
    "locate_pieces",
    "observe",
    "picture_files",
    "staged",
]

ABSENT_BELOW = 0.25  # of confidence
LIVE_DELAY = 12  # frames
_SIGMA_PX = {Source.SEEN: 2.5, Source.INFERRED: 8.0, Source.INTERPOLATED: 12.0}  # at 720 lines


@dataclass(frozen=True, slots=True)
class Settings:
    """How to locate.

    Below `absent_below` a frame counts as one without a puck. `follow` looks only around the puck while it is in sight.
    With `delay` rows are decided that many frames later; None waits for the end of the shot, or of a piece of it.
    """

    absent_below: float = ABSENT_BELOW
    span: Span = field(default_factory=Span)
    follow: bool = False
    delay: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.absent_below <= 1:
            raise InputError(f"a threshold of {self.absent_below:g} for absence: it is a probability, from 0 to 1")
        if self.delay is not None and self.delay < 0:
            raise InputError(f"a delay of {self.delay} frames: it must be 0 or more")

    @property
    def limits(self) -> TrackLimits:
        return TrackLimits(absent_below=self.absent_below)


@dataclass(frozen=True, slots=True)
class Piece:
    """The rows of a shot, or of a part of a long one, what their frames said, and where the next piece starts."""

    rows: tuple[Row, ...]
    observed: tuple[Observed, ...]
    next_start: Start | None  # None after the last piece


def locate(
    source: Path | str,
    finder: PuckFinder | None = None,
    settings: Settings | None = None,
    *,
    registrar: Registrar | None = None,
) -> Iterator[Row]:
    """Yield a row for every frame of a video, a picture, or a folder of pictures.

    The frames of a video are joined into one path for each camera shot; pictures are taken one by one. A video streams:
    only what the frames of the shot at hand say is kept. With a registrar, rows say where on the rink the puck is.
    """
    source, settings = Path(source), settings or Settings()
    chosen = finder or Locator()
    if is_pictures(source):
        yield from locate_pictures(picture_files(source), chosen, settings, registrar)
        return
    video, looking = VideoReader(source), Looking(follow=settings.follow, registrar=registrar)
    if settings.delay is not None:
        yield from _live_rows(_observed(video, chosen, settings, looking), source.name, settings)
        return
    for piece in locate_pieces(video, chosen, settings, looking):
        yield from piece.rows


def locate_pieces(
    video: VideoReader,
    finder: PuckFinder,
    settings: Settings,
    looking: Looking,
    start: Start | None = None,
    watch: Stopwatch | None = None,
) -> Iterator[Piece]:  # fmt: skip
    """Yield the video piece by piece, each with its rows; from `start`, which must be that of a piece."""
    watch = watch or Stopwatch()
    start = start or Start()
    total = len(video.part(settings.span)) - start.position
    observed = _observed(video, finder, settings, looking, start, watch)
    observed = iter(looking.progress(observed, total=total, label=video.path.name))
    for group, next_start in _grouped(observed):
        with watch.stage("path"):
            points = track_shot([one.candidates for one in group], settings.limits)
            rows = tuple(_row(video.path.name, one, point) for one, point in zip(group, points, strict=True))
        yield Piece(rows, tuple(group), next_start)


def locate_pictures(
    files: Iterable[Path], finder: PuckFinder, settings: Settings, registrar: Registrar | None = None
) -> Iterator[Row]:
    """Yield a row for every picture; each is a shot of its own, and registered on its own."""
    for index, path in enumerate(list(files)[:: settings.span.every]):
        image = read_image(path)
        seen = finder.frame(image)
        point = track_shot([CandidateFrame(seen.size, seen.candidates)], settings.limits)[0]
        registration = None if registrar is None else registrar.frame(image, seen.players, is_cut=True)
        x_px, y_px = (None, None) if point.xy_px is None else point.xy_px
        place = _on_rink(registration, point, seen.size)
        yield Row(path.name, index, 0.0, index, point.source, point.confidence, x_px, y_px, *place)


def is_pictures(source: Path) -> bool:
    """Tell pictures from a video, by what is there and by the suffix."""
    return source.is_dir() or source.suffix.lower() in IMAGE_SUFFIXES


def picture_files(source: Path) -> list[Path]:
    """Return one picture, or the pictures of a folder in the order of their names."""
    if source.is_file():
        return [source]
    if not source.is_dir():
        raise InputError(f"{source} does not exist: give a video, a picture, or a folder of pictures")
    files = sorted(path for path in source.iterdir() if path.suffix.lower() in IMAGE_SUFFIXES)
    if not files:
        raise InputError(f"{source} holds no picture: expected files that end in {', '.join(sorted(IMAGE_SUFFIXES))}")
    return files


def _observed(
    video: VideoReader,
    finder: PuckFinder,
    settings: Settings,
    looking: Looking,
    start: Start = Start(),  # noqa: B008 - frozen
    watch: Stopwatch | None = None,
) -> Iterator[Observed]:
    part = video.part(settings.span)
    if not len(part):
        raise InputError(f"{video.path} has no frame in that span: it holds {len(video)} frames")
    wanted = part[warm_start(start) :]
    if not len(wanted):
        return
    frames = video.frames(wanted.start, wanted.stop, wanted.step)
    yield from observe_frames(frames, staged(finder), start, looking, watch or Stopwatch())


def staged(finder: PuckFinder) -> StagedFinder:
    """Return a finder whose steps can overlap: a locator as it is, others as wholes."""
    return finder if isinstance(finder, Locator) else WholeFrames(finder)


def _grouped(observed: Iterable[Observed]) -> Iterator[tuple[list[Observed], Start | None]]:
    group: list[Observed] = []
    for one in observed:
        if one.begins_piece and group:
            yield group, Start(one.position, one.shot, one.shot_position)
            group = []
        group.append(one)
    if group:
        yield group, None


def _live_rows(observed: Iterable[Observed], file: str, settings: Settings) -> Iterator[Row]:
    for _, shot in groupby(observed, key=lambda one: one.shot):
        waiting: deque[Observed] = deque()
        frames = _noted(shot, waiting)
        for point in track_live(frames, delay=settings.delay or 0, limits=settings.limits):
            yield _row(file, waiting.popleft(), point)


def _noted(observed: Iterable[Observed], waiting: deque[Observed]) -> Iterator[CandidateFrame]:
    for one in observed:
        waiting.append(one)
        yield one.candidates


def _row(file: str, one: Observed, point: TrackPoint) -> Row:
    x_px, y_px = (None, None) if point.xy_px is None else point.xy_px
    x_m, y_m, error_m = _on_rink(one.registration, point, one.candidates.size)
    return Row(
        file, one.index, one.time_s, one.shot, point.source, point.confidence, x_px, y_px, x_m, y_m, error_m
    )  # fmt: skip


def _on_rink(
    registration: Registration | None, point: TrackPoint, size: Size
) -> tuple[float, float, float] | tuple[None, None, None]:
    if registration is None or not registration.accepted or point.xy_px is None:
        return None, None, None
    place = registration.locate(Point(*point.xy_px), _SIGMA_PX[point.source] / size.reference_scale)
    return (None, None, None) if place is None else place
