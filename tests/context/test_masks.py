import cv2
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from plucc.context.masks import body, box_mask, enlarged, resized, typical_height, union
from plucc.types import Box, Size

SIZE = Size(40, 30)
coordinates = st.floats(-10, 50, allow_nan=False)


@given(x1=coordinates, x2=coordinates, y1=coordinates, y2=coordinates)
def test_box_mask_holds_exactly_the_pixels_whose_centres_lie_inside(x1: float, x2: float, y1: float, y2: float) -> None:
    box = Box(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))
    x, y = np.meshgrid(np.arange(SIZE.width) + 0.5, np.arange(SIZE.height) + 0.5)
    inside = (box.left <= x) & (x < box.right) & (box.top <= y) & (y < box.bottom)
    np.testing.assert_array_equal(box_mask([box], SIZE), inside)


def test_nobody_is_an_empty_mask() -> None:
    assert union([], SIZE).shape == (30, 40)
    assert not union([], SIZE).any()


@given(share=st.floats(0, 2))
def test_enlarging_keeps_the_centre_and_adds_its_share_to_each_side(share: float) -> None:
    box = Box(10, 20, 14, 40)
    larger = enlarged(box, share)
    np.testing.assert_allclose(tuple(larger.centre), tuple(box.centre))
    np.testing.assert_allclose((larger.width, larger.height), (4 * (1 + share), 20 * (1 + share)))


def test_body_loses_the_stick_and_keeps_the_limbs() -> None:
    torso = np.zeros((140, 220), np.uint8)
    cv2.rectangle(torso, (60, 20), (95, 80), 1, -1)
    cv2.line(torso, (68, 80), (60, 119), 1, 11)
    cv2.line(torso, (88, 80), (98, 119), 1, 11)
    with_stick = torso.copy()
    cv2.line(with_stick, (95, 50), (180, 118), 1, 4)
    box = Box(54, 20, 182, 121)
    kept = body(with_stick.astype(bool), box)
    assert not kept[90:, 150:].any()
    assert (kept & torso.astype(bool)).sum() > 0.99 * torso.sum()
    assert (kept & ~torso.astype(bool)).sum() < 0.1 * (with_stick.sum() - torso.sum())


def test_body_drops_what_lies_far_from_the_box() -> None:
    mask = np.zeros((100, 100), bool)
    mask[10:40, 10:30] = True
    mask[60:90, 60:80] = True
    kept = body(mask, Box(10, 10, 30, 40))
    assert kept[12:38, 12:28].all()
    assert not kept[60:, 60:].any()


def test_resizing_down_and_up_keeps_a_block_in_place() -> None:
    mask = np.zeros((72, 128), bool)
    mask[24:48, 40:80] = True
    small = resized(mask, Size(64, 36))
    assert small[12:24, 20:40].all()
    assert small.sum() == 12 * 20
    back = resized(small, Size(128, 72))
    assert (back ^ mask).sum() <= 0.03 * mask.sum()


def test_typical_height_is_the_median_part_s_share_of_the_frame() -> None:
    boxes = [Box(2, 2, 6, 8), Box(10, 2, 14, 14), Box(20, 2, 24, 29)]
    assert typical_height(box_mask(boxes, SIZE)) == 12 / SIZE.height
    assert typical_height(box_mask([], SIZE)) is None
