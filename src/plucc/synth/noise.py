"""Seeded patterns that give surfaces their unevenness: soft blotches, scratches, grain."""

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from plucc.types import FloatArray, ImageArray

SCRATCH_TILE_PX = 1024
SCRATCH_TILE_M = 8.0


def rng_for(*key: int) -> np.random.Generator:
    """Return the generator that belongs to this key alone, whatever was drawn elsewhere."""
    return np.random.default_rng(np.random.SeedSequence(key))


def blotches(rng: np.random.Generator, shape: tuple[int, int], cell_px: float, octaves: int = 3) -> FloatArray:
    """Return smooth noise of zero mean and about unit deviation; `cell_px` is the size of the largest blotch."""
    height, width = shape
    total = np.zeros(shape, np.float32)
    for octave in range(octaves):
        step = max(cell_px / 2**octave, 1.0)
        coarse = rng.standard_normal((int(height / step) + 3, int(width / step) + 3)).astype(np.float32)
        total += cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC) * 0.6**octave
    deviation = float(total.std())
    return np.asarray((total - total.mean()) / max(deviation, 1e-6))


def scratch_tile(rng: np.random.Generator, wear: float) -> ImageArray:
    """Return a tileable square of skate scratches and snow, grey 128 where the ice is untouched.

    It covers `SCRATCH_TILE_M` metres; `wear` runs from 0 (flooded) to 1 (end of a period).
    """
    size = SCRATCH_TILE_PX
    light = np.zeros((3 * size, 3 * size), np.uint8)
    dark = np.zeros_like(light)
    for _ in range(int(30 + 420 * wear)):
        target = light if rng.random() < 0.72 else dark
        _draw_cut(rng, target, int(np.clip(rng.gamma(1.3, 22.0), 6, 150)))
    folded = _fold(light).astype(np.float32) - 0.75 * _fold(dark).astype(np.float32)
    snow = np.maximum(blotches(rng, (size, size), 160.0, 5) - 0.9, 0.0) * 6.0 * wear
    grain = rng.standard_normal((size, size)).astype(np.float32) * (1.0 + 1.6 * wear)
    tile = 128.0 + 0.42 * folded + _make_seamless(snow) + grain
    return np.clip(cv2.GaussianBlur(tile, (0, 0), 0.7), 0, 255).astype(np.uint8)


def _draw_cut(rng: np.random.Generator, image: ImageArray, level: int) -> None:
    size = SCRATCH_TILE_PX
    start = rng.uniform(size, 2 * size, 2)
    length = rng.gamma(1.6, 120.0)
    heading = rng.uniform(0, 2 * np.pi)
    bend = rng.normal(0, 0.55)
    steps = np.linspace(0, 1, 9)
    angles = heading + bend * steps
    along = np.stack([np.cos(angles), np.sin(angles)], axis=1) * length / len(steps)
    points = start + np.cumsum(along, axis=0)
    fixed = np.round(points * 16).astype(np.int32)
    cv2.polylines(image, [fixed], isClosed=False, color=level, thickness=1, lineType=cv2.LINE_AA, shift=4)


def _fold(image: ImageArray) -> NDArray[Any]:
    size = SCRATCH_TILE_PX
    blocks = image.reshape(3, size, 3, size)
    return np.asarray(blocks.max(axis=(0, 2)))


def _make_seamless(field: FloatArray) -> FloatArray:
    size = field.shape[0]
    ramp = np.minimum(np.arange(size), np.arange(size)[::-1]).astype(np.float32)
    edge = np.clip(ramp / (size * 0.12), 0, 1)
    return np.asarray(field * edge[:, None] * edge[None, :])
