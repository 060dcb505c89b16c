"""Two looks, one probability: what the heatmap says of each place, and what a closer look there says.

With p_i the heatmap's share at place i, z_i the closer look's logit and q the frame's presence logit, a place scores
s_i = first · log p_i + second · z_i + presence · q, and

    P_i = exp(s_i) / (exp(none) + Σ_j exp(s_j))

is the probability that the puck is there and nowhere else: the places and "none of them" share a whole. The four
numbers are fitted by maximum likelihood, which makes the probabilities calibrated on frames like those fitted on.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from plucc.types import FloatArray, InputError

_LEAST_SHARE = 1e-6  # a share of zero has no logarithm
_PRIOR = 1e-3  # pulls towards the defaults where the frames leave a number open
_FEWEST = 20


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What both looks say of a frame's places (k, 2), in its own pixels, in the heatmap's order.

    `shares` are the heatmap's shares of probability there, `logits` what the second look says, and `presence_logit`
    what the first says of the frame as a whole; 0 for a model without that output.
    """

    places_px: FloatArray
    shares: FloatArray
    logits: FloatArray
    presence_logit: float = 0.0


@dataclass(frozen=True, slots=True)
class Weighing:
    """How much each look counts; the defaults are those of a second look that was never fitted."""

    first: float = 1.0
    second: float = 0.5  # it is trained to be sure of games that it knows
    presence: float = 0.0
    none: float = 0.0

    def __call__(self, evidence: Evidence) -> FloatArray:
        """Return the probability of each place; they sum to at most one.

        >>> both = Evidence(np.zeros((2, 2)), np.array([0.5, 0.25]), np.array([0.0, 2 * np.log(6.0)]))
        >>> Weighing()(both).round(4).tolist()  # 0.5 and 1.5 beside 1 for none
        [0.1667, 0.5]
        """
        scores = (
            self.first * np.log(np.maximum(evidence.shares, _LEAST_SHARE))
            + self.second * evidence.logits
            + self.presence * evidence.presence_logit
        )
        probabilities: FloatArray = np.exp(scores - logsumexp(np.append(scores, self.none)))
        return probabilities

    @classmethod
    def from_card(cls, entry: dict[str, Any]) -> "Weighing":
        """Read what a second look's card says; an empty entry is one that was never fitted."""
        return cls(**{name: float(value) for name, value in entry.items()})

    def to_card(self) -> dict[str, float]:
        return asdict(self)


def fit_weighing(frames: Sequence[Evidence], right: Sequence[int | None]) -> Weighing:
    """Fit to labelled frames: `right` says which of a frame's places is the puck's, None where none is."""
    hits = sum(place is not None for place in right)
    if len(frames) < _FEWEST or not hits:
        raise InputError(
            f"{len(frames)} frames, {hits} with the puck among their places, cannot be fitted to: "
            f"give at least {_FEWEST}, most of them with a puck"
        )
    features, lacking = _table(frames)
    rows, none = np.arange(len(frames)), features.shape[1] - 1
    chosen = np.array([none if place is None else place for place in right])
    default = np.array(list(asdict(Weighing()).values()))

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        scores = features @ parameters + lacking
        total = logsumexp(scores, axis=1)
        expected = np.einsum("nk,nkf->nf", np.exp(scores - total[:, None]), features)
        pull = parameters - default
        slope = (expected - features[rows, chosen]).mean(axis=0) + 2 * _PRIOR * pull
        return float((total - scores[rows, chosen]).mean() + _PRIOR * pull @ pull), slope

    fitted = minimize(loss, default, jac=True, method="BFGS").x  # the loss is convex: any start ends there
    return Weighing(*(round(float(value), 4) for value in fitted))


def _table(frames: Sequence[Evidence]) -> tuple[FloatArray, FloatArray]:
    """Return what each parameter multiplies, by frame and place, "none" last, and −∞ at places that a frame lacks."""
    most = max(len(frame.shares) for frame in frames)
    features, lacking = np.zeros((len(frames), most + 1, 4)), np.zeros((len(frames), most + 1))
    for row, absent, frame in zip(features, lacking, frames, strict=True):
        count = len(frame.shares)
        row[:count, 0] = np.log(np.maximum(frame.shares, _LEAST_SHARE))
        row[:count, 1] = frame.logits
        row[:count, 2] = frame.presence_logit
        absent[count:most] = -np.inf
    features[:, most, 3] = 1.0
    return features, lacking
