"""Clips for `benchmarks/locate.py`, each frame with its truth: parts of rendered games, and pans over real frames.

They are made once and kept in a folder; the same seeds give the same clips.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np

from plucc.data.manifest import Dataset
from plucc.data.schema import Record
from plucc.files import whole_file
from plucc.synth.clip import plan_clip, records_path, write_clip
from plucc.types import FloatArray, ImageArray, InputError, Point, Progress, Size
from plucc.video import Span, read_image, write_video

RATE = 25
SEEDS = (101, 102, 103, 104)  # no weights were trained on matches of these seeds
GAME_S = 24.0
FIRST_FRAMES = (50, 310, 460, 510, 552)  # of the clips within each game
FIT_FIRST_FRAMES = (10, 84, 116, 150, 182, 214, 246, 278, 345, 377, 409)  # of those that confidence is fitted on
LENGTH = 32
EVERY = 2  # of the frames: a path twice as long for the same work
PAN_LENGTH = 24


@dataclass(frozen=True, slots=True)
class Clip:
    """A part of a video, and for every frame of the video where the puck is; None where it is not in the picture."""

    name: str
    path: Path
    span: Span
    pucks_px: tuple[Point | None, ...]


def rendered_clips(
    folder: Path, lines: int, progress: Progress, first_frames: tuple[int, ...] = FIRST_FRAMES
) -> Iterator[Clip]:
    """Yield parts of rendered games, with whatever happens in them: hidden pucks, cuts, replays, close-ups."""
    for seed in SEEDS:
        path = folder / f"game-{seed}-{lines}.mp4"
        if not path.exists():
            size = Size(lines * 16 // 9, lines)
            write_clip(path, plan_clip(GAME_S, seed, size, RATE), progress=progress)
        pucks = tuple(_true_point(Record.model_validate_json(line)) for line in records_path(path).open())
        for first in first_frames:
            span = Span(first / RATE, (first + LENGTH) / RATE, EVERY)
            yield Clip(f"{path.stem}-{first}", path, span, pucks)


def real_clips(folder: Path, dataset: Dataset, matches: list[str], count: int) -> Iterator[Clip]:
    """Yield short pans and zooms over real frames of some matches, evenly spread over the frames of each."""
    for match in matches:
        records = [record for record in dataset.records if record.match == match and record.puck is not None]
        if not records:
            raise InputError(f"{dataset.root} has no labelled puck in {match}: name other matches")
        share = max(1, count // len(matches))
        for record in records[:: max(1, len(records) // share)][:share]:
            yield _pan(folder / f"{match}-{Path(record.image).stem}.mp4", dataset.image_path(record), record)


def _true_point(record: Record) -> Point | None:
    return None if record.puck is None else record.puck.centre_px


def _pan(path: Path, image_path: Path, record: Record) -> Clip:
    views = list(_views(record))
    if not path.exists():
        image = read_image(image_path)
        with whole_file(path) as film:
            write_video(film, (_seen_from(image, view) for view in views), Fraction(RATE))
    centre = _true_point(record) or Point(0, 0)
    pucks = tuple(_moved(centre, view, record.size) for view in views)
    return Clip(path.stem, path, Span(every=EVERY), pucks)


def _views(record: Record) -> Iterator[FloatArray]:
    """Yield the matrices of a slow pan and zoom that keeps the puck in the picture."""
    centre = np.array(tuple(_true_point(record) or Point(0, 0)))
    size = np.array([record.size.width, record.size.height], float)
    for step in range(PAN_LENGTH):
        zoom = 1.15 + 0.1 * np.sin(step / 8)
        middle = np.clip(size / 2 + (centre - size / 2) * step / 60, size / 2 / zoom, size - size / 2 / zoom)
        shift = size / 2 - zoom * middle
        yield np.array([[zoom, 0, shift[0]], [0, zoom, shift[1]], [0, 0, 1]])


def _seen_from(image: ImageArray, view: FloatArray) -> ImageArray:
    half = np.array([[1.0, 0, 0.5], [0, 1, 0.5], [0, 0, 1]])
    indexed = np.linalg.inv(half) @ view @ half
    return np.asarray(cv2.warpPerspective(image, indexed, (image.shape[1], image.shape[0])), np.uint8)


def _moved(point: Point, view: FloatArray, size: Size) -> Point | None:
    x, y, _ = view @ (point.x, point.y, 1.0)
    return Point(float(x), float(y)) if 0 <= x < size.width and 0 <= y < size.height else None
