from collections.abc import Iterator

import cv2
import numpy as np
import pytest

from plucc.context.quality import mask_iou
from plucc.context.stream import moved, player_masks
from plucc.types import ImageArray, InputError, MaskArray
from plucc.video import Frame

SIZE = (480, 270)


@pytest.fixture(scope="module")
def panorama() -> ImageArray:
    """A wide, textured scene, with a red figure in it."""
    rng = np.random.default_rng(2)
    noise = rng.integers(90, 250, (60, 200), np.uint8)
    grey = cv2.resize(noise, (1000, 300), interpolation=cv2.INTER_CUBIC)
    scene = cv2.cvtColor(grey, cv2.COLOR_GRAY2RGB)
    cv2.rectangle(scene, (400, 120), (430, 200), (255, 0, 0), -1)
    return np.asarray(scene, np.uint8)


class RedFinder:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, frame: ImageArray) -> MaskArray:
        self.calls += 1
        return red(frame)


def red(frame: ImageArray) -> MaskArray:
    return np.asarray((frame[..., 0] > 200) & (frame[..., 1] < 60), np.bool_)


def pan(panorama: ImageArray, count: int, step_px: int = 7) -> Iterator[Frame]:
    for index in range(count):
        left = 200 + index * step_px
        yield Frame(index, index / 25, panorama[10 : 10 + SIZE[1], left : left + SIZE[0]].copy())


@pytest.mark.parametrize("every", [1, 3, 5])
def test_masks_follow_a_panning_camera(panorama: ImageArray, every: int) -> None:
    find = RedFinder()
    scores = [mask_iou(mask, red(frame.image)) for frame, mask in player_masks(pan(panorama, 10), find, every=every)]
    assert len(scores) == 10
    assert min(scores) > 0.9
    assert find.calls == -(-10 // every)


def test_a_cut_is_looked_at_anew(panorama: ImageArray) -> None:
    other = np.asarray(panorama[:, ::-1] // 2 + 60, np.uint8)
    frames = [*pan(panorama, 3), *(Frame(3 + f.index, f.time_s, f.image) for f in pan(other, 2))]
    find = RedFinder()
    masks = list(player_masks(iter(frames), find, every=100))
    assert find.calls == 2
    np.testing.assert_array_equal(masks[3][1], red(frames[3].image))


def test_a_flat_picture_has_no_motion_and_is_always_looked_at() -> None:
    frames = [Frame(index, 0.0, np.full((90, 160, 3), 128, np.uint8)) for index in range(4)]
    find = RedFinder()
    assert all(not mask.any() for _, mask in player_masks(iter(frames), find, every=4))
    assert find.calls == 4


def test_moving_by_whole_pixels_is_exact() -> None:
    mask = np.zeros((20, 30), bool)
    mask[5:10, 6:12] = True
    shift = np.array([[1.0, 0, 4], [0, 1, -3], [0, 0, 1]])
    expected = np.zeros_like(mask)
    expected[2:7, 10:16] = True
    np.testing.assert_array_equal(moved(mask, shift), expected)


def test_a_step_below_one_is_refused() -> None:
    with pytest.raises(InputError, match="1 or more"):
        list(player_masks(iter([]), RedFinder(), every=0))
