"""What a user names on the command line -> videos and pictures to locate in."""

from collections.abc import Iterable, Sequence
from glob import glob, has_magic
from pathlib import Path

from plucc.types import InputError
from plucc.video import IMAGE_SUFFIXES

VIDEO_SUFFIXES = frozenset(
    {".mp4", ".mkv", ".mov", ".avi", ".ts", ".mts", ".m2ts", ".webm", ".m4v", ".mpg", ".mpeg", ".wmv", ".flv", ".mxf"}
)


def expand(names: Sequence[str], listed: Iterable[str] = ()) -> list[tuple[Path, ...]]:
    """Return the inputs, each a video, a folder of pictures, or pictures that belong together.

    A name may be a file, a folder, a pattern such as `season/*.mp4`, or `-` for the lines of `listed`. A folder with
    videos stands for them, one with pictures for all of its pictures. Pictures that are named one by one are taken
    together, in the order of their names.
    """
    videos: list[tuple[Path, ...]] = []
    pictures: list[Path] = []
    for path in _paths(names, listed):
        if path.is_dir():
            videos.extend(_folder(path))
        elif path.suffix.lower() in IMAGE_SUFFIXES:
            pictures.append(path)
        else:
            videos.append((path,))
    if pictures:
        videos.append(tuple(pictures))
    if not videos:
        raise InputError("there is nothing to locate in: name a video, a picture, or a folder of pictures")
    return videos


def parse_time(text: str) -> float:
    """Read a time on a video's clock: seconds, or minutes and hours with colons between.

    >>> parse_time("75.5"), parse_time("1:15.5"), parse_time("1:01:15")
    (75.5, 75.5, 3675.0)
    """
    try:
        parts = [float(part) for part in text.split(":")]
    except ValueError:
        parts = []
    if not 1 <= len(parts) <= 3 or any(part < 0 for part in parts):
        raise InputError(f"{text!r} is not a time: give seconds, as 75.5, or 1:15.5, or 1:01:15")
    return sum(part * 60.0**place for place, part in enumerate(reversed(parts)))


def parse_frames(text: str) -> list[int]:
    """Read a list of frame numbers and ranges of them.

    >>> parse_frames("3,10-12")
    [3, 10, 11, 12]
    """
    numbers: list[int] = []
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        if not low.isdigit() or (dash and not high.isdigit()):
            raise InputError(f"{part!r} is not a frame number: give numbers and ranges, as 120,500-520")
        numbers.extend(range(int(low), int(high or low) + 1))
    return numbers


def _paths(names: Sequence[str], listed: Iterable[str]) -> Iterable[Path]:
    for name in names:
        if name == "-":
            yield from (Path(line.strip()) for line in listed if line.strip())
        elif has_magic(name) and not Path(name).exists():
            found = sorted(glob(name, recursive=True))  # noqa: PTH207 - a pattern may be absolute
            if not found:
                raise InputError(f"nothing matches {name}: check the pattern")
            yield from (Path(each) for each in found)
        else:
            yield Path(name)


def _folder(path: Path) -> list[tuple[Path, ...]]:
    videos = sorted(each for each in path.iterdir() if each.suffix.lower() in VIDEO_SUFFIXES)
    has_pictures = any(each.suffix.lower() in IMAGE_SUFFIXES for each in path.iterdir())
    if not videos and not has_pictures:
        raise InputError(f"{path} holds no picture and no video: give a folder that does")
    inputs: list[tuple[Path, ...]] = [(video,) for video in videos]
    return [*inputs, (path,)] if has_pictures else inputs
