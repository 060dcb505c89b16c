"""What of a sheet can be seen from afar and aligned to: points along its paint and its boards, each with its look."""

from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from jaxtyping import Bool, Float, Int

from plucc.rink.markings import Samples
from plucc.rink.sheet import Sheet

ICE_MARGIN_M = 0.6  # from the boards: nearer, the kick plate and its shadow mix in


class Look(IntEnum):
    """How a piece of the rink shows in a picture."""

    RED_BAND = 0  # the centre line, as wide as a foot
    BLUE_BAND = 1
    RED_LINE = 2  # as wide as a hand: goal lines, trapezoid, marks
    RING = 3  # a circle: a line, or the rim of a sponsor's disc, in any colour
    SPOT = 4
    KICK_PLATE = 5  # the yellow foot of the boards, above the ice
    ICE = 6  # inside the rink: bare ice mostly, paint and people now and then


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """Samples of everything that can be aligned; `tangents` run along the line, in the ice.

    The kick plate's tangents run anticlockwise round the rink, so that the ice is on their left.
    """

    points_m: Float[np.ndarray, "n 2"]
    tangents: Float[np.ndarray, "n 2"]
    step_m: Float[np.ndarray, " n"]  # the length that a sample stands for
    width_m: Float[np.ndarray, " n"]
    look: Int[np.ndarray, " n"]
    marking: Int[np.ndarray, " n"]  # which marking of the sheet a sample belongs to

    def __len__(self) -> int:
        return len(self.points_m)

    def part(self, chosen: Bool[np.ndarray, " n"] | Int[np.ndarray, " k"]) -> "Template":
        return Template(
            self.points_m[chosen],
            self.tangents[chosen],
            self.step_m[chosen],
            self.width_m[chosen],
            self.look[chosen],
            self.marking[chosen],
        )


def template(sheet: Sheet, step_m: float) -> Template:
    """Sample a sheet; the referee's crease is left out, because rinks differ in the side that it is on."""
    pieces = []
    for number, samples in enumerate(sheet.samples(step_m)):
        look = _look_of(samples)
        if look is not None:
            pieces.append(_thinned(_painted(_piece(samples, look, number), sheet), step_m))
    return joined(*pieces)


def ice_template(sheet: Sheet, step_m: float) -> Template:
    """Sample the inside of a sheet; the step is both the distance between samples and the length they stand for."""
    half_x, half_y = sheet.length_m / 2, sheet.width_m / 2
    x, y = np.meshgrid(np.arange(-half_x, half_x, step_m) + step_m / 2, np.arange(-half_y, half_y, step_m) + step_m / 2)
    points = np.column_stack((x.ravel(), y.ravel()))
    points = points[sheet.contains(points, margin_m=ICE_MARGIN_M)]
    count = len(points)
    along = np.tile([1.0, 0.0], (count, 1))
    none = np.zeros(count)
    return Template(points, along, np.full(count, step_m), none, np.full(count, Look.ICE), np.full(count, -1))


def joined(*templates: Template) -> Template:
    """Return several templates as one."""
    return Template(
        *(np.concatenate([getattr(piece, name) for piece in templates]) for name in Template.__dataclass_fields__)
    )


def _piece(samples: Samples, look: Look, number: int) -> Template:
    points, count = samples.points_m, len(samples.points_m)
    tangents = np.column_stack((samples.normals[:, 1], -samples.normals[:, 0]))
    # samples of one marking lie evenly but for the last chord of an arc, so the mean distance is each one's share
    length = float(np.hypot(*np.diff(points, axis=0).T).sum()) if count > 1 else samples.width_m
    step = np.full(count, length / max(count - 1, 1))
    return Template(
        points, tangents, step, np.full(count, samples.width_m), np.full(count, look), np.full(count, number)
    )


def _painted(piece: Template, sheet: Sheet) -> Template:
    """Leave out the centre line inside the centre circle, where most arenas paint an emblem over it."""
    if piece.look[0] != Look.RED_BAND:
        return piece
    return piece.part(np.abs(piece.points_m[:, 1]) > sheet.circle_radius_m)


def _thinned(piece: Template, step_m: float) -> Template:
    """Return every n-th sample: arcs are built of chords far shorter than any step."""
    every = max(1, int(step_m / piece.step_m[0] + 0.5))
    kept = piece.part(np.arange(every // 2, len(piece), every))
    return replace(kept, step_m=kept.step_m * every)


# by the beginning of a marking's name; what has no look is not sampled
_LOOKS = {
    "boards": Look.KICK_PLATE,
    "centre line": Look.RED_BAND,
    "blue line": Look.BLUE_BAND,
    "end circle": Look.RING,
    "centre circle": Look.RING,
    "goal line": Look.RED_LINE,
    "trapezoid": Look.RED_LINE,
    "hash mark": Look.RED_LINE,
    "L-mark": Look.RED_LINE,
    "crease line": Look.RED_LINE,
}


def _look_of(samples: Samples) -> Look | None:
    if samples.name.endswith(" ring"):
        return Look.SPOT
    return next((look for start, look in _LOOKS.items() if samples.name.startswith(start)), None)
