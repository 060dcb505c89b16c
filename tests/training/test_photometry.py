"""Pixels change, the puck stays where it is, and chance comes from the generator alone."""

import numpy as np
import pytest

from plucc.config import AugmentSpec
from plucc.training import photometry
from plucc.types import ImageArray, Point

ALL = AugmentSpec(
    colour=1, hue=1, sharpen=1, blur=1, streak=1, noise=1, interlace=1, rescale=1, overlay=1, recompress=1
)


@pytest.fixture
def image() -> ImageArray:
    picture = np.full((96, 128, 3), 190, np.uint8)
    picture[40:48, 60:70] = 20
    return picture


def test_same_generator_same_picture(image: ImageArray) -> None:
    first, second = (photometry.degrade(image, Point(65, 44), ALL, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    other = photometry.degrade(image, Point(65, 44), ALL, np.random.default_rng(6))
    assert (first != other).any()


def test_nothing_asked_nothing_done(image: ImageArray) -> None:
    spec = AugmentSpec(blur=0, noise=0)
    np.testing.assert_array_equal(photometry.degrade(image, None, spec, np.random.default_rng(0)), image)


def test_input_is_never_written_into(image: ImageArray) -> None:
    image.flags.writeable = False
    for seed in range(10):
        photometry.degrade(image, Point(65, 44), ALL, np.random.default_rng(seed))


def test_puck_stays_the_darkest_place(image: ImageArray) -> None:
    spec = ALL.model_copy(update={"overlay": 0.0})
    for seed in range(20):
        grey = photometry.degrade(image, Point(65, 44), spec, np.random.default_rng(seed)).mean(axis=2)
        weight = np.clip(np.median(grey) - grey, 0, None) ** 4
        y, x = np.mgrid[:96, :128] + 0.5
        assert abs(float((x * weight).sum() / weight.sum()) - 65) < 1.5
        assert abs(float((y * weight).sum() / weight.sum()) - 44) < 1.5


@pytest.mark.parametrize("angle", [0.0, 0.7, np.pi / 2, 2.5])
def test_line_kernel_keeps_brightness_and_centre(angle: float) -> None:
    kernel = photometry.line_kernel(9.0, angle)
    half = kernel.shape[0] // 2
    y, x = np.mgrid[-half : half + 1, -half : half + 1]
    assert kernel.sum() == pytest.approx(1, abs=1e-5)
    assert (kernel * x).sum() == pytest.approx(0, abs=1e-5)
    assert (kernel * y).sum() == pytest.approx(0, abs=1e-5)
    spread = np.sqrt((kernel * (x * np.cos(angle) + y * np.sin(angle)) ** 2).sum())
    assert spread == pytest.approx(9 / np.sqrt(12), rel=0.2)


def test_graphics_never_cover_the_puck(image: ImageArray) -> None:
    drawn = 0
    for seed in range(200):
        picture = photometry.overlay(image, Point(65, 44), np.random.default_rng(seed))
        np.testing.assert_array_equal(picture[36:52, 56:74], image[36:52, 56:74])
        drawn += bool((picture != image).any())
    assert drawn > 80


def test_saturation_keeps_grey_grey(image: ImageArray) -> None:
    out = photometry.recolour(image, np.random.default_rng(1))
    assert out.dtype == np.uint8
    assert out.shape == image.shape


def test_hues_turn_and_greys_stay(image: ImageArray) -> None:
    image[:20] = (200, 40, 40)
    for seed in range(20):
        turned = photometry.turn_hues(image, np.random.default_rng(seed)).astype(int)
        np.testing.assert_allclose(turned[20:], image[20:], atol=1)
    seen = {tuple(photometry.turn_hues(image, np.random.default_rng(seed))[0, 0]) for seed in range(40)}
    assert len(seen) > 20
    assert any(max(colour) - min(colour) <= 1 for colour in seen)


def test_sharpening_puts_a_halo_around_the_puck_and_leaves_even_ice(image: ImageArray) -> None:
    sharp = photometry.sharpen(image, 1.0, 1.0)
    assert sharp[44, 70].max() > image[44, 70].max()
    assert sharp[44, 69].min() < image[44, 69].min()
    np.testing.assert_array_equal(sharp[:30], image[:30])


def test_interlaced_pictures_keep_the_puck_s_place_and_lose_lines(image: ImageArray) -> None:
    image[::2, :20] = 90  # every second line of a corner
    woven, doubled = 0, 0
    for seed in range(20):
        seen = photometry.interlace(image, np.random.default_rng(seed)).astype(float)
        dark = np.clip(150 - seen[36:52, 40:90].mean(axis=2), 0, None)
        y, x = np.mgrid[36:52, 40:90] + 0.5
        assert float((x * dark).sum() / dark.sum()) == pytest.approx(65, abs=0.3)
        assert float((y * dark).sum() / dark.sum()) == pytest.approx(44, abs=0.8)
        rows = seen[40:48, :, 0]
        woven += bool(np.abs(rows[0] - rows[1]).max() > 60)
        doubled += bool(np.ptp(seen[10:80, 5, 0]) < 1)
    assert woven > 4
    assert doubled > 4
    assert woven + doubled == 20
