"""Play stays on the ice, moves as people can, and does all that hockey does."""

import numpy as np
import pytest

from plucc.rink.sheet import nhl
from plucc.synth.noise import rng_for
from plucc.synth.people import pose_of
from plucc.synth.play import (
    PEOPLE,
    SKATERS,
    STEP_S,
    TEAM_SIZE,
    TOP_SPEED_M_S,
    advance,
    role_of,
    sample_cast,
    start_play,
    team_of,
)
from plucc.synth.puck_flight import MAX_SPEED_M_S
from plucc.types import PlayerRole

SHEET = nhl()


def _simulate(seed: int, steps: int):
    rng = rng_for(seed)
    cast = sample_cast(rng)
    state = start_play(rng, SHEET, SHEET.sample_points(rng, 1, 1.0)[0])
    for _ in range(steps):
        state = advance(state, rng, SHEET, cast)
        yield state, cast


def test_everybody_stays_on_the_ice_at_human_speed():
    for seed in range(3):
        for state, _ in _simulate(seed, 120):
            assert SHEET.contains(state.position_m, 0.3).all()
            assert SHEET.contains(np.array([state.puck.position_m[:2]]))[0]
            assert state.puck.speed_m_s <= MAX_SPEED_M_S + 1e-6
            assert np.hypot(*state.velocity_m_s.T).max() < 1.3 * TOP_SPEED_M_S


def test_puck_is_carried_passed_shot_and_loose():
    actions = {state.action.value for seed in range(5) for state, _ in _simulate(seed, 250)}
    assert {"carried", "passed", "shot", "loose", "rimmed"} <= actions


def test_most_people_look_at_the_puck_and_some_do_not():
    looking = []
    for seed in range(3):
        for state, cast in list(_simulate(seed, 100))[::10]:
            for row in range(PEOPLE):
                pose = pose_of(state, cast, row)
                away = np.asarray(state.puck.position_m[:2]) - state.position_m[row]
                off = np.angle(np.exp(1j * (np.arctan2(away[1], away[0]) - pose.gaze_rad)))
                looking.append(abs(off) < 0.3)
    assert 0.6 < np.mean(looking) < 0.97


def test_same_seed_same_play():
    first = [state.puck for state, _ in _simulate(1, 50)]
    assert first == [state.puck for state, _ in _simulate(1, 50)]


def test_rows_are_two_teams_and_officials():
    roles = [role_of(row) for row in range(PEOPLE)]
    assert roles.count(PlayerRole.GOALTENDER) == 2
    assert roles.count(PlayerRole.SKATER) == 2 * SKATERS
    assert [team_of(row) for row in (0, TEAM_SIZE, PEOPLE - 1)] == [0, 1, None]
    assert pytest.approx(1 / 25) == STEP_S
