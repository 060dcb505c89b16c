"""Decoded frames and player masks, fetched by number; both are kept in a form that is quick to read again."""

import hashlib
import json
import math
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import cv2
import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from plucc.config import CONTEXT_STRIDE
from plucc.context.maskfile import MaskFile
from plucc.context.masks import resized, union
from plucc.data.manifest import Dataset
from plucc.data.masks import decode_mask
from plucc.data.schema import Player, Record
from plucc.types import DataError, ImageArray, InputError, MaskArray, Point, Size
from plucc.video import read_image

LineT = TypeVar("LineT", bound=BaseModel)

_BLOCK_BYTES = 512  # the unit of st_blocks


class Frames(Protocol):
    """Pictures by number; they may be shared memory, so a caller must not write into them."""

    def __getitem__(self, index: int) -> ImageArray: ...


class FrameFiles:
    """Reads and decodes a picture each time that it is asked for."""

    def __init__(self, dataset: Dataset, records: Sequence[Record]) -> None:
        self._paths = [dataset.image_path(record) for record in records]
        self._sizes = [record.size for record in records]

    def __getitem__(self, index: int) -> ImageArray:
        image = read_image(self._paths[index])
        found = Size(image.shape[1], image.shape[0])
        if found != self._sizes[index]:
            raise DataError(
                f"{self._paths[index]} is {found.width}x{found.height}, its record says "
                f"{self._sizes[index].width}x{self._sizes[index].height}: import the dataset again"
            )
        return image


class FrameCache:
    """Decodes a picture once and keeps its pixels in one big file that all loader processes map.

    A flag beside the pixels is set after they are written, so a run killed half-way leaves a cache that can be used.
    There is one for each dataset, whichever of its records are asked for, so all splits share it; it is named by the
    dataset's folder and the pictures' names, lengths and times. Where the pictures have changed, the older one goes.
    """

    def __init__(self, dataset: Dataset, records: Sequence[Record], folder: Path) -> None:
        self._files = FrameFiles(dataset, records)
        self._shapes = [(record.size.height, record.size.width, 3) for record in records]
        ends = np.cumsum([record.size.width * record.size.height * 3 for record in dataset.records])
        places = {record.image: place for place, record in enumerate(dataset.records)}
        self._places = [places[record.image] for record in records]
        self._ends = [int(ends[place]) for place in self._places]
        folder.mkdir(parents=True, exist_ok=True)
        owner, state = _names(dataset)
        for other in folder.glob(f"{owner}-*"):
            if other.stem != f"{owner}-{state}":
                other.unlink(missing_ok=True)
        self._pixels = _mapped(folder / f"{owner}-{state}.rgb", int(ends[-1]))
        self._ready = _mapped(folder / f"{owner}-{state}.ready", len(dataset.records))

    def __getitem__(self, index: int) -> ImageArray:
        shape, end = self._shapes[index], self._ends[index]
        pixels = self._pixels[end - math.prod(shape) : end].reshape(shape)
        if not self._ready[self._places[index]]:
            pixels[:] = self._files[index]
            self._ready[self._places[index]] = 1
        view = np.asarray(pixels)
        view.flags.writeable = False
        return view


class PlayerMasks:
    """How much of each half-resolution pixel is player, 0 to 255, from masks found elsewhere or the record's own.

    A player with a box but no mask stands as the ellipse in that box. What was drawn once is kept, compressed.
    """

    def __init__(self, records: Sequence[Record], found: MaskFile | None = None) -> None:
        self._records = records
        self._found = found
        self._drawn: dict[int, ImageArray] = {}

    def __getitem__(self, index: int) -> ImageArray:
        if index not in self._drawn:
            self._drawn[index] = np.asarray(cv2.imencode(".png", self._draw(self._records[index]))[1], np.uint8)
        return np.asarray(cv2.imdecode(self._drawn[index], cv2.IMREAD_GRAYSCALE), np.uint8)

    def _draw(self, record: Record) -> ImageArray:
        if self._found is not None:
            players = resized(self._found[record.image], record.size)
        else:
            players = union((_stand_in(player, record.size) for player in record.players or ()), record.size)
        height, width = half_shape(record.size)
        return np.asarray(
            cv2.resize(players.astype(np.uint8) * 255, (width, height), interpolation=cv2.INTER_AREA), np.uint8
        )


class _MistakeLine(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")
    image: str
    x: float
    y: float


def read_mistakes(path: Path) -> dict[str, tuple[Point, ...]]:
    """Read hard negatives: a line for each place, `{"image": …, "x": …, "y": …}`, in the image's own pixels."""
    mistakes: dict[str, tuple[Point, ...]] = {}
    for line in read_lines(path, _MistakeLine):
        mistakes[line.image] = (*mistakes.get(line.image, ()), Point(line.x, line.y))
    return mistakes


def half_shape(size: Size) -> tuple[int, int]:
    """Return height and width of the context image of a frame."""
    return -(-size.height // CONTEXT_STRIDE), -(-size.width // CONTEXT_STRIDE)


def read_lines(path: Path, kind: type[LineT]) -> Iterator[LineT]:
    """Yield the lines of a JSONL file; the first bad one is an error that names it."""
    if not path.is_file():
        raise InputError(f"{path} is not a file: give a JSONL file with a line for each image")
    with path.open("rb") as file:
        for number, text in enumerate(file, start=1):
            try:
                yield kind.model_validate_json(text)
            except ValidationError as error:
                fault = error.errors(include_url=False)[0]
                field = ".".join(str(part) for part in fault["loc"])
                raise DataError(f"{path}:{number}: {field or 'line'}: {fault['msg'].lower()}") from error


def _stand_in(player: Player, size: Size) -> MaskArray:
    if player.mask is not None:
        return resized(decode_mask(player.mask), size)
    ellipse = np.zeros((size.height, size.width), np.uint8)
    box = player.box_px
    middle, axes = (int(box.centre.x), int(box.centre.y)), (int(box.width / 2), int(box.height / 2))
    cv2.ellipse(ellipse, middle, axes, 0, 0, 360, 1, -1)
    return ellipse.astype(bool)


def _names(dataset: Dataset) -> tuple[str, str]:
    """Return a name for the dataset's folder, and one for the state of its pictures."""
    facts = []
    for record in dataset.records:
        try:
            status = dataset.image_path(record).stat()
        except OSError as error:
            raise DataError(
                f"{dataset.image_path(record)} cannot be read ({error.strerror}): check the dataset"
            ) from error
        facts.append((record.image, record.size.width, record.size.height, status.st_size, status.st_mtime_ns))
    return _short_hash(str(dataset.root.resolve())), _short_hash(json.dumps(facts))


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _mapped(path: Path, length: int) -> np.ndarray:
    """Map a file of zeros that other processes may be creating at this very moment."""
    with path.open("a+b") as file:
        file.truncate(length)  # sparse: unread frames take no room on disk
        missing = length - os.fstat(file.fileno()).st_blocks * _BLOCK_BYTES
    free = shutil.disk_usage(path.parent).free
    if missing > free:  # writing to a mapped file on a full disk kills the process without a word
        raise InputError(
            f"{path.parent} has {free / 1e9:.1f} GB free, the decoded frames take {missing / 1e9:.1f}: "
            "free some, or give another folder or null as data.cache"
        )
    return np.memmap(path, np.uint8, "r+", shape=(length,))
