"""Small square pictures around places of a frame, for whoever looks at them more closely.

Training and use cut them here, so that both see the same pixels.
"""

from collections.abc import Sequence

import cv2
import numpy as np

from plucc.heatmap import PIXEL_CENTRE
from plucc.types import FloatArray, ImageArray, ShapeError, Size

COARSE_FROM = 3  # times a patch's side: averaging whole squares of such windows first saves most of the time


def patches_around(
    image: ImageArray,
    places_px: FloatArray,
    windows_px: Sequence[float],
    side_px: int,
    *,
    scale: float | None = None,
) -> ImageArray:
    """Return patches (places, windows, side, side, 3) of an RGB frame, each with its place exactly at its centre.

    Places (k, 2) are in the frame's own pixels. Windows are the sides of the squares that the patches show, in pixels
    of 720 lines; `scale` brings the frame's lengths there and follows from its height where it is not given. Windows
    larger than a patch are averaged down, smaller ones interpolated; beyond the frame's edge all is black.
    """
    places = np.asarray(places_px, np.float64)
    if places.ndim != 2 or places.shape[1] != 2:
        raise ShapeError(f"places have shape {places.shape}: expected (places, 2), x and y in the frame's pixels")
    if scale is None:
        scale = Size(image.shape[1], image.shape[0]).reference_scale
    patches = np.empty((len(places), len(windows_px), side_px, side_px, 3), np.uint8)
    for place, row in zip(places, patches, strict=True):
        for index, window_px in enumerate(windows_px):
            row[index] = _patch(image, place, window_px / scale, side_px)
    return patches


def _patch(image: ImageArray, place: FloatArray, window_px: float, side_px: int) -> ImageArray:
    """Sample a window at least once for each of its pixels, then average whole squares of samples."""
    squares = int(window_px // side_px)
    if squares >= COARSE_FROM:
        image, place = _shrunken(image, place, window_px, squares)
        window_px /= squares
    samples = max(1, int(np.ceil(window_px / side_px)))
    fine_px = samples * side_px
    step = window_px / fine_px  # of the frame's pixels from one sample to the next, at most one
    # OpenCV counts pixel centres as whole numbers, so places and samples both move by half a pixel
    start = place - PIXEL_CENTRE + (PIXEL_CENTRE - fine_px / 2) * step
    to_frame = np.array([[step, 0.0, start[0]], [0.0, step, start[1]]])
    fine = cv2.warpAffine(
        image, to_frame, (fine_px, fine_px), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP, borderValue=(0, 0, 0)
    )
    if samples > 1:
        fine = cv2.resize(fine, (side_px, side_px), interpolation=cv2.INTER_AREA)
    return np.asarray(fine, np.uint8)


def _shrunken(image: ImageArray, place: FloatArray, window_px: float, times: int) -> tuple[ImageArray, FloatArray]:
    """Return what lies around a place, so many times smaller, and where the place is in it."""
    corner = np.floor(place - window_px / 2).astype(int) - times
    side = int(np.ceil(window_px / times) + 3) * times
    low, high = np.maximum(corner, 0), np.minimum(corner + side, image.shape[1::-1])
    around = np.zeros((side, side, 3), np.uint8)
    if (low < high).all():
        (left, top), (right, bottom) = low - corner, high - corner
        around[top:bottom, left:right] = image[low[1] : high[1], low[0] : high[0]]
    small = cv2.resize(around, (side // times, side // times), interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.uint8), (place - corner) / times
