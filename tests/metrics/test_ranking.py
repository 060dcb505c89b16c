"""Histograms of scores: exact with a bin for each score, close with fewer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from plucc.metrics import ranking
from plucc.metrics.ranking import masked_bins, score_bins


@given(arrays.arrays(np.float64, st.integers(1, 60), elements=st.floats(0, 1, width=16)))
def test_bins_keep_the_order_of_scores(scores):
    for limit in (None, 5):
        bins = score_bins(scores, limit)
        assert bins.count <= (limit or len(scores))
        assert (bins.top[bins.index] >= scores).all()
        for low, high in zip(np.argsort(scores), np.argsort(scores)[1:], strict=False):
            assert bins.index[low] <= bins.index[high]


def test_few_bins_hold_about_equally_many():
    bins = score_bins(np.random.default_rng(0).exponential(size=10_000) ** 3, limit=100)
    filled = bins.histogram(np.ones(10_000))
    assert bins.count == 100
    assert filled.min() > 80
    assert filled.max() < 120


def test_columns_sum_to_the_histograms():
    rng = np.random.default_rng(1)
    bins = score_bins(rng.integers(0, 7, 50) / 7)
    first, second = rng.uniform(size=50) < 0.5, rng.uniform(size=50)
    summed = np.asarray(bins.columns(first, second).sum(axis=0))
    np.testing.assert_allclose(summed, np.concatenate((bins.histogram(first), bins.histogram(second))))


@given(values=st.lists(st.integers(0, 6), min_size=1, max_size=25))
def test_median_of_a_histogram_is_the_median(values):
    data = np.array(values, dtype=float)
    bins = score_bins(data)
    assert ranking.median(bins.histogram(np.ones(len(data))), bins.top) == pytest.approx(np.median(data))


def test_median_of_stacked_histograms_and_of_nothing():
    histograms = np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
    medians = ranking.median(histograms, np.array([1.0, 2.0, 5.0]))
    np.testing.assert_array_equal(medians, [2.0, 5.0, np.nan])


def test_risk_at_coverage_steps_to_the_next_threshold():
    wrong, answered = np.array([1.0, 0.0, 1.0, 0.0]), np.array([1.0, 1.0, 1.0, 1.0])  # lowest score first
    risks = ranking.risk_at_coverage(wrong, answered, np.array([0.25, 0.3, 0.5, 1.0]))
    np.testing.assert_allclose(risks, [0.0, 0.5, 0.5, 0.5])


def test_rank_figures_of_few_bins_are_close_to_the_exact_ones():
    rng = np.random.default_rng(5)
    positive = rng.uniform(size=20_000) < 0.7
    scores = rng.normal(positive * 1.2, 1.0)
    exact, coarse = score_bins(scores), score_bins(scores, ranking.RESAMPLED_BINS)
    for figure in (
        lambda bins: ranking.auroc(bins.histogram(positive), bins.histogram(~positive)),
        lambda bins: ranking.interpolated_precision(
            bins.histogram(positive), bins.histogram(~positive), np.array(float(positive.sum()))
        ),
        lambda bins: ranking.area_under_risk(bins.histogram(~positive), bins.histogram(np.ones(20_000))),
        lambda bins: ranking.false_alarms_at_recall(bins.histogram(positive), bins.histogram(~positive), 0.95),
    ):
        assert float(figure(coarse)) == pytest.approx(float(figure(exact)), abs=0.003)


def test_bins_of_masked_scores_ignore_the_rest():
    scores = np.array([1.0, np.nan, 3.0, np.inf])
    bins = masked_bins(scores, np.isfinite(scores), limit=None)
    np.testing.assert_array_equal(bins.top, [1.0, 3.0])
    np.testing.assert_array_equal(bins.histogram(np.isfinite(scores)), [1.0, 1.0])
    assert masked_bins(scores, np.zeros(4, dtype=bool), limit=None).count == 1
