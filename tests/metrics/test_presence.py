"""Presence and calibration against brute-force definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plucc.metrics.presence import (
    auroc,
    brier_score,
    expected_calibration_error,
    false_alarm_rate,
    false_alarm_rate_at_recall,
    reliability,
    risk_coverage,
)

scored = st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=30)


def split(frames: list[tuple[int, bool]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([score / 8 for score, _ in frames]), np.array([flag for _, flag in frames])


@given(scored)
def test_auroc_is_the_share_of_well_ordered_pairs(frames):
    confidence, has_puck = split(frames)
    pairs = [
        1.0 if high > low else 0.5 if high == low else 0.0
        for high in confidence[has_puck]
        for low in confidence[~has_puck]
    ]
    value = auroc(confidence, has_puck)
    if pairs:
        assert value == pytest.approx(np.mean(pairs))
    else:
        assert np.isnan(value)


@given(frames=scored, recall=st.sampled_from([0.1, 0.5, 0.9, 1.0]))
def test_false_alarms_at_recall_use_the_highest_threshold_that_suffices(frames, recall):
    confidence, has_puck = split(frames)
    value = false_alarm_rate_at_recall(confidence, has_puck, recall)
    if has_puck.all() or not has_puck.any():
        assert np.isnan(value)
        return
    good = [t for t in np.unique(confidence) if (confidence[has_puck] >= t).mean() >= recall - 1e-12]
    assert value == pytest.approx((confidence[~has_puck] >= max(good)).mean())


def test_false_alarms_are_counted_on_frames_without_a_puck_only():
    is_predicted = np.array([True, True, False, True, False])
    has_puck = np.array([True, False, False, False, True])
    assert false_alarm_rate(is_predicted, has_puck) == pytest.approx(2 / 3)
    assert np.isnan(false_alarm_rate(is_predicted, np.ones(5, dtype=bool)))


def test_brier_score_of_hand_computed_cases():
    assert brier_score(np.array([1.0, 0.0]), np.array([True, False])) == 0.0
    assert brier_score(np.array([0.5, 0.5, 1.0]), np.array([True, False, False])) == pytest.approx(0.5)
    assert np.isnan(brier_score(np.zeros(0), np.zeros(0, dtype=bool)))


def test_calibration_error_of_a_hand_computed_case():
    # ten bins: 0.95 twice, once right: gap 0.45; 0.15 twice, never: gap 0.15; 1.0 belongs to the last bin
    probability = np.array([0.95, 0.95, 0.15, 0.15])
    came_true = np.array([True, False, False, False])
    assert expected_calibration_error(probability, came_true, bins=10) == pytest.approx(0.3)
    diagram = reliability(np.array([1.0, 0.0]), np.array([True, False]), bins=4)
    assert diagram.count.tolist() == [1, 0, 0, 1]
    assert np.isnan(diagram.frequency[1])


@given(st.integers(1, 2000))
def test_probabilities_that_tell_the_truth_are_calibrated(seed):
    rng = np.random.default_rng(seed)
    probability = rng.uniform(size=20_000)
    assert expected_calibration_error(probability, rng.uniform(size=20_000) < probability) < 0.03
    assert expected_calibration_error(np.sqrt(probability), rng.uniform(size=20_000) < probability) > 0.1


@given(scored)
def test_risk_and_coverage_of_every_threshold(frames):
    confidence, is_wrong = split(frames)
    curve = risk_coverage(confidence, is_wrong)
    thresholds = np.unique(confidence)[::-1]
    np.testing.assert_allclose(curve.coverage, [(confidence >= t).mean() for t in thresholds])
    np.testing.assert_allclose(curve.risk, [is_wrong[confidence >= t].mean() for t in thresholds])
    assert curve.coverage[-1] == 1.0
    by_frame = [is_wrong[confidence >= score].mean() for score in confidence]
    assert curve.area == pytest.approx(np.mean(by_frame))


def test_a_confidence_that_knows_its_errors_has_less_area():
    is_wrong = np.array([False] * 8 + [True] * 2)
    sure = risk_coverage(np.linspace(1, 0, 10), is_wrong).area
    unsure = risk_coverage(np.linspace(0, 1, 10), is_wrong).area
    assert sure < 0.2 < unsure


def test_nothing_scored_gives_nan():
    nothing, none = np.zeros(0), np.zeros(0, dtype=bool)
    assert np.isnan(auroc(nothing, none))
    assert np.isnan(false_alarm_rate_at_recall(nothing, none))
    assert np.isnan(expected_calibration_error(nothing, none))
    assert np.isnan(risk_coverage(nothing, none).area)
