"""Dimensions against the rule books by hand arithmetic; paint against geometry."""

from dataclasses import replace

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plucc.rink.dimensions import CrossLine, Edge
from plucc.rink.sheet import (
    COLOURS_RGB,
    Kind,
    Marking,
    Sheet,
    iihf,
    ncaa,
    nhl,
    nhl_pre2014,
    sheet_by_name,
)
from plucc.types import FloatArray, InputError, Point

FT = 0.3048
SHEETS = [nhl(), nhl_pre2014(), iihf(), iihf(26.0, 7.0), ncaa(), ncaa(30.48)]
every_sheet = pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: f"{sheet.name}-{sheet.width_m:.0f}")
rink_points = st.lists(
    st.tuples(st.floats(-35, 35, allow_subnormal=False), st.floats(-18, 18, allow_subnormal=False)),
    min_size=1,
    max_size=20,
).map(lambda rows: np.array(rows, dtype=np.float64))


def area(polygon: FloatArray) -> float:
    x, y = polygon.T
    return abs(float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))) / 2


def length(line: FloatArray) -> float:
    return float(np.hypot(*np.diff(line, axis=0).T).sum())


def marking(sheet: Sheet, name: str) -> Marking:
    (found,) = [one for one in sheet.markings if one.name == name]
    return found


def extent(one: Marking) -> tuple[float, float, float, float]:
    """Left, right, near and far limits."""
    low, high = one.polygon().min(axis=0), one.polygon().max(axis=0)
    return float(low[0]), float(high[0]), float(low[1]), float(high[1])


def test_nhl_lines_by_the_rule_book() -> None:
    sheet = nhl()
    assert (sheet.length_m, sheet.width_m) == pytest.approx((60.96, 25.908))
    assert sheet.corner_radius_m == pytest.approx(28 * FT)
    # 100 ft to the end boards, the goal line's middle 11 ft before them
    assert sheet.goal_line_x_m == pytest.approx(89 * FT)
    # 50 ft between inner edges, 12 in lines: middles 25 ft 6 in from centre ice, goal-side edges 26 ft
    assert sheet.blue_line.inner_x_m == pytest.approx(25 * FT)
    assert sheet.blue_line_x_m == pytest.approx(25.5 * FT)
    assert sheet.blue_line.outer_x_m == pytest.approx(26 * FT)
    assert extent(marking(sheet, "blue line right"))[:2] == pytest.approx((25 * FT, 26 * FT))
    assert extent(marking(sheet, "blue line left"))[:2] == pytest.approx((-26 * FT, -25 * FT))
    assert extent(marking(sheet, "centre line"))[:2] == pytest.approx((-0.1524, 0.1524))
    assert extent(marking(sheet, "goal line right"))[:2] == pytest.approx((89 * FT - 0.0254, 89 * FT + 0.0254))


def test_nhl_spots_and_circles_by_the_rule_book() -> None:
    sheet = nhl()
    # goal line at 89 ft, spots 20 ft before it: 69 ft from the centre line; 22 ft off the long axis
    assert tuple(sheet.landmarks["end spot right far"]) == pytest.approx((69 * FT, 22 * FT))
    assert tuple(sheet.landmarks["end spot left near"]) == pytest.approx((-69 * FT, -22 * FT))
    # neutral zone edge at 25 ft, spots 5 ft before it
    assert tuple(sheet.landmarks["neutral spot right near"]) == pytest.approx((20 * FT, -22 * FT))
    assert extent(marking(sheet, "centre circle")) == pytest.approx((-15 * FT, 15 * FT, -15 * FT, 15 * FT), abs=1e-3)
    assert extent(marking(sheet, "end circle left far"))[:2] == pytest.approx((-84 * FT, -54 * FT), abs=1e-3)
    assert extent(marking(sheet, "end spot left far ring"))[:2] == pytest.approx((-70 * FT, -68 * FT), abs=1e-3)
    assert extent(marking(sheet, "centre spot"))[:2] == pytest.approx((-0.5 * FT, 0.5 * FT), abs=1e-3)
    assert marking(sheet, "centre spot").colour == "blue"


