"""A puck obeys friction, gravity and the boards."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plucc.rink.sheet import iihf, nhl
from plucc.synth.puck_flight import GRAVITY_M_S2, ICE_FRICTION, REST_HEIGHT_M, PuckState, fly, nearest_inside
from plucc.types import PUCK_RADIUS_M

SHEET = nhl()
velocities = st.floats(-45, 45)


def test_sliding_puck_stops_where_friction_says():
    speed = 3.0
    distance = speed**2 / (2 * ICE_FRICTION * GRAVITY_M_S2)
    stopped = fly(PuckState((-distance / 2, 0.0, REST_HEIGHT_M), (speed, 0.0, 0.0)), 30.0, SHEET)
    assert stopped.speed_m_s == 0
    assert stopped.position_m[0] == pytest.approx(distance / 2, abs=0.02)


def test_lifted_puck_flies_a_parabola():
    up = 4.0
    top = fly(PuckState((0.0, 0.0, REST_HEIGHT_M), (5.0, 0.0, up)), up / GRAVITY_M_S2, SHEET)
    assert top.airborne
    assert top.position_m[2] == pytest.approx(REST_HEIGHT_M + up**2 / (2 * GRAVITY_M_S2), abs=0.03)


def test_puck_comes_back_off_the_boards():
    back = fly(PuckState((0.0, SHEET.width_m / 2 - 0.5, REST_HEIGHT_M), (0.0, 20.0, 0.0)), 0.2, SHEET)
    assert back.velocity_m_s[1] < 0


@given(x=st.floats(-30, 30), y=st.floats(-12, 12), vx=velocities, vy=velocities, vz=st.floats(0, 8))
def test_puck_stays_inside_and_never_speeds_up(x, y, vx, vy, vz):
    sheet = iihf(26.0)
    start, _ = nearest_inside(np.array([x, y]), sheet, PUCK_RADIUS_M)
    before = PuckState((float(start[0]), float(start[1]), REST_HEIGHT_M), (vx, vy, vz))
    after = fly(before, 0.5, sheet)
    assert sheet.contains(np.array([after.position_m[:2]]), PUCK_RADIUS_M - 1e-6)[0]
    assert after.position_m[2] >= REST_HEIGHT_M - 1e-9
    assert np.hypot(*after.velocity_m_s[:2]) <= np.hypot(vx, vy) + 1e-9


@given(x=st.floats(-60, 60), y=st.floats(-60, 60), margin=st.floats(0.01, 1.0))
def test_nearest_inside_agrees_with_the_sheet(x, y, margin):
    moved, normal = nearest_inside(np.array([x, y]), SHEET, margin)
    assert SHEET.distance_inside(moved[None])[0] >= margin - 1e-9
    if normal is None:
        assert np.array_equal(moved, [x, y])
    else:
        assert np.hypot(*normal) == pytest.approx(1.0)
        assert SHEET.distance_inside((moved + 0.01 * normal)[None])[0] > margin
