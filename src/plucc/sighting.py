"""What one look at a frame says, and who can look."""

from dataclasses import dataclass
from math import exp, inf, log
from typing import Protocol

import numpy as np

from plucc.track import Candidate
from plucc.types import Box, FloatArray, ImageArray, MaskArray, Size
from plucc.weighing import Evidence


@dataclass(frozen=True, slots=True)
class Observation:
    """What one frame says by itself: candidates, best first, the chance that a puck shows, and the whole heatmap.

    `probability` is the heatmap over cells of `stride_px` frame pixels; it sums to one whether a puck shows or not. It
    covers the frame, or the part of it in `view_px` that was looked at. `log_mass` is the logarithm of what it was
    divided by; within one network it can be compared between looks. `evidence` is what the candidates' probabilities
    rest on where a second look was taken; `presence` is then the sum over all its places, not the first look's word.
    """

    size: Size
    candidates: tuple[Candidate, ...]
    presence: float
    probability: FloatArray
    stride_px: float
    players: MaskArray
    log_mass: float = 0.0
    view_px: Box | None = None
    evidence: Evidence | None = None

    def log_mass_outside(self, box: Box) -> float:
        """Return the logarithm of the heatmap's mass outside of a box of frame pixels; for a look at the whole."""
        rows = slice(int(box.top // self.stride_px), int(-(-box.bottom // self.stride_px)))
        columns = slice(int(box.left // self.stride_px), int(-(-box.right // self.stride_px)))
        outside = 1.0 - float(self.probability[rows, columns].sum(dtype=np.float64))
        return self.log_mass + log(outside) if outside > 1e-9 else -inf


@dataclass(frozen=True, slots=True)
class View:
    """A part of the frame to look at, and the logarithm of the heatmap's mass in the rest, as it was last seen.

    With the rest known, a peak in the part is as sure as it would be in the whole. Without a box the part is the whole.
    `zoom` is how many times larger than usual the network sees it.
    """

    box_px: Box | None = None
    rest_log_mass: float = -inf
    zoom: float = 1.0

    def share(self, log_mass: float) -> float:
        """Return the part's share of the whole's mass."""
        return 1.0 / (1.0 + exp(min(700.0, self.rest_log_mass - log_mass)))


WHOLE = View()


class PuckFinder(Protocol):
    """Looks for the puck in one RGB frame of any size."""

    def frame(self, image: ImageArray) -> Observation: ...


class StagedFinder(Protocol):
    """Looks in two steps, so that the first can run ahead, and the second at a part of the frame only.

    Up to `at_once` threads may look for players, and at frames, at the same time.
    """

    @property
    def at_once(self) -> int: ...

    def players(self, image: ImageArray) -> MaskArray | None: ...

    def look(self, image: ImageArray, players: MaskArray | None, view: View | None = None) -> Observation: ...

    def fitted(self, box: Box, size: Size) -> Box | None: ...


class WholeFrames:
    """Any finder as a staged one: it sees to its players itself and always looks at the whole frame, one at a time."""

    at_once = 1

    def __init__(self, finder: PuckFinder) -> None:
        self._finder = finder

    def players(self, image: ImageArray) -> MaskArray | None:  # noqa: ARG002
        return None

    def look(self, image: ImageArray, players: MaskArray | None, view: View | None = None) -> Observation:  # noqa: ARG002
        return self._finder.frame(image)

    def fitted(self, box: Box, size: Size) -> Box | None:  # noqa: ARG002
        return None
