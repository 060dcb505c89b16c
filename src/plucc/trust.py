"""How sure a point of a path is, from how sure its own frame was and the frames around it were.

A frame's own probability is calibrated on pictures whose puck shows. In a video it also hides, and then something else
looks most like it; what gives that away is that the frames around are not sure either. So the log-odds of a visit are

    own · logit(p) + around · mean of logit(p') over the path's other visits nearby + offset,

fitted to rendered clips in which pucks hide and to pans over real frames, none of them trained on. A bridge is right
where both its ends are and the puck kept to the line: under an acceleration a it strays by a t₁ t₂ / 2, at times t₁ and
t₂ from the ends, and on rendered play keeps within 10 px with probability exp(-t₁ t₂ / κ). A puck out of sight is
seldom one that glides: somebody plays it, or it has left. The share `straight` of bridges that are one is fitted too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_EDGE = 1e-4  # probabilities of 0 and 1 have no log-odds


@dataclass(frozen=True, slots=True)
class Trust:
    """The weights and shares; `around_s` is how far away a frame still counts as nearby, `curve_s2` is κ."""

    own: float = 0.27
    around: float = 0.57
    offset: float = 0.16
    around_s: float = 0.25
    curve_s2: float = 0.185
    straight: float = 0.57

    def visited(self, own: float, around: Sequence[float]) -> float:
        """Return the probability of a visit; one with no other visits nearby stands for them itself."""
        nearby = float(np.mean([log_odds(each) for each in around])) if around else log_odds(own)
        return _probability(self.own * log_odds(own) + self.around * nearby + self.offset)

    def bridged(self, ends: tuple[float, float], times_s: tuple[float, float]) -> float:
        """Return the probability of a point between two visits, from theirs and the times from it to each."""
        return self.straight * min(ends) * float(np.exp(-times_s[0] * times_s[1] / self.curve_s2))


PICTURES = Trust(own=1.0, around=0.0, offset=0.0)  # of single pictures, which a frame's own probability is meant for


def log_odds(probability: float) -> float:
    """Return log(p / (1 - p)), kept finite.

    >>> log_odds(0.5)
    0.0
    """
    clipped = min(max(probability, _EDGE), 1 - _EDGE)
    return float(np.log(clipped / (1 - clipped)))


def _probability(log_odds: float) -> float:
    return float(1 / (1 + np.exp(-log_odds)))
