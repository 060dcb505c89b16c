"""Sheets of ice: the NHL, IIHF and NCAA rinks, their paint, boards, goals and landmarks, in metres from centre ice."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import pi

import numpy as np
from jaxtyping import Bool, Float, Int

from plucc.rink.dimensions import (
    FOOT_M,
    INCH_M,
    Crease,
    CrossLine,
    Dimensions,
    Edge,
    GoalFrame,
    HashMarks,
    LMarks,
    SpotStyle,
    Surround,
    Trapezoid,
)
from plucc.rink.landmarks import landmarks
from plucc.rink.markings import COLOURS_RGB, ENDS, Kind, Marking, Samples, paint
from plucc.types import InputError, Point

__all__ = [
    "COLOURS_RGB",
    "Goal",
    "Kind",
    "Marking",
    "Samples",
    "Sheet",
    "iihf",
    "ncaa",
    "nhl",
    "nhl_pre2014",
    "sheet_by_name",
]


# One make of goal serves everywhere: the rule books fix the mouth, the NHL the depth, the maker the rest.
_GOAL_FRAME = GoalFrame(
    width_m=6 * FOOT_M,
    height_m=4 * FOOT_M,
    depth_m=40 * INCH_M,
    back_width_m=88 * INCH_M,
    top_depth_m=20 * INCH_M,
    post_diameter_m=2.375 * INCH_M,
)


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal on the ice: the middle of its mouth, the way it faces along x, and its frame."""

    name: str
    x_m: float
    facing: float  # +1 or -1: towards centre ice
    frame: GoalFrame

    def mouth(self) -> Float[np.ndarray, "4 3"]:
        """Return the insides of posts and crossbar: near foot, near top, far top, far foot."""
        half, height = self.frame.width_m / 2, self.frame.height_m
        return np.array([(self.x_m, y, z) for y, z in ((-half, 0.0), (-half, height), (half, height), (half, 0.0))])

    def footprint(self) -> Float[np.ndarray, "4 2"]:
        """Return the base on the ice, from the near post round the back to the far post."""
        half, back_half = self.frame.width_m / 2, self.frame.back_width_m / 2
        back = self.x_m - self.facing * self.frame.depth_m
        return np.array([(self.x_m, -half), (back, -back_half), (back, back_half), (self.x_m, half)])

    def top(self) -> Float[np.ndarray, "4 3"]:
        """Return the top of the net, crossbar and the frame behind it, in the order of `footprint`."""
        half, height = self.frame.width_m / 2, self.frame.height_m
        back = self.x_m - self.facing * self.frame.top_depth_m
        return np.array([(x, y, height) for x, y in ((self.x_m, -half), (back, -half), (back, half), (self.x_m, half))])


class Sheet(Dimensions):
    """A sheet of ice: its dimensions, and what follows from them."""

    @property
    def goal_line_x_m(self) -> float:
        """The middle of the right goal line; the left one is at minus this."""
        return self.goal_line.centre_x_m

    @property
    def blue_line_x_m(self) -> float:
        """The middle of the right blue line; the left one is at minus this."""
        return self.blue_line.centre_x_m

    @cached_property
    def markings(self) -> tuple[Marking, ...]:
        """All paint on the ice, in the order of painting."""
        return paint(self)

    @cached_property
    def landmarks(self) -> dict[str, Point]:
        """Named points that a person or a detector can find on the ice, at the middles of lines."""
        return landmarks(self)

    @property
    def goals(self) -> tuple[Goal, Goal]:
        """The left and the right goal."""
        left, right = (Goal(f"goal {end}", sign * self.goal_line_x_m, -sign, self.goal_frame) for end, sign in ENDS)
        return left, right

    def boards(self, step_m: float = 0.1) -> Float[np.ndarray, "n 2"]:
        """Return the inner face of the boards, once round anticlockwise; the first point is repeated at the end."""
        x, y, radius = self.length_m / 2, self.width_m / 2, self.corner_radius_m
        pieces = []
        for quarter, (sign_x, sign_y) in enumerate(((1, 1), (-1, 1), (-1, -1), (1, -1))):
            count = max(int(np.ceil(radius * pi / 2 / step_m)), 2) + 1
            angles = quarter * pi / 2 + np.linspace(0.0, pi / 2, count)
            centre = np.array([sign_x * (x - radius), sign_y * (y - radius)])
            pieces.append(centre + radius * np.column_stack((np.cos(angles), np.sin(angles))))
        walls = [_between(one[-1], other[0], step_m) for one, other in pairwise([*pieces, pieces[0]])]
        return np.concatenate([part for pair in zip(pieces, walls, strict=True) for part in pair] + [pieces[0][:1]])

    def distance_inside(self, points_m: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, " n"]:
        """Return how far from the boards points lie, in metres; negative outside."""
        half = np.array([self.length_m, self.width_m]) / 2 - self.corner_radius_m
        beyond = np.abs(points_m) - half
        in_corner = np.hypot(*np.maximum(beyond, 0.0).T)
        return np.asarray(self.corner_radius_m - in_corner - np.minimum(beyond.max(axis=1), 0.0))

    def contains(self, points_m: Float[np.ndarray, "n 2"], margin_m: float = 0.0) -> Bool[np.ndarray, " n"]:
        """Tell which points lie on the ice, at least `margin_m` from the boards; NaN does not."""
        return np.asarray(self.distance_inside(points_m) >= margin_m, dtype=np.bool_)

    def zones(self, points_m: Float[np.ndarray, "n 2"]) -> Int[np.ndarray, " n"]:
        """Return -1, 0 or 1 for the left end zone, the neutral zone and the right end zone.

        A blue line belongs to its end zone: the neutral zone lies between the inner edges.
        """
        beyond = np.abs(points_m[:, 0]) >= self.blue_line.inner_x_m
        return np.where(beyond, np.sign(points_m[:, 0]), 0.0).astype(np.int64)

    def sample_points(
        self, rng: np.random.Generator, count: int, margin_m: float = 0.0
    ) -> Float[np.ndarray, "count 2"]:
        """Return points spread evenly over the ice, at least `margin_m` from the boards."""
        half = np.array([self.length_m, self.width_m]) / 2 - margin_m
        found = np.empty((0, 2))
        while len(found) < count:
            drawn = rng.uniform(-half, half, size=(2 * count, 2))
            found = np.concatenate((found, drawn[self.contains(drawn, margin_m)]))
        return found[:count]

    def samples(self, step_m: float = 0.25) -> tuple[Samples, ...]:
        """Return sampled points on every marking and on the foot of the boards (named "boards"), for alignment."""
        boards = _area_boundary(self.boards(step_m))
        return (*(marking.sample(step_m) for marking in self.markings), boards.sample(step_m))


