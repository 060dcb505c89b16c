"""A whole video, or a folder of pictures, to registrations: players, cuts, and the registrar in the right order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from plucc.draw import write_picture
from plucc.files import whole_file
from plucc.register.drawing import draw_registration
from plucc.register.registrar import Registrar
from plucc.register.registration import Registration
from plucc.register.smoothing import smoothed
from plucc.register.table import RegisteredFrame, read_registrations
from plucc.rink.sheet import Sheet
from plucc.shots import CutDetector
from plucc.types import ImageArray, InputError, MaskArray, Size
from plucc.video import IMAGE_SUFFIXES, Frame, VideoWriter, probe, read_frames, read_image

PlayerFinder = Callable[[ImageArray], MaskArray]


@dataclass(frozen=True, slots=True)
class Given:
    """Registrations that need no picture, by frame index or file name: clicked or imported ones. They go first."""

    by_name: dict[str, Registration]

    def of(self, name: str, index: int) -> Registration | None:
        return self.by_name.get(str(index), self.by_name.get(name))


NOTHING_GIVEN = Given({})


def is_pictures(source: Path) -> bool:
    """Tell whether a source is a picture or a folder of them, and not a video."""
    return source.is_dir() or source.suffix.lower() in IMAGE_SUFFIXES


def pictures_of(source: Path) -> list[Path]:
    """Return one picture, or those of a folder in the order of their names."""
    if source.is_file():
        return [source]
    files = sorted(path for path in source.iterdir() if path.suffix.lower() in IMAGE_SUFFIXES)
    if not files:
        raise InputError(f"{source} holds no picture: expected files that end in {', '.join(sorted(IMAGE_SUFFIXES))}")
    return files


def register(
    source: Path, registrar: Registrar, find_players: PlayerFinder, given: Given = NOTHING_GIVEN
) -> Iterator[RegisteredFrame]:
    """Yield the registration of every frame; pictures are taken one by one, a video shot by shot."""
    if is_pictures(source):
        yield from _register_pictures(source, registrar, find_players, given)
    else:
        yield from _register_video(source, registrar, find_players, given)


def _register_pictures(
    source: Path, registrar: Registrar, find_players: PlayerFinder, given: Given
) -> Iterator[RegisteredFrame]:
    for index, path in enumerate(pictures_of(source)):
        image = read_image(path)
        one = given.of(path.name, index) or registrar.frame(image, find_players(image), is_cut=True)
        yield RegisteredFrame(path.name, index, 0.0, index, Size(image.shape[1], image.shape[0]), one)


def _register_video(
    source: Path, registrar: Registrar, find_players: PlayerFinder, given: Given
) -> Iterator[RegisteredFrame]:
    """Register a shot, then smooth it: only its cameras are kept, not its pictures."""
    shot: list[RegisteredFrame] = []
    number = 0
    for frame, is_cut in with_cuts(read_frames(source)):
        if is_cut and shot:
            yield from smoothed(shot)
            shot, number = [], number + 1
        one = given.of(source.name, frame.index)
        if one is None:
            one = registrar.frame(frame.image, find_players(frame.image), is_cut=is_cut)
        shot.append(RegisteredFrame(source.name, frame.index, frame.time_s, number, frame.size, one))
    yield from smoothed(shot)


def with_cuts(frames: Iterable[Frame]) -> Iterator[tuple[Frame, bool]]:
    """Yield each frame, a little late, with whether a new shot begins with it; the first one always does."""
    cuts = CutDetector()
    waiting: deque[Frame] = deque()
    is_first = True
    for frame in frames:
        waiting.append(frame)
        verdict = cuts.feed(frame.image)
        if verdict is not None:
            yield waiting.popleft(), verdict or is_first
            is_first = False
    for verdict in cuts.flush():
        yield waiting.popleft(), verdict or is_first
        is_first = False


def write_overlay(source: Path, table: Path, sheet: Sheet, path: Path) -> None:
    """Write the frames again with the registered rink over them: a video for a video, pictures into a folder."""
    registered = read_registrations(table)
    if is_pictures(source):
        for picture, one in zip(pictures_of(source), registered, strict=True):
            drawn = draw_registration(read_image(picture), one.registration, sheet)
            write_picture(drawn, path / f"{picture.stem}.png")
        return
    with whole_file(path) as temporary, VideoWriter(temporary, probe(source).frame_rate) as writer:
        for frame, one in zip(read_frames(source), registered, strict=True):
            writer.write(draw_registration(frame.image, one.registration, sheet))
