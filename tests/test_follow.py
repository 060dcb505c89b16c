"""Where to look next, from what was seen: drawn observations, no pictures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plucc.follow import Follower, FollowLimits
from plucc.puck_finder import fitted_part, working_scale
from plucc.sighting import Observation, View
from plucc.track import Candidate
from plucc.types import Box, Point, ShapeError, Size

SIZE, STILL = Size(1280, 720), np.eye(3)
NOBODY = np.zeros((720, 1280), bool)


def seen(x: float, y: float, probability: float = 0.9, view: Box | None = None) -> Observation:
    heat = np.full((360, 640), 1e-9)
    heat[int(y // 2), int(x // 2)] = 1.0
    return Observation(SIZE, (Candidate(Point(x, y), probability),), 1.0, heat / heat.sum(), 2, NOBODY, 5.0, view)


def test_nothing_is_expected_before_the_puck_was_seen() -> None:
    follower = Follower()
    assert follower.expected(STILL) is None
    follower.note(seen(400, 300, 0.4), STILL)
    assert follower.expected(STILL) is None


def test_a_part_around_the_puck_is_expected_as_it_moves() -> None:
    follower = Follower()
    follower.note(seen(400, 300), STILL)
    follower.note(seen(420, 310), STILL)
    box = follower.expected(STILL)
    assert box is not None
    assert tuple(box.centre) == pytest.approx((440, 320))
    assert box.width == box.height == FollowLimits().side_px


def test_the_camera_moves_what_is_expected() -> None:
    follower, pan = Follower(), np.array([[1.0, 0, -30], [0, 1, 4], [0, 0, 1]])
    follower.note(seen(400, 300), STILL)
    box = follower.expected(pan)
    assert box is not None
    assert tuple(box.centre) == pytest.approx((370, 304))
    assert follower.expected(None) is None  # and where its motion is not known, everything is looked at


def test_the_whole_is_looked_at_in_intervals() -> None:
    follower = Follower(FollowLimits(interval=3))
    follower.note(seen(400, 300), STILL)
    for _ in range(3):
        box = follower.expected(STILL)
        assert box is not None
        follower.note(seen(400, 300, view=box), STILL)
    assert follower.expected(STILL) is None
    follower.note(seen(400, 300), STILL)
    assert follower.expected(STILL) is not None


@pytest.mark.parametrize(
    ("x", "probability", "enough"), [(400, 0.9, True), (400, 0.3, False), (225, 0.9, False), (575, 0.9, False)]
)
def test_a_part_must_show_the_puck_well_inside(x: float, probability: float, enough: bool) -> None:
    follower = Follower()
    follower.note(seen(400, 300), STILL)
    assert follower.shows_puck(seen(x, 300, probability, Box(208, 108, 592, 492))) is enough


def test_the_frame_s_own_edge_is_no_edge_of_the_part() -> None:
    follower = Follower()
    assert follower.shows_puck(seen(5, 300, 0.9, Box(0, 108, 384, 492)))


def test_a_puck_that_leaves_the_picture_is_not_expected() -> None:
    follower = Follower()
    follower.note(seen(1200, 300), STILL)
    follower.note(seen(1260, 300), STILL)
    assert follower.expected(STILL) is None


def test_a_peak_in_a_part_is_as_sure_as_in_the_whole() -> None:
    """Two equal peaks, one in the part and one outside: each holds half, wherever one looks."""
    heat = np.full((360, 640), 1e-12)
    heat[100, 100] = heat[300, 500] = 1.0
    whole = Observation(SIZE, (), 1.0, heat / heat.sum(), 2, NOBODY, log_mass=3.0)
    view = View(Box(100, 100, 484, 484), whole.log_mass_outside(Box(100, 100, 484, 484)))
    assert view.share(3.0 + np.log(0.5)) == pytest.approx(0.5, abs=1e-4)
    alone = View(Box(0, 0, 1280, 720), whole.log_mass_outside(Box(0, 0, 1280, 720)))
    assert alone.share(3.0) == 1.0


@given(
    st.floats(-200, 1500), st.floats(-200, 900), st.sampled_from([Size(1280, 720), Size(1920, 1080), Size(3840, 2160)])
)
def test_parts_lie_on_the_network_s_grid_inside_the_frame(x: float, y: float, size: Size) -> None:
    half = 192 / size.reference_scale
    scale = working_scale(size)
    box = fitted_part(Box(x - half, y - half, x + half, y + half), size, scale)
    assert box is not None
    assert 0 <= box.left < box.right <= size.width
    assert 0 <= box.top < box.bottom <= size.height
    for edge in (box.left, box.top):
        assert round(edge * scale, 6) % 32 == 0
    if half <= x <= size.width - half and half <= y <= size.height - half:
        assert abs(box.centre.x - x) * scale <= 32.01
        assert abs(box.centre.y - y) * scale <= 32.01


def test_frames_come_to_the_height_that_the_network_knows() -> None:
    assert working_scale(Size(1280, 720)) == 1
    assert working_scale(Size(1920, 1080)) == pytest.approx(2 / 3)
    assert working_scale(Size(640, 360)) == 2
    assert working_scale(Size(1024, 576)) == pytest.approx(1.25)  # a puck that looks small is missed
    assert working_scale(Size(1422, 800)) == 1
    assert working_scale(Size(7680, 4320)) == pytest.approx(1 / 6)
    with pytest.raises(ShapeError, match="at least 64"):
        working_scale(Size(16, 16))
