"""The neighbours' protocols against their definitions, written out frame by frame."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plucc.metrics.detection import (
    OUTCOMES,
    OutcomeScores,
    ranked_average_precision,
    tracknet_outcomes,
    wasb_average_precision,
    wasb_outcomes,
)

NONE = [np.nan, np.nan]
HD = np.array([1280, 720])


def names(outcomes: np.ndarray) -> list[str]:
    assert (outcomes.sum(axis=1) == 1).all()
    return [OUTCOMES[column] for column in outcomes.argmax(axis=1)]


def test_wasb_is_strictly_below_four_of_the_frames_own_pixels():
    target = np.array([[10, 10], [10, 10], [10, 10], NONE, NONE, [10, 10]], dtype=float)
    predicted = np.array([[10, 13.999], [10, 14], [90, 10], [1, 1], NONE, NONE], dtype=float)
    assert names(wasb_outcomes(predicted, target)) == ["TP", "FP1", "FP1", "FP2", "TN", "FN"]


def test_tracknet_is_at_most_four_pixels_of_a_512_by_288_frame():
    target = np.full((6, 2), 100.0)
    predicted = target + np.array([[10, 0], [10.01, 0], [0, 10], [6, 8], [8, 8], [0, 0]])
    size = np.tile(HD, (6, 1))
    assert names(tracknet_outcomes(predicted, target, size)) == ["TP", "FP1", "TP", "TP", "FP1", "TP"]
    # a frame that is not 16:9 is squeezed: 5 px across are 4 of the small frame, 6.7 px down are 4.02
    squeezed = np.tile([640, 480], (2, 1))
    predicted = target[:2] + np.array([[5, 0], [0, 6.7]])
    assert names(tracknet_outcomes(predicted, target[:2], squeezed)) == ["TP", "FP1"]


def test_tracknet_without_a_ball():
    target, predicted = np.array([NONE, NONE, [5.0, 5.0]]), np.array([NONE, [5.0, 5.0], NONE])
    assert names(tracknet_outcomes(predicted, target, np.tile(HD, (3, 1)))) == ["TN", "FP2", "FN"]


def test_tracknet_programs_cut_to_whole_pixels():
    target, predicted = np.array([[102.4, 100.0]]), np.array([[113.0, 100.0]])  # 40.96 and 45.2 across: 40 and 45
    assert names(tracknet_outcomes(predicted, target, HD[None])) == ["FP1"]
    target = np.array([[101.0, 100.0]])  # 40.4; 4.8 px apart but 5 whole ones
    assert names(tracknet_outcomes(predicted, target, HD[None], whole_pixels=True)) == ["FP1"]
    predicted = np.array([[112.4, 100.0]])  # 44.96: 4.56 px apart, 4 whole ones
    assert names(tracknet_outcomes(predicted, target, HD[None], whole_pixels=True)) == ["TP"]


def test_scores_of_hand_computed_counts():
    counts = {"TP": 6, "FP1": 2, "FP2": 1, "TN": 4, "FN": 3}
    rows = [OUTCOMES.index(name) for name, count in counts.items() for _ in range(count)]
    scores = OutcomeScores.count(np.eye(5, dtype=bool)[rows])
    assert (scores.true_positives, scores.misplaced, scores.spurious) == (6, 2, 1)
    assert (scores.true_negatives, scores.false_negatives) == (4, 3)
    assert scores.precision == pytest.approx(6 / 9)
    assert scores.recall == pytest.approx(6 / 9)  # of TP + FN: the two misplaced ones are not in it
    assert scores.f1 == pytest.approx(6 / 9)
    assert scores.accuracy == pytest.approx(10 / 16)


def test_ratios_of_nothing_are_zero_as_there():
    scores = OutcomeScores.count(np.zeros((0, 5), dtype=bool))
    assert (scores.precision, scores.recall, scores.f1, scores.accuracy) == (0, 0, 0, 0)


def area_by_wasbs_definition(outcomes: list[str], scores: list[float]) -> float:
    """Walk down the ranking; a recall reached several times counts with its best precision."""
    relevant = outcomes.count("TP") + outcomes.count("FN")
    ranked = sorted((-score, name) for score, name in zip(scores, outcomes, strict=True) if name in OUTCOMES[:3])
    best_at: dict[float, float] = {}
    found = 0
    for place, (_, name) in enumerate(ranked, start=1):
        found += name == "TP"
        reached = found / relevant if relevant else 0.0
        best_at[reached] = max(best_at.get(reached, 0.0), found / place)
    area, before = 0.0, 0.0
    for reached in sorted(best_at):
        area += (reached - before) * best_at[reached]
        before = reached
    return area


@given(outcomes=st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=40), seed=st.integers(0, 1000))
def test_wasb_average_precision_follows_its_definition(outcomes, seed):
    scores = np.random.default_rng(seed).permutation(len(outcomes)) / len(outcomes)  # all different
    rows = np.eye(5, dtype=bool)[[OUTCOMES.index(name) for name in outcomes]]
    expected = area_by_wasbs_definition(outcomes, scores.tolist())
    assert wasb_average_precision(rows, scores) == pytest.approx(expected)


def area_by_thresholds(hit: np.ndarray, says: np.ndarray, has: np.ndarray, score: np.ndarray) -> float:
    """Every threshold gives a point (recall, precision); integrate the best precision at or beyond each recall."""
    curve = []
    for threshold in np.unique(score[says]):
        kept = says & (score >= threshold)
        curve.append((hit[kept].sum() / has.sum(), hit[kept].mean()))
    area, before = 0.0, 0.0
    for recall in sorted({point[0] for point in curve}):
        area += (recall - before) * max(precision for reached, precision in curve if reached >= recall)
        before = recall
    return area


@given(
    frames=st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans(), st.integers(0, 9)), min_size=1, max_size=40)
)
def test_ranked_average_precision_follows_its_definition_with_ties(frames):
    near, says, has = (np.array([frame[column] for frame in frames]) for column in range(3))
    score = np.array([frame[3] / 9 for frame in frames])
    hit = near & says & has
    value = ranked_average_precision(hit, says, has, score)
    if not has.any():
        assert np.isnan(value) or value == 0.0
        return
    assert value == pytest.approx(area_by_thresholds(hit, says, has, score))


def test_ranked_average_precision_of_perfect_and_silent_predictors():
    yes = np.ones(5, dtype=bool)
    assert ranked_average_precision(yes, yes, yes, np.linspace(0, 1, 5)) == 1.0
    assert ranked_average_precision(~yes, ~yes, yes, np.zeros(5)) == 0.0
    assert np.isnan(ranked_average_precision(~yes, ~yes, ~yes, np.zeros(5)))


def test_false_alarms_cost_only_when_ranked_above_hits():
    hit = np.array([True, True, False, False])
    says, has = np.ones(4, dtype=bool), np.array([True, True, False, False])
    assert ranked_average_precision(hit, says, has, np.array([0.9, 0.8, 0.2, 0.1])) == 1.0
    assert ranked_average_precision(hit, says, has, np.array([0.2, 0.1, 0.9, 0.8])) == pytest.approx(0.5)
