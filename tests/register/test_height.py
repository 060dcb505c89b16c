"""The error of a place counts that a puck may fly: right on average over rendered play, pucks in the air included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plucc.locator import _speeds_m_s
from plucc.register.height import HEIGHT_BY_SPEED, height_sigma_m
from plucc.register.registration import How, Registration
from plucc.rink.camera import Camera
from plucc.synth import play
from plucc.synth.camera_work import View
from plucc.synth.match import sample_match
from plucc.synth.scene import puck_in_picture, sample_scene
from plucc.types import Category, Point, Size

SIZE = Size(1280, 720)
STEP_S = 1 / 25
PIXEL_SIGMA_PX = 2.5
SECONDS, MATCHES = 16.0, 8
PICTURES = 10  # of a match
FAST_M_S = 22.0


def _played(number):
    """Return where the puck is in every frame of a stretch of play that nothing was tuned on."""
    match, rng = sample_match(4100, number), np.random.default_rng(number)
    cast = play.sample_cast(rng)
    state, places = play.start_play(rng, match.sheet, np.zeros(2)), []
    for _ in range(int(SECONDS / STEP_S)):
        state = play.advance(state, rng, match.sheet, cast, STEP_S)
        places.append(state.puck.position_m)
    return match, np.array(places)


def _filmed(number):
    """Return the squared error over its expected value, the speed and the height of every frame's puck."""
    match, puck_m = _played(number)
    rng, times_s = np.random.default_rng(number), np.arange(len(puck_m)) * STEP_S
    shown = []
    for place in puck_m:
        camera = Camera.look_at(match.arena.camera_position_m, (*place[:2], 0.0), 2200.0, SIZE)
        at_px = Point(*map(float, camera.project(place[None])[0] + rng.normal(0, PIXEL_SIGMA_PX, 2)))
        shown.append((Registration(True, "", camera, np.zeros((9, 9)), 1.0, How.FOUND), at_px))
    speeds = _speeds_m_s([given_.locate(at_px, PIXEL_SIGMA_PX) for given_, at_px in shown], times_s)
    rows = []
    for (given_, at_px), place, speed in zip(shown, puck_m, speeds, strict=True):
        x_m, y_m, error_m = given_.locate(at_px, PIXEL_SIGMA_PX, speed)
        off_m2 = (x_m - place[0]) ** 2 + (y_m - place[1]) ** 2
        rows.append((off_m2 / (2 * error_m**2), speed, place[2]))
    return rows


@pytest.mark.slow
def test_the_error_is_right_on_average_with_pucks_in_the_air():
    rows = np.array([row for number in range(MATCHES) for row in _filmed(number)])
    ratio, speed, height = rows.T
    assert (height > 0.05).sum() > 50  # some do fly
    assert 0.5 < ratio.mean() < 2.0
    assert 0.5 < ratio[speed < FAST_M_S].mean() < 2.0
    assert 0.5 < ratio[speed >= FAST_M_S].mean() < 2.0


def _pictured(number):
    """Return the squared error over its expected value, and the height, of the pucks in single rendered scenes."""
    match, rng = sample_match(4200, number), np.random.default_rng(number)
    for frame in range(PICTURES):
        scene = sample_scene(match, frame, Category.STANDARD, SIZE)
        if scene.operator.view is View.MAIN and puck_in_picture(scene):
            place, camera = np.array(scene.puck.position_m), scene.camera
            at_px = Point(*map(float, camera.project(place[None])[0] + rng.normal(0, PIXEL_SIGMA_PX, 2)))
            shown = Registration(True, "", camera, np.zeros((9, 9)), 1.0, How.FOUND)
            x_m, y_m, error_m = shown.locate(at_px, PIXEL_SIGMA_PX)
            yield ((x_m - place[0]) ** 2 + (y_m - place[1]) ** 2) / (2 * error_m**2), place[2]


@pytest.mark.slow
def test_the_error_is_right_on_average_in_single_pictures():
    ratio, height = np.array([row for number in range(30) for row in _pictured(number)]).T
    assert (height > 0.05).sum() >= 10
    assert 0.5 < ratio.mean() < 2.0


@given(first=st.floats(0, 60), second=st.floats(0, 60))
def test_a_faster_puck_may_be_higher(first, second):
    slow, fast = sorted((first, second))
    assert height_sigma_m(slow) <= height_sigma_m(fast)
    assert HEIGHT_BY_SPEED[0][1] <= height_sigma_m(slow)


def test_a_fast_puck_is_less_sure_by_its_height_times_the_slant():
    camera = Camera.look_at((0.0, -30.0, 10.0), (0.0, 0.0, 0.0), 2000.0, SIZE)
    given_ = Registration(True, "", camera, np.zeros((9, 9)), 1.0, How.FOUND)
    at_px = Point(640.0, 360.0)
    slow, fast = (given_.locate(at_px, 1e-6, speed)[2] for speed in (1.0, 30.0))
    cotangent = 30.0 / 10.0
    assert slow == pytest.approx(height_sigma_m(1.0) * cotangent / np.sqrt(2), rel=1e-2)
    assert fast == pytest.approx(height_sigma_m(30.0) * cotangent / np.sqrt(2), rel=1e-2)


def test_speeds_come_from_both_neighbours_and_skip_what_is_not_registered():
    nowhere = (None, None, None)
    places = [(0.0, 0.0, 0.1), (1.0, 0.0, 0.1), (4.0, 0.0, 0.1), nowhere, (0.0, 8.0, 0.1)]
    speeds = _speeds_m_s(places, [0.0, 0.5, 1.0, 1.5, 2.0])
    assert speeds[:3] == pytest.approx([2.0, 4.0, 6.0])
    assert speeds[4] is None
    assert _speeds_m_s([nowhere], [0.0]) == [None]
