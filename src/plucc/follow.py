"""Where to look next: at the whole frame, or only around the place where the puck is expected.

While the puck is in sight a part of the frame is enough. The whole frame is looked at again at intervals, at a cut,
when the camera's motion is not known, and at once when the part does not show the puck well enough.
"""

from dataclasses import dataclass

import numpy as np

from plucc.sighting import Observation, View
from plucc.track import Candidate
from plucc.types import Box, FloatArray, Point, Size


@dataclass(frozen=True, slots=True)
class FollowLimits:
    """When to trust a part of the frame; pixels are those of a 720-line picture, probabilities the candidates'.

    `side_px` is the part's size. The puck is lost below `keep`, and when it comes nearer than `edge_px` to an edge of
    the part: there it may be half cut off, or on its way out. After `interval` looks at parts comes one at the whole.
    """

    side_px: float = 384.0
    edge_px: float = 40.0
    lock: float = 0.85
    keep: float = 0.75
    interval: int = 12


class Follower:
    """Remembers the last looks and proposes the next; a fresh one for every shot."""

    def __init__(self, limits: FollowLimits | None = None) -> None:
        self._limits = limits or FollowLimits()
        self._scan: Observation | None = None
        self._place: Point | None = None
        self._drift_px = np.zeros(2)
        self._parts = 0

    def expected(self, motion: FloatArray | None) -> Box | None:
        """Return the part of the next frame to look at; None means the whole."""
        if self._place is None or self._scan is None or motion is None or self._parts >= self._limits.interval:
            return None
        size = self._scan.size
        x, y = _carried(self._place, motion) + self._drift_px
        if not (0 <= x < size.width and 0 <= y < size.height):
            return None
        half = self._limits.side_px / size.reference_scale / 2
        return Box(x - half, y - half, x + half, y + half)

    def view(self, box: Box) -> View:
        """Return a part together with what the last look at the whole frame found outside of it."""
        rest = -np.inf if self._scan is None else self._scan.log_mass_outside(box)
        return View(box, rest)

    def shows_puck(self, seen: Observation) -> bool:
        """Tell whether a look at a part is good enough to stand for the whole frame."""
        best = _best(seen)
        if best is None or seen.view_px is None or best.probability < self._limits.keep:
            return False
        return _depth_px(best.xy_px, seen.view_px, seen.size) * seen.size.reference_scale >= self._limits.edge_px

    def note(self, seen: Observation, motion: FloatArray | None) -> None:
        """Take in what was seen, at a part or at the whole."""
        if seen.view_px is None:
            self._scan, self._parts = seen, 0
        else:
            self._parts += 1
        best = _best(seen)
        needed = self._limits.lock if self._place is None else self._limits.keep
        if best is None or best.probability < needed:
            self._place, self._drift_px = None, np.zeros(2)
            return
        if self._place is not None and motion is not None:
            self._drift_px = np.array(tuple(best.xy_px)) - _carried(self._place, motion)
        self._place = best.xy_px


def _best(seen: Observation) -> Candidate | None:
    return max(seen.candidates, key=lambda candidate: candidate.probability, default=None)


def _depth_px(point: Point, box: Box, size: Size) -> float:
    """Return how far inside a box a point lies; edges that are the frame's own do not count."""
    depths = [np.inf]
    if box.left > 0:
        depths.append(point.x - box.left)
    if box.top > 0:
        depths.append(point.y - box.top)
    if box.right < size.width:
        depths.append(box.right - point.x)
    if box.bottom < size.height:
        depths.append(box.bottom - point.y)
    return float(min(depths))


def _carried(point: Point, motion: FloatArray) -> FloatArray:
    x, y, w = motion @ (point.x, point.y, 1.0)
    return np.array([x / w, y / w])
