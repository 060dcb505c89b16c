"""A dark spot's middle is found to a fraction of a pixel, and nothing else moves a place."""

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plucc.centring import REACH_PX, centred
from plucc.types import ImageArray, Point

FINE = 8  # sub-pixels a side


def spot(centre: Point, height: int = 90, radius_px: float = 4.0, ice: int = 220) -> ImageArray:
    """Draw a dark disc on ice, averaged down from sub-pixels; coordinates count from the corner of the first pixel."""
    width = height * 16 // 9
    rows, columns = (np.arange(count * FINE) + 0.5 for count in (height, width))
    away = np.hypot(rows[:, None] / FINE - centre.y, columns[None] / FINE - centre.x)
    fine = np.where(away <= radius_px, 40, ice).astype(np.float32)
    grey = cv2.resize(fine, (width, height), interpolation=cv2.INTER_AREA)
    return np.repeat(np.round(grey).astype(np.uint8)[..., None], 3, axis=2)


def on_720_lines(picture: ImageArray) -> ImageArray:
    """Lay a picture into the upper left corner of a frame of 720 lines."""
    frame = np.full((720, 1280, 3), 220, np.uint8)
    frame[: picture.shape[0], : picture.shape[1]] = picture
    return frame


@given(
    x=st.floats(20, 130),
    y=st.floats(20, 70),
    angle=st.floats(0, 2 * np.pi),
    off_px=st.floats(0, 1.5),
    seed=st.integers(0, 99),
)
def test_a_spot_is_centred_from_nearby(x: float, y: float, angle: float, off_px: float, seed: int) -> None:
    frame = on_720_lines(spot(Point(x, y)))
    noise = np.random.default_rng(seed).normal(0, 3, frame.shape)
    noisy = np.clip(frame + noise, 0, 255).astype(np.uint8)
    found = centred(noisy, Point(x + off_px * np.cos(angle), y + off_px * np.sin(angle)))
    assert found.distance(Point(x, y)) < 0.3


@given(x=st.floats(0, 1280, exclude_max=True), y=st.floats(0, 720, exclude_max=True), seed=st.integers(0, 9))
def test_no_place_moves_further_than_its_reach(x: float, y: float, seed: int) -> None:
    blocks = np.random.default_rng(seed).integers(0, 256, (90, 160, 3)).astype(np.uint8)
    frame = np.asarray(cv2.resize(blocks, (1280, 720), interpolation=cv2.INTER_CUBIC), np.uint8)
    assert centred(frame, Point(x, y)).distance(Point(x, y)) <= REACH_PX


def test_bare_ice_moves_nothing() -> None:
    frame = np.full((720, 1280, 3), 220, np.uint8)
    assert centred(frame, Point(300.25, 200.5)) == Point(300.25, 200.5)


def test_a_bright_spot_is_no_puck() -> None:
    frame = on_720_lines(255 - spot(Point(60.0, 40.0), ice=215))
    frame[90:], frame[:, 160:] = 40, 40
    assert centred(frame, Point(61.0, 40.0)).distance(Point(60.0, 40.0)) > 0.5


@pytest.mark.parametrize("times", [0.5, 2, 3])
def test_lengths_go_with_the_size_of_the_frame(times: float) -> None:
    frame = on_720_lines(spot(Point(60.3, 40.6)))
    size = (round(1280 * times), round(720 * times))
    scaled = np.asarray(
        cv2.resize(frame, size, interpolation=cv2.INTER_AREA if times < 1 else cv2.INTER_CUBIC), np.uint8
    )
    found = centred(scaled, Point(61.3 * times, 40.6 * times))
    assert found.distance(Point(60.3 * times, 40.6 * times)) < 0.3 * times


def test_a_spot_at_the_edge_of_the_picture() -> None:
    frame = on_720_lines(spot(Point(3.0, 40.0)))
    assert centred(frame, Point(3.5, 41.0)).distance(Point(3.0, 40.0)) < 0.5
