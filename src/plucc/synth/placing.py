"""Where a category wants its puck: on the goal line, against the kick plate, behind somebody, on its way."""

from dataclasses import replace

import numpy as np

from plucc.rink.camera import Camera
from plucc.rink.sheet import Sheet
from plucc.synth.match import Match
from plucc.synth.play import PEOPLE, SKATERS, TEAM_SIZE, Action, PlayState, release, role_of
from plucc.synth.puck_flight import REST_HEIGHT_M, PuckState, nearest_inside
from plucc.types import PUCK_RADIUS_M, Category, FloatArray, PlayerRole

FREE_SHARE = 0.5
FAST_M_S = 12.0
OPEN_M = 1.3  # nobody is nearer to a puck in the open
FLYING_SHARE = 0.15  # of pucks in the open
NET_SHARE = 0.25  # of hidden pucks


def sample_focus(rng: np.random.Generator, sheet: Sheet, category: Category) -> FloatArray:
    """Return about where the play is: mostly in the end zones, often along the boards."""
    half_length, half_width = sheet.length_m / 2, sheet.width_m / 2
    side = rng.choice([-1.0, 1.0])
    if category is Category.GOAL_LINE:
        return np.array([side * sheet.goal_line_x_m, rng.normal(0, 4.5)])
    if category is Category.YELLOW_LINE:
        if rng.random() < 0.7:
            return np.array([rng.uniform(-half_length + 6, half_length - 6), half_width - 0.4])
        return np.array([side * (half_length - 0.5), rng.uniform(-4, half_width - 4)])
    where = rng.random()
    if where < 0.3:
        return np.array([side * rng.uniform(12, sheet.goal_line_x_m + 2), rng.normal(0, 5.0)])
    if where < 0.5:
        return np.array(
            [side * rng.uniform(8, half_length - 2), rng.choice([-1, 1, 1]) * (half_width - rng.uniform(0.3, 2))]
        )
    return np.array([rng.uniform(-half_length + 1.5, half_length - 1.5), rng.uniform(-half_width + 1, half_width - 1)])


def place_puck(
    rng: np.random.Generator, state: PlayState, match: Match, camera: Camera, category: Category
) -> PlayState:
    """Return the play with the puck where the category needs it and people close by to match."""
    if category is Category.OCCLUDED:
        return (_in_the_net if rng.random() < NET_SHARE else _behind_somebody)(rng, state, match, camera)
    place = {
        Category.BLURRY: _send_off,
        Category.GOAL_LINE: _on_goal_line,
        Category.YELLOW_LINE: _on_kick_plate,
    }.get(category, _as_it_comes)
    return place(rng, state, match)


def _as_it_comes(rng: np.random.Generator, state: PlayState, match: Match) -> PlayState:
    if rng.random() < FREE_SHARE:
        return _in_the_open(rng, state, match)
    if state.puck.speed_m_s < FAST_M_S:
        return state
    slow = tuple(v * 0.4 for v in state.puck.velocity_m_s)
    return replace(state, puck=replace(state.puck, velocity_m_s=(slow[0], slow[1], slow[2])))


def _in_the_open(rng: np.random.Generator, state: PlayState, match: Match) -> PlayState:
    """Send the puck on its way between people, as it is for half of the time: passed, or sliding loose."""
    here = np.asarray(state.puck.position_m[:2])
    for _ in range(20):
        spot, _ = nearest_inside(here + rng.normal(0, 3.5, 2), match.sheet, 0.3)
        if np.hypot(*(state.position_m - spot).T).min() > OPEN_M:
            break
    heading = rng.uniform(0, 2 * np.pi)
    speed = float(rng.gamma(2.0, 2.5))
    puck = PuckState(
        (float(spot[0]), float(spot[1]), REST_HEIGHT_M),
        (speed * float(np.cos(heading)), speed * float(np.sin(heading)), 0.0),
    )
    if rng.random() < FLYING_SHARE:
        puck = _in_the_air(rng, puck)
    return replace(state, puck=puck, action=Action.PASSED if speed > 5 else Action.LOOSE, holder=-1)


def _in_the_air(rng: np.random.Generator, puck: PuckState) -> PuckState:
    """Return the puck on a flat arc above the same spot, as after a lifted pass or a deflected shot."""
    (x, y, _), (vx, vy, _) = puck.position_m, puck.velocity_m_s
    return replace(
        puck,
        position_m=(x, y, float(rng.uniform(0.1, 1.6))),
        velocity_m_s=(vx, vy, float(rng.uniform(-3, 3))),
        tilt_rad=float(rng.normal(0, 0.6)),
        spin_rad_s=float(rng.normal(0, 15)),
        tilt_axis_rad=float(rng.uniform(0, 2 * np.pi)),
    )


def _send_off(rng: np.random.Generator, state: PlayState, match: Match) -> PlayState:
    if state.puck.speed_m_s > 18:
        return state
    speed = rng.uniform(16, 43)
    heading = rng.uniform(0, 2 * np.pi)
    rise = rng.uniform(0.5, 4) if rng.random() < 0.3 else 0.0
    sent = release(
        state,
        np.array([speed * np.cos(heading), speed * np.sin(heading), rise]),
        Action.SHOT if speed > 25 else Action.PASSED,
    )
    after = rng.uniform(0.0, 0.25)
    x, y, z = (p + v * after for p, v in zip(sent.puck.position_m, sent.puck.velocity_m_s, strict=True))
    inside, _ = nearest_inside(np.array([x, y]), match.sheet, PUCK_RADIUS_M)
    height = max(z - 4.9 * after * after, REST_HEIGHT_M) if rise else REST_HEIGHT_M
    return replace(sent, puck=replace(sent.puck, position_m=(float(inside[0]), float(inside[1]), float(height))))


