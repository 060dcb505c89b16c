"""Seeded patterns that give surfaces their unevenness: soft blotches, scratches, grain."""

import cv2
import numpy as np

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


def darken(image: ImageArray, shade: FloatArray) -> None:
    """Multiply a picture in place by a coarser field of light."""
    whole = cv2.resize(shade, image.shape[1::-1], interpolation=cv2.INTER_LINEAR)
    cv2.multiply(image, cv2.merge([whole, whole, whole]), dst=image, dtype=cv2.CV_8U)


def scratch_tile(rng: np.random.Generator, wear: float) -> ImageArray:
    """Return a tileable square of skate scratches and snow, grey 128 where the ice is untouched.

    It covers `SCRATCH_TILE_M` metres; `wear` runs from 0 (flooded) to 1 (end of a period).
    """
    size = SCRATCH_TILE_PX
    light, dark = np.zeros((size, size), np.uint8), np.zeros((size, size), np.uint8)
    for _ in range(int(30 + 420 * wear)):
        target = light if rng.random() < 0.72 else dark
        _draw_cut(rng, target, int(np.clip(rng.gamma(1.3, 22.0), 6, 150)))
    cuts = np.float32(0.42) * light - np.float32(0.315) * dark
    snow = np.maximum(blotches(rng, (size, size), 160.0, 5) - 0.9, 0.0) * 6.0 * wear
    grain = rng.standard_normal((size, size), dtype=np.float32) * np.float32(1.0 + 1.6 * wear)
    tile = 128.0 + cuts + _make_seamless(snow) + grain
    return np.clip(cv2.GaussianBlur(tile, (0, 0), 0.7), 0, 255).astype(np.uint8)


def _draw_cut(rng: np.random.Generator, image: ImageArray, level: int) -> None:
    """Draw a bent cut; what leaves the tile on one side comes in on the other."""
    size = SCRATCH_TILE_PX
    start = rng.uniform(0, size, 2)
    length = rng.gamma(1.6, 120.0)
    heading = rng.uniform(0, 2 * np.pi)
    bend = rng.normal(0, 0.55)
    steps = np.linspace(0, 1, 9)
    angles = heading + bend * steps
    along = np.stack([np.cos(angles), np.sin(angles)], axis=1) * length / len(steps)
    points = start + np.cumsum(along, axis=0)
    tiles = np.floor(points / size).astype(int)
    for column, row in sorted({(int(x), int(y)) for x, y in tiles}):
        fixed = np.round((points - np.array([column, row]) * size) * 16).astype(np.int32)
        cv2.polylines(image, [fixed], isClosed=False, color=level, thickness=1, lineType=cv2.LINE_AA, shift=4)


def _make_seamless(field: FloatArray) -> FloatArray:
    size = field.shape[0]
    ramp = np.minimum(np.arange(size), np.arange(size)[::-1]).astype(np.float32)
    edge = np.clip(ramp / (size * 0.12), 0, 1)
    return np.asarray(field * edge[:, None] * edge[None, :])
