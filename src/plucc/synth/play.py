"""A stretch of play: two teams, officials and a puck that is carried, passed, shot, rimmed round and fought for.

Positions are metres on the rink. The home team attacks towards +x.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from plucc.rink.sheet import Sheet
from plucc.synth.puck_flight import MAX_SPEED_M_S, REST_HEIGHT_M, PuckState, fly, nearest_inside
from plucc.types import FloatArray, PlayerRole

SKATERS = 5
TEAM_SIZE = SKATERS + 1
OFFICIALS = 4
PEOPLE = 2 * TEAM_SIZE + OFFICIALS
STEP_S = 0.04
TOP_SPEED_M_S = 8.5
ACCELERATION_M_S2 = 6.0
PICK_UP_M = 1.25
STICK_SPEED_M_S = 14.0  # how fast a stick brings the puck under control
# Where attackers stand around the net they attack, and where defenders stand around it: (m from goal line, m aside)
_ATTACK = np.array([[4.0, 0.0], [5.0, -8.0], [6.0, 8.0], [17.0, -5.0], [17.0, 6.0]])
_DEFEND = np.array([[5.0, 0.0], [9.0, -5.0], [9.0, 5.0], [2.5, -2.5], [2.5, 2.5]])


class Action(StrEnum):
    """What is being done with the puck."""

    CARRIED = "carried"
    PASSED = "passed"
    SHOT = "shot"
    RIMMED = "rimmed"
    LOOSE = "loose"


@dataclass(frozen=True, slots=True)
class PlayState:
    """Everybody and the puck at one moment. Rows: home skaters, home goalkeeper, away likewise, officials."""

    time_s: float
    position_m: FloatArray  # (PEOPLE, 2)
    velocity_m_s: FloatArray  # (PEOPLE, 2)
    facing_rad: FloatArray  # (PEOPLE,)
    phase_rad: FloatArray  # (PEOPLE,)
    puck: PuckState
    action: Action
    holder: int  # row of the carrier; -1 when the puck is free
    attacking: int  # 0 home, 1 away
    held_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Cast:
    """Traits of the people that last the whole match."""

    handed: FloatArray  # (PEOPLE,) +1 or -1
    pace: FloatArray  # (PEOPLE,) fraction of the top speed
    attention: FloatArray  # (PEOPLE,) share of time spent looking at the puck
    scale: FloatArray  # (PEOPLE,) size of the body


def sample_cast(rng: np.random.Generator) -> Cast:
    """Return the people of a match."""
    return Cast(
        handed=np.where(rng.random(PEOPLE) < 0.62, 1.0, -1.0),
        pace=rng.uniform(0.8, 1.05, PEOPLE),
        attention=rng.choice([1.0, 0.9, 0.6], PEOPLE, p=[0.55, 0.3, 0.15]),
        scale=rng.normal(1.0, 0.03, PEOPLE),
    )


def team_of(row: int) -> int | None:
    """Return 0 for home, 1 for away, None for officials."""
    return row // TEAM_SIZE if row < 2 * TEAM_SIZE else None


def role_of(row: int) -> PlayerRole:
    """Return who the person in this row is."""
    if row >= 2 * TEAM_SIZE:
        return PlayerRole.REFEREE
    return PlayerRole.GOALTENDER if row % TEAM_SIZE == SKATERS else PlayerRole.SKATER


def start_play(rng: np.random.Generator, sheet: Sheet, focus_m: FloatArray) -> PlayState:
    """Return a moment with the puck near the focus and everybody about where that play wants them."""
    attacking = int(rng.integers(2))
    focus, _ = nearest_inside(np.asarray(focus_m, float), sheet, 0.5)
    wanted = _formation(sheet, focus, attacking)
    position = wanted + rng.normal(0, 1.6, (PEOPLE, 2))
    chaser = attacking * TEAM_SIZE + int(rng.integers(SKATERS))
    position[chaser] = focus + rng.normal(0, 0.5, 2)
    rival = (1 - attacking) * TEAM_SIZE + int(rng.integers(SKATERS))
    position[rival] = focus + rng.normal(0, 3.0, 2)
    for row in range(PEOPLE):
        position[row] = nearest_inside(position[row], sheet, 0.45)[0]
        if role_of(row) is PlayerRole.GOALTENDER:
            position[row] = wanted[row]
    velocity = rng.normal(0, 2.2, (PEOPLE, 2))
    velocity[[SKATERS, TEAM_SIZE + SKATERS]] *= 0.1
    facing = np.arctan2(*(focus - position).T[::-1])
    carried = rng.random() < 0.7
    puck = PuckState((float(focus[0]), float(focus[1]), REST_HEIGHT_M), (0.0, 0.0, 0.0))
    return PlayState(
        0.0,
        position,
        velocity,
        facing,
        rng.uniform(0, 2 * np.pi, PEOPLE),
        puck,
        Action.CARRIED if carried else Action.LOOSE,
        chaser if carried else -1,
        attacking,
    )


def advance(state: PlayState, rng: np.random.Generator, sheet: Sheet, cast: Cast, step_s: float = STEP_S) -> PlayState:
    """Return the play one step later."""
    moved = _skate(state, sheet, cast, step_s)
    handled = _handle(moved, rng, sheet)
    if handled.holder >= 0:
        puck = _carried_puck(handled, cast, sheet, step_s)
        return replace(handled, puck=puck, held_s=handled.held_s + step_s)
    puck = fly(handled.puck, step_s, sheet)
    return _contest(replace(handled, puck=puck), rng)


def _formation(sheet: Sheet, puck_m: FloatArray, attacking: int) -> FloatArray:
    """Return where everybody wants to be for a puck there."""
    goal_x = sheet.goal_line_x_m
    direction = 1.0 if attacking == 0 else -1.0
    depth = goal_x - direction * puck_m[0]  # distance of the puck from the attacked goal line
    shift = max(depth - 12.0, 0.0) * 0.8
    wanted = np.zeros((PEOPLE, 2))
    half_width = sheet.width_m / 2
    for team in (0, 1):
        shape = _ATTACK if team == attacking else _DEFEND
        x = direction * (goal_x - shape[:, 0] - shift)
        y = np.clip(0.82 * shape[:, 1] + 0.42 * puck_m[1], -half_width + 1, half_width - 1)
        rows = slice(team * TEAM_SIZE, team * TEAM_SIZE + SKATERS)
        pull = 0.22
        wanted[rows] = (1 - pull) * np.stack([x, y], axis=1) + pull * puck_m
        own = -1.0 if team == 0 else 1.0
        wanted[team * TEAM_SIZE + SKATERS] = _goaltender_spot(sheet, puck_m, own)
    wanted[2 * TEAM_SIZE :] = _official_spots(sheet, puck_m)
    return wanted


def _goaltender_spot(sheet: Sheet, puck_m: FloatArray, side: float) -> FloatArray:
    goal = np.array([side * sheet.goal_line_x_m, 0.0])
    away = puck_m - goal
    away[0] = -side * max(-side * away[0], 0.4)
    distance = float(np.sqrt(away @ away))
    return np.asarray(goal + away / distance * min(0.9 + 0.012 * distance, 1.5))


def _official_spots(sheet: Sheet, puck_m: FloatArray) -> FloatArray:
    half_width = sheet.width_m / 2
    blue = sheet.length_m / 6
    side = np.sign(puck_m[0]) or 1.0
    return np.array(
        [
            [side * (sheet.goal_line_x_m - 1.5), -np.sign(puck_m[1] + 1e-6) * (half_width - 2.5)],
            [side * blue * 0.8, np.sign(puck_m[1] + 1e-6) * (half_width - 1.2)],
            [side * blue, half_width - 1.0],
            [side * blue * 0.4, -half_width + 1.0],
        ]
    )


def _skate(state: PlayState, sheet: Sheet, cast: Cast, step_s: float) -> PlayState:
    puck = np.array(state.puck.position_m[:2])
    wanted = _formation(sheet, puck, state.attacking)
    chase = _chasers(state, puck)
    lead = puck + 0.35 * np.array(state.puck.velocity_m_s[:2])
    # pursuers come at the puck from their own sides, and keep a stick's length from whoever has it
    turn = 2.4 * np.arange(PEOPLE)[:, None] + np.array([0.0, -np.pi / 2])
    room = 0.6 if state.holder < 0 else 2.0
    wanted[chase] = (lead if state.holder < 0 else puck) + room * np.cos(turn[chase])
    if state.holder >= 0:
        wanted[state.holder] = _carrier_goal(state, sheet)
    offset = wanted - state.position_m
    distance = np.sqrt((offset**2).sum(axis=1, keepdims=True)) + 1e-6
    speed = np.minimum(distance * 1.6, TOP_SPEED_M_S * cast.pace[:, None])
    desired = offset / distance * speed
    change = desired - state.velocity_m_s
    size = np.sqrt((change**2).sum(axis=1, keepdims=True)) + 1e-6
    velocity = state.velocity_m_s + change / size * np.minimum(size, ACCELERATION_M_S2 * step_s)
    position = _push_apart(state.position_m + velocity * step_s)
    for row in np.flatnonzero(sheet.distance_inside(position) < 0.38):
        inside, normal = nearest_inside(position[row], sheet, 0.38)
        if normal is not None:
            position[row] = inside
            velocity[row] -= min(float(velocity[row] @ normal), 0.0) * normal
    facing = _turn(state.facing_rad, velocity, puck - position, step_s)
    rate = 2.2 + 0.9 * np.sqrt((velocity**2).sum(axis=1))
    return replace(
        state,
        time_s=state.time_s + step_s,
        position_m=position,
        velocity_m_s=velocity,
        facing_rad=facing,
        phase_rad=state.phase_rad + rate * step_s,
    )


def _chasers(state: PlayState, puck_m: FloatArray) -> list[int]:
    """Return who goes for the puck: the nearest of each team, a second defender when it is loose or near."""
    distance = ((state.position_m - puck_m) ** 2).sum(axis=1)
    rows = []
    for team in (0, 1):
        skaters = np.arange(team * TEAM_SIZE, team * TEAM_SIZE + SKATERS)
        order = skaters[np.argsort(distance[skaters])]
        rows += [int(order[0])]
        if state.holder < 0 and team != state.attacking:
            rows += [int(order[1])]
    return rows


def _carrier_goal(state: PlayState, sheet: Sheet) -> FloatArray:
    direction = 1.0 if state.attacking == 0 else -1.0
    here = state.position_m[state.holder]
    sway = 5.0 * np.sin(0.6 * state.time_s + state.holder)
    ahead = np.array([direction * (sheet.goal_line_x_m - 3.0), 0.55 * here[1] + sway])
    if direction * here[0] > sheet.goal_line_x_m - 4.5:
        ahead = np.array([direction * (sheet.goal_line_x_m - 7.0), np.sign(here[1] + 1e-6) * 6.0])
    return ahead


def _push_apart(position: FloatArray) -> FloatArray:
    gap = position[:, None] - position[None]
    distance = np.sqrt((gap**2).sum(axis=2)) + np.eye(len(position))
    push = np.maximum(0.8 - distance, 0.0) / distance * 0.4
    return np.asarray(position + (gap * push[..., None]).sum(axis=1))


def _turn(facing: FloatArray, velocity: FloatArray, to_puck: FloatArray, step_s: float) -> FloatArray:
    """Return bodies turned a little towards where they skate, and more towards the puck when slow or near it."""
    speed = np.sqrt((velocity**2).sum(axis=1))
    distance = np.sqrt((to_puck**2).sum(axis=1)) + 1e-6
    weight = np.clip(speed / 5.0, 0.05, 0.8) * np.clip(distance / 3.0, 0.2, 1.0)
    aim = weight[:, None] * velocity / (speed[:, None] + 1e-6) + (1 - weight)[:, None] * to_puck / distance[:, None]
    difference = np.angle(np.exp(1j * (np.arctan2(aim[:, 1], aim[:, 0]) - facing)))
    return np.asarray(facing + np.clip(difference, -6.0 * step_s, 6.0 * step_s))


def _carried_puck(state: PlayState, cast: Cast, sheet: Sheet, step_s: float) -> PuckState:
    """Return the puck on the carrier's blade, moving from side to side as it is dribbled."""
    row = state.holder
    facing = state.facing_rad[row]
    side = cast.handed[row]
    sway = 0.22 * np.sin(5.0 * state.time_s + row)
    forward = np.array([np.cos(facing), np.sin(facing)])
    left = np.array([-forward[1], forward[0]])
    spot = state.position_m[row] + 1.0 * forward + (0.25 * side + sway) * left
    before = np.asarray(state.puck.position_m[:2])
    way = spot - before
    distance = float(np.hypot(way[0], way[1]))
    limit = STICK_SPEED_M_S * step_s
    spot, _ = nearest_inside(before + way * min(1.0, limit / max(distance, 1e-9)), sheet, 0.04)
    velocity = (spot - before) / step_s
    return PuckState((float(spot[0]), float(spot[1]), REST_HEIGHT_M), (float(velocity[0]), float(velocity[1]), 0.0))


