import numpy as np
import pytest

from plucc.data.schema import LabelClass, Puck
from plucc.data.splits import Split, Splits
from plucc.data.stats import QUANTILES, describe
from plucc.types import Box, Category, Point, Size


def test_everything_is_counted(make_record):
    records = [
        make_record(0, "a", "1", category="blurry"),
        make_record(1, "a", "1", puck=None),
        make_record(2, "b", puck=None, no_puck=True, players=()),
        make_record(3, "b", "2", size=Size(320, 180), puck=Puck(point_px=Point(160, 45), airborne=True)),
    ]
    stats = describe(records, Splits(train=("a",), test=("b",)))
    assert (stats.total.frames, stats.total.pucks, stats.total.without_puck, stats.total.unlabelled) == (4, 2, 1, 1)
    assert stats.total.runs == {"1", "2"}
    assert {match: counts.frames for match, counts in stats.matches.items()} == {"a": 2, "b": 2}
    assert {split: counts.pucks for split, counts in stats.splits.items()} == {Split.TRAIN: 1, Split.TEST: 1}
    assert stats.categories == {Category.BLURRY: 1, None: 3}
    assert stats.sizes == {Size(160, 90): 3, Size(320, 180): 1}
    assert stats.people == {LabelClass.SKATER: 3}
    assert stats.extras["airborne pucks"] == 1
    np.testing.assert_allclose(stats.puck_places, [[0.5, 0.5], [0.5, 0.25]])


def test_puck_boxes_are_measured_at_720_lines(make_record):
    stats = describe(make_record(n, puck=Puck(box_px=Box(0, 0, n, 2 * n))) for n in range(1, 6))
    width, height = stats.box_quantiles_px
    assert width[[0, 3, 6]].tolist() == pytest.approx([8.0, 24.0, 40.0])
    assert height[QUANTILES.index(0.25)] == pytest.approx(32.0)


def test_nothing_is_described_as_nothing():
    stats = describe([])
    assert stats.total.frames == 0
    assert stats.box_quantiles_px is None
    assert stats.puck_places.shape == (0, 2)
