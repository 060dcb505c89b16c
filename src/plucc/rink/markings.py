"""Paint on the ice: what a renderer fills and what an aligner samples, built from a sheet's dimensions.

Names read "<what> <left|right> <near|far>": left is x < 0, near is y < 0, the main camera's side.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from math import acos, asin, ceil, pi, sqrt

import numpy as np
from jaxtyping import Float

from plucc.rink.dimensions import Dimensions
from plucc.types import Point

ARC_SAGITTA_M = 0.001  # arcs are drawn as chords that stay this close to the curve

# The paint that rule books prescribe (Pantone 186, 286 and 298), the kick plate and the ice, as sRGB.
COLOURS_RGB: dict[str, tuple[int, int, int]] = {
    "red": (200, 16, 46),
    "blue": (0, 51, 160),
    "light blue": (65, 182, 230),
    "yellow": (255, 209, 0),
    "white": (244, 247, 250),
}

ENDS = (("left", -1.0), ("right", 1.0))
SIDES = (("near", -1.0), ("far", 1.0))


class Kind(StrEnum):
    """What a marking is made of: a straight or bent line, a line along a circle, a full disc, a filled area."""

    LINE = "line"
    ARC = "arc"
    DISC = "disc"
    POLYGON = "polygon"


@dataclass(frozen=True, slots=True, eq=False)
class Marking:
    """One piece of paint.

    `centre_line_m` runs along the middle of a line or arc (the closing point repeated on full circles); for discs and
    filled areas, whose width is 0, it is the closed boundary. `outline_m` is the filled area; a full circle's ring is
    cut open so that one polygon holds both of its edges.
    """

    name: str
    colour: str
    kind: Kind
    width_m: float
    centre_line_m: Float[np.ndarray, "n 2"]
    outline_m: Float[np.ndarray, "m 2"]

    def polygon(self) -> Float[np.ndarray, "m 2"]:
        """Return the filled area as one closed polygon, its first point not repeated."""
        return self.outline_m

    def sample(self, step_m: float = 0.25) -> "Samples":
        """Return points along the centre line no further apart than `step_m`, with their normals."""
        points, normals = [], []
        for start, end in zip(self.centre_line_m[:-1], self.centre_line_m[1:], strict=True):
            along = end - start
            length = float(np.hypot(along[0], along[1]))
            count = max(ceil(length / step_m), 1)
            # midpoints of equal pieces: corners have no normal, so no point falls on them
            shares = (np.arange(count) + 0.5) / count
            points.append(start + shares[:, None] * along)
            normals.append(np.tile([-along[1] / length, along[0] / length], (count, 1)))
        return Samples(self.name, self.colour, self.width_m, np.concatenate(points), np.concatenate(normals))


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Points along a marking, on its centre line or the boundary of a filled area, with unit normals to their left."""

    name: str
    colour: str
    width_m: float
    points_m: Float[np.ndarray, "n 2"]
    normals: Float[np.ndarray, "n 2"]

    @property
    def left_edge_m(self) -> Float[np.ndarray, "n 2"]:
        """The points moved to the edge that lies along the normal."""
        return np.asarray(self.points_m + self.normals * (self.width_m / 2))

    @property
    def right_edge_m(self) -> Float[np.ndarray, "n 2"]:
        """The points moved to the other edge."""
        return np.asarray(self.points_m - self.normals * (self.width_m / 2))


def paint(sheet: Dimensions) -> tuple[Marking, ...]:
    """Return all markings of a sheet in the order of painting: later ones cover earlier ones."""
    return (
        *_creases(sheet),
        *_trapezoids(sheet),
        *_end_circles(sheet),
        _ring("centre circle", "blue", Point(0.0, 0.0), sheet.circle_radius_m, sheet.thin_line_m),
        _referee_crease(sheet),
        *_goal_lines(sheet),
        *_blue_lines(sheet),
        _cross_line("centre line", "red", sheet, 0.0, sheet.centre_line_width_m),
        *_spots(sheet),
        _disc("centre spot", "blue", Point(0.0, 0.0), sheet.centre_spot_radius_m),
    )


def arc(centre: Point, radius_m: float, start_rad: float, end_rad: float) -> Float[np.ndarray, "n 2"]:
    """Return points along an arc from one angle to the other, ends included, dense enough for any picture."""
    step_rad = 2 * acos(1 - min(ARC_SAGITTA_M / radius_m, 1.0))
    chords = 4 * ceil(abs(end_rad - start_rad) / step_rad / 4)  # fours, so that circles are as symmetric as the rink
    angles = np.linspace(start_rad, end_rad, chords + 1)
    return np.column_stack((centre.x + radius_m * np.cos(angles), centre.y + radius_m * np.sin(angles)))


def _band(outer: Float[np.ndarray, "n 2"], inner: Float[np.ndarray, "m 2"]) -> Float[np.ndarray, "k 2"]:
    """Return the polygon between two curves that run the same way."""
    return np.concatenate((outer, inner[::-1]))


