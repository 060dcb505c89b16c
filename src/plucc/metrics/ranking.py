"""Figures that depend on the order of scores, computed from histograms over the scores.

With a bin for every distinct score they are exact, and frames of equal score count as one step, so that the order of
the frames never matters. With fewer bins they are close, and a bootstrap can afford them: a histogram adds up over
frames. Histograms run from the lowest score to the highest along the last axis, any number of them stacked in front.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from plucc.metrics.sums import ratio

RESAMPLED_BINS = 512


@dataclass(frozen=True, slots=True, eq=False)
class ScoreBins:
    """The bin of every score, from the lowest, and the highest score of every bin."""

    index: Int[np.ndarray, " n"]
    top: Float[np.ndarray, " k"]

    @property
    def count(self) -> int:
        return len(self.top)

    def histogram(self, counted: np.ndarray) -> Float[np.ndarray, " k"]:
        """Return how many of the counted rows, or how much of their weight, falls into each bin."""
        counts = np.bincount(self.index, weights=counted.astype(np.float64), minlength=self.count)
        return counts.astype(np.float64)  # of no rows at all, bincount makes integers

    def columns(self, *counted: np.ndarray) -> sparse.csr_array:
        """Return a row for every score whose sum over rows is the histograms of the masks, one after the other."""
        rows = np.tile(np.arange(len(self.index)), len(counted))
        places = np.concatenate([self.index + number * self.count for number in range(len(counted))])
        weights = np.concatenate(counted).astype(np.float64)
        held = weights != 0
        shape = (len(self.index), len(counted) * self.count)
        return sparse.csr_array((weights[held], (rows[held], places[held])), shape=shape)


def score_bins(scores: Float[np.ndarray, " n"], limit: int | None = None) -> ScoreBins:
    """Sort scores into bins: one for every distinct score, or at most `limit` with about as many frames in each.

    >>> score_bins(np.array([0.2, 0.9, 0.2])).index
    array([0, 1, 0])
    """
    if not len(scores):
        return ScoreBins(np.zeros(0, dtype=np.int64), np.zeros(1))  # one empty bin, so that sums over bins exist
    distinct, index = np.unique(scores, return_inverse=True)
    if limit is None or len(distinct) <= limit:
        return ScoreBins(index.astype(np.int64), distinct)
    cuts = np.unique(np.quantile(scores, np.arange(1, limit + 1) / limit, method="higher"))
    return ScoreBins(np.searchsorted(cuts, scores, side="left"), cuts)


def _from_highest(histogram: Float[np.ndarray, "*b k"]) -> Float[np.ndarray, "*b k"]:
    """Return how much lies in each bin or above it, highest bin first."""
    return np.cumsum(histogram[..., ::-1], axis=-1)


def auroc(positive: Float[np.ndarray, "*b k"], negative: Float[np.ndarray, "*b k"]) -> Float[np.ndarray, "*b"]:
    """Return the chance that a positive scores higher than a negative, equal scores counting half."""
    below = np.cumsum(negative, axis=-1) - negative / 2
    pairs = positive.sum(axis=-1) * negative.sum(axis=-1)
    return ratio((positive * below).sum(axis=-1), pairs)


def stepwise_precision(
    hits: Float[np.ndarray, "*b k"], misses: Float[np.ndarray, "*b k"], relevant: Float[np.ndarray, "*b"]
) -> Float[np.ndarray, "*b"]:
    """Return average precision as the sum of recall steps times the precision reached at each."""
    gained, precision = _recall_steps(hits, misses)
    return ratio((gained * precision).sum(axis=-1), relevant)


def interpolated_precision(
    hits: Float[np.ndarray, "*b k"], misses: Float[np.ndarray, "*b k"], relevant: Float[np.ndarray, "*b"]
) -> Float[np.ndarray, "*b"]:
    """Return the area under the precision-recall curve, precision being the best at this recall or any higher one."""
    gained, precision = _recall_steps(hits, misses)
    best = np.maximum.accumulate(precision[..., ::-1], axis=-1)[..., ::-1]
    return ratio((gained * best).sum(axis=-1), relevant)


def sampled_precision(
    hits: Float[np.ndarray, "*b k"],
    misses: Float[np.ndarray, "*b k"],
    relevant: Float[np.ndarray, "*b"],
    recalls: Float[np.ndarray, " r"],
) -> Float[np.ndarray, "*b"]:
    """Return the mean over given recalls of the best precision at that recall or beyond, 0 where it is not reached."""
    gained, precision = _recall_steps(hits, misses)
    best = np.maximum.accumulate(precision[..., ::-1], axis=-1)[..., ::-1]
    reached = np.cumsum(gained, axis=-1) / np.where(relevant > 0, relevant, 1.0)[..., None]
    ended = np.concatenate((best, np.zeros((*best.shape[:-1], 1))), axis=-1)
    places = np.ndindex(hits.shape[:-1])
    means = [ended[place][np.searchsorted(reached[place], recalls, side="left")].mean() for place in places]
    return np.where(relevant > 0, np.reshape(means, hits.shape[:-1]), np.nan)


def _recall_steps(
    hits: Float[np.ndarray, "*b k"], misses: Float[np.ndarray, "*b k"]
) -> tuple[Float[np.ndarray, "*b k"], Float[np.ndarray, "*b k"]]:
    hits_so_far, misses_so_far = _from_highest(hits), _from_highest(misses)
    return hits[..., ::-1], np.nan_to_num(ratio(hits_so_far, hits_so_far + misses_so_far))


def false_alarms_at_recall(
    positive: Float[np.ndarray, "*b k"], negative: Float[np.ndarray, "*b k"], recall: float
) -> Float[np.ndarray, "*b"]:
    """Return the share of negatives at or above the highest score that still keeps this share of the positives."""
    found = _from_highest(positive)
    needed = recall * positive.sum(axis=-1, keepdims=True)
    step = np.argmax(found >= needed - 1e-9 * np.maximum(needed, 1.0), axis=-1)
    alarms = np.take_along_axis(_from_highest(negative), step[..., None], axis=-1)[..., 0]
    share = ratio(alarms, negative.sum(axis=-1))
    return np.where(positive.sum(axis=-1) > 0, share, np.nan)


def area_under_risk(wrong: Float[np.ndarray, "*b k"], answered: Float[np.ndarray, "*b k"]) -> Float[np.ndarray, "*b"]:
    """Return the mean, over answers taken from the surest down, of the share of wrong ones so far."""
    risk = np.nan_to_num(ratio(_from_highest(wrong), _from_highest(answered)))
    return ratio((risk * answered[..., ::-1]).sum(axis=-1), answered.sum(axis=-1))


def risk_at_coverage(
    wrong: Float[np.ndarray, "*b k"], answered: Float[np.ndarray, "*b k"], coverage: Float[np.ndarray, " c"]
) -> Float[np.ndarray, "*b c"]:
    """Return the share of wrong answers among the surest that make up each coverage, or the next that ties allow."""
    wrong_so_far, answered_so_far = _from_highest(wrong), _from_highest(answered)
    total = answered_so_far[..., -1:]
    needed = coverage * total
    reached = answered_so_far[..., None, :] >= needed[..., :, None] * (1 - 1e-12)
    step = np.argmax(reached, axis=-1)
    return ratio(np.take_along_axis(wrong_so_far, step, axis=-1), np.take_along_axis(answered_so_far, step, axis=-1))


def median(histogram: Float[np.ndarray, "*b k"], values: Float[np.ndarray, " k"]) -> Float[np.ndarray, "*b"]:
    """Return the median of values that occur as often as the histogram says; NaN of none."""
    so_far = np.cumsum(histogram, axis=-1)
    half = so_far[..., -1:] / 2
    lower = values[np.argmax(so_far >= half, axis=-1)]
    upper = values[np.argmax(so_far > half, axis=-1)]
    return np.where(so_far[..., -1] > 0, (lower + upper) / 2, np.nan)


def masked_bins(scores: Float[np.ndarray, " n"], counted: Bool[np.ndarray, " n"], limit: int | None) -> ScoreBins:
    """Sort scores into bins that suit the counted rows; the other rows get a bin too, where they do no harm."""
    if not counted.any():
        return ScoreBins(np.zeros(len(scores), dtype=np.int64), np.zeros(1))
    bins = score_bins(scores[counted], limit)
    index = np.zeros(len(scores), dtype=np.int64)
    index[counted] = bins.index
    return ScoreBins(index, bins.top)
