"""The camera's derivatives against finite differences, its ground covariance against random draws."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plucc.rink.camera import Camera
from plucc.rink.pose import PARAMETERS, ground_covariance, parameters, projection_jacobians, with_parameters
from plucc.types import FloatArray, Point, Size

CAMERA = replace(
    Camera.look_at((2.0, -35.0, 13.0), (8.0, 1.0, 0.0), 1500.0, Size(1280, 720), 0.05),
    k1=-0.08,
    k2=0.02,
    principal_px=Point(650.0, 350.0),
    pixel_aspect=1.05,
)
STEPS = np.array([1e-4, 1e-4, 1e-4, 1e-6, 1e-6, 1e-6, 1e-2, 1e-6, 1e-6])
solid_points = st.lists(st.tuples(st.floats(-8, 20), st.floats(-12, 12), st.floats(0, 3)), min_size=1, max_size=8).map(
    np.array
)


def test_parameters_round_trip() -> None:
    assert with_parameters(CAMERA, parameters(CAMERA)) == CAMERA
    assert len(parameters(CAMERA)) == len(PARAMETERS) == 9


@given(points=solid_points)
def test_derivatives_match_finite_differences(points: FloatArray) -> None:
    by_point, by_parameter = projection_jacobians(CAMERA, points)
    for axis, step in enumerate(np.eye(3) * 1e-4):
        slope = (CAMERA.project(points + step) - CAMERA.project(points - step)) / 2e-4
        np.testing.assert_allclose(by_point[:, :, axis], slope, rtol=1e-5, atol=1e-4)
    for index, size in enumerate(STEPS):
        step = np.zeros(9)
        step[index] = size
        ahead, behind = (with_parameters(CAMERA, parameters(CAMERA) + sign * step).project(points) for sign in (1, -1))
        np.testing.assert_allclose(
            by_parameter[:, :, index], (ahead - behind) / (2 * size), rtol=1e-4, atol=1e-3, err_msg=PARAMETERS[index]
        )


def test_behind_the_camera_there_is_no_derivative() -> None:
    by_point, by_parameter = projection_jacobians(CAMERA, np.array([[0.0, -90.0, 0.0], [5.0, 0.0, 0.0]]))
    assert np.isnan(by_point[0]).all()
    assert np.isnan(by_parameter[0, :, :3]).all()
    assert np.isfinite(by_point[1]).all()
    assert np.isfinite(by_parameter[1]).all()


@pytest.mark.parametrize("source", ["pixel", "pose", "height"])
def test_ground_covariance_matches_random_draws(source: str) -> None:
    rng = np.random.default_rng(4)
    height_m, count = 0.3, 2000
    pixel = CAMERA.project(np.array([[10.0, 5.0, height_m]]))
    pixel_sigma = 1.5 if source == "pixel" else 0.0
    pose_sigma = (source == "pose") * np.array([0.05, 0.05, 0.05, 1e-3, 1e-3, 2e-3, 8.0, 3e-3, 3e-3])
    height_sigma = 0.1 if source == "height" else 0.0
    landed = np.array(
        [
            with_parameters(CAMERA, parameters(CAMERA) + rng.normal(size=9) * pose_sigma).back_project(
                pixel + rng.normal(size=(1, 2)) * pixel_sigma, height_m + rng.normal() * height_sigma
            )[0]
            for _ in range(count)
        ]
    )
    expected = ground_covariance(
        CAMERA,
        pixel,
        pixel_sigma**2 * np.eye(2),
        pose_covariance=np.diag(pose_sigma**2),
        height_m=height_m,
        height_sigma_m=height_sigma,
    )[0]
    assert np.trace(expected) > 1e-4
    np.testing.assert_allclose(np.cov(landed.T), expected, rtol=0.12, atol=0.05 * np.trace(expected))


def test_sources_of_error_add_up_and_the_sky_has_none() -> None:
    pixels = np.array([[700.0, 400.0], [700.0, -3000.0]])
    pose = np.diag(np.full(9, 1e-6))
    alone = ground_covariance(CAMERA, pixels, np.eye(2))
    posed = ground_covariance(CAMERA, pixels, np.zeros((2, 2)), pose_covariance=pose)
    risen = ground_covariance(CAMERA, pixels, np.zeros((2, 2)), height_sigma_m=0.2)
    every = ground_covariance(CAMERA, pixels, np.eye(2), pose_covariance=pose, height_sigma_m=0.2)
    np.testing.assert_allclose(every[0], alone[0] + posed[0] + risen[0])
    assert np.isnan(every[1]).all()