def _handle(state: PlayState, rng: np.random.Generator, sheet: Sheet) -> PlayState:
    """Return the play after the carrier decided whether to keep, pass, shoot or rim the puck."""
    if state.holder < 0 or state.held_s < 0.4 or rng.random() > 0.035:
        return state
    direction = 1.0 if state.attacking == 0 else -1.0
    here = np.array(state.puck.position_m[:2])
    near_goal = direction * here[0] > sheet.length_m / 6
    choice = rng.random()
    if near_goal and choice < 0.35:
        return release(state, _shot(rng, sheet, here, direction), Action.SHOT)
    if choice < 0.85:
        return release(state, _pass(rng, state, here), Action.PASSED)
    return release(state, _rim(rng, sheet, here, direction), Action.RIMMED)


def release(state: PlayState, velocity_m_s: FloatArray, action: Action) -> PlayState:
    """Return the play with the puck sent off at a velocity."""
    speed = float(np.sqrt(velocity_m_s @ velocity_m_s))
    if speed > MAX_SPEED_M_S:
        velocity_m_s = velocity_m_s * (MAX_SPEED_M_S / speed)
    puck = replace(
        state.puck,
        velocity_m_s=(float(velocity_m_s[0]), float(velocity_m_s[1]), float(velocity_m_s[2])),
        spin_rad_s=float(6.0 * velocity_m_s[2]) if velocity_m_s[2] > 0.3 else 0.0,
        tilt_axis_rad=float(np.arctan2(velocity_m_s[1], velocity_m_s[0])),
    )
    return replace(state, puck=puck, action=action, holder=-1, held_s=0.0)


