"""Patches show what lies around a place, with the place at their centre."""

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plucc.patches import patches_around
from plucc.types import FloatArray, ImageArray, ShapeError

HEIGHT, WIDTH = 240, 320


def with_dot(x: float, y: float, sigma_px: float) -> ImageArray:
    """Black, with a soft white dot whose centre of mass is exactly at a place."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    dot = 255 * np.exp(-((columns - x) ** 2 + (rows - y) ** 2) / (2 * sigma_px**2))
    return np.repeat(np.rint(dot)[..., None], 3, axis=2).astype(np.uint8)


def centre_of_mass(patch: ImageArray) -> FloatArray:
    light = patch[..., 0].astype(np.float64)
    rows, columns = np.mgrid[: light.shape[0], : light.shape[1]] + 0.5
    return np.array([(light * columns).sum(), (light * rows).sum()]) / light.sum()


@given(
    x=st.floats(60, WIDTH - 60),
    y=st.floats(60, HEIGHT - 60),
    window_px=st.floats(20, 110),
    side_px=st.sampled_from([16, 24, 32, 33, 96]),
)
def test_a_dot_at_the_place_is_at_the_centre_of_the_patch(x: float, y: float, window_px: float, side_px: int) -> None:
    """Within a twentieth of a pixel, the frame's or the patch's, whichever is larger: OpenCV samples in 32nds."""
    image = with_dot(x, y, sigma_px=window_px / 12)
    patch = patches_around(image, np.array([[x, y]]), [window_px], side_px, scale=1.0)[0, 0]
    off_patch_px = centre_of_mass(patch) - side_px / 2
    assert np.abs(off_patch_px).max() < 0.05 * max(1.0, side_px / window_px)


@given(scale=st.floats(0.5, 2.5))
def test_the_scale_keeps_what_a_window_shows(scale: float) -> None:
    """A dot that is a tenth of the window is a tenth of the patch, however many lines the frame has."""
    window_px, side_px = 60.0, 48
    sigma_px = window_px / 10 / scale
    patch = patches_around(with_dot(160, 120, sigma_px), np.array([[160.0, 120.0]]), [window_px], side_px, scale=scale)
    light = patch[0, 0, ..., 0].astype(np.float64)
    columns = np.arange(side_px) + 0.5 - side_px / 2
    spread = np.sqrt((light * columns**2).sum() / light.sum())
    assert spread == pytest.approx(side_px / 10, rel=0.1)


def test_the_scale_follows_from_the_frame_s_height() -> None:
    image = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
    places = np.array([[100.0, 80.0], [7.5, 200.25]])
    expected = patches_around(image, places, [64, 192], 32, scale=720 / HEIGHT)
    np.testing.assert_array_equal(patches_around(image, places, [64, 192], 32), expected)
    assert expected.shape == (2, 2, 32, 32, 3)


def test_a_window_of_its_own_size_is_cut_out_as_it_is() -> None:
    image = np.random.default_rng(1).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
    patch = patches_around(image, np.array([[100.0, 80.0]]), [32], 32, scale=1.0)[0, 0]
    np.testing.assert_array_equal(patch, image[64:96, 84:116])


def test_a_larger_window_is_averaged() -> None:
    image = np.random.default_rng(2).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
    patch = patches_around(image, np.array([[100.0, 80.0]]), [96], 32, scale=1.0)[0, 0]
    expected = cv2.resize(image[32:128, 52:148], (32, 32), interpolation=cv2.INTER_AREA)
    np.testing.assert_allclose(patch, expected, atol=1)


def test_beyond_the_frame_all_is_black() -> None:
    image = np.full((HEIGHT, WIDTH, 3), 200, np.uint8)
    corner = patches_around(image, np.array([[0.0, 0.0]]), [32, 64, 96, 150], 32, scale=1.0)[0]
    for patch in corner:
        assert not patch[:15].any()
        assert not patch[:, :15].any()
        assert (patch[17:, 17:] == 200).all()
    assert not patches_around(image, np.array([[-500.0, 40.0]]), [32, 150], 32, scale=1.0).any()


def test_no_place_gives_no_patch_and_other_shapes_are_refused() -> None:
    image = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    assert patches_around(image, np.empty((0, 2)), [64], 32).shape == (0, 1, 32, 32, 3)
    with pytest.raises(ShapeError, match=r"places have shape \(2,\)"):
        patches_around(image, np.array([1.0, 2.0]), [64], 32)
