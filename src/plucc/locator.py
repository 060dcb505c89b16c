"""A video, a picture or a folder of pictures -> rows: what the frames say, joined into one path for each shot."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import dist
from pathlib import Path
from typing import TypeAlias

from plucc.data.rows import Row
from plucc.graphics import Graphics, without_graphics
from plucc.loading import SHIPPED_MODEL, model_file
from plucc.observing import Looking, Observed, Registrar, Registration, Start, observe_frames, warm_start
from plucc.pipeline import Stopwatch
from plucc.puck_finder import Locator, observe
from plucc.sighting import Observation, PuckFinder, StagedFinder, WholeFrames
from plucc.track import CandidateFrame, TrackLimits, TrackPoint, track_live, track_shot
from plucc.trust import PICTURES
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
    "model_file",
    "observe",
    "picture_files",
    "staged",
]

PICTURE_ABSENT_BELOW = 0.15  # of confidence: nothing around a picture tells better; the limits of a path are higher
LIVE_DELAY = 12  # frames
Place: TypeAlias = tuple[float, float, float] | tuple[None, None, None]  # x_m, y_m, error_m
_SIGMA_PX = {Source.SEEN: 2.5, Source.INFERRED: 8.0, Source.INTERPOLATED: 12.0}  # at 720 lines


@dataclass(frozen=True, slots=True)
class Settings:
    """How to locate.

    Below `absent_below` a frame counts as one without a puck; None leaves it to what is looked at, 0.15 for a picture
    and 0.25 along the path of a video. `follow` looks only around the puck while it is in sight.
    With `delay` rows are decided that many frames later; None waits for the end of the shot, or of a piece of it.
    """

    absent_below: float | None = None
    span: Span = field(default_factory=Span)
    follow: bool = False
    delay: int | None = None

    def __post_init__(self) -> None:
        if self.absent_below is not None and not 0 <= self.absent_below <= 1:
            raise InputError(f"a threshold of {self.absent_below:g} for absence: it is a probability, from 0 to 1")
        if self.delay is not None and self.delay < 0:
            raise InputError(f"a delay of {self.delay} frames: it must be 0 or more")

    @property
    def limits(self) -> TrackLimits:
        return TrackLimits() if self.absent_below is None else TrackLimits(absent_below=self.absent_below)

    @property
    def picture_limits(self) -> TrackLimits:
        below = PICTURE_ABSENT_BELOW if self.absent_below is None else self.absent_below
        return TrackLimits(absent_below=below, trust=PICTURES)


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
            points = track_shot(without_graphics([one.candidates for one in group]), settings.limits)
            rows = _rows(video.path.name, group, points)
        yield Piece(rows, tuple(group), next_start)


def locate_pictures(
    files: Iterable[Path], finder: PuckFinder, settings: Settings, registrar: Registrar | None = None
) -> Iterator[Row]:
    """Yield a row for every picture; each is a shot of its own, and registered on its own."""
    for index, path in enumerate(list(files)[:: settings.span.every]):
        image = read_image(path)
        seen = finder.frame(image)
        point = track_shot([CandidateFrame(seen.size, seen.candidates)], settings.picture_limits)[0]
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
    chosen = staged(finder, follow=looking.follow)
    yield from observe_frames(frames, chosen, start, looking, watch or Stopwatch())


def staged(finder: PuckFinder, *, follow: bool = False) -> StagedFinder:
    """Return a finder whose steps can overlap: a locator's, others as wholes."""
    return finder.for_video(follow=follow) if isinstance(finder, Locator) else WholeFrames(finder)


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
    graphics = Graphics()
    for one in observed:
        waiting.append(one)
        graphics.note(one.candidates)
        yield graphics.cleared(one.candidates)


def _rows(file: str, group: Sequence[Observed], points: Sequence[TrackPoint]) -> tuple[Row, ...]:
    """Return the rows of a piece; how fast the puck goes tells how high it may be, and so how sure its place is."""
    places = [_on_rink(one.registration, point, one.candidates.size) for one, point in zip(group, points, strict=True)]
    speeds = _speeds_m_s(places, [one.time_s for one in group])
    return tuple(_row(file, one, point, speed) for one, point, speed in zip(group, points, speeds, strict=True))


def _speeds_m_s(places: Sequence[Place], times_s: Sequence[float]) -> list[float | None]:
    """Return how fast a path goes over the ice at each of its places, from the one before to the one after."""
    path = [
        None if x_m is None or y_m is None else (time_s, x_m, y_m)
        for (x_m, y_m, _), time_s in zip(places, times_s, strict=True)
    ]
    speeds: list[float | None] = []
    for index in range(len(path)):
        known = [one for one in path[max(index - 1, 0) : index + 2] if one is not None]
        elapsed_s = known[-1][0] - known[0][0] if known else 0.0
        speeds.append(dist(known[0][1:], known[-1][1:]) / elapsed_s if elapsed_s > 0 else None)
    return speeds


def _row(file: str, one: Observed, point: TrackPoint, speed_m_s: float | None = None) -> Row:
    x_px, y_px = (None, None) if point.xy_px is None else point.xy_px
    x_m, y_m, error_m = _on_rink(one.registration, point, one.candidates.size, speed_m_s)
    return Row(
        file, one.index, one.time_s, one.shot, point.source, point.confidence, x_px, y_px, x_m, y_m, error_m
    )  # fmt: skip


def _on_rink(registration: Registration | None, point: TrackPoint, size: Size, speed_m_s: float | None = None) -> Place:
    if registration is None or not registration.accepted or point.xy_px is None:
        return None, None, None
    place = registration.locate(Point(*point.xy_px), _SIGMA_PX[point.source] / size.reference_scale, speed_m_s)
    return (None, None, None) if place is None else place
