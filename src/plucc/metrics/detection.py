"""The neighbours' protocols: WASB's and TrackNet's outcomes, and average precision ranked by confidence.

Both sort every frame into one of five outcomes. FP1 is a prediction too far from the label, FP2 one on a frame
without a ball. Their recall is TP / (TP + FN): a misplaced prediction (FP1) hurts precision but not recall, so their
F1 is not comparable with one that counts it as a miss too. Ratios of nothing are 0 there, and here.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from plucc.metrics import ranking
from plucc.metrics.pixels import pixel_distances
from plucc.metrics.ranking import ScoreBins, score_bins
from plucc.metrics.sums import ratio

OUTCOMES = ("TP", "FP1", "FP2", "TN", "FN")
WASB_DISTANCE_PX = 4.0
TRACKNET_DISTANCE_PX = 4.0
TRACKNET_SIZE_PX = (512, 288)


@dataclass(frozen=True, slots=True)
class OutcomeScores:
    """How many frames had each outcome, and the figures that follow from it.

    >>> OutcomeScores.count(np.eye(5, dtype=bool)[[0, 0, 0, 1, 2, 3, 4]]).f1
    0.6666666666666665
    """

    true_positives: int
    misplaced: int  # FP1
    spurious: int  # FP2
    true_negatives: int
    false_negatives: int
    precision: float
    recall: float
    f1: float
    accuracy: float

    @classmethod
    def count(cls, outcomes: Bool[np.ndarray, "n 5"]) -> "OutcomeScores":
        """Return the scores of frames whose outcomes are given as rows with one mark, columns as in `OUTCOMES`."""
        counts = outcomes.sum(axis=0).astype(np.float64)
        true_positives, misplaced, spurious, true_negatives, false_negatives = (int(count) for count in counts)
        return cls(
            true_positives=true_positives,
            misplaced=misplaced,
            spurious=spurious,
            true_negatives=true_negatives,
            false_negatives=false_negatives,
            precision=float(precision(counts)),
            recall=float(recall(counts)),
            f1=float(f1(counts)),
            accuracy=float(accuracy(counts)),
        )


def wasb_outcomes(
    predicted_px: Float[np.ndarray, "n 2"], target_px: Float[np.ndarray, "n 2"]
) -> Bool[np.ndarray, "n 5"]:
    """Return the outcome of every frame under WASB's protocol: strictly less than 4 px, in the frame's own pixels.

    >>> label = np.zeros((2, 2))
    >>> [OUTCOMES[i] for i in wasb_outcomes(label + [[3.99, 0.0], [4.0, 0.0]], label).argmax(axis=1)]
    ['TP', 'FP1']
    """
    return _outcomes(predicted_px, target_px, pixel_distances(predicted_px, target_px) < WASB_DISTANCE_PX)


def tracknet_outcomes(
    predicted_px: Float[np.ndarray, "n 2"],
    target_px: Float[np.ndarray, "n 2"],
    size_px: np.ndarray,
    whole_pixels: bool = False,
) -> Bool[np.ndarray, "n 5"]:
    """Return the outcome of every frame under TrackNet's protocol: at most 4 px after scaling to 512×288.

    The published programs also cut both points to whole pixels of the small frame before they measure; `whole_pixels`
    does so too, for comparison with numbers from them.
    """
    small = np.asarray(TRACKNET_SIZE_PX)
    # the difference is scaled, not the points: exactly 4 px must not fall to rounding
    apart = (predicted_px - target_px) * small / size_px
    if whole_pixels:
        apart = np.floor(predicted_px * small / size_px) - np.floor(target_px * small / size_px)
    return _outcomes(predicted_px, target_px, np.hypot(apart[:, 0], apart[:, 1]) <= TRACKNET_DISTANCE_PX)


def _outcomes(
    predicted_px: Float[np.ndarray, "n 2"], target_px: Float[np.ndarray, "n 2"], is_near: Bool[np.ndarray, " n"]
) -> Bool[np.ndarray, "n 5"]:
    says, has = np.isfinite(predicted_px).all(axis=1), np.isfinite(target_px).all(axis=1)
    marks = (says & has & is_near, says & has & ~is_near, says & ~has, ~says & ~has, ~says & has)
    return np.stack(marks, axis=1)


def precision(counts: Float[np.ndarray, "*b 5"]) -> Float[np.ndarray, "*b"]:
    """Return TP / (TP + FP1 + FP2) of outcome counts."""
    return _or_zero(ratio(counts[..., 0], counts[..., 0] + counts[..., 1] + counts[..., 2]))


def recall(counts: Float[np.ndarray, "*b 5"]) -> Float[np.ndarray, "*b"]:
    """Return TP / (TP + FN) of outcome counts; FP1 is not in it, see above."""
    return _or_zero(ratio(counts[..., 0], counts[..., 0] + counts[..., 4]))


def f1(counts: Float[np.ndarray, "*b 5"]) -> Float[np.ndarray, "*b"]:
    """Return the harmonic mean of precision and recall of outcome counts."""
    found, right = recall(counts), precision(counts)
    return _or_zero(ratio(2 * found * right, found + right))


def accuracy(counts: Float[np.ndarray, "*b 5"]) -> Float[np.ndarray, "*b"]:
    """Return (TP + TN) / all of outcome counts."""
    return _or_zero(ratio(counts[..., 0] + counts[..., 3], counts.sum(axis=-1)))


def _or_zero(values: Float[np.ndarray, "*b"]) -> Float[np.ndarray, "*b"]:
    return np.asarray(np.nan_to_num(values, nan=0.0))


def wasb_average_precision(outcomes: Bool[np.ndarray, "n 5"], confidence: Float[np.ndarray, " n"]) -> float:
    """Return WASB's AP: predictions ranked by confidence, precision at every step of recall, without interpolation.

    Recall counts TP + FN as WASB's does, so it reaches 1 even where labelled balls were misplaced.

    >>> outcomes = np.eye(5, dtype=bool)[[0, 1, 0, 4]]
    >>> wasb_average_precision(outcomes, np.array([0.9, 0.8, 0.7, 0.0])).__round__(4)
    0.5556
    """
    says = outcomes[:, :3].any(axis=1)
    bins = score_bins(confidence[says])
    hits = bins.histogram(outcomes[says, 0])
    relevant = np.asarray(outcomes[:, [0, 4]].sum(dtype=np.float64))
    if not says.any():
        return 0.0
    return float(_or_zero(ranking.stepwise_precision(hits, bins.histogram(~outcomes[says, 0]), relevant)))


def ranked_average_precision(
    is_hit: Bool[np.ndarray, " n"],
    is_predicted: Bool[np.ndarray, " n"],
    has_puck: Bool[np.ndarray, " n"],
    confidence: Float[np.ndarray, " n"],
) -> float:
    """Return average precision as for a detector with at most one detection a frame.

    A detection is right when `is_hit` (its frame has a puck and it is near enough), wrong otherwise, also on a frame
    without a puck. Recall is over all frames with a puck. The area is under the interpolated precision-recall curve,
    at all recalls; frames of equal confidence are one step. NaN without a puck in any frame.

    >>> yes, no = True, False
    >>> ranked_average_precision(
    ...     np.array([yes, no, yes]), np.array([yes] * 3), np.array([yes, no, yes]), np.array([0.9, 0.8, 0.7])
    ... ).__round__(4)
    0.8333
    """
    relevant = np.asarray(has_puck.sum(dtype=np.float64))
    if not is_predicted.any():
        return 0.0 if relevant else float("nan")
    bins: ScoreBins = score_bins(confidence[is_predicted])
    hits = bins.histogram(is_hit[is_predicted])
    misses = bins.histogram(~is_hit[is_predicted])
    return float(ranking.interpolated_precision(hits, misses, relevant))
