"""Smaller files: the pictures that set the ranges, and how far a peak moves."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from plucc.data.manifest import write_dataset
from plucc.data.schema import DatasetInfo, Player, Record
from plucc.quantise import calibration_pictures, peak_shifts_px
from plucc.runtime.base import Heatmaps
from plucc.runtime.card import ModelCard
from plucc.types import Box, FloatArray, ImageArray, InputError, Size


class Pointing:
    """A runtime that always points at the same cell."""

    device = "cpu"
    card: ModelCard

    def __init__(self, row: int, column: int, stride_px: int) -> None:
        self._cell, self._stride_px = (row, column), stride_px

    def __call__(self, frames: ImageArray, contexts: ImageArray | None = None) -> Heatmaps:
        logits: FloatArray = np.zeros((len(frames), 20, 30), np.float32)
        logits[:, *self._cell] = 1.0
        return Heatmaps(logits, self._stride_px)


def test_shifts_are_in_frame_pixels() -> None:
    pictures = [(np.zeros((2, 64, 64, 3), np.uint8), np.zeros((2, 32, 32, 3), np.uint8))] * 2
    shifts = peak_shifts_px(Pointing(10, 10, 2), Pointing(13, 6, 2), pictures)
    np.testing.assert_allclose(shifts, [10.0] * 4)


def _dataset(root: Path, count: int) -> Path:
    player = Player(box_px=Box(20, 20, 60, 80))
    names = [f"{index}.png" for index in range(count)]
    records = [Record(image=name, size=Size(120, 90), match="m", players=(player,)) for name in names]
    write_dataset(root, DatasetInfo(name="small", classes=("puck", "player"), licence="none", source="drawn"), records)
    rng = np.random.default_rng(0)
    for name in names:
        cv2.imwrite(str(root / name), rng.integers(0, 256, (90, 120, 3), np.uint8))
    return root


def test_pictures_are_spread_over_the_dataset(tmp_path: Path) -> None:
    root = _dataset(tmp_path / "data", 9)
    pictures = calibration_pictures(root, 3)
    assert [(frames.shape, contexts.shape) for frames, contexts in pictures] == [((1, 90, 120, 3), (1, 45, 60, 3))] * 3
    for (frames, _), index in zip(pictures, (0, 4, 8), strict=True):
        np.testing.assert_array_equal(frames[0], cv2.imread(str(root / f"{index}.png"))[..., ::-1])


def test_few_frames_are_taken_once_each(tmp_path: Path) -> None:
    assert len(calibration_pictures(_dataset(tmp_path / "data", 2), 32)) == 2


def test_dataset_without_frames_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no frames: 8-bit ranges are measured on real ones"):
        calibration_pictures(_dataset(tmp_path / "data", 0), 4)
