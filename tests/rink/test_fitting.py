"""Estimation from point pairs: exact data, noise, wrong pairs, degenerate figures, and the covariance it claims."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plucc.rink.camera import Camera
from plucc.rink.homography import Homography, fit_homography, propagate_covariance
from plucc.rink.sheet import nhl
from plucc.types import FloatArray, InputError, ShapeError, Size

HD = Size(1280, 720)
CAMERA = Camera.look_at((2.0, -35.0, 13.0), (14.0, 1.0, 0.0), 1300.0, HD, 0.02)
CORNERS_M = np.array([[-5.0, -8.0], [20.0, -9.0], [22.0, 10.0], [-4.0, 11.0]])


def landmark_pairs(camera: Camera) -> tuple[FloatArray, FloatArray]:
    """Landmarks that the camera shows, in pixels and in metres."""
    rink_m = np.unique(np.array([tuple(point) for point in nhl().landmarks.values()]), axis=0)
    image_px = camera.homography().to_image(rink_m)
    shown = ((image_px > 0) & (image_px < (1280, 720))).all(axis=1)
    return image_px[shown], rink_m[shown]


def ice_error_m(found: Homography, true: Homography) -> float:
    ice = np.array([[x, y] for x in (0.0, 10.0, 20.0) for y in (-8.0, 0.0, 8.0)])
    return float(np.hypot(*(found.to_rink(true.to_image(ice)) - ice).T).max())


def test_exact_pairs_give_the_exact_homography() -> None:
    image_px, rink_m = landmark_pairs(CAMERA)
    fit = fit_homography(image_px, rink_m)
    assert fit.inliers.all()
    assert fit.rms_px < 1e-8
    assert ice_error_m(fit.homography, CAMERA.homography()) < 1e-8


@given(
    position=st.tuples(st.floats(-10, 10), st.floats(-45, -25), st.floats(8, 20)),
    target=st.tuples(st.floats(-20, 20), st.floats(-5, 5), st.just(0.0)),
    focal_px=st.floats(800, 2500),
)
@settings(max_examples=50)
def test_four_exact_pairs_are_enough(
    position: tuple[float, float, float], target: tuple[float, float, float], focal_px: float
) -> None:
    true = Camera.look_at(position, target, focal_px, HD).homography()
    fit = fit_homography(true.to_image(CORNERS_M), CORNERS_M)
    np.testing.assert_allclose(fit.homography.to_image(CORNERS_M), true.to_image(CORNERS_M), atol=1e-6)
    inner = np.array([[5.0, 0.0], [10.0, -3.0]])
    np.testing.assert_allclose(fit.homography.to_image(inner), true.to_image(inner), atol=1e-5)
    assert np.isnan(fit.covariance).all()  # four pairs always fit: they say nothing about the noise


@given(seed=st.integers(0, 2**32 - 1), wrong=st.integers(0, 12))
@settings(max_examples=40)
def test_wrong_pairs_are_found_and_left_out(seed: int, wrong: int) -> None:
    rng = np.random.default_rng(seed)
    image_px, rink_m = landmark_pairs(CAMERA)
    assert len(image_px) >= 25
    measured = image_px + rng.normal(0.0, 0.5, image_px.shape)
    chosen = rng.choice(len(measured), wrong, replace=False)
    turn = rng.uniform(0, 2 * np.pi, wrong)
    measured[chosen] += rng.uniform(25, 400, (wrong, 1)) * np.column_stack((np.cos(turn), np.sin(turn)))
    fit = fit_homography(measured, rink_m, rng=rng)
    expected = np.ones(len(measured), dtype=bool)
    expected[chosen] = False
    np.testing.assert_array_equal(fit.inliers, expected)
    assert ice_error_m(fit.homography, CAMERA.homography()) < 0.25
    assert fit.residuals_px[chosen].min(initial=25.0) > 20


def test_the_refined_fit_is_the_least_squares_fit() -> None:
    rng = np.random.default_rng(3)
    image_px, rink_m = landmark_pairs(CAMERA)
    measured = image_px + rng.normal(0.0, 1.0, image_px.shape)
    fit = fit_homography(measured, rink_m, threshold_px=20.0)
    theirs = cv2.findHomography(rink_m, measured, method=0)[0]  # refined by OpenCV in the same, image, direction
    their_px = cv2.perspectiveTransform(rink_m[None], theirs)[0]
    our_cost = np.sum((fit.homography.to_image(rink_m) - measured) ** 2)
    assert our_cost <= np.sum((their_px - measured) ** 2) * (1 + 1e-9)
    np.testing.assert_allclose(fit.homography.to_image(rink_m), their_px, atol=0.02)


def test_the_same_seed_gives_the_same_fit() -> None:
    rng = np.random.default_rng(5)
    image_px, rink_m = landmark_pairs(CAMERA)
    measured = image_px + rng.normal(0.0, 1.0, image_px.shape)
    measured[::3] += 60.0
    first, second = (fit_homography(measured, rink_m, rng=np.random.default_rng(11)) for _ in range(2))
    np.testing.assert_array_equal(first.homography.matrix, second.homography.matrix)
    default, again = (fit_homography(measured, rink_m) for _ in range(2))
    np.testing.assert_array_equal(default.homography.matrix, again.homography.matrix)


@pytest.mark.parametrize("noise_px", [None, 1.0], ids=["noise-estimated", "noise-known"])
def test_the_claimed_covariance_is_the_scatter_of_repeated_fits(noise_px: float | None) -> None:
    rng = np.random.default_rng(1)
    image_px, rink_m = landmark_pairs(CAMERA)
    pixel = CAMERA.homography().to_image(np.array([[12.0, 4.0]]))
    landed, claimed = [], []
    for _ in range(250):
        measured = image_px + rng.normal(0.0, 1.0, image_px.shape)
        fit = fit_homography(measured, rink_m, threshold_px=8.0, noise_px=noise_px)
        landed.append(fit.homography.to_rink(pixel)[0])
        claimed.append(propagate_covariance(pixel, np.zeros((2, 2)), fit.homography.matrix, fit.covariance)[0])
    scatter, claim = np.cov(np.array(landed).T), np.mean(claimed, axis=0)
    np.testing.assert_allclose(scatter, claim, rtol=0.3, atol=0.08 * np.trace(claim))


def test_the_fit_is_the_same_in_other_units() -> None:
    rng = np.random.default_rng(2)
    image_px, rink_m = landmark_pairs(CAMERA)
    measured = image_px + rng.normal(0.0, 1.0, image_px.shape)
    plain = fit_homography(measured, rink_m, threshold_px=10.0)
    shifted = fit_homography(measured * 3.0 + (5000.0, -200.0), rink_m / 0.3048, threshold_px=30.0)
    ice = np.array([[12.0, 4.0], [3.0, -6.0]])
    expected = plain.homography.to_image(ice) * 3.0 + (5000.0, -200.0)
    np.testing.assert_allclose(shifted.homography.to_image(ice / 0.3048), expected, atol=1e-5)
    assert shifted.rms_px == pytest.approx(3 * plain.rms_px)


ON_A_LINE = np.column_stack((np.linspace(-10, 10, 8), np.linspace(-3, 3, 8)))


@pytest.mark.parametrize(
    ("rink_m", "says"),
    [
        (CORNERS_M[:3], "at least 4 point pairs, and there are 3"),
        (ON_A_LINE, "lie on one line"),
        (np.concatenate((ON_A_LINE, [[0.0, 9.0]])), "but for at most one"),
        (np.repeat(CORNERS_M[:3], 3, axis=0), "lie on one line but for at most one"),
        (np.array([*CORNERS_M, [np.nan, 0.0]]), "not finite"),
    ],
    ids=["three", "line", "line-and-one", "three-places", "nan"],
)
def test_degenerate_pairs_are_refused(rink_m: FloatArray, says: str) -> None:
    image_px = CAMERA.homography().to_image(np.nan_to_num(rink_m))
    with pytest.raises(InputError, match=says):
        fit_homography(image_px, rink_m)


def test_image_points_on_a_line_are_refused_too() -> None:
    with pytest.raises(InputError, match="in the image lie on one line"):
        fit_homography(ON_A_LINE[:4] * 50, CORNERS_M)


def test_pairs_must_match_in_number() -> None:
    with pytest.raises(ShapeError, match="pair by pair"):
        fit_homography(np.zeros((5, 2)), np.zeros((4, 2)))


def test_pairs_that_agree_with_nothing_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match=r"point pairs agree|can be one camera's view"):
        fit_homography(rng.uniform(0, 1000, (9, 2)), rng.uniform(-20, 20, (9, 2)), threshold_px=1.0)


def test_crossed_pairs_are_refused() -> None:
    crossed = CAMERA.homography().to_image(CORNERS_M)[[0, 2, 1, 3]]
    with pytest.raises(InputError, match="paired crosswise"):
        fit_homography(crossed, CORNERS_M)
