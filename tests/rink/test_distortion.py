"""Radial distortion against its own inverse and against brute force."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plucc.rink.distortion import MIN_SLOPE, distorted_radius, fold_limit, fold_radius, undistorted_radius

coefficients = st.floats(-0.5, 0.5)
radii = st.lists(st.floats(0.0, 2.0), min_size=1, max_size=30).map(np.array)


@given(k1=coefficients, k2=coefficients, radius=radii)
def test_distortion_is_undone(k1: float, k2: float, radius: np.ndarray) -> None:
    landed = distorted_radius(radius, k1, k2)
    followed = ~np.isnan(landed)
    assert followed[radius < fold_radius(k1, k2)].all()
    np.testing.assert_allclose(undistorted_radius(landed, k1, k2)[followed], radius[followed], atol=1e-12)


@given(k1=coefficients, k2=coefficients, distorted=radii)
def test_undistortion_is_distorted_back(k1: float, k2: float, distorted: np.ndarray) -> None:
    radius = undistorted_radius(distorted, k1, k2)
    reachable = distorted <= fold_limit(k1, k2)
    np.testing.assert_array_equal(np.isnan(radius), ~reachable)
    np.testing.assert_allclose(distorted_radius(radius[reachable], k1, k2), distorted[reachable], atol=1e-12)


@given(k1=coefficients, k2=coefficients)
def test_the_fold_is_where_the_slope_dies(k1: float, k2: float) -> None:
    fold = fold_radius(k1, k2)
    radius = np.linspace(0.0, 50.0, 20001)
    slope = 1 + 3 * k1 * radius**2 + 5 * k2 * radius**4
    flat = radius[slope < MIN_SLOPE - 1e-9]
    if len(flat):
        assert flat[0] - 0.0026 <= fold <= flat[0]
    else:
        assert fold == inf or fold >= 49.9 or np.isclose(slope.min(), MIN_SLOPE, atol=1e-2)


def test_known_folds() -> None:
    assert fold_radius(0.0, 0.0) == inf
    assert fold_radius(0.3, 0.1) == inf
    assert fold_radius(-0.1, 0.0) == pytest.approx(np.sqrt((1 - MIN_SLOPE) / 0.3))
    assert fold_radius(0.0, -0.1) == pytest.approx(((1 - MIN_SLOPE) / 0.5) ** 0.25)
    assert np.isnan(undistorted_radius(np.array([3.0]), -0.1, 0.0)).all()
    assert np.isnan(undistorted_radius(np.array([np.nan]), -0.1, 0.0)).all()
