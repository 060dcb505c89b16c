"""Pucks painted over, decoys, and pucks carried elsewhere."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from plucc.training.painting import (
    Painter,
    paint_by_flow,
    paint_decoy,
    paint_from_nearby,
    paint_from_rim,
    paint_out,
    transplant,
)
from plucc.training.sample import Sample
from plucc.types import Point

PUCK = Point(60.5, 50.5)
EXTENT = (10.0, 8.0)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.fixture
def sample(rng: np.random.Generator) -> Sample:
    """Draw grainy ice, brighter to the right, with a dark puck."""
    image = np.repeat(np.linspace(170, 215, 160)[None, :, None], 120, axis=0).repeat(3, axis=2)
    image = np.clip(image + rng.normal(0, 3, image.shape), 0, 255).astype(np.uint8)
    cv2.ellipse(image, (60, 50), (4, 3), 0, 0, 360, (20, 20, 25), -1)
    return Sample(image, np.zeros((60, 80), np.uint8), PUCK, EXTENT)


@pytest.mark.parametrize(
    "painter", [paint_from_rim, paint_from_nearby, paint_by_flow], ids=lambda painter: painter.__name__
)
def test_puck_is_gone_and_the_rest_untouched(painter: Painter, sample: Sample, rng: np.random.Generator) -> None:
    before = sample.image.copy()
    painted = painter(sample.image, PUCK, EXTENT, rng)
    np.testing.assert_array_equal(sample.image, before)  # cached pixels are shared
    assert painted[44:58, 52:70].min() > 140
    changed = np.argwhere((painted != before).any(axis=2))
    assert np.abs(changed - (50, 60)).max() < 14


@pytest.mark.parametrize(
    "painter", [paint_from_rim, paint_from_nearby, paint_by_flow], ids=lambda painter: painter.__name__
)
def test_paint_has_the_grain_of_its_surroundings(painter: Painter, sample: Sample, rng: np.random.Generator) -> None:
    inside = painter(sample.image, PUCK, EXTENT, rng)[47:54, 57:64].astype(float)
    grain = inside - cv2.GaussianBlur(inside, (0, 0), 1.5)
    outside = sample.image[80:100, 100:140].astype(float)
    assert 0.4 < grain.std() / (outside - cv2.GaussianBlur(outside, (0, 0), 1.5)).std() < 2.0


@pytest.mark.parametrize(
    "place", [Point(0.5, 0.5), Point(159.5, 119.5), Point(-300.0, 20.0)], ids=["corner", "far-corner", "outside"]
)
@pytest.mark.parametrize(
    "painter", [paint_from_rim, paint_from_nearby, paint_by_flow], ids=lambda painter: painter.__name__
)
def test_paint_at_the_edge_stays_in_the_picture(
    painter: Painter, place: Point, sample: Sample, rng: np.random.Generator
) -> None:
    assert painter(sample.image, place, EXTENT, rng).shape == sample.image.shape


def test_painted_out_frame_has_no_puck(sample: Sample, rng: np.random.Generator) -> None:
    assert paint_out(sample, rng).point_px is None


def test_decoy_leaves_puck_and_label_alone(sample: Sample, rng: np.random.Generator) -> None:
    painted = paint_decoy(sample, Point(80, 60), 50, rng)
    assert painted.point_px == PUCK
    assert (painted.image != sample.image).any()
    np.testing.assert_array_equal(painted.image[44:58, 52:70], sample.image[44:58, 52:70])


def test_transplanted_puck_is_dark_at_its_new_label_only(sample: Sample) -> None:
    for seed in range(16):
        moved = transplant(sample, np.random.default_rng(seed))
        assert moved.point_px is not None
        assert moved.point_px.distance(PUCK) > 3
        darkness = np.clip(np.linspace(170, 215, 160)[None, :] - 8 - moved.image.mean(axis=2), 0, None)
        assert darkness.max() > 3  # the palest streak still shows
        y, x = np.mgrid[:120, :160] + 0.5
        centre = Point(float((x * darkness).sum() / darkness.sum()), float((y * darkness).sum() / darkness.sum()))
        assert centre.distance(moved.point_px) < 2.0


def test_nothing_is_transplanted_where_there_is_no_bright_ice(sample: Sample, rng: np.random.Generator) -> None:
    dark = replace(sample, image=(sample.image // 3))
    assert transplant(dark, rng) is dark
    crowded = replace(sample, players=np.full((60, 80), 255, np.uint8))
    assert transplant(crowded, rng).point_px == PUCK


def test_some_pucks_fly_before_bright_boards_and_none_before_the_dark(sample: Sample) -> None:
    image = sample.image.copy()
    image[:40] = np.where((np.arange(160) // 6 % 2 == 0)[None, :, None], (250, 210, 20), (250, 250, 250))
    image[80:] = 30
    landings = []
    for seed in range(60):
        landed = transplant(replace(sample, image=image), np.random.default_rng(seed)).point_px
        assert landed is not None
        landings.append(landed.y)
    assert max(landings) < 84
    assert 3 <= sum(y < 38 for y in landings) <= 30
