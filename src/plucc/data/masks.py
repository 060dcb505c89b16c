"""Binary masks as COCO run lengths, and polygons as masks.

Runs are counted down the columns, zeros first. The compressed form writes each run, from the fourth on less the run two
before it, as groups of five bits in printable characters, as pycocotools does.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from plucc.types import Box, DataError, FloatArray, MaskArray, Size

IntArray: TypeAlias = NDArray[np.int64]

_BITS = 5  # payload of one character
_PAYLOAD = (1 << _BITS) - 1
_MORE = 1 << _BITS  # set when another character of the same number follows
_SIGN = 1 << (_BITS - 1)
_ZERO_CHARACTER = 48
_MAX_GROUPS = 7  # 35 bits: more than any picture has pixels


@dataclass(frozen=True, slots=True)
class Rle:
    """A compressed COCO mask: picture height and width, and the run lengths as text."""

    size: tuple[int, int]  # height, width: COCO's order
    counts: str


def encode_mask(mask: MaskArray) -> Rle:
    """Return the compressed run lengths of a (height, width) mask."""
    if mask.ndim != 2:
        raise DataError(f"a mask of shape {mask.shape} cannot be encoded: expected (height, width)")
    height, width = mask.shape
    return Rle((height, width), compress_counts(run_lengths(mask)))


def decode_mask(rle: Rle) -> MaskArray:
    """Return the (height, width) mask of compressed run lengths."""
    return mask_from_runs(expand_counts(rle.counts), rle.size)


def run_lengths(mask: MaskArray) -> IntArray:
    """Return the lengths of the alternating runs down the columns, zeros first (possibly none)."""
    flat = mask.astype(bool, copy=False).ravel(order="F")
    changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    first = [0] if flat.size and flat[0] else []
    edges = np.concatenate(([0], first, changes, [flat.size]))
    return np.diff(edges).astype(np.int64)


def mask_from_runs(counts: IntArray, size: tuple[int, int]) -> MaskArray:
    """Return the mask whose alternating runs these are; they must fill the picture exactly."""
    height, width = size
    if (counts < 0).any() or counts.sum() != height * width:
        raise DataError(
            f"mask runs cover {int(counts.sum())} pixels of a picture of {width}x{height}: expected {height * width}, "
            f"none negative; encode the mask again"
        )
    values = np.arange(len(counts)) % 2 == 1
    return np.repeat(values, counts).reshape((width, height)).T


def compress_counts(counts: IntArray) -> str:
    """Return run lengths as COCO's printable text."""
    values = counts.copy()
    values[3:] -= counts[1:-2]
    groups = np.zeros((len(values), _MAX_GROUPS), dtype=np.uint8)
    used = np.zeros((len(values), _MAX_GROUPS), dtype=bool)
    open_rows = np.ones(len(values), dtype=bool)
    for index in range(_MAX_GROUPS):
        payload = values & _PAYLOAD
        values = values >> _BITS
        negative = (payload & _SIGN) != 0
        more = np.where(negative, values != -1, values != 0)
        groups[:, index] = payload + np.where(more, _MORE, 0) + _ZERO_CHARACTER
        used[:, index] = open_rows
        open_rows = open_rows & more
    return groups[used].tobytes().decode("ascii")


def expand_counts(text: str) -> IntArray:
    """Return the run lengths that COCO's printable text stands for."""
    characters = np.frombuffer(text.encode("utf-8"), dtype=np.uint8).astype(np.int64) - _ZERO_CHARACTER
    if len(characters) == 0:
        return np.zeros(0, dtype=np.int64)
    ends = (characters & _MORE) == 0
    if (characters < 0).any() or (characters >= 2 * _MORE).any() or not ends[-1]:
        raise DataError("mask counts are not COCO run-length text: encode the mask again")
    stops = np.flatnonzero(ends)
    starts = np.concatenate(([0], stops[:-1] + 1))
    lengths = stops - starts + 1
    if lengths.max() > _MAX_GROUPS:
        raise DataError("mask counts hold a number beyond any picture's size: encode the mask again")
    shift = (np.arange(len(characters)) - np.repeat(starts, lengths)) * _BITS
    values = np.add.reduceat((characters & _PAYLOAD) << shift, starts)
    negative = (characters[stops] & _SIGN) != 0
    values = np.where(negative, values - (1 << (lengths * _BITS)), values).astype(np.int64)
    values[1::2] = np.cumsum(values[1::2])
    values[2::2] = np.cumsum(values[2::2])
    return values


def polygon_mask(polygons: Iterable[FloatArray], size: Size) -> MaskArray:
    """Return the union of (n, 2) polygons in pixels: of each, the pixels with their centre inside (even-odd rule)."""
    mask = np.zeros((size.height, size.width), dtype=bool)
    for polygon in polygons:
        mask |= _fill(np.asarray(polygon, dtype=np.float64), size)
    return mask


def mask_area(rle: Rle) -> int:
    """Return the number of pixels in a mask, without unfolding it."""
    return int(expand_counts(rle.counts)[1::2].sum())


def mask_box(mask: MaskArray) -> Box | None:
    """Return the tight box around a mask; None when it is empty."""
    rows = np.flatnonzero(mask.any(axis=1))
    columns = np.flatnonzero(mask.any(axis=0))
    if len(rows) == 0:
        return None
    return Box(float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1))


def _fill(polygon: FloatArray, size: Size) -> MaskArray:
    # Every edge flips all pixels of a row whose centre lies to the right of where it crosses that row's centre line.
    flips = np.zeros((size.height, size.width + 1), dtype=np.int32)
    for (x0, y0), (x1, y1) in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        low, high = sorted((y0, y1))
        first, last = (int(np.clip(np.ceil(y - 0.5), 0, size.height)) for y in (low, high))
        if first >= last:
            continue
        rows = np.arange(first, last)
        crossings = x0 + (rows + 0.5 - y0) * (x1 - x0) / (y1 - y0)
        columns = np.clip(np.ceil(crossings - 0.5), 0, size.width).astype(np.int64)
        flips[rows, columns] += 1
    inside: MaskArray = flips.cumsum(axis=1)[:, : size.width] % 2 == 1
    return inside
