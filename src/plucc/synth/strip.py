"""Textured walls: a strip of quads between two rails in space, each warped by its own exact perspective."""

from dataclasses import dataclass
from math import hypot

import cv2
import numpy as np
from numpy.typing import NDArray

from plucc.rink.camera import Camera
from plucc.types import FloatArray, ImageArray, MaskArray

NEAREST_M = 0.6
LONGEST_STRETCH = 6  # segments
BEND_PX = 0.12  # a stretch no more bent than this is painted as straight
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

    def outlines(self) -> FloatArray:
        """Return the corners of all seen segments, (n, 4, 2): lower, lower next, upper next, upper."""
        here = np.asarray(self.segments, np.intp)
        return np.stack(
            [self.lower_px[here], self.lower_px[here + 1], self.upper_px[here + 1], self.upper_px[here]], axis=1
        )

    def moved(self, rows: int) -> "SeenStrip":
        """Return the same, lower in the picture by some rows."""
        shift = np.array([0.0, rows])
        return SeenStrip(self.lower_px + shift, self.upper_px + shift, self.segments)

    def stretched(self, times: int) -> "SeenStrip":
        """Return the same in a picture with that many times the rows."""
        scale = np.array([1.0, times])
        return SeenStrip(self.lower_px * scale, self.upper_px * scale, self.segments)

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
    """Paint the texture on all seen segments, opaque, in place; stretches that look straight are painted at once."""
    for first, last in _stretches(seen):
        quad = np.array([seen.lower_px[first], seen.lower_px[last], seen.upper_px[last], seen.upper_px[first]])
        _paint_stretch(canvas, quad, (strip.along_m[first], strip.along_m[last]), texture)


def _stretches(seen: SeenStrip) -> list[tuple[int, int]]:
    """Return runs of segments (first and last post) between whose ends no post is off the straight line."""
    stretches: list[tuple[int, int]] = []
    for index in seen.segments:
        if stretches:
            first, last = stretches[-1]
            joined = last == index and index - first < LONGEST_STRETCH
            if (
                joined
                and _is_straight(seen.lower_px[first : index + 2])
                and _is_straight(seen.upper_px[first : index + 2])
            ):
                stretches[-1] = (first, index + 1)
                continue
        stretches.append((index, index + 1))
    return stretches


def _is_straight(posts_px: FloatArray) -> bool:
    dx, dy = (posts_px[-1] - posts_px[0]).tolist()
    off = (posts_px[1:-1, 0] - posts_px[0, 0]) * dy - (posts_px[1:-1, 1] - posts_px[0, 1]) * dx
    return bool(np.abs(off).max() <= BEND_PX * max(hypot(dx, dy), 1e-6))


def fill_strip(mask: ImageArray, seen: SeenStrip, value: int) -> None:
    """Fill the seen segments in a mask."""
    for outline in to_fixed(seen.outlines()):
        cv2.fillConvexPoly(mask, outline, value, cv2.LINE_8, FIXED_BITS)


def to_fixed(points_px: FloatArray) -> NDArray[np.int32]:
    """Return points for OpenCV's drawing with fractional bits; its integers name pixel centres."""
    clipped = np.clip(points_px - 0.5, -30000, 30000)
    return np.asarray(np.round(clipped * (1 << FIXED_BITS)), np.int32)


def _paint_stretch(canvas: ImageArray, quad: FloatArray, along_m: tuple[float, float], texture: Texture) -> None:
    height, width = canvas.shape[:2]
    low = np.maximum(np.floor(quad.min(axis=0)).astype(int) - 1, 0)
    high = np.minimum(np.ceil(quad.max(axis=0)).astype(int) + 2, [width, height])
    if (high <= low).any():
        return
    level = _level(quad, along_m[1] - along_m[0], texture)
    image = texture.levels[level]
    scale = texture.px_per_m / 2**level
    piece, start = _slice(image, along_m[0] * scale, along_m[1] * scale)
    left, right = along_m[0] * scale - start, along_m[1] * scale - start
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