def _on_goal_line(rng: np.random.Generator, state: PlayState, match: Match) -> PlayState:
    side = np.sign(state.puck.position_m[0]) or 1.0
    x = side * (match.sheet.goal_line_x_m + rng.uniform(-0.03, 0.03))
    y = float(rng.normal(0, 1.2) if rng.random() < 0.45 else rng.uniform(-0.42, 0.42) * match.sheet.width_m)
    return _drop(rng, state, match, np.array([x, y, REST_HEIGHT_M]))


def _on_kick_plate(rng: np.random.Generator, state: PlayState, match: Match) -> PlayState:
    """Put the puck against the boards that face the main camera: lying, on edge, or riding up the plate."""
    here = np.asarray(state.puck.position_m[:2])
    out = (
        here * np.array([1.0, 1.0]) + np.array([0.0, 40.0])
        if here[1] > -match.sheet.width_m / 4
        else here * [40.0, 1.0]
    )
    gap = PUCK_RADIUS_M + abs(rng.normal(0, 0.05))
    spot, _ = nearest_inside(out, match.sheet, gap)
    height = REST_HEIGHT_M if rng.random() < 0.45 else rng.uniform(0.03, match.arena.kick_height_m * 0.85)
    placed = _drop(rng, state, match, np.array([spot[0], spot[1], height]))
    along = rng.choice([-1.0, 1.0]) * rng.uniform(0, 9)
    tilt = float(np.pi / 2) if height > REST_HEIGHT_M and rng.random() < 0.5 else 0.0
    return replace(
        placed,
        puck=replace(placed.puck, velocity_m_s=(float(along), 0.0, 0.0), tilt_rad=tilt, tilt_axis_rad=float(np.pi / 2)),
    )


def _behind_somebody(rng: np.random.Generator, state: PlayState, match: Match, camera: Camera) -> PlayState:
    """Put the puck on the far side of a person or goal, as the camera sees it."""
    rows = [r for r in range(PEOPLE) if role_of(r) is not PlayerRole.REFEREE]
    distance = ((state.position_m - np.asarray(state.puck.position_m[:2])) ** 2).sum(axis=1)
    rows = sorted(rows, key=lambda r: float(distance[r]))[:5]
    row = int(rng.choice(rows))
    away = state.position_m[row] - np.asarray(camera.position_m[:2])
    away = away / np.hypot(*away)
    side = np.array([-away[1], away[0]])
    behind = rng.uniform(0.2, 1.6)
    spot = state.position_m[row] + away * behind + side * rng.normal(0, 0.14)
    inside, _ = nearest_inside(spot, match.sheet, PUCK_RADIUS_M)
    puck = PuckState(
        (float(inside[0]), float(inside[1]), REST_HEIGHT_M), _triple(np.append(rng.normal(0, 1.0, 2), 0.0))
    )
    return replace(state, puck=puck, action=Action.LOOSE, holder=-1)


def _in_the_net(rng: np.random.Generator, state: PlayState, match: Match, camera: Camera) -> PlayState:
    """Put the puck into a goal or close behind one, with netting between it and the camera."""
    goal = min(match.sheet.goals, key=lambda goal: abs(goal.x_m - state.puck.position_m[0]))
    away = -np.sign(camera.position_m[1]) or 1.0
    y = away * float(rng.uniform(0.1, 0.8))
    return _drop(rng, state, match, np.array([goal.x_m - goal.facing * rng.uniform(0.15, 1.5), y, REST_HEIGHT_M]))


def _drop(rng: np.random.Generator, state: PlayState, match: Match, spot_m: FloatArray) -> PlayState:
    """Put the puck on a spot, and the nearest skater of either team at it."""
    velocity = rng.normal(0, 1.8, 2)
    position = state.position_m.copy()
    facing = state.facing_rad.copy()
    for team in (0, 1):
        rows = np.arange(team * TEAM_SIZE, team * TEAM_SIZE + SKATERS)
        row = int(rows[np.argmin(((position[rows] - spot_m[:2]) ** 2).sum(axis=1))])
        if rng.random() < 0.75:
            angle = rng.uniform(0, 2 * np.pi)
            reach = rng.uniform(1.1, 4.0)
            beside = spot_m[:2] + reach * np.array([np.cos(angle), np.sin(angle)])
            position[row], _ = nearest_inside(beside, match.sheet, 0.4)
            to_puck = spot_m[:2] - position[row]
            facing[row] = np.arctan2(to_puck[1], to_puck[0])
    puck = PuckState(_triple(spot_m), _triple(np.append(velocity, 0.0)))
    return replace(state, position_m=position, facing_rad=facing, puck=puck, action=Action.LOOSE, holder=-1)


def _triple(vector: FloatArray) -> tuple[float, float, float]:
    return float(vector[0]), float(vector[1]), float(vector[2])
