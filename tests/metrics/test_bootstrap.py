"""Intervals: what is resampled, and that resampling sums is resampling frames."""

import numpy as np
import pytest

from plucc.metrics.bootstrap import Grouping, Resampling
from plucc.metrics.sums import mean_estimate, share_estimate
from plucc.types import InputError


def test_ten_matches_are_resampled_as_matches():
    match = np.repeat(np.arange(10), 4)
    grouping = Grouping.of(match, np.arange(40))
    assert (grouping.unit, grouping.count) == ("match", 10)
    np.testing.assert_array_equal(grouping.index, match)


def test_fewer_matches_are_resampled_as_runs_within_them():
    match = np.array(["a", "a", "a", "b", "b", "b"])
    run = np.array([1, 1, 2, 1, 2, 2])
    grouping = Grouping.of(match, run)
    assert (grouping.unit, grouping.count) == ("run", 4)  # run 1 of a is not run 1 of b
    assert grouping.index[0] == grouping.index[1] != grouping.index[3]


def test_without_runs_there_are_only_matches():
    grouping = Grouping.of(np.array(["a", "a", "b"]), np.zeros(3))
    assert (grouping.unit, grouping.count) == ("match", 2)


def test_thousands_of_runs_are_pooled_without_changing_the_interval():
    rng = np.random.default_rng(8)
    values = np.repeat(rng.normal(size=8000), 3)
    grouping = Grouping.of(np.zeros(24_000), np.repeat(np.arange(8000), 3))
    assert grouping.count == 400
    assert np.bincount(grouping.index).tolist() == [60] * 400
    figure = Resampling.draw(grouping, rng, 2000).figure(mean_estimate("mean", "px", values))
    assert figure.high - figure.low == pytest.approx(2 * 1.96 / np.sqrt(8000), rel=0.1)


def test_draws_hold_as_many_groups_as_there_are():
    grouping = Grouping.of(np.arange(12), np.zeros(12))
    weights = Resampling.draw(grouping, np.random.default_rng(0), 500).weights
    assert weights.shape == (12, 500)
    np.testing.assert_array_equal(weights.sum(axis=0), 12)
    assert weights.mean() == 1.0
    assert weights.var() == pytest.approx(1 - 1 / 12, abs=0.05)


def test_interval_equals_that_of_resampled_frames():
    rng = np.random.default_rng(3)
    match = rng.integers(0, 14, 300)
    values = rng.normal(match, 2.0)
    values[rng.uniform(size=300) < 0.2] = np.nan
    resampling = Resampling.draw(Grouping.of(match, np.zeros(300)), rng, 400, level=0.9)
    figure = resampling.figure(mean_estimate("mean", "px", values))
    by_frames = []
    for draw in resampling.weights.T:
        rows = np.concatenate([np.tile(np.flatnonzero(match == group), int(times)) for group, times in enumerate(draw)])
        by_frames.append(np.nanmean(values[rows]))
    assert figure.value == pytest.approx(np.nanmean(values))
    assert (figure.low, figure.high) == pytest.approx(tuple(np.quantile(by_frames, [0.05, 0.95])))
    assert (figure.count, figure.groups) == (np.isfinite(values).sum(), 14)


def test_copies_of_a_frame_do_not_narrow_the_interval():
    """Twenty near-duplicates of every frame are no more evidence than one."""
    rng = np.random.default_rng(1)
    hits = rng.uniform(size=60) < 0.6
    once = Resampling.draw(Grouping.of(np.zeros(60), np.arange(60)), np.random.default_rng(7))
    often = Resampling.draw(Grouping.of(np.zeros(1200), np.repeat(np.arange(60), 20)), np.random.default_rng(7))
    single = once.figure(share_estimate("AP", hits, np.ones(60, dtype=bool)))
    copied = often.figure(share_estimate("AP", np.repeat(hits, 20), np.ones(1200, dtype=bool)))
    assert (copied.low, copied.high) == (single.low, single.high)
    assert copied.resampled_by == "run"


def test_intervals_hold_what_they_promise():
    """Matches of differing difficulty: about 19 of 20 intervals must hold the true share."""
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(200):
        difficulty = rng.beta(4, 2, size=30)
        hits = (rng.uniform(size=(30, 40)) < difficulty[:, None]).ravel()
        grouping = Grouping.of(np.repeat(np.arange(30), 40), np.zeros(1200))
        figure = Resampling.draw(grouping, rng, 300).figure(share_estimate("AP", hits, np.ones(1200, dtype=bool)))
        held += figure.low <= 4 / 6 <= figure.high
    assert 0.88 <= held / 200 <= 0.99


def test_draws_without_the_figure_are_left_out():
    values = np.array([1.0, np.nan, np.nan])
    resampling = Resampling.draw(Grouping.of(np.arange(3), np.zeros(3)), np.random.default_rng(0), 200)
    figure = resampling.figure(mean_estimate("mean", "px", values))
    assert (figure.value, figure.low, figure.high, figure.count) == (1.0, 1.0, 1.0, 1)


def test_one_group_has_no_interval_and_no_frames_have_no_figure():
    single = Resampling.draw(Grouping.of(np.zeros(5), np.zeros(5)), np.random.default_rng(0))
    figure = single.figure(mean_estimate("mean", "px", np.arange(5.0)))
    assert figure.value == 2.0
    assert np.isnan([figure.low, figure.high]).all()
    empty = Resampling.draw(Grouping.of(np.zeros(0), np.zeros(0)), np.random.default_rng(0))
    assert np.isnan(empty.figure(mean_estimate("mean", "px", np.zeros(0))).value)


def test_an_impossible_level_is_refused():
    with pytest.raises(InputError, match="between 0 and 1"):
        Resampling.draw(Grouping.of(np.zeros(5), np.zeros(5)), np.random.default_rng(0), level=95.0)
