"""Whether there is a puck at all, and whether confidence means what it says."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from plucc.metrics import ranking
from plucc.metrics.ranking import score_bins
from plucc.metrics.sums import ratio

CALIBRATION_BINS = 15
FIXED_RECALL = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """What a reliability diagram shows: by bins of confidence, frames, mean confidence, and how often it came true."""

    count: Int[np.ndarray, " k"]
    confidence: Float[np.ndarray, " k"]  # NaN in an empty bin
    frequency: Float[np.ndarray, " k"]


@dataclass(frozen=True, slots=True, eq=False)
class RiskCoverage:
    """The share of wrong answers (risk) when only the surest share of frames (coverage) is answered."""

    coverage: Float[np.ndarray, " k"]
    risk: Float[np.ndarray, " k"]
    area: float  # mean risk over all coverages; smaller is better


def auroc(confidence: Float[np.ndarray, " n"], has_puck: Bool[np.ndarray, " n"]) -> float:
    """Return the chance that a frame with a puck gets more confidence than one without, equal ones counting half.

    NaN when all frames are of one kind.

    >>> auroc(np.array([0.9, 0.4, 0.4, 0.1]), np.array([True, True, False, False]))
    0.875
    """
    bins = score_bins(confidence)
    return float(ranking.auroc(bins.histogram(has_puck), bins.histogram(~has_puck)))


def false_alarm_rate(is_predicted: Bool[np.ndarray, " n"], has_puck: Bool[np.ndarray, " n"]) -> float:
    """Return the share of frames without a puck that got a prediction; NaN when every frame has one.

    >>> false_alarm_rate(np.array([True, True, False]), np.array([True, False, False]))
    0.5
    """
    empty = ~has_puck
    return float(is_predicted[empty].mean()) if empty.any() else float("nan")


def false_alarm_rate_at_recall(
    confidence: Float[np.ndarray, " n"], has_puck: Bool[np.ndarray, " n"], recall: float = FIXED_RECALL
) -> float:
    """Return the false-alarm rate at the highest threshold on confidence that still keeps `recall` of the pucks.

    A frame is answered when its confidence is at or above the threshold. Comparable between models whose own
    thresholds differ.

    >>> false_alarm_rate_at_recall(np.array([0.9, 0.6, 0.7, 0.1]), np.array([True, True, False, False]), recall=1.0)
    0.5
    """
    bins = score_bins(confidence)
    return float(ranking.false_alarms_at_recall(bins.histogram(has_puck), bins.histogram(~has_puck), recall))


def brier_score(probability: Float[np.ndarray, " n"], came_true: Bool[np.ndarray, " n"]) -> float:
    """Return the mean squared difference between probability and what happened (0 or 1).

    >>> round(brier_score(np.array([0.8, 0.3]), np.array([True, False])), 6)
    0.065
    """
    return float(np.mean((probability - came_true) ** 2)) if len(probability) else float("nan")


def calibration_bin(probability: Float[np.ndarray, " n"], bins: int = CALIBRATION_BINS) -> Int[np.ndarray, " n"]:
    """Return the bin of each probability, all bins of one width; 1 belongs to the last."""
    return np.clip((probability * bins).astype(np.int64), 0, bins - 1)


def reliability(
    probability: Float[np.ndarray, " n"], came_true: Bool[np.ndarray, " n"], bins: int = CALIBRATION_BINS
) -> Reliability:
    """Return mean confidence beside the frequency of what came true, by bins of confidence of one width."""
    index = calibration_bin(probability, bins)
    count = np.bincount(index, minlength=bins)
    return Reliability(
        count=count,
        confidence=ratio(np.bincount(index, weights=probability, minlength=bins), count.astype(np.float64)),
        frequency=ratio(np.bincount(index, weights=came_true, minlength=bins), count.astype(np.float64)),
    )


def expected_calibration_error(
    probability: Float[np.ndarray, " n"], came_true: Bool[np.ndarray, " n"], bins: int = CALIBRATION_BINS
) -> float:
    """Return the gap between confidence and frequency, averaged over bins by their frames.

    >>> round(expected_calibration_error(np.array([0.9, 0.9, 0.1]), np.array([True, False, False]), bins=10), 6)
    0.3
    """
    diagram = reliability(probability, came_true, bins)
    gaps = np.nan_to_num(np.abs(diagram.confidence - diagram.frequency))
    return float((gaps * diagram.count).sum() / len(probability)) if len(probability) else float("nan")


def risk_coverage(confidence: Float[np.ndarray, " n"], is_wrong: Bool[np.ndarray, " n"]) -> RiskCoverage:
    """Return the risk of answering only the surest frames, for every coverage that a threshold can give.

    >>> curve = risk_coverage(np.array([0.9, 0.8, 0.7, 0.6]), np.array([False, False, True, False]))
    >>> curve.coverage, curve.risk.round(3)
    (array([0.25, 0.5 , 0.75, 1.  ]), array([0.   , 0.   , 0.333, 0.25 ]))
    """
    bins = score_bins(confidence)
    wrong, answered = bins.histogram(is_wrong), bins.histogram(np.ones(len(confidence)))
    answered_so_far = np.cumsum(answered[::-1])
    return RiskCoverage(
        coverage=answered_so_far / max(len(confidence), 1),
        risk=ratio(np.cumsum(wrong[::-1]), answered_so_far),
        area=float(ranking.area_under_risk(wrong, answered)),
    )
