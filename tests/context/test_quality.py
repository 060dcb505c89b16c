import numpy as np
import pytest

from plucc.context.masks import box_coverage
from plucc.context.quality import MaskQuality, mask_iou, pixels_outside, puck_pixels
from plucc.data.schema import Puck
from plucc.types import Box, DataError, Point


def test_iou_of_hand_counted_masks() -> None:
    first, second = np.zeros((4, 4), bool), np.zeros((4, 4), bool)
    first[:2] = True  # 8 pixels
    second[1:3] = True  # 8 pixels, 4 shared
    assert mask_iou(first, second) == pytest.approx(4 / 12)
    assert mask_iou(first & False, second & False) == 1.0
    assert mask_iou(first, second & False) == 0.0


def test_coverage_counts_the_pixels_of_each_box() -> None:
    mask = np.zeros((10, 10), bool)
    mask[0:5, 0:5] = True
    np.testing.assert_allclose(
        box_coverage(mask, [Box(0, 0, 5, 10), Box(5, 5, 10, 10), Box(4, 4, 6, 6)]), [0.5, 0, 0.25]
    )


def test_outside_allows_a_tenth_on_each_side() -> None:
    mask = np.zeros((30, 30), bool)
    mask[9:21, 9:21] = True  # one pixel more than the box on each side: exactly the allowance
    assert pixels_outside(mask, [Box(10, 10, 20, 20)]) == 0
    mask[15, 22] = True
    assert pixels_outside(mask, [Box(10, 10, 20, 20)]) == 1
    assert pixels_outside(mask, []) == mask.sum()


def test_a_hidden_part_of_the_puck_is_no_leak() -> None:
    mask = np.zeros((20, 20), bool)
    mask[:, :10] = True
    whole = Puck(box_px=Box(6, 8, 14, 12))
    survived, visible = puck_pixels(mask, whole)
    assert survived == pytest.approx(visible / 2)
    behind = Puck(box_px=Box(6, 8, 14, 12), visible_fraction=0.5)
    assert puck_pixels(mask, behind) == (0.0, visible / 2)


def test_a_puck_without_extent_is_refused() -> None:
    with pytest.raises(DataError, match="without a box"):
        puck_pixels(np.zeros((4, 4), bool), Puck(point_px=Point(1, 1)))


def test_figures_of_a_set() -> None:
    quality = MaskQuality()
    mask = np.zeros((20, 20), bool)
    mask[0:10, 0:5] = True
    quality.add_boxes(mask, [Box(0, 0, 10, 10), Box(10, 10, 20, 20)])
    quality.add_boxes(np.ones((20, 20), bool), [Box(0, 0, 20, 20)])
    quality.add_truth(mask, mask)
    quality.add_puck(mask, Puck(box_px=Box(1, 1, 4, 4)))
    assert quality.found == pytest.approx(2 / 3)
    assert quality.outside == 0.0
    assert quality.iou == 1.0
    assert quality.puck_share == 1.0
