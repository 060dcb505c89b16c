"""Derivatives against finite differences, covariances against random draws."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from plucc.rink.camera import Camera
from plucc.rink.projective import matrix_jacobian, point_jacobian, project, propagate_covariance
from plucc.types import FloatArray, Size

CAMERA = Camera.look_at((2.0, -35.0, 13.0), (8.0, 1.0, 0.0), 1500.0, Size(1280, 720), 0.02)
MATRIX = CAMERA.homography().matrix
pixels = st.lists(st.tuples(st.floats(0, 1280), st.floats(150, 720)), min_size=1, max_size=8).map(np.array)


@given(points=pixels)
def test_derivatives_match_finite_differences(points: FloatArray) -> None:
    by_point = point_jacobian(points, MATRIX)
    for axis, step in enumerate(np.eye(2) * 1e-4):
        slope = (project(points + step, MATRIX) - project(points - step, MATRIX)) / 2e-4
        np.testing.assert_allclose(by_point[:, :, axis], slope, rtol=1e-5, atol=1e-8)
    by_matrix = matrix_jacobian(points, MATRIX)
    for entry in range(9):
        size = 1e-4 / max(
            np.abs(by_matrix[:, :, entry]).max(), 1.0
        )  # moves no image by more than a tenth of a millimetre
        change = np.zeros(9)
        change[entry] = size
        ahead, behind = (project(points, MATRIX + sign * change.reshape(3, 3)) for sign in (1, -1))
        np.testing.assert_allclose(by_matrix[:, :, entry], (ahead - behind) / (2 * size), rtol=1e-4, atol=1e-7 / size)


def test_covariance_matches_random_draws() -> None:
    rng = np.random.default_rng(7)
    point = np.array([700.0, 500.0])
    point_covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    spread = np.abs(MATRIX.ravel()) * 1e-3
    matrix_covariance = np.diag(spread**2)
    draws_px = rng.multivariate_normal(point, point_covariance, size=40_000)
    matrices = MATRIX + (rng.normal(size=(40_000, 9)) * spread).reshape(-1, 3, 3)
    landed = np.array([project(px[None], matrix)[0] for px, matrix in zip(draws_px, matrices, strict=True)])
    expected = propagate_covariance(point[None], point_covariance, MATRIX, matrix_covariance)[0]
    np.testing.assert_allclose(np.cov(landed.T), expected, rtol=0.05, atol=0.02 * np.trace(expected))
    without = propagate_covariance(point[None], point_covariance, MATRIX)[0]
    assert np.trace(without) < 0.9 * np.trace(expected)  # the matrix's share is really there


def test_every_point_may_have_its_own_covariance() -> None:
    points = np.array([[300.0, 400.0], [900.0, 600.0], [640.0, -5000.0]])
    each = np.array([np.eye(2), 4 * np.eye(2), np.eye(2)])
    together = propagate_covariance(points, each, MATRIX)
    alone = propagate_covariance(points[1:2], np.eye(2), MATRIX)
    np.testing.assert_allclose(together[1], 4 * alone[0])
    assert np.isnan(together[2]).all()  # above the horizon


def test_far_pucks_are_less_certain_than_near_ones() -> None:
    ice = np.array([[2.0, -10.0], [2.0, 10.0]])
    covariance = propagate_covariance(CAMERA.homography().to_image(ice), np.eye(2), MATRIX)
    assert np.trace(covariance[1]) > np.trace(covariance[0])