def _arc_line(
    name: str, centre: Point, outer_radius_m: float, width_m: float, angles_rad: tuple[float, float]
) -> Marking:
    """Return a red line along a circle, whose radius is measured to the line's outer edge."""
    outer = arc(centre, outer_radius_m, *angles_rad)
    inner = arc(centre, outer_radius_m - width_m, *angles_rad)
    middle = arc(centre, outer_radius_m - width_m / 2, *angles_rad)
    return Marking(name, "red", Kind.ARC, width_m, middle, _band(outer, inner))


def _ring(name: str, colour: str, centre: Point, outer_radius_m: float, width_m: float) -> Marking:
    full = _arc_line(name, centre, outer_radius_m, width_m, (0.0, 2 * pi))
    return Marking(name, colour, Kind.ARC, width_m, full.centre_line_m, full.outline_m)


def _disc(name: str, colour: str, centre: Point, radius_m: float) -> Marking:
    rim = arc(centre, radius_m, 0.0, 2 * pi)
    return Marking(name, colour, Kind.DISC, 0.0, rim, rim[:-1])


def _area(name: str, colour: str, outline_m: Float[np.ndarray, "n 2"]) -> Marking:
    return Marking(name, colour, Kind.POLYGON, 0.0, np.concatenate((outline_m, outline_m[:1])), outline_m)


def _bar(name: str, start: Point, end: Point, width_m: float) -> Marking:
    """Return a straight red line with square ends."""
    along = np.array([end.x - start.x, end.y - start.y])
    across = np.array([-along[1], along[0]]) * (width_m / 2 / np.hypot(*along))
    ends = np.array([tuple(start), tuple(end)])
    return Marking(name, "red", Kind.LINE, width_m, ends, _band(ends + across, ends - across))


def _cross_line(name: str, colour: str, sheet: Dimensions, x_m: float, width_m: float) -> Marking:
    """Return a line across the rink from boards to boards, ending on their curve where it runs into the corners."""
    edges = [
        np.array([(x, -sheet.half_width_at(x)), (x, sheet.half_width_at(x))])
        for x in (x_m - width_m / 2, x_m, x_m + width_m / 2)
    ]
    return Marking(name, colour, Kind.LINE, width_m, edges[1], _band(edges[0], edges[2]))


def _goal_lines(sheet: Dimensions) -> Iterator[Marking]:
    for end, sign in ENDS:
        line = sheet.goal_line
        yield _cross_line(f"goal line {end}", "red", sheet, sign * line.centre_x_m, line.width_m)


def _blue_lines(sheet: Dimensions) -> Iterator[Marking]:
    for end, sign in ENDS:
        line = sheet.blue_line
        yield _cross_line(f"blue line {end}", "blue", sheet, sign * line.centre_x_m, line.width_m)


def _referee_crease(sheet: Dimensions) -> Marking:
    side = {"near": -1.0, "far": 1.0}[sheet.referee_side]
    centre = Point(0.0, side * sheet.width_m / 2)
    angles = (0.0, pi) if side < 0 else (pi, 2 * pi)
    return _arc_line("referee crease", centre, sheet.referee_crease_radius_m, sheet.thin_line_m, angles)


