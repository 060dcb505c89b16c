"""Named points of a sheet: where lines meet the boards, spots, posts, corners of creases and trapezoids."""

from collections.abc import Iterator
from itertools import product
from math import sqrt

from plucc.rink.dimensions import Dimensions
from plucc.rink.markings import ENDS, SIDES
from plucc.types import Point


def landmarks(sheet: Dimensions) -> dict[str, Point]:
    """Return the landmarks of a sheet by name; points on lines are at the middle of the line."""
    points = {"centre spot": Point(0.0, 0.0)}
    points |= dict(_at_centre_ice(sheet))
    for (end, sign), (side, across) in product(ENDS, SIDES):
        for name, point in (*_on_cross_lines(sheet), *_about_spots(sheet), *_about_goal(sheet)):
            what, _, rest = name.partition("|")
            points[f"{what} {end} {side}{rest}"] = Point(sign * point.x, across * point.y)
    return points


def _at_centre_ice(sheet: Dimensions) -> Iterator[tuple[str, Point]]:
    radius = sheet.circle_radius_m - sheet.thin_line_m / 2
    for side, across in SIDES:
        yield f"centre line {side}", Point(0.0, across * sheet.width_m / 2)
        yield f"centre circle {side}", Point(0.0, across * radius)
    for end, sign in ENDS:
        yield f"centre circle {end}", Point(sign * radius, 0.0)


def _on_cross_lines(sheet: Dimensions) -> Iterator[tuple[str, Point]]:
    """Yield the right far ones: names are filled in where the bar stands."""
    blue_x, goal_x = sheet.blue_line.centre_x_m, sheet.goal_line.centre_x_m
    yield "blue line", Point(blue_x, sheet.half_width_at(blue_x))
    yield "goal line", Point(goal_x, sheet.half_width_at(goal_x))
    yield "corner| side", Point(sheet.length_m / 2 - sheet.corner_radius_m, sheet.width_m / 2)
    yield "corner| end", Point(sheet.length_m / 2, sheet.width_m / 2 - sheet.corner_radius_m)


def _about_spots(sheet: Dimensions) -> Iterator[tuple[str, Point]]:
    spot, radius = sheet.end_spot, sheet.circle_radius_m - sheet.thin_line_m / 2
    yield "end spot", spot
    yield "neutral spot", sheet.neutral_spot
    yield "end circle| inner", Point(spot.x - radius, spot.y)
    yield "end circle| outer", Point(spot.x + radius, spot.y)
    yield "end circle| axis", Point(spot.x, spot.y - radius)
    yield "end circle| boards", Point(spot.x, spot.y + radius)
    yield from _hash_marks(sheet)


def _hash_marks(sheet: Dimensions) -> Iterator[tuple[str, Point]]:
    """Yield where hash marks leave the circle: on the side of the long axis or of the boards, the inner one first."""
    spot, off_axis = sheet.end_spot, (sheet.hash_marks.gap_m + sheet.thin_line_m) / 2
    for where, across in (("axis", -1.0), ("boards", 1.0)):
        y = spot.y + across * sheet.hash_start_m()
        yield f"hash mark| {where} inner", Point(spot.x - off_axis, y)
        yield f"hash mark| {where} outer", Point(spot.x + off_axis, y)


def _about_goal(sheet: Dimensions) -> Iterator[tuple[str, Point]]:
    goal_x, crease, half_line = sheet.goal_line.centre_x_m, sheet.crease, sheet.thin_line_m / 2
    yield "goal post", Point(goal_x, (sheet.goal_frame.width_m + sheet.goal_frame.post_diameter_m) / 2)
    radius = crease.radius_m - half_line
    half_width = radius if crease.width_m is None else crease.width_m / 2 - half_line
    yield "crease", Point(goal_x, half_width)
    if crease.width_m is not None:
        yield "crease corner", Point(goal_x - sqrt(radius**2 - half_width**2), half_width)
    if sheet.trapezoid is not None:
        middle = sheet.trapezoid_line_span_m() / 2
        yield "trapezoid| goal line", Point(goal_x, sheet.trapezoid.goal_line_m / 2 - middle)
        yield "trapezoid| boards", Point(sheet.length_m / 2, sheet.trapezoid.boards_m / 2 - middle)