def test_nhl_hash_and_l_marks_by_the_rule_book() -> None:
    sheet = nhl()
    left, right = (marking(sheet, f"hash mark right far {way} far") for way in ("left", "right"))
    assert extent(right)[0] - extent(left)[1] == pytest.approx(5 * FT + 7 * 0.0254)  # clear ice
    assert extent(right)[1] - extent(right)[0] == pytest.approx(2 * 0.0254)
    assert extent(right)[3] - extent(right)[2] == pytest.approx(2 * FT)
    # its middle starts on the circle: 15^2 = 2.875^2 + y^2, y = 14.722 ft
    assert extent(right)[2] == pytest.approx((22 + 14.7219) * FT, abs=1e-4)
    near, far = (marking(sheet, f"L-mark right far right {turn}") for turn in ("near", "far"))
    assert extent(far)[2] - extent(near)[3] == pytest.approx(18 * 0.0254)
    assert extent(far)[0] == pytest.approx((69 + 2) * FT)
    assert extent(far)[1] - extent(far)[0] == pytest.approx(4 * FT)
    assert extent(far)[3] - extent(far)[2] == pytest.approx(3 * FT)


def test_nhl_goal_area_by_the_rule_book() -> None:
    sheet = nhl()
    assert sheet.crease.straight_m == pytest.approx(np.sqrt(20) * FT)  # 6^2 - 4^2; the book says 4.5 ft
    assert extent(marking(sheet, "crease right")) == pytest.approx((83 * FT, 89 * FT, -4 * FT, 4 * FT), abs=1e-3)
    assert extent(marking(sheet, "crease line right")) == pytest.approx((83 * FT, 89 * FT, -4 * FT, 4 * FT), abs=1e-3)
    across = extent(marking(sheet, "crease mark right far across"))
    assert sum(across[:2]) / 2 == pytest.approx((89 - 4) * FT)
    assert across[2] == pytest.approx(4 * FT - 7 * 0.0254)  # 5 in clear of the 2 in line
    near, far = extent(marking(sheet, "trapezoid right near")), extent(marking(sheet, "trapezoid right far"))
    assert (near[2], far[3]) == pytest.approx((-14 * FT, 14 * FT))
    assert (far[0], far[1]) == pytest.approx((89 * FT, 100 * FT))
    at_goal_line = marking(sheet, "trapezoid right far").polygon()
    assert at_goal_line[np.isclose(at_goal_line[:, 0], 89 * FT), 1].max() == pytest.approx(11 * FT)
    left, right = sheet.goals
    assert (left.x_m, left.facing, right.facing) == (pytest.approx(-89 * FT), 1.0, -1.0)
    np.testing.assert_allclose(np.ptp(right.mouth(), axis=0), (0.0, 6 * FT, 4 * FT))
    assert np.ptp(left.footprint()[:, 0]) == pytest.approx(40 * 0.0254)
    assert left.footprint()[:, 0].min() == pytest.approx(-89 * FT - 40 * 0.0254)  # behind its goal line
    assert extent(marking(sheet, "referee crease")) == pytest.approx(
        (-10 * FT, 10 * FT, -42.5 * FT, -32.5 * FT), abs=1e-3
    )


def test_nhl_before_2014_differs_in_two_measures() -> None:
    old, new = nhl_pre2014(), nhl()
    assert old.hash_marks.gap_m == pytest.approx(3 * FT)
    assert old.trapezoid is not None
    assert (old.trapezoid.goal_line_m, old.trapezoid.boards_m) == pytest.approx((18 * FT, 28 * FT))
    same = [one.name for one in old.markings if np.array_equal(one.polygon(), marking(new, one.name).polygon())]
    changed = {one.name.split()[0] for one in old.markings if one.name not in same}
    assert changed == {"hash", "trapezoid"}


def test_iihf_by_the_rule_book() -> None:
    sheet = iihf()
    assert (sheet.length_m, sheet.width_m, sheet.corner_radius_m) == (60.0, 30.0, 8.5)
    assert sheet.goal_line_x_m == pytest.approx(26.0)
    assert sheet.blue_line_x_m == pytest.approx(7.14)  # 30 - 22.86, to the middle
    assert extent(marking(sheet, "blue line right"))[:2] == pytest.approx((6.99, 7.29))
    assert tuple(sheet.landmarks["end spot right far"]) == pytest.approx((20.0, 7.0))
    assert tuple(sheet.landmarks["neutral spot left far"]) == pytest.approx((-5.49, 7.0))
    left, right = (marking(sheet, f"hash mark right far {way} far") for way in ("left", "right"))
    assert extent(right)[0] - extent(left)[1] == pytest.approx(1.7)
    assert extent(marking(sheet, "end circle right far"))[:2] == pytest.approx((15.5, 24.5), abs=1e-3)
    assert extent(marking(sheet, "crease right")) == pytest.approx((24.2, 26.0, -1.8, 1.8), abs=1e-3)
    assert extent(marking(sheet, "trapezoid left far"))[3] == pytest.approx(4.3)