def _between(start: Float[np.ndarray, " 2"], end: Float[np.ndarray, " 2"], step_m: float) -> Float[np.ndarray, "n 2"]:
    """Return evenly spaced points strictly between two others."""
    count = int(np.ceil(np.hypot(*(end - start)) / step_m))
    shares = np.arange(1, count) / max(count, 1)
    return np.asarray(start + shares[:, None] * (end - start))


def _area_boundary(boundary_m: Float[np.ndarray, "n 2"]) -> Marking:
    return Marking("boards", "yellow", Kind.POLYGON, 0.0, boundary_m, boundary_m[:-1])


def nhl() -> Sheet:
    """Return the NHL sheet, as in the rule book since 2014-15 (rule 1).

    - Goal line: the rule places the goals, 11 ft from the end of the rink and in the middle of the 2 in line, so the
      11 ft are to the line's middle.
    - Blue lines: 64 ft out from the goal lines, that is 75 ft from the boards. They belong to the end zones, so this
      is to the inner edge and leaves a neutral zone of 50 ft between inner edges: middles at 25.5 ft from centre ice.
    - Spots: to their middles; the end spots 20 ft from the goal line, the neutral ones 5 ft from the blue line's
      inner edge.
    - Circles: the 2 in line counts as part of the 15 ft radius, as USA Hockey's rule 106 spells out; the NHL does not
      say.
    - Hash marks: 5 ft 7 in of clear ice between them. L-marks: 18 in of clear ice, 1 ft from the spot's rim.
    - Crease and trapezoid: to the outer edges. The sides of the crease, 1 ft outside the posts, meet the 6 ft arc
      4.47 ft out, which the rule book gives as 4 ft 6 in.
    - Glass: 5 ft over the boards at the sides, 8 ft at the ends.
    """
    thick, thin = 12 * INCH_M, 2 * INCH_M
    return Sheet(
        name="nhl",
        length_m=200 * FOOT_M,
        width_m=85 * FOOT_M,
        corner_radius_m=28 * FOOT_M,
        goal_line=CrossLine((100 - 11) * FOOT_M, Edge.CENTRE, thin),
        blue_line=CrossLine(25 * FOOT_M, Edge.INNER, thick),
        centre_line_width_m=thick,
        thin_line_m=thin,
        circle_radius_m=15 * FOOT_M,
        centre_spot_radius_m=6 * INCH_M,
        end_spot=Point((100 - 11 - 20) * FOOT_M, 22 * FOOT_M),
        neutral_spot=Point((25 - 5) * FOOT_M, 22 * FOOT_M),
        spot=SpotStyle(radius_m=1 * FOOT_M, white_m=3 * INCH_M),
        hash_marks=HashMarks(gap_m=67 * INCH_M, length_m=2 * FOOT_M),
        l_marks=LMarks(start_m=2 * FOOT_M, gap_m=18 * INCH_M, long_m=4 * FOOT_M, short_m=3 * FOOT_M),
        crease=Crease(radius_m=6 * FOOT_M, width_m=8 * FOOT_M, mark_x_m=4 * FOOT_M, mark_length_m=5 * INCH_M),
        trapezoid=Trapezoid(goal_line_m=22 * FOOT_M, boards_m=28 * FOOT_M),
        referee_crease_radius_m=10 * FOOT_M,
        goal_frame=_GOAL_FRAME,
        surround=Surround(glass_sides_m=5 * FOOT_M, glass_ends_m=8 * FOOT_M),
    )


