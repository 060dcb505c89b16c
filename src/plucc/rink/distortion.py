"""Radial lens distortion: how far from the axis a ray lands, and back.

Radii are in focal lengths. The undistorted radius r lands at r (1 + k1 r^2 + k2 r^4): k1 < 0 is a barrel, k1 > 0 a
pincushion. The polynomial may turn around far out, where it folds the world back into the picture. The map is used
only up to there.
"""

from math import inf, sqrt

import numpy as np
from jaxtyping import Float

MIN_SLOPE = 0.05  # a radius that grows slower than this can no longer be inverted to a useful precision
NEWTON_STEPS = 60
NO_FOLD = 1e-12  # coefficients so small that the fold lies a million focal lengths out


def distorted_radius(radius: Float[np.ndarray, " n"], k1: float, k2: float) -> Float[np.ndarray, " n"]:
    """Return where rays land; NaN beyond the fold."""
    landed = _polynomial(radius, k1, k2)
    return np.where(radius <= fold_radius(k1, k2), landed, np.nan)


def undistorted_radius(distorted: Float[np.ndarray, " n"], k1: float, k2: float) -> Float[np.ndarray, " n"]:
    """Return the radius whose distortion is the given one; NaN where no ray before the fold lands there.

    Newton's method kept inside a bracket: the radius rises everywhere in it, so there is exactly one answer.
    """
    if k1 == 0.0 and k2 == 0.0:
        return np.array(distorted, dtype=np.float64)
    low = np.zeros_like(distorted)
    high = np.minimum(fold_radius(k1, k2), distorted / MIN_SLOPE)
    radius = np.minimum(distorted, high)
    for _ in range(NEWTON_STEPS):
        excess = _polynomial(radius, k1, k2) - distorted
        low = np.where(excess <= 0, radius, low)
        high = np.where(excess >= 0, radius, high)
        step = radius - excess / np.maximum(_slope(radius, k1, k2), MIN_SLOPE)
        following = np.where((step >= low) & (step <= high), step, (low + high) / 2)
        settled = not (np.abs(following - radius) > 1e-15 * radius).any()
        radius = following
        if settled:
            break
    return np.where(distorted <= fold_limit(k1, k2), radius, np.nan)


def fold_radius(k1: float, k2: float) -> float:
    """Return the undistorted radius up to which the distortion is invertible; infinite when it never folds."""
    # slope = 1 + 3 k1 s + 5 k2 s^2 with s = r^2; the smallest s > 0 at which it falls to MIN_SLOPE
    room = 1.0 - MIN_SLOPE
    discriminant = 9 * k1 * k1 - 20 * k2 * room
    if discriminant < 0:
        return inf
    # the form with the root in the denominator stays exact when k2 is zero or tiny; of two folds this is the nearer
    denominator = -3 * k1 + sqrt(discriminant)
    return sqrt(2 * room / denominator) if denominator > NO_FOLD else inf


def fold_limit(k1: float, k2: float) -> float:
    """Return the largest distorted radius that can be undone."""
    fold = fold_radius(k1, k2)
    return inf if fold == inf else float(_polynomial(np.array(fold), k1, k2))


def _polynomial(radius: Float[np.ndarray, "..."], k1: float, k2: float) -> Float[np.ndarray, "..."]:
    square = radius * radius
    return np.asarray(radius * (1.0 + square * (k1 + square * k2)))


def _slope(radius: Float[np.ndarray, "..."], k1: float, k2: float) -> Float[np.ndarray, "..."]:
    square = radius * radius
    return np.asarray(1.0 + square * (3 * k1 + square * 5 * k2))