def _shot(rng: np.random.Generator, sheet: Sheet, here_m: FloatArray, direction: float) -> FloatArray:
    target = np.array([direction * sheet.goal_line_x_m, rng.normal(0, 0.9)])
    away = target - here_m
    distance = float(np.sqrt(away @ away)) + 1e-6
    speed = rng.uniform(20, 42)
    rise = rng.choice([0.0, rng.uniform(0.5, 4.5)])
    return np.array([*(away / distance * speed), rise])


def _pass(rng: np.random.Generator, state: PlayState, here_m: FloatArray) -> FloatArray:
    mates = [r for r in range(state.attacking * TEAM_SIZE, state.attacking * TEAM_SIZE + SKATERS) if r != state.holder]
    mate = int(rng.choice(mates))
    speed = rng.uniform(9, 22)
    target = state.position_m[mate] + state.velocity_m_s[mate] * 0.5 + rng.normal(0, 0.6, 2)
    away = target - here_m
    rise = rng.uniform(1.5, 3.0) if rng.random() < 0.12 else 0.0
    return np.array([*(away / (np.sqrt(away @ away) + 1e-6) * speed), rise])


def _rim(rng: np.random.Generator, sheet: Sheet, here_m: FloatArray, direction: float) -> FloatArray:
    side = np.sign(here_m[1]) or 1.0
    target = np.array([direction * (sheet.goal_line_x_m - 2), side * (sheet.width_m / 2 - 0.3)])
    away = target - here_m
    return np.array([*(away / (np.sqrt(away @ away) + 1e-6) * rng.uniform(14, 26)), rng.choice([0.0, 1.5])])


def _contest(state: PlayState, rng: np.random.Generator) -> PlayState:
    """Return the play after whoever was close tried to take or stop the free puck."""
    puck = np.array(state.puck.position_m)
    if puck[2] > 1.4 or state.time_s < 0.2:
        return state
    distance = np.sqrt(((state.position_m - puck[:2]) ** 2).sum(axis=1))
    near = [
        r for r in np.argsort(distance)[:3] if distance[r] < PICK_UP_M and role_of(int(r)) is not PlayerRole.REFEREE
    ]
    chance = 0.30 if state.puck.speed_m_s < 8 else 0.12
    if not near or rng.random() > chance:
        return replace(state, action=Action.LOOSE) if state.puck.speed_m_s < 3 else state
    row = int(near[0])
    if role_of(row) is PlayerRole.GOALTENDER or state.puck.speed_m_s > 24:
        velocity = rng.normal(0, 3.0, 3)
        velocity[2] = abs(velocity[2]) * 0.4
        return release(state, velocity, Action.LOOSE)
    team = team_of(row)
    return replace(state, holder=row, action=Action.CARRIED, attacking=team if team is not None else 0, held_s=0.0)