def nhl_pre2014() -> Sheet:
    """Return the NHL sheet of 2005-06 to 2013-14: hash marks 3 ft apart, trapezoid 18 ft wide at the goal line."""
    return replace(
        nhl(),
        name="nhl-pre2014",
        hash_marks=HashMarks(gap_m=3 * FOOT_M, length_m=2 * FOOT_M),
        trapezoid=Trapezoid(goal_line_m=18 * FOOT_M, boards_m=28 * FOOT_M),
    )


def iihf(width_m: float = 30.0, corner_radius_m: float = 8.5) -> Sheet:
    """Return the IIHF sheet: 60 m long, 26 to 30 m wide, with corners of 7 to 8.5 m.

    - Blue lines: 22.86 m from the end boards to their middles, as the 2014 edition settled.
    - Goal lines: 4 m from the end boards; the book names no edge, and the middle is taken, where the goals stand.
    - Spots: to their middles; end spots 6 m from the goal line and 7 m off the long axis, neutral ones 1.5 m from the
      blue line's inner edge.
    - Hash marks: 1.7 m of clear ice. Circles: to the outer edge, as the book measures its creases.
    - Creases and trapezoid: expressly to the outer edges. The goal crease is a half circle of 1.8 m with L-shaped
      corner marks.
    - Glass: 1.8 m over the boards at the sides, 2.4 m at the ends.
    """
    if not (26.0 <= width_m <= 30.0 and 7.0 <= corner_radius_m <= 8.5):
        raise InputError(
            f"an IIHF sheet of width {width_m:g} m with corners of {corner_radius_m:g} m was asked for; "
            f"the rule book has 26 to 30 m and 7 to 8.5 m: choose within these"
        )
    return Sheet(
        name="iihf",
        length_m=60.0,
        width_m=width_m,
        corner_radius_m=corner_radius_m,
        goal_line=CrossLine(30.0 - 4.0, Edge.CENTRE, 0.05),
        blue_line=CrossLine(30.0 - 22.86, Edge.CENTRE, 0.3),
        centre_line_width_m=0.3,
        thin_line_m=0.05,
        circle_radius_m=4.5,
        centre_spot_radius_m=0.15,
        end_spot=Point(30.0 - 4.0 - 6.0, 7.0),
        neutral_spot=Point(30.0 - 22.86 - 0.15 - 1.5, 7.0),
        spot=SpotStyle(radius_m=0.3, white_m=0.075),
        hash_marks=HashMarks(gap_m=1.7, length_m=0.6),
        l_marks=LMarks(start_m=0.6, gap_m=0.45, long_m=1.2, short_m=0.9),
        crease=Crease(radius_m=1.8, width_m=None, mark_x_m=1.22, mark_length_m=0.15),
        trapezoid=Trapezoid(goal_line_m=6.8, boards_m=8.6),
        referee_crease_radius_m=3.0,
        goal_frame=_GOAL_FRAME,
        surround=Surround(glass_sides_m=1.8, glass_ends_m=2.4),
    )


def ncaa(width_m: float = 85 * FOOT_M) -> Sheet:
    """Return the NCAA sheet: the NHL's lines, corners of 20 ft, no trapezoid; 85 to 100 ft wide."""
    if not 25.9 <= width_m <= 30.5:  # 85 to 100 ft, as people round them
        raise InputError(f"an NCAA sheet of width {width_m:g} m was asked for; they have 25.9 to 30.5 m: choose one")
    return replace(nhl(), name="ncaa", width_m=width_m, corner_radius_m=20 * FOOT_M, trapezoid=None)


_FIXED: dict[str, Callable[[], Sheet]] = {"nhl": nhl, "nhl-pre2014": nhl_pre2014}
_OF_ANY_WIDTH: dict[str, Callable[..., Sheet]] = {"iihf": iihf, "ncaa": ncaa}


def sheet_by_name(name: str, width_m: float | None = None) -> Sheet:
    """Return the sheet "nhl", "nhl-pre2014", "iihf" or "ncaa"; a width is for the last two, whose rinks differ."""
    key = name.lower().replace("_", "-")
    if key in _FIXED and width_m is None:
        return _FIXED[key]()
    if key in _FIXED:
        raise InputError(f"the {key} sheet is always 25.9 m wide, and {width_m:g} m was asked for: leave the width out")
    if key in _OF_ANY_WIDTH:
        return _OF_ANY_WIDTH[key]() if width_m is None else _OF_ANY_WIDTH[key](width_m)
    known = ", ".join((*_FIXED, *_OF_ANY_WIDTH))
    raise InputError(f"there is no sheet called {name!r}; the sheets are {known}: choose one of them")
