from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from plucc.context.cache import MaskCache
from plucc.context.image import ContextMaker, as_rgb, context_image, context_size
from plucc.data.schema import Player
from plucc.types import ImageArray, MaskArray, ShapeError, Size


class MiddleFinder:
    """Sees one player, who covers the middle of every frame; counts how often it was asked."""

    def __init__(self, version: str = "middle-1") -> None:
        self.version = version
        self.calls = 0

    def __call__(self, frame: ImageArray, players: Sequence[Player] | None = None) -> MaskArray:
        self.calls += 1
        height, width = frame.shape[:2]
        mask = np.zeros((height, width), bool)
        mask[height // 4 : 3 * height // 4, width // 4 : 3 * width // 4] = True
        return mask


def test_players_keep_their_colours_and_the_rest_is_black() -> None:
    frame = np.full((8, 12, 3), (200, 100, 50), np.uint8)
    mask = np.zeros((8, 12), bool)
    mask[2:6, 4:8] = True
    image = context_image(frame, mask)
    assert image.shape == (4, 6, 3)
    assert (image[1:3, 2:4] == (200, 100, 50)).all()
    image[1:3, 2:4] = 0
    assert not image.any()


def test_a_half_pixel_is_the_average_of_four_as_far_as_players_cover_them() -> None:
    frame = np.zeros((2, 2, 3), np.uint8)
    frame[..., 0] = [[40, 80], [120, 160]]
    mask = np.array([[True, False], [True, True]])
    assert context_image(frame, mask)[0, 0].tolist() == [75, 0, 0]  # three quarters of 100


@pytest.mark.parametrize("lines", [360, 720, 1440])
def test_a_puck_at_a_skate_does_not_show_and_a_leg_does(lines: int) -> None:
    """The same scene at three sizes: a dark leg, a puck that touches it, all within a mask that took in some ice."""
    unit = lines // 360
    frame = np.full((lines, 2 * lines, 3), 230, np.uint8)
    frame[100 * unit : 160 * unit, 200 * unit : 206 * unit] = 25
    without = frame.copy()
    frame[150 * unit : 153 * unit, 206 * unit : 211 * unit] = 20
    mask = np.zeros(frame.shape[:2], bool)
    mask[90 * unit : 170 * unit, 190 * unit : 220 * unit] = True
    shown, expected = context_image(frame, mask, lines), context_image(without, mask, lines)
    np.testing.assert_array_equal(shown, expected)
    assert shown[130 * unit // 2, 203 * unit // 2].max() == 25


def test_nothing_gets_darker_and_nothing_shows_outside_of_the_mask(rng: np.random.Generator) -> None:
    frame = rng.integers(0, 256, (96, 128, 3), np.uint8)
    mask = np.zeros((96, 128), bool)
    mask[20:60, 30:90] = True
    image = context_image(frame, mask)
    plain = frame.reshape(48, 2, 64, 2, 3).mean(axis=(1, 3))
    assert (image[10:30, 15:45] >= np.floor(plain[10:30, 15:45])).all()
    image[10:30, 15:45] = 0
    assert not image.any()


def test_a_part_of_a_frame_shows_what_the_whole_shows_there(rng: np.random.Generator) -> None:
    frame = rng.integers(0, 256, (720, 640, 3), np.uint8)
    mask = rng.random((720, 640)) < 0.5
    whole = context_image(frame, mask, 720)
    part = context_image(frame[200:500], mask[200:500], 720)
    np.testing.assert_array_equal(part[10:-10], whole[110:240])


def test_a_frame_without_players_is_black_and_valid() -> None:
    frame = np.full((720, 1280, 3), 255, np.uint8)
    image = context_image(frame, np.zeros((720, 1280), bool))
    assert image.shape == (360, 640, 3)
    assert not image.any()


@pytest.mark.parametrize(("size", "half"), [(Size(1280, 720), Size(640, 360)), (Size(641, 361), Size(321, 181))])
def test_odd_sides_are_rounded_up(size: Size, half: Size) -> None:
    assert context_size(size) == half
    image = context_image(np.ones((size.height, size.width, 3), np.uint8), np.ones((size.height, size.width), bool))
    assert image.shape == (half.height, half.width, 3)


def test_grey_and_alpha_become_rgb() -> None:
    grey = np.arange(12, dtype=np.uint8).reshape(3, 4)
    assert (as_rgb(grey) == grey[:, :, None]).all()
    assert as_rgb(grey[:, :, None]).shape == (3, 4, 3)
    with_alpha = np.dstack([grey, grey + 1, grey + 2, np.full_like(grey, 9)])
    np.testing.assert_array_equal(as_rgb(with_alpha), with_alpha[:, :, :3])
    assert ContextMaker(MiddleFinder())(grey).shape == (2, 2, 3)


@pytest.mark.parametrize(
    "frame", [np.zeros((4, 4, 2), np.uint8), np.zeros((4, 4, 3), np.float32), np.zeros(4, np.uint8)]
)
def test_other_shapes_are_refused_with_a_sentence(frame: ImageArray) -> None:
    with pytest.raises(ShapeError, match="expected"):
        as_rgb(frame)


def test_a_mask_of_another_size_is_refused() -> None:
    with pytest.raises(ShapeError, match="4x4 for a frame of 8x8"):
        context_image(np.zeros((8, 8, 3), np.uint8), np.zeros((4, 4), bool))


def test_the_same_frame_is_looked_at_once(tmp_path: Path, rng: np.random.Generator) -> None:
    frame = rng.integers(0, 256, (40, 60, 3), np.uint8)
    finder = MiddleFinder()
    maker = ContextMaker(finder, MaskCache(tmp_path))
    first = maker(frame)
    np.testing.assert_array_equal(maker(frame), first)
    assert finder.calls == 1
    frame[0, 0, 0] ^= 1
    maker(frame)
    assert finder.calls == 2
    newer = MiddleFinder("middle-2")
    ContextMaker(newer, MaskCache(tmp_path))(frame)
    assert newer.calls == 1


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)