def _from_goal_line(sheet: Dimensions, sign: float, local: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 2"]:
    """Move points given as (towards centre ice, across) from the middle of a goal line to the rink."""
    return np.column_stack((sign * (sheet.goal_line.centre_x_m - local[:, 0]), local[:, 1]))


def _crease_edge(sheet: Dimensions, inset_m: float) -> Float[np.ndarray, "n 2"]:
    """Return the edge of a crease, so far inside its outer edge, from one end at the goal line to the other."""
    crease = sheet.crease
    radius = crease.radius_m - inset_m
    if crease.width_m is None:
        return arc(Point(0.0, 0.0), radius, -pi / 2, pi / 2)
    half = crease.width_m / 2 - inset_m
    reach = asin(half / radius)
    return np.concatenate(([(0.0, -half)], arc(Point(0.0, 0.0), radius, -reach, reach), [(0.0, half)]))


def _creases(sheet: Dimensions) -> Iterator[Marking]:
    outer, middle, inner = (_crease_edge(sheet, share * sheet.thin_line_m) for share in (0.0, 0.5, 1.0))
    for end, sign in ENDS:
        yield _area(f"crease {end}", "light blue", _from_goal_line(sheet, sign, outer))
        for side, across in SIDES:
            for leg, (start, stop) in zip(("across", "along"), _crease_marks(sheet), strict=False):
                ends = _from_goal_line(sheet, sign, np.array([start, stop]) * (1.0, across))
                yield _bar(f"crease mark {end} {side} {leg}", Point(*ends[0]), Point(*ends[1]), sheet.thin_line_m)
        middle_m, band_m = _from_goal_line(sheet, sign, middle), _from_goal_line(sheet, sign, _band(outer, inner))
        yield Marking(f"crease line {end}", "red", Kind.LINE, sheet.thin_line_m, middle_m, band_m)


def _crease_marks(sheet: Dimensions) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Return the legs of the far corner mark, as (towards centre ice, across), from the crease's edge inwards."""
    crease, half_line = sheet.crease, sheet.thin_line_m / 2
    if crease.width_m is not None:
        edge = crease.width_m / 2
        # the leg is its clear length inside the side line, and starts under that line
        inside = edge - sheet.thin_line_m - crease.mark_length_m
        return [((crease.mark_x_m, edge - half_line), (crease.mark_x_m, inside))]
    edge = sqrt(crease.radius_m**2 - crease.mark_x_m**2)
    corner_x, corner_y = crease.mark_x_m - half_line, edge - half_line
    return [
        ((corner_x, edge), (corner_x, edge - crease.mark_length_m)),
        ((crease.mark_x_m, corner_y), (crease.mark_x_m - crease.mark_length_m, corner_y)),
    ]


def _trapezoids(sheet: Dimensions) -> Iterator[Marking]:
    if sheet.trapezoid is None:
        return
    half_widths = np.array([sheet.trapezoid.goal_line_m, sheet.trapezoid.boards_m]) / 2
    x_m = np.array([sheet.goal_line.centre_x_m, sheet.length_m / 2])
    span = sheet.trapezoid_line_span_m()
    for (end, sign), (side, across) in product(ENDS, SIDES):
        edges = [np.column_stack((sign * x_m, across * (half_widths - share * span))) for share in (0.0, 0.5, 1.0)]
        outline = _band(edges[0], edges[2])
        yield Marking(f"trapezoid {end} {side}", "red", Kind.LINE, sheet.thin_line_m, edges[1], outline)


def _end_circles(sheet: Dimensions) -> Iterator[Marking]:
    for (end, sign), (side, across) in product(ENDS, SIDES):
        centre = Point(sign * sheet.end_spot.x, across * sheet.end_spot.y)
        where = f"{end} {side}"
        yield _ring(f"end circle {where}", "red", centre, sheet.circle_radius_m, sheet.thin_line_m)
        for (way, step_x), (turn, step_y) in product(ENDS, SIDES):
            yield _hash_mark(f"hash mark {where} {way} {turn}", sheet, centre, (step_x, step_y))
            yield _l_mark(f"L-mark {where} {way} {turn}", sheet, centre, (step_x, step_y))


def _hash_mark(name: str, sheet: Dimensions, centre: Point, steps: tuple[float, float]) -> Marking:
    x_m = centre.x + steps[0] * (sheet.hash_marks.gap_m + sheet.thin_line_m) / 2
    begin = sheet.hash_start_m()
    start, stop = (centre.y + steps[1] * reach for reach in (begin, begin + sheet.hash_marks.length_m))
    return _bar(name, Point(x_m, start), Point(x_m, stop), sheet.thin_line_m)


def _l_mark(name: str, sheet: Dimensions, centre: Point, steps: tuple[float, float]) -> Marking:
    marks, line = sheet.l_marks, sheet.thin_line_m
    near_x, near_y = marks.start_m, marks.gap_m / 2
    far_x, far_y = near_x + marks.long_m, near_y + marks.short_m
    corner = (near_x + line / 2, near_y + line / 2)
    middle = np.array([(far_x, corner[1]), corner, (corner[0], far_y)])
    outline = np.array(
        [
            (near_x, near_y),
            (far_x, near_y),
            (far_x, near_y + line),
            (near_x + line, near_y + line),
            (near_x + line, far_y),
            (near_x, far_y),
        ]
    )
    return Marking(name, "red", Kind.LINE, line, tuple(centre) + middle * steps, tuple(centre) + outline * steps)


def _spots(sheet: Dimensions) -> Iterator[Marking]:
    for what, spot in (("end spot", sheet.end_spot), ("neutral spot", sheet.neutral_spot)):
        for (end, sign), (side, across) in product(ENDS, SIDES):
            centre = Point(sign * spot.x, across * spot.y)
            name = f"{what} {end} {side}"
            yield _area(f"{name} band", "red", _spot_band(sheet, centre))
            yield _ring(f"{name} ring", "red", centre, sheet.spot.radius_m, sheet.thin_line_m)


def _spot_band(sheet: Dimensions, centre: Point) -> Float[np.ndarray, "n 2"]:
    """Return the band across a spot: the part of its disc nearest its middle, seen along the rink."""
    half = sheet.spot.radius_m - sheet.thin_line_m - sheet.spot.white_m
    reach = asin(half / sheet.spot.radius_m)
    far = arc(centre, sheet.spot.radius_m, pi / 2 - reach, pi / 2 + reach)
    near = arc(centre, sheet.spot.radius_m, 1.5 * pi - reach, 1.5 * pi + reach)
    return np.concatenate((far, near))
