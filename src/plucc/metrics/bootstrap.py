"""Intervals by resampling matches, or runs of near-duplicate frames: never single frames.

Frames of one match share an arena, a broadcaster and a camera; frames of one run are nearly the same picture. To
resample frames would take them for independent and give intervals that are several times too narrow.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float, Int, Shaped
from scipy import sparse

from plucc.metrics.sums import Columns, Estimate, Finish
from plucc.types import InputError

FEWEST_MATCHES = 10
MOST_GROUPS = 400
RESAMPLES = 1000
LEVEL = 0.95

Unit: TypeAlias = Literal["match", "run"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a report with its interval, NaN where a single group leaves nothing to resample."""

    name: str
    unit: str
    value: float
    low: float
    high: float
    count: int  # frames it rests on
    groups: int  # how many were resampled: matches or runs, or pools of them where there are very many
    resampled_by: Unit


@dataclass(frozen=True, eq=False)
class Grouping:
    """Which group every frame belongs to, for resampling."""

    index: Int[np.ndarray, " n"]
    count: int
    unit: Unit

    @classmethod
    def of(cls, match: Shaped[np.ndarray, " n"], run: Shaped[np.ndarray, " n"]) -> "Grouping":
        """Group frames by match if there are ten or more of them, else by run within a match if runs are known.

        More than 400 groups are pooled to 400, neighbours together: what is independent stays so when
        pooled, the interval is as valid, and its cost no longer grows.

        >>> Grouping.of(np.array(["a", "a", "b"]), np.array([1, 2, 2])).unit
        'run'
        """
        matches, match_index = np.unique(match, return_inverse=True)
        runs, run_index = np.unique(run, return_inverse=True)
        pairs, pair_index = np.unique(match_index * max(len(runs), 1) + run_index, return_inverse=True)
        if len(matches) >= FEWEST_MATCHES or len(pairs) == len(matches):
            return cls(*_pooled(match_index, len(matches)), "match")
        return cls(*_pooled(pair_index, len(pairs)), "run")

    def sums(self, columns: Columns) -> Columns:
        """Return the sums of the columns over each group."""
        return self._members @ columns

    @cached_property
    def _members(self) -> sparse.csr_array:
        frames = np.arange(len(self.index))
        return sparse.csr_array((np.ones(len(frames)), (self.index, frames)), shape=(self.count, len(frames)))


def _pooled(index: Int[np.ndarray, " n"], count: int) -> tuple[Int[np.ndarray, " n"], int]:
    pools = min(count, MOST_GROUPS)
    return (index.astype(np.int64) * pools // max(count, 1)), pools


@dataclass(frozen=True, slots=True, eq=False)
class Resampling:
    """Draws of groups with replacement; all figures of a report share them, so that they can be compared."""

    grouping: Grouping
    weights: Float[np.ndarray, "g b"]  # how often each draw holds each group
    level: float

    @classmethod
    def draw(
        cls, grouping: Grouping, rng: np.random.Generator, resamples: int = RESAMPLES, level: float = LEVEL
    ) -> "Resampling":
        """Draw as many groups as there are, `resamples` times."""
        if not 0 < level < 1:
            raise InputError(f"the level is {level:g}; it must lie between 0 and 1: 0.95 is customary")
        count = grouping.count
        drawn = rng.integers(count, size=(resamples, count)) if count else np.zeros((resamples, 0), dtype=np.int64)
        places = drawn * resamples + np.arange(resamples)[:, None]
        weights = np.bincount(places.ravel(), minlength=resamples * count).reshape(count, resamples)
        return cls(grouping, weights.astype(np.float64), level)

    def bounds(self, columns: Columns, finish: Finish) -> tuple[np.ndarray, np.ndarray]:
        """Return the percentile interval of a figure, or of each point of a curve.

        Draws in which the figure does not exist, say for want of a frame with a puck, are left out.
        """
        sums = self.grouping.sums(columns)
        drawn = (sums.T @ self.weights).T
        values = finish(drawn)
        if self.grouping.count < 2 or not len(values):
            nothing = np.full(values.shape[1:], np.nan)
            return nothing, nothing
        tail = (1 - self.level) / 2
        return _quantile(values, tail), _quantile(values, 1 - tail)

    def figure(self, estimate: Estimate) -> Figure:
        """Return an estimate with its interval."""
        low, high = self.bounds(estimate.columns, estimate.finish)
        return Figure(
            name=estimate.name,
            unit=estimate.unit,
            value=estimate.value,
            low=float(low),
            high=float(high),
            count=estimate.count,
            groups=self.grouping.count,
            resampled_by=self.grouping.unit,
        )


def _quantile(values: Float[np.ndarray, "b *c"], share: float) -> np.ndarray:
    """Return a quantile over draws, NaN ones left out, NaN where all are."""
    ranked = np.sort(values, axis=0)  # NaN goes last
    present = np.sum(~np.isnan(values), axis=0)
    place = share * np.maximum(present - 1, 0)
    below = np.floor(place).astype(np.int64)
    lower = np.take_along_axis(ranked, below[None], axis=0)[0]
    upper = np.take_along_axis(ranked, np.minimum(below + 1, np.maximum(present - 1, 0))[None], axis=0)[0]
    return np.asarray(lower + (place - below) * (upper - lower))
