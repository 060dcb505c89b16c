"""Plane projective maps as 3x3 matrices: pure functions that know no rink and no camera.

A matrix carries its sign: (u, v, w) = matrix (x, y, 1), and only points with w > 0 are in front. Points at or behind
the horizon have no image; they come out as NaN, and `visible_mask` tells which they are.
"""

from functools import reduce

import numpy as np
from jaxtyping import Bool, Float

from plucc.types import FloatArray, InputError, ShapeError

HORIZON_TOLERANCE = 1e-12  # share of its terms that w must keep; below it only rounding error is left


def check_matrix(matrix: FloatArray) -> Float[np.ndarray, "3 3"]:
    """Return the matrix as double precision, or refuse one that maps no plane onto a plane."""
    checked = np.asarray(matrix, dtype=np.float64)
    if checked.shape != (3, 3):
        raise ShapeError(f"the homography has shape {checked.shape}; it must be 3x3: pass the full matrix")
    if not np.isfinite(checked).all():
        raise InputError("the homography has entries that are not finite: leave this frame's homography empty instead")
    if is_singular(checked):
        raise InputError("the homography is singular, it squeezes the plane onto a line: estimate it from other points")
    return checked


def is_singular(matrix: Float[np.ndarray, "3 3"]) -> bool:
    """Tell whether the matrix loses a dimension, judged after scaling away its units (pixels here, metres there)."""
    row_sizes = np.abs(matrix).max(axis=1, keepdims=True)
    if not row_sizes.all():
        return True
    balanced = matrix / row_sizes
    column_sizes = np.abs(balanced).max(axis=0, keepdims=True)
    if not column_sizes.all():
        return True
    values = np.linalg.svd(balanced / column_sizes, compute_uv=False)
    return bool(values[2] <= 1e-10 * values[0])


def _homogeneous(points: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 3"]:
    return np.column_stack((points, np.ones(len(points))))


def visible_mask(points: Float[np.ndarray, "n 2"], matrix: Float[np.ndarray, "3 3"]) -> Bool[np.ndarray, " n"]:
    """Tell which points the matrix maps to a finite place in front of the viewer."""
    homogeneous = _homogeneous(points)
    weight = homogeneous @ matrix[2]
    terms = np.abs(homogeneous) @ np.abs(matrix[2])
    return np.asarray(weight > HORIZON_TOLERANCE * terms, dtype=np.bool_)


def project(points: Float[np.ndarray, "n 2"], matrix: Float[np.ndarray, "3 3"]) -> Float[np.ndarray, "n 2"]:
    """Return the images of points, (u / w, v / w); NaN for those at or behind the horizon."""
    mapped = _homogeneous(points) @ np.asarray(matrix, dtype=np.float64).T
    weight = np.where(visible_mask(points, matrix), mapped[:, 2], np.nan)
    return np.asarray(mapped[:, :2] / weight[:, None])


def compose(*matrices: Float[np.ndarray, "3 3"]) -> Float[np.ndarray, "3 3"]:
    """Return the map that applies the given ones in reading order, the first one first."""
    return reduce(lambda first, then: then @ first, matrices, np.eye(3))


def point_jacobian(points: Float[np.ndarray, "n 2"], matrix: Float[np.ndarray, "3 3"]) -> Float[np.ndarray, "n 2 2"]:
    """Return how each image moves with its point: d(u/w, v/w) / d(x, y)."""
    weight = (_homogeneous(points) @ matrix[2])[:, None, None]
    images = project(points, matrix)
    return np.asarray((matrix[None, :2, :2] - images[:, :, None] * matrix[2, :2]) / weight)


def matrix_jacobian(points: Float[np.ndarray, "n 2"], matrix: Float[np.ndarray, "3 3"]) -> Float[np.ndarray, "n 2 9"]:
    """Return how each image moves with the nine entries of the matrix, row by row."""
    homogeneous = _homogeneous(points)
    images = project(points, matrix)
    scaled = homogeneous / (homogeneous @ matrix[2])[:, None]
    jacobian = np.zeros((len(points), 2, 9))
    jacobian[:, 0, 0:3] = scaled
    jacobian[:, 1, 3:6] = scaled
    jacobian[:, :, 6:9] = -images[:, :, None] * scaled[:, None, :]
    return jacobian


def propagate_covariance(
    points: Float[np.ndarray, "n 2"],
    point_covariance: Float[np.ndarray, "n 2 2"] | Float[np.ndarray, "2 2"],
    matrix: Float[np.ndarray, "3 3"],
    matrix_covariance: Float[np.ndarray, "9 9"] | None = None,
) -> Float[np.ndarray, "n 2 2"]:
    """Return the covariance of each image, to first order: J S J^T of the point plus that of the matrix itself.

    `matrix_covariance` is over the entries row by row, at the scale of the given matrix; point and matrix are taken
    to be independent. First order understates the spread where the spread reaches towards the horizon. NaN behind it.
    """
    by_point = point_jacobian(points, matrix)
    covariance = by_point @ point_covariance @ by_point.transpose(0, 2, 1)
    if matrix_covariance is not None:
        by_matrix = matrix_jacobian(points, matrix)
        covariance = covariance + by_matrix @ matrix_covariance @ by_matrix.transpose(0, 2, 1)
    return np.asarray(covariance)