def test_ncaa_has_tighter_corners_and_no_trapezoid() -> None:
    sheet = ncaa()
    assert sheet.corner_radius_m == pytest.approx(20 * FT)
    assert sheet.goal_line_x_m == pytest.approx(89 * FT)
    assert not [one for one in sheet.markings if one.name.startswith("trapezoid")]


@pytest.mark.parametrize(("edge", "centre_x_m"), [(Edge.INNER, 10.15), (Edge.CENTRE, 10.0), (Edge.OUTER, 9.85)])
def test_the_measured_edge_moves_a_line(edge: Edge, centre_x_m: float) -> None:
    line = CrossLine(10.0, edge, 0.3)
    assert line.centre_x_m == pytest.approx(centre_x_m)
    assert (line.inner_x_m, line.outer_x_m) == pytest.approx((centre_x_m - 0.15, centre_x_m + 0.15))


@every_sheet
@pytest.mark.parametrize("mirror", [(-1.0, 1.0), (1.0, -1.0)], ids=["ends", "sides"])
def test_paint_is_symmetric(sheet: Sheet, mirror: tuple[float, float]) -> None:
    # the referee's crease stands on one side by design
    markings = [one for one in sheet.markings if mirror[1] > 0 or one.name != "referee crease"]

    def shape(one: Marking, flip: tuple[float, float]) -> tuple[str, Kind, tuple[tuple[int, int], ...]]:
        micrometres = np.round(one.polygon() * flip * 1e6).astype(int)
        return one.colour, one.kind, tuple(sorted({(int(x), int(y)) for x, y in micrometres}))

    plain = sorted(shape(one, (1.0, 1.0)) for one in markings)
    assert sorted(shape(one, mirror) for one in markings) == plain


@every_sheet
def test_all_paint_lies_inside_the_boards(sheet: Sheet) -> None:
    for one in sheet.markings:
        assert sheet.contains(one.polygon(), margin_m=-1e-9).all(), one.name
    assert len({one.name for one in sheet.markings}) == len(sheet.markings)
    assert {one.colour for one in sheet.markings} <= set(COLOURS_RGB)


@every_sheet
def test_lines_have_the_area_of_their_length_and_width(sheet: Sheet) -> None:
    for one in sheet.markings:
        if one.width_m == 0.0:
            continue
        expected = length(one.centre_line_m) * one.width_m
        # cross lines that end on the corner curve, and the bend of an L, differ from a plain bar by a sliver
        assert area(one.polygon()) == pytest.approx(expected, rel=5e-3), one.name


@every_sheet
def test_goal_lines_end_on_the_corner_curve(sheet: Sheet) -> None:
    for end in ("left", "right"):
        line = marking(sheet, f"goal line {end}")
        np.testing.assert_allclose(sheet.distance_inside(line.polygon()), 0.0, atol=1e-9)
        assert length(line.centre_line_m) < sheet.width_m - 0.5


def test_a_ring_fills_only_its_line() -> None:
    circle = marking(nhl(), "centre circle")
    picture = np.zeros((1000, 1000), np.uint8)
    cv2.fillPoly(picture, [np.round(circle.polygon() * 100 + 500).astype(np.int32)], 255)
    assert picture[500, 500] == 0
    assert picture[500, 955] == picture[955, 500] == 255  # 15 ft less an inch is 4.55 m
    painted_m2 = np.count_nonzero(picture) / 1e4
    assert painted_m2 == pytest.approx(np.pi * (4.572**2 - 4.5212**2), rel=0.25)


@every_sheet
def test_boards_go_once_round(sheet: Sheet) -> None:
    boards = sheet.boards(0.1)
    np.testing.assert_array_equal(boards[0], boards[-1])
    np.testing.assert_allclose(sheet.distance_inside(boards), 0.0, atol=1e-9)
    steps = np.hypot(*np.diff(boards, axis=0).T)
    assert steps.max() <= 0.1 + 1e-9
    assert steps.min() > 0
    radius = sheet.corner_radius_m
    around = 2 * (sheet.length_m + sheet.width_m) - 8 * radius + 2 * np.pi * radius
    assert steps.sum() == pytest.approx(around, rel=1e-4)
    enclosed = sheet.length_m * sheet.width_m - (4 - np.pi) * radius**2
    assert area(boards[:-1]) == pytest.approx(enclosed, rel=1e-4)


@given(points=rink_points)
def test_contains_agrees_with_the_boards_polygon(points: FloatArray) -> None:
    sheet = nhl()
    boards = sheet.boards(0.05).astype(np.float32)
    inside = sheet.contains(points)
    for point, within, distance in zip(points, inside, sheet.distance_inside(points), strict=True):
        if abs(distance) > 1e-3:
            assert within == (cv2.pointPolygonTest(boards, (float(point[0]), float(point[1])), measureDist=False) > 0)
            assert abs(cv2.pointPolygonTest(boards, tuple(point), measureDist=True)) == pytest.approx(
                abs(distance), abs=1e-3
            )


