"""Where lines really are: the picture sampled across each projected piece of the rink, and matched to its look.

A band is a box of its own width that differs from both sides; a thin line is a narrow box; the rim of a circle is a
line or a step, because sponsors fill circles; the kick plate is yellow on its upper side only.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from jaxtyping import Bool, Float, Int

from plucc.rink.evidence import BLUE, RED, YELLOW, Evidence
from plucc.rink.template import Look

FLANK_PX = 3.0
GAP_PX = 0.7  # between a line and the ice that it is compared to: optics blur that much
NARROWEST_PX = 1.5
REACH_MARGIN_PX = 24
RIM_WORTH = 0.7  # of a step against a line: steps are also at letters, sticks and shadows
LEAST = np.array([2.5, 2.5, 1.8, 1.6, 3.0, 5.0], np.float32)  # the response that makes a match, by look


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Projected samples of the template: place, unit normal across the line, and the line's width in pixels.

    The kick plate's normals point up the picture, and its width is how high it stands there.
    """

    at_px: Float[np.ndarray, "n 2"]
    normal: Float[np.ndarray, "n 2"]
    width_px: Float[np.ndarray, " n"]
    look: Int[np.ndarray, " n"]


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """Where along its normal each piece was found, in pixels from its place; `found` where the picture shows it."""

    offset_px: Float[np.ndarray, " n"]
    strength: Float[np.ndarray, " n"]
    found: Bool[np.ndarray, " n"]


def match(evidence: Evidence, pieces: Pieces, reach_px: int) -> Matches:
    """Look for every piece within `reach_px` of its place."""
    profile = _sampled(evidence, pieces, reach_px + REACH_MARGIN_PX)
    response = np.zeros((len(pieces.look), 2 * reach_px + 1), np.float32)
    for look, respond in _RESPONSES.items():
        chosen = pieces.look == look
        if chosen.any():
            response[chosen] = respond(_Profile(profile[chosen], pieces.width_px[chosen], reach_px))
    offsets = np.arange(-reach_px, reach_px + 1)
    # of two equal matches the nearer one is right more often
    preferred = response * np.exp(-0.5 * (offsets / (0.8 * reach_px)) ** 2)
    best = np.argmax(preferred, axis=1)
    rows = np.arange(len(best))
    strength = response[rows, best]
    return Matches(offsets[best] + _peak_shift(response, best), strength, strength > LEAST[pieces.look])


def _peak_shift(response: Float[np.ndarray, "n k"], best: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Return where between samples a peak lies, by the parabola through it and its neighbours."""
    inner = np.clip(best, 1, response.shape[1] - 2)
    rows = np.arange(len(best))
    before, at, after = (response[rows, inner + step] for step in (-1, 0, 1))
    bend = before - 2 * at + after
    shift = np.divide(0.5 * (before - after), bend, out=np.zeros_like(bend), where=bend < -1e-6)
    return np.where(inner == best, np.clip(shift, -0.5, 0.5), 0.0)


def _sampled(evidence: Evidence, pieces: Pieces, reach_px: int) -> Float[np.ndarray, "n k 3"]:
    """Return red, blue and yellow across each piece, a pixel apart."""
    offsets = np.arange(-reach_px, reach_px + 1, dtype=np.float32)
    places = pieces.at_px[:, None] + pieces.normal[:, None] * offsets[:, None] - 0.5
    across, down = (np.ascontiguousarray(places[..., axis], np.float32) for axis in (0, 1))
    return np.asarray(cv2.remap(evidence.planes, across, down, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE))


class _Profile:
    """Profiles of one look, with means over stretches of them at every offset within reach."""

    def __init__(self, samples: Float[np.ndarray, "n k 3"], width_px: Float[np.ndarray, " n"], reach_px: int) -> None:
        self.half_px = np.clip(width_px / 2, NARROWEST_PX / 2, REACH_MARGIN_PX / 2 - FLANK_PX)
        self.height_px = np.clip(width_px, NARROWEST_PX, REACH_MARGIN_PX / 2)
        self.reach_px = reach_px
        self._sums = np.concatenate((np.zeros_like(samples[:, :1]), np.cumsum(samples, axis=1)), axis=1)
        self._middle = samples.shape[1] // 2

    def mean(
        self, plane: int, start_px: Float[np.ndarray, " n"], end_px: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, "n k"]:
        """Return the mean of a plane from start to end, measured from each offset."""
        total = self._integral(plane, end_px) - self._integral(plane, start_px)
        return np.asarray(total / (end_px - start_px)[:, None])

    def _integral(self, plane: int, to_px: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n k"]:
        # sample i covers i - 0.5 to i + 0.5 about the middle one, so the running sum is known at half steps
        place = to_px + self._middle - self.reach_px + 0.5
        whole = np.floor(place).astype(np.int64)
        share = (place - whole)[:, None].astype(np.float32)
        columns = whole[:, None] + np.arange(2 * self.reach_px + 1)
        sums = self._sums[..., plane]
        low, high = np.take_along_axis(sums, columns, axis=1), np.take_along_axis(sums, columns + 1, axis=1)
        return np.asarray(low + share * (high - low))

    def ridge(self, plane: int) -> Float[np.ndarray, "n k"]:
        """Return how much more of a colour a line has than the stronger of its two sides."""
        inner, outer = self.half_px + GAP_PX, self.half_px + GAP_PX + FLANK_PX
        line = self.mean(plane, -self.half_px, self.half_px)
        return np.asarray(line - np.maximum(self.mean(plane, inner, outer), self.mean(plane, -outer, -inner)))

    def step(self, plane: int) -> Float[np.ndarray, "n k"]:
        """Return the change of a colour from one side to the other, upwards along the normal."""
        near, far = np.full_like(self.half_px, GAP_PX / 2), np.full_like(self.half_px, GAP_PX / 2 + FLANK_PX)
        return np.asarray(self.mean(plane, near, far) - self.mean(plane, -far, -near))


def _ring(profile: _Profile) -> Float[np.ndarray, "n k"]:
    lines = np.maximum(profile.ridge(RED), profile.ridge(BLUE))
    rims = np.maximum(np.abs(profile.step(RED)), np.abs(profile.step(BLUE)))
    return np.asarray(np.maximum(lines, RIM_WORTH * rims))


def _kick_plate(profile: _Profile) -> Float[np.ndarray, "n k"]:
    # as much above the foot as below it: a longer stretch on one side would move the peak of a soft edge to the other
    none = np.zeros_like(profile.half_px)
    reach = np.minimum(profile.height_px, FLANK_PX)
    return np.asarray(profile.mean(YELLOW, none, reach) - profile.mean(YELLOW, -reach, none))


_RESPONSES = {
    Look.RED_BAND: lambda profile: profile.ridge(RED),
    Look.BLUE_BAND: lambda profile: profile.ridge(BLUE),
    Look.RED_LINE: lambda profile: profile.ridge(RED),
    Look.RING: _ring,
    Look.SPOT: lambda profile: np.abs(profile.step(RED)),
    Look.KICK_PLATE: _kick_plate,
}
