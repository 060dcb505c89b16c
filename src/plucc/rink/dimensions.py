"""What a rule book says about a sheet of ice, as data: lengths in metres, lines with their width and measured edge.

A line is as wide as a hand or a foot, so a distance means little without the edge it is taken to: a blue line read at
the wrong edge is 15 cm off. "Inner" is the edge nearest centre ice, "outer" the one nearest the end boards; for
circles and creases "outer" is the edge away from their centre.
"""

from dataclasses import dataclass
from enum import StrEnum
from math import hypot, sqrt
from typing import Literal

from plucc.types import InputError, Point

FOOT_M = 0.3048
INCH_M = 0.0254

BOARD_HEIGHT_M = 1.07  # the ideal height in all rule books (42 in)
KICK_PLATE_HEIGHT_M = 0.2  # by custom; the rule books give only its colour


class Edge(StrEnum):
    """Which part of a line a rule book measures to."""

    INNER = "inner"
    CENTRE = "centre"
    OUTER = "outer"


@dataclass(frozen=True, slots=True)
class CrossLine:
    """A line across the rink, on both halves alike: `distance_m` from centre ice to the given edge of the line."""

    distance_m: float
    edge: Edge
    width_m: float

    @property
    def centre_x_m(self) -> float:
        shift = {Edge.INNER: 0.5, Edge.CENTRE: 0.0, Edge.OUTER: -0.5}[self.edge]
        return self.distance_m + shift * self.width_m

    @property
    def inner_x_m(self) -> float:
        return self.centre_x_m - self.width_m / 2

    @property
    def outer_x_m(self) -> float:
        return self.centre_x_m + self.width_m / 2


@dataclass(frozen=True, slots=True)
class SpotStyle:
    """A face-off spot: a ring to its outer edge, and a band across it that leaves white on the two teams' sides."""

    radius_m: float
    white_m: float  # between the inside of the ring and the band, along the rink


@dataclass(frozen=True, slots=True)
class HashMarks:
    """Pairs of marks outside an end circle, parallel to the goal line; `gap_m` is the clear ice between their edges."""

    gap_m: float
    length_m: float  # from the outer edge of the circle outwards


@dataclass(frozen=True, slots=True)
class LMarks:
    """Four L-shaped marks about an end spot; lengths are over all, distances from the spot's centre to near edges."""

    start_m: float  # along the rink, to both legs
    gap_m: float  # clear ice across the rink between the long legs of two marks
    long_m: float  # leg along the rink
    short_m: float  # leg across the rink


@dataclass(frozen=True, slots=True)
class Crease:
    """A goal crease about the middle of the goal line, measured to the outer edge of its line: the line belongs to it.

    With `width_m` the arc is cut off by straight sides at right angles to the goal line (NHL, NCAA); without, the
    crease is a half circle (IIHF). The corner marks are short legs inside the crease where a line `mark_x_m` from the
    goal line meets its edge; a cut-off crease has only the leg across.
    """

    radius_m: float
    width_m: float | None
    mark_x_m: float
    mark_length_m: float

    @property
    def straight_m(self) -> float:
        """How far the straight sides run out from the goal line to meet the arc; 0 for a half circle."""
        return sqrt(self.radius_m**2 - (self.width_m / 2) ** 2) if self.width_m is not None else 0.0


@dataclass(frozen=True, slots=True)
class Trapezoid:
    """The goalkeeper's area behind the goal: widths at the goal line and at the boards, outer edge to outer edge."""

    goal_line_m: float
    boards_m: float


@dataclass(frozen=True, slots=True)
class GoalFrame:
    """A goal: mouth between the insides of posts and crossbar, and how deep and wide its base is on the ice."""

    width_m: float
    height_m: float
    depth_m: float
    back_width_m: float
    top_depth_m: float
    post_diameter_m: float


@dataclass(frozen=True, slots=True)
class Surround:
    """What stands around the ice: heights of the boards, their yellow kick plate, and the glass on top of them."""

    glass_sides_m: float
    glass_ends_m: float
    board_height_m: float = BOARD_HEIGHT_M
    kick_plate_height_m: float = KICK_PLATE_HEIGHT_M


@dataclass(frozen=True)
class Dimensions:
    """All measures of a sheet. Lines lie symmetrically about centre ice; only the referee's crease takes a side."""

    name: str
    length_m: float  # between the inner faces of the boards, as are width and corner radius
    width_m: float
    corner_radius_m: float
    goal_line: CrossLine
    blue_line: CrossLine
    centre_line_width_m: float
    thin_line_m: float  # the width of all other lines
    circle_radius_m: float  # to the outer edge, at centre ice and in the end zones
    centre_spot_radius_m: float
    end_spot: Point  # the one right and far; the others are its mirror images
    neutral_spot: Point
    spot: SpotStyle
    hash_marks: HashMarks
    l_marks: LMarks
    crease: Crease
    trapezoid: Trapezoid | None
    referee_crease_radius_m: float  # to the outer edge, about the middle of the long boards
    goal_frame: GoalFrame
    surround: Surround
    referee_side: Literal["near", "far"] = "near"  # the scorer's bench, as seen from the main camera

    def __post_init__(self) -> None:
        if not 0 < self.corner_radius_m <= min(self.length_m, self.width_m) / 2:
            raise InputError(
                f"the sheet {self.name} is {self.length_m:g} x {self.width_m:g} m with corners of "
                f"{self.corner_radius_m:g} m; the corner radius must be positive and at most half the width: "
                f"choose another"
            )
        if not self.blue_line.outer_x_m < self.goal_line.inner_x_m < self.length_m / 2:
            raise InputError(
                f"the sheet {self.name} has its goal line at {self.goal_line.centre_x_m:g} m; it must lie between "
                f"the blue line and the end boards: check the measures"
            )

    def half_width_at(self, x_m: float) -> float:
        """Return how far the boards stand from the long axis at x; less than half the width in the corners."""
        into_corner = abs(x_m) - (self.length_m / 2 - self.corner_radius_m)
        if into_corner <= 0:
            return self.width_m / 2
        return self.width_m / 2 - self.corner_radius_m + sqrt(max(self.corner_radius_m**2 - into_corner**2, 0.0))

    def half_length_at(self, y_m: float) -> float:
        """Return how far the boards stand from the centre line at y; less than half the length in the corners."""
        into_corner = abs(y_m) - (self.width_m / 2 - self.corner_radius_m)
        if into_corner <= 0:
            return self.length_m / 2
        return self.length_m / 2 - self.corner_radius_m + sqrt(max(self.corner_radius_m**2 - into_corner**2, 0.0))

    def hash_start_m(self) -> float:
        """Return how far across from the spot a hash mark begins: where its middle meets the circle's outer edge."""
        off_axis = self.hash_marks.gap_m / 2 + self.thin_line_m / 2
        return sqrt(self.circle_radius_m**2 - off_axis**2)

    def trapezoid_slope(self) -> float:
        """Return how much wider each side of the trapezoid gets for every metre towards the end boards."""
        if self.trapezoid is None:
            return 0.0
        widening = (self.trapezoid.boards_m - self.trapezoid.goal_line_m) / 2
        return widening / (self.length_m / 2 - self.goal_line.centre_x_m)

    def trapezoid_line_span_m(self) -> float:
        """Return the extent across the rink of the slanted line of the trapezoid, which is `thin_line_m` wide."""
        return self.thin_line_m * hypot(1.0, self.trapezoid_slope())
