"""Textured walls: a strip of quads between two rails in space, each warped by its own exact perspective."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from plucc.rink.camera import Camera
from plucc.types import FloatArray, ImageArray, MaskArray

NEAREST_M = 0.6
FIXED_BITS = 4


@dataclass(frozen=True, slots=True)
class Texture:
    """A picture unrolled along the rails, at several sizes; row 0 is the upper rail."""

    levels: tuple[ImageArray, ...]  # each half the size of the one before
    px_per_m: float  # along the rails, at level 0

    @classmethod
    def of(cls, image: ImageArray, px_per_m: float) -> "Texture":
        levels = [image]
        while min(levels[-1].shape[:2]) > 8 and len(levels) < 5:
            size = (levels[-1].shape[1] // 2, levels[-1].shape[0] // 2)
            levels.append(np.asarray(cv2.resize(levels[-1], size, interpolation=cv2.INTER_AREA), np.uint8))
        return cls(tuple(levels), px_per_m)


@dataclass(frozen=True, slots=True)
class Strip:
    """Two rails of the same number of points in metres, and how far along the wall each post stands."""

    lower_m: FloatArray  # (n, 3)
    upper_m: FloatArray  # (n, 3)
    along_m: FloatArray  # (n,)


@dataclass(frozen=True, slots=True)
class SeenStrip:
    """A strip as the camera sees it: posts in pixels, and which segments meet the picture."""

    lower_px: FloatArray
    upper_px: FloatArray
    segments: list[int]

    def outline(self, index: int) -> FloatArray:
        """Return the corners of a segment: lower, lower next, upper next, upper."""
        return np.array(
            [self.lower_px[index], self.lower_px[index + 1], self.upper_px[index + 1], self.upper_px[index]]
        )

    def rows(self, height: int) -> slice:
        """Return the picture rows that the seen segments lie in."""
        if not self.segments:
            return slice(0, 0)
        posts = np.unique([j for i in self.segments for j in (i, i + 1)])
        levels = np.concatenate([self.lower_px[posts, 1], self.upper_px[posts, 1]])
        top, bottom = np.clip([levels.min() - 3, levels.max() + 4], 0, height).astype(int)
        return slice(int(top), int(bottom))


def see(camera: Camera, strip: Strip, wanted: MaskArray | None = None) -> SeenStrip:
    """Return where the strip shows; `wanted` (n - 1 booleans) restricts the segments."""
    points = np.concatenate([strip.lower_m, strip.upper_m])
    ahead = camera.depth(points) > NEAREST_M
    pixels = camera.project(points)
    count = len(strip.lower_m)
    good = ahead & np.isfinite(pixels).all(axis=1)
    good = good[:count] & good[count:]
    lower, upper = pixels[:count], pixels[count:]
    usable = good[:-1] & good[1:]
    if wanted is not None:
        usable = usable & wanted
    corners = np.stack([lower[:-1], lower[1:], upper[:-1], upper[1:]])
    low, high = corners.min(axis=0), corners.max(axis=0)  # NaN compares false, so what lies behind drops out
    inside = (high > -2).all(axis=1) & (low < np.array([camera.size.width, camera.size.height]) + 2).all(axis=1)
    inside &= (high - low < 20 * camera.size.width).all(axis=1)
    return SeenStrip(lower, upper, np.flatnonzero(usable & inside).tolist())


def paint_strip(canvas: ImageArray, strip: Strip, seen: SeenStrip, texture: Texture) -> None:
    """Paint the texture on all seen segments, opaque, in place."""
    for index in seen.segments:
        _paint_segment(canvas, strip, seen.outline(index), index, texture)


def fill_strip(mask: ImageArray, seen: SeenStrip, value: int) -> None:
    """Fill the seen segments in a mask."""
    for index in seen.segments:
        fixed = to_fixed(seen.outline(index))
        cv2.fillConvexPoly(mask, fixed, value, cv2.LINE_8, FIXED_BITS)


def to_fixed(points_px: FloatArray) -> NDArray[np.int32]:
    """Return points for OpenCV's drawing with fractional bits; its integers name pixel centres."""
    clipped = np.clip(points_px - 0.5, -30000, 30000)
    return np.asarray(np.round(clipped * (1 << FIXED_BITS)), np.int32)


def _paint_segment(canvas: ImageArray, strip: Strip, quad: FloatArray, index: int, texture: Texture) -> None:
    height, width = canvas.shape[:2]
    low = np.maximum(np.floor(quad.min(axis=0)).astype(int) - 1, 0)
    high = np.minimum(np.ceil(quad.max(axis=0)).astype(int) + 2, [width, height])
    if (high <= low).any():
        return
    level = _level(quad, strip.along_m[index + 1] - strip.along_m[index], texture)
    image = texture.levels[level]
    scale = texture.px_per_m / 2**level
    piece, start = _slice(image, strip.along_m[index] * scale, strip.along_m[index + 1] * scale)
    left = strip.along_m[index] * scale - start
    right = strip.along_m[index + 1] * scale - start
    rows = float(image.shape[0])
    source = np.array([[left, rows], [right, rows], [right, 0], [left, 0]], np.float32) - 0.5
    target = (quad - low - 0.5).astype(np.float32)
    matrix = cv2.getPerspectiveTransform(source, target)
    size = (int(high[0] - low[0]), int(high[1] - low[1]))
    warped = cv2.warpPerspective(piece, matrix, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    mask = np.zeros(size[::-1], np.uint8)
    cv2.fillConvexPoly(mask, to_fixed(quad - low), 255, cv2.LINE_8, FIXED_BITS)
    cv2.copyTo(warped, mask, canvas[low[1] : high[1], low[0] : high[0]])


def _slice(image: ImageArray, start: float, stop: float) -> tuple[ImageArray, int]:
    """Return the columns around a stretch, taken round and round, and the column that the piece begins at."""
    first, last = int(np.floor(start)) - 2, int(np.ceil(stop)) + 2
    width = image.shape[1]
    wrapped = first % width
    if wrapped + last - first <= width:
        return image[:, wrapped : wrapped + last - first], first
    return np.take(image, np.arange(first, last) % width, axis=1), first


def _level(quad: FloatArray, length_m: float, texture: Texture) -> int:
    seen_px = float(np.linalg.norm(quad[1] - quad[0]))
    ratio = length_m * texture.px_per_m / max(seen_px, 1e-3)
    return int(np.clip(np.floor(np.log2(max(ratio, 1.0)) + 0.4), 0, len(texture.levels) - 1))
