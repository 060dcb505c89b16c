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


def test_a_half_pixel_is_the_average_of_its_four_cut_out_ones() -> None:
    frame = np.zeros((2, 2, 3), np.uint8)
    frame[..., 0] = [[40, 80], [120, 160]]
    mask = np.array([[True, False], [True, True]])
    assert context_image(frame, mask)[0, 0].tolist() == [(40 + 0 + 120 + 160) // 4, 0, 0]


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
