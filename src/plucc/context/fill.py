"""Goes through a video, a folder of frames or a dataset, and leaves the players in the cache, or in pictures to see."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from plucc.context.image import ContextMaker, as_rgb, context_image
from plucc.data.manifest import INFO_FILE, Dataset, read_dataset
from plucc.data.schema import Player, Record
from plucc.files import whole_file
from plucc.types import ImageArray, InputError, MaskArray, Progress, silent
from plucc.video import IMAGE_SUFFIXES, probe, read_frames, read_image

BACKGROUND_SHARE = 0.35  # brightness that is left of whatever is no player
OUTLINE_RGB = (0, 255, 120)


@dataclass(frozen=True, slots=True)
class NamedFrame:
    """A frame with the name that its pictures get, and what labels say of its players."""

    name: str
    image: ImageArray
    players: Sequence[Player] | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Frames to look at, one by one, and how many there are where that is known."""

    frames: Iterable[NamedFrame]
    count: int | None


def open_source(path: Path, *, step: int = 1) -> Source:
    """Return every step-th frame of a dataset's folder, a folder of pictures, one picture, or a video."""
    if step < 1:
        raise InputError(f"every {step}th frame: the step must be 1 or more")
    if (path / INFO_FILE).is_file():
        dataset = read_dataset(path)
        records = dataset.records[::step]
        return Source(_of_dataset(dataset, records), len(records))
    if path.is_dir():
        pictures = sorted(file for file in path.iterdir() if file.suffix.lower() in IMAGE_SUFFIXES)[::step]
        if not pictures:
            raise InputError(
                f"{path} holds neither pictures nor a dataset: give a video, a folder of frames, or a dataset"
            )
        return Source(_of_pictures(pictures), len(pictures))
    if path.suffix.lower() in IMAGE_SUFFIXES:
        return Source(_of_pictures([path]), 1)
    count = probe(path).frame_count
    return Source(_of_video(path, step), None if count is None else -(-count // step))


def fill(maker: ContextMaker, source: Source, *, pictures: Path | None = None, progress: Progress = silent) -> int:
    """Find the players of every frame, and draw them where a folder is given; return the number of frames."""
    count = 0
    for frame in progress(source.frames, total=source.count, label="players"):
        mask = maker.mask(frame.image, frame.players)
        if pictures is not None:
            write_pictures(frame, mask, pictures)
        count += 1
    return count


def write_pictures(frame: NamedFrame, mask: MaskArray, folder: Path) -> None:
    """Write the context image, and the frame with its players lit, side by name."""
    rgb = as_rgb(frame.image)
    for kind, picture in (("context", context_image(rgb, mask, rgb.shape[0])), ("overlay", overlay(rgb, mask))):
        with whole_file(folder / f"{frame.name}-{kind}.png") as path:
            cv2.imwrite(str(path), cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))


def overlay(frame: ImageArray, mask: MaskArray) -> ImageArray:
    """Return the frame with everybody but the players dimmed, and the players outlined."""
    dimmed = cv2.convertScaleAbs(frame, alpha=BACKGROUND_SHARE)
    picture = cv2.copyTo(frame, mask.astype(np.uint8), dimmed)
    outlines, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    return np.asarray(cv2.drawContours(picture, outlines, -1, OUTLINE_RGB, 1), np.uint8)


def _of_dataset(dataset: Dataset, records: Sequence[Record]) -> Iterator[NamedFrame]:
    for record in records:
        image = read_image(dataset.image_path(record))
        yield NamedFrame(Path(record.image).with_suffix("").as_posix().replace("/", "-"), image, record.players)


def _of_pictures(paths: Sequence[Path]) -> Iterator[NamedFrame]:
    for path in paths:
        yield NamedFrame(path.stem, read_image(path))


def _of_video(path: Path, step: int) -> Iterator[NamedFrame]:
    for frame in read_frames(path, every=step):
        yield NamedFrame(f"{path.stem}-{frame.index:06d}", frame.image)
