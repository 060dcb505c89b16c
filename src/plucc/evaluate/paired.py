"""Two models on the same frames: how their figures differ, and whether that is more than chance."""

from dataclasses import dataclass

import numpy as np

from plucc.evaluate.scoring import Scoring
from plucc.evaluate.tables import Measuring, Theme, estimates
from plucc.metrics.bootstrap import Resampling
from plucc.metrics.figures import CORRECT_PX, is_correct
from plucc.metrics.sums import Columns, Estimate
from plucc.types import InputError


@dataclass(frozen=True, slots=True)
class Difference:
    """A figure of the first model less that of the second, with a bootstrap interval over the same draws of matches.

    `chance` is the two-sided p-value of no difference: twice the share of draws on the rarer side of zero.
    """

    name: str
    unit: str
    first: float
    second: float
    value: float
    low: float
    high: float
    chance: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """All differences, and on how many frames only one of the two was right (within 10 px at 720 lines)."""

    differences: dict[Theme, tuple[Difference, ...]]
    only_first: int
    only_second: int
    both: int
    neither: int


def compare(first: Scoring, second: Scoring, measuring: Measuring, themes: tuple[Theme, ...]) -> Comparison:
    """Compare two models that answered the same frames."""
    if first.records != second.records:
        raise InputError("the two sides were scored on different frames: evaluate both on the same selection")
    resampling = measuring.resampling(first)
    differences = {
        theme: tuple(
            _difference(one, other, resampling)
            for one, other in zip(estimates(first, theme, measuring), estimates(second, theme, measuring), strict=True)
        )
        for theme in themes
    }
    one, other = is_correct(first.answered), is_correct(second.answered)
    has_puck = first.answered.has_puck
    return Comparison(
        differences,
        only_first=int((one & ~other & has_puck).sum()),
        only_second=int((~one & other & has_puck).sum()),
        both=int((one & other & has_puck).sum()),
        neither=int((~one & ~other & has_puck).sum()),
    )


def _difference(first: Estimate, second: Estimate, resampling: Resampling) -> Difference:
    draws = _drawn(first, resampling) - _drawn(second, resampling)
    draws = draws[np.isfinite(draws)]
    low, high, chance = float("nan"), float("nan"), float("nan")
    if resampling.grouping.count > 1 and len(draws):
        tail = (1 - resampling.level) / 2
        low, high = (float(np.quantile(draws, share)) for share in (tail, 1 - tail))
        # one more draw on either side: a finite number of draws never shows a chance of zero
        below, above = (draws <= 0).sum() + 1, (draws >= 0).sum() + 1
        chance = float(min(1.0, 2 * min(below, above) / (len(draws) + 1)))
    return Difference(first.name, first.unit, first.value, second.value, first.value - second.value, low, high, chance)


def _drawn(estimate: Estimate, resampling: Resampling) -> np.ndarray:
    sums: Columns = resampling.grouping.sums(estimate.columns)
    return np.asarray(estimate.finish(np.asarray((sums.T @ resampling.weights).T)))


def correct_words() -> str:
    """Say what counts as right."""
    return f"right: within {CORRECT_PX:g} px at 720 lines"
