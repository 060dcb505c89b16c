"""From raw confidence to a probability that means something.

A network's own confidence c only ranks its answers. Calibration fits, on labelled frames of matches that were not
trained on, the probability that the answer is right as σ(slope · logit(c) + intercept): it keeps the ranking, has two
parameters, and cannot overfit a few hundred frames.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from plucc.types import FloatArray, InputError, MaskArray

_EDGE = 1e-4  # raw confidences of 0 and 1 have no logit
_PRIOR = 1e-2  # pulls the slope towards 1 where the frames leave it open
_FEWEST = 20


@dataclass(frozen=True, slots=True)
class Calibration:
    """σ(slope · logit(c) + intercept); the default leaves confidence as it is."""

    slope: float = 1.0
    intercept: float = 0.0

    def __call__(self, raw: float) -> float:
        return float(expit(self.slope * logit(min(max(raw, _EDGE), 1 - _EDGE)) + self.intercept))

    @classmethod
    def from_card(cls, entry: dict[str, Any]) -> "Calibration":
        """Read what a model's card says; an empty entry is a model that was never calibrated."""
        return cls(float(entry.get("slope", 1.0)), float(entry.get("intercept", 0.0)))

    def to_card(self) -> dict[str, float]:
        return {"slope": self.slope, "intercept": self.intercept}


def fit_calibration(raw: FloatArray, is_right: MaskArray) -> Calibration:
    """Fit by maximum likelihood to confidences of labelled frames and whether each answer was right."""
    if len(raw) < _FEWEST or is_right.all() or not is_right.any():
        raise InputError(
            f"{len(raw)} frames with {int(is_right.sum())} right answers cannot be calibrated on: "
            f"give at least {_FEWEST}, some right and some wrong"
        )
    scores = logit(np.clip(raw, _EDGE, 1 - _EDGE))

    def loss(parameters: FloatArray) -> float:
        slope, intercept = parameters
        values = slope * scores + intercept
        return float(np.mean(np.logaddexp(0.0, values) - is_right * values) + _PRIOR * (slope - 1.0) ** 2)

    slope, intercept = minimize(loss, np.array([1.0, 0.0]), method="Nelder-Mead").x
    return Calibration(round(float(slope), 4), round(float(intercept), 4))
