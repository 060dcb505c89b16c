"""Figures computed from sums over frames: what makes a bootstrap over groups of frames cheap.

A figure of this kind needs only the sum of a few columns over all frames. Drawing a match twice then means adding its
sums twice, whatever the number of its frames.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy import sparse

Columns: TypeAlias = "np.ndarray | sparse.csr_array"
Finish: TypeAlias = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A figure before its interval.

    `columns` has a row for every frame; `finish` turns sums of rows, any number of them stacked in front, into the
    figure. `value` is exact; where `finish` works on a histogram of many distinct scores it is within a bin of it.
    `count` says how many frames the figure rests on. `unit` is "share", "px", "m" or "".
    """

    name: str
    unit: str
    value: float
    count: int
    columns: Columns
    finish: Finish


def ratio(part: ArrayLike, whole: ArrayLike) -> Float[np.ndarray, "*b"]:
    """Return part / whole, NaN where there is no whole.

    >>> ratio(np.array([1.0, 0.0]), np.array([2.0, 0.0]))
    array([0.5, nan])
    """
    result = np.full(np.broadcast_shapes(np.shape(part), np.shape(whole)), np.nan)
    return np.asarray(np.divide(part, whole, out=result, where=np.asarray(whole) != 0))


def mean_estimate(name: str, unit: str, values: Float[np.ndarray, " n"]) -> Estimate:
    """Return the mean of the finite values as an estimate; the other frames do not count."""
    counted = np.isfinite(values)
    columns = np.stack((np.where(counted, values, 0.0), counted.astype(np.float64)), axis=1)
    return _from_columns(name, unit, columns, lambda sums: ratio(sums[..., 0], sums[..., 1]))


def share_estimate(name: str, hits: np.ndarray, among: np.ndarray) -> Estimate:
    """Return the share of hits among some of the frames as an estimate."""
    columns = np.stack((hits & among, among), axis=1).astype(np.float64)
    return _from_columns(name, "share", columns, lambda sums: ratio(sums[..., 0], sums[..., 1]))


def _from_columns(name: str, unit: str, columns: Float[np.ndarray, "n 2"], finish: Finish) -> Estimate:
    sums = columns.sum(axis=0)
    return Estimate(name, unit, float(finish(sums)), int(sums[1]), columns, finish)
