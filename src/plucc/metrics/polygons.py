"""Convex polygons, many at a time: exact clipping by half-planes (Sutherland and Hodgman), and areas.

Polygons are (n, v, 2) arrays. One with fewer corners repeats its last one; one that was clipped away shrinks to a
point. Neither changes an area.
"""

import numpy as np
from jaxtyping import Float

from plucc.types import InputError


def clip(polygons: Float[np.ndarray, "n v 2"], lines: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n u 2"]:
    """Return what of each convex polygon lies where a·x + b·y + c ≥ 0, given a line (a, b, c) for each.

    >>> square = np.array([[[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]]])
    >>> areas(clip(square, np.array([[1.0, 0.0, -0.5]])))
    array([3.])
    """
    side = np.einsum("nvi,ni->nv", polygons, lines[:, :2]) + lines[:, 2:]
    next_side, next_corner = np.roll(side, -1, axis=1), np.roll(polygons, -1, axis=1)
    is_inside = side >= 0
    crosses = is_inside != (next_side >= 0)
    share = np.divide(side, side - next_side, out=np.zeros_like(side), where=crosses)
    crossing = polygons + share[..., None] * (next_corner - polygons)
    corners = np.stack((polygons, crossing), axis=2).reshape(len(polygons), -1, 2)
    is_kept = np.stack((is_inside, crosses), axis=2).reshape(len(polygons), -1)
    return _compact(corners, is_kept)


def _compact(corners: Float[np.ndarray, "n w 2"], is_kept: np.ndarray) -> Float[np.ndarray, "n u 2"]:
    kept_first = np.argsort(~is_kept, axis=1, kind="stable")
    count = is_kept.sum(axis=1)
    place = np.minimum(np.arange(max(int(count.max(initial=0)), 1))[None, :], np.maximum(count - 1, 0)[:, None])
    rows = np.take_along_axis(kept_first, place, axis=1)
    return np.take_along_axis(corners, rows[..., None], axis=1)


def clip_all(polygons: Float[np.ndarray, "n v 2"], lines: Float[np.ndarray, "n k 3"]) -> Float[np.ndarray, "n u 2"]:
    """Return what of each convex polygon lies on the right side of all of its lines."""
    for number in range(lines.shape[1]):
        polygons = clip(polygons, lines[:, number])
    return polygons


def areas(polygons: Float[np.ndarray, "n v 2"]) -> Float[np.ndarray, " n"]:
    """Return the area of each polygon."""
    corners = polygons - polygons[:, :1]
    following = np.roll(corners, -1, axis=1)
    doubled = (corners[..., 0] * following[..., 1] - corners[..., 1] * following[..., 0]).sum(axis=1)
    return np.asarray(np.abs(doubled) / 2)


def edge_lines(polygon: Float[np.ndarray, "k 2"]) -> Float[np.ndarray, "k 3"]:
    """Return the lines along the edges of one convex polygon, positive inside; corners may run either way around."""
    following = np.roll(polygon, -1, axis=0)
    along = following - polygon
    doubled = float((polygon[:, 0] * following[:, 1] - polygon[:, 1] * following[:, 0]).sum())
    turns = along[:, 0] * np.roll(along[:, 1], -1) - along[:, 1] * np.roll(along[:, 0], -1)
    if doubled == 0 or (turns * np.sign(doubled) < -1e-9 * np.abs(doubled)).any():
        raise InputError("the field is not a convex polygon: give its corners in order, without dents")
    inward = np.stack((-along[:, 1], along[:, 0]), axis=1) * np.sign(doubled)
    return np.concatenate((inward, -(inward * polygon).sum(axis=1, keepdims=True)), axis=1)