def test_contains_keeps_a_margin_and_refuses_nan() -> None:
    points = np.array([[0.0, 0.0], [0.0, 12.9], [0.0, 12.96], [np.nan, 0.0], [30.0, 12.0]])
    assert nhl().contains(points).tolist() == [True, True, False, False, False]
    assert nhl().contains(points, margin_m=0.1).tolist() == [True, False, False, False, False]


def test_zones_change_at_the_inner_edge_of_the_blue_line() -> None:
    points = np.array([[-10.0, 0.0], [-7.63, 5.0], [-7.61, 5.0], [0.0, 0.0], [7.61, 0.0], [7.63, 0.0]])
    assert nhl().zones(points).tolist() == [-1, -1, 0, 0, 0, 1]  # 25 ft = 7.62 m


@every_sheet
def test_landmarks_lie_on_paint_boards_or_posts(sheet: Sheet) -> None:
    reach = [one.sample(0.02).points_m for one in sheet.markings]
    sampled = np.concatenate([*reach, sheet.boards(0.02)])
    for name, point in sheet.landmarks.items():
        nearest = np.hypot(*(sampled - tuple(point)).T).min()
        assert nearest < 0.32, name  # spots are sampled on their rims
        if "spot" not in name:
            assert nearest < 0.03, name
        for word, along in (("left", -point.x), ("right", point.x), ("near", -point.y), ("far", point.y)):
            assert word not in name or along > 0, name


@every_sheet
def test_samples_lie_along_their_marking(sheet: Sheet) -> None:
    by_name = {one.name: one for one in sheet.markings}
    for samples in sheet.samples(0.25):
        np.testing.assert_allclose(np.hypot(*samples.normals.T), 1.0)
        width = np.hypot(*(samples.left_edge_m - samples.right_edge_m).T)
        np.testing.assert_allclose(width, samples.width_m, atol=1e-12)
        line = sheet.boards(0.25) if samples.name == "boards" else by_name[samples.name].centre_line_m
        assert len(samples.points_m) >= length(line) / 0.25
    blue = next(one for one in sheet.samples(0.25) if one.name == "blue line right")
    edges = sorted((blue.left_edge_m[0, 0], blue.right_edge_m[0, 0]))
    assert edges == pytest.approx([sheet.blue_line.inner_x_m, sheet.blue_line.outer_x_m])


@given(seed=st.integers(0, 2**32 - 1), margin_m=st.floats(0.0, 3.0))
def test_sampled_points_are_on_the_ice(seed: int, margin_m: float) -> None:
    points = iihf().sample_points(np.random.default_rng(seed), 30, margin_m)
    assert points.shape == (30, 2)
    assert iihf().contains(points, margin_m).all()


def test_sheets_by_name() -> None:
    assert sheet_by_name("NHL") == nhl()
    assert sheet_by_name("nhl_pre2014") == nhl_pre2014()
    assert sheet_by_name("iihf", 28.0) == iihf(28.0)
    assert sheet_by_name("ncaa") == ncaa()


@pytest.mark.parametrize(
    ("name", "width_m", "says"),
    [
        ("khl", None, "there is no sheet called 'khl'"),
        ("nhl", 30.0, "leave the width out"),
        ("iihf", 25.0, "26 to 30 m"),
        ("ncaa", 40.0, "25.9 to 30.5 m"),
    ],
)
def test_impossible_sheets_are_refused(name: str, width_m: float | None, says: str) -> None:
    with pytest.raises(InputError, match=says):
        sheet_by_name(name, width_m)


def test_the_referee_may_stand_on_the_far_side() -> None:
    far = replace(nhl(), referee_side="far")
    assert extent(marking(far, "referee crease"))[2:] == pytest.approx((32.5 * FT, 42.5 * FT), abs=1e-3)
    assert isinstance(far.landmarks["centre spot"], Point)
    assert {one.kind for one in far.markings} == {Kind.LINE, Kind.ARC, Kind.DISC, Kind.POLYGON}


def test_boards_glass_and_kick_plate_have_heights() -> None:
    assert nhl().surround.board_height_m == pytest.approx(1.07)
    assert nhl().surround.kick_plate_height_m == pytest.approx(0.2)
    assert nhl().surround.glass_ends_m > nhl().surround.glass_sides_m == pytest.approx(5 * FT)
