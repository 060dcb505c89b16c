"""The exact place of a puck that shows: the middle of the dark spot itself, where a heatmap's peak is a pixel off."""

import cv2
import numpy as np

from plucc.heatmap import axis_centres
from plucc.types import REFERENCE_HEIGHT_PX, ImageArray, Point

SIGMA_PX = 2.5  # these three at 720 lines: about the radius of a puck
WINDOW_PX = 16.0  # to either side: what the spot is darker than
REACH_PX = 2.0  # a middle further away is that of something else
_STEPS = 3
_LEAST_DARKNESS = 1.0  # of a grey level, summed over the spot


def centred(image: ImageArray, place_px: Point) -> Point:
    """Move a place of an RGB frame to the middle of the dark spot around it; leave it where there is none within reach.

    A mean shift: the place moves to the mean of the pixels near it, each as heavy as it is darker than the median of
    its surroundings, and again from there.
    """
    unit = image.shape[0] / REFERENCE_HEIGHT_PX
    left, right = _span(place_px.x, WINDOW_PX * unit, image.shape[1])
    top, bottom = _span(place_px.y, WINDOW_PX * unit, image.shape[0])
    window = np.ascontiguousarray(image[top:bottom, left:right])
    grey = cv2.cvtColor(window, cv2.COLOR_RGB2GRAY).astype(np.float64)
    darkness = np.maximum(np.median(grey) - grey, 0.0)
    xs, ys = left + axis_centres(right - left), top + axis_centres(bottom - top)
    x, y = place_px
    for _ in range(_STEPS):
        near_x, near_y = (np.exp(-0.5 * ((axis - at) / (SIGMA_PX * unit)) ** 2) for axis, at in ((xs, x), (ys, y)))
        weights = darkness * np.outer(near_y, near_x)
        total = weights.sum()
        if total < _LEAST_DARKNESS:
            return place_px
        x, y = float(weights.sum(axis=0) @ xs / total), float(weights.sum(axis=1) @ ys / total)
    middle = Point(x, y)
    return middle if middle.distance(place_px) <= REACH_PX * unit else place_px


def _span(middle: float, half: float, length: int) -> tuple[int, int]:
    start = min(max(int(middle - half), 0), length - 1)
    return start, min(max(int(middle + half) + 1, start + 1), length)
