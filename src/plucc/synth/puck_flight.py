"""How a puck moves: it slides with friction, flies with drag, and comes back off the boards."""

from dataclasses import dataclass, replace

import numpy as np

from plucc.rink.sheet import Sheet
from plucc.types import PUCK_RADIUS_M, PUCK_THICKNESS_M, FloatArray

GRAVITY_M_S2 = 9.81
ICE_FRICTION = 0.055
AIR_DRAG_PER_M = 0.0028  # half rho c_d A / m of a puck flying edge on
BOARD_RESTITUTION = 0.55
BOARD_GRIP = 0.88
ICE_RESTITUTION = 0.35
REST_HEIGHT_M = PUCK_THICKNESS_M / 2
MAX_SPEED_M_S = 45.0
STEP_S = 0.004


@dataclass(frozen=True, slots=True)
class PuckState:
    """The puck's centre and velocity on the rink, its tilt out of the flat and the turn of that tilt."""

    position_m: tuple[float, float, float]
    velocity_m_s: tuple[float, float, float]
    tilt_rad: float = 0.0
    spin_rad_s: float = 0.0
    tilt_axis_rad: float = 0.0

    @property
    def airborne(self) -> bool:
        """Whether the puck is off the ice by more than its own thickness."""
        return self.position_m[2] > REST_HEIGHT_M + PUCK_THICKNESS_M

    @property
    def speed_m_s(self) -> float:
        return float(np.sqrt(sum(v * v for v in self.velocity_m_s)))


def fly(state: PuckState, duration_s: float, sheet: Sheet) -> PuckState:
    """Return the free puck after a while; negative durations extrapolate backwards in a straight line."""
    position = np.array(state.position_m)
    velocity = np.array(state.velocity_m_s)
    if duration_s < 0:
        return replace(state, position_m=_triple(position + velocity * duration_s))
    tilt, spin = state.tilt_rad, state.spin_rad_s
    left = duration_s
    while left > 1e-9:
        step = min(STEP_S, left)
        left -= step
        position, velocity = _advance(position, velocity, step)
        position, velocity = bounce_off_boards(position, velocity, sheet)
        tilt += spin * step
        if position[2] <= REST_HEIGHT_M + 1e-6:
            tilt, spin = 0.0, 0.0
    return PuckState(_triple(position), _triple(velocity), tilt, spin, state.tilt_axis_rad)


def _advance(position: FloatArray, velocity: FloatArray, step_s: float) -> tuple[FloatArray, FloatArray]:
    in_air = position[2] > REST_HEIGHT_M + 1e-6 or velocity[2] > 0.3
    speed = float(np.sqrt(velocity @ velocity))
    if in_air:
        velocity = velocity - AIR_DRAG_PER_M * speed * velocity * step_s
        velocity = velocity - np.array([0.0, 0.0, GRAVITY_M_S2 * step_s])
    elif speed > 0:
        slower = max(speed - ICE_FRICTION * GRAVITY_M_S2 * step_s, 0.0)
        velocity = velocity * (slower / speed)
        velocity[2] = 0.0
    position = position + velocity * step_s
    if position[2] < REST_HEIGHT_M:
        position[2] = REST_HEIGHT_M
        velocity = velocity.copy()
        velocity[2] = -ICE_RESTITUTION * velocity[2] if velocity[2] < -1.0 else 0.0
    return position, velocity


def bounce_off_boards(position: FloatArray, velocity: FloatArray, sheet: Sheet) -> tuple[FloatArray, FloatArray]:
    """Return the puck kept inside the boards, reflected where it met them."""
    inside, normal = nearest_inside(position[:2], sheet, PUCK_RADIUS_M)
    if normal is None:
        return position, velocity
    along_normal = float(velocity[:2] @ normal)
    moved = np.array([inside[0], inside[1], position[2]])
    if along_normal >= 0:
        return moved, velocity
    tangent = velocity[:2] - along_normal * normal
    flat = BOARD_GRIP * tangent - BOARD_RESTITUTION * along_normal * normal
    return moved, np.array([flat[0], flat[1], velocity[2]])


def nearest_inside(point_m: FloatArray, sheet: Sheet, margin_m: float) -> tuple[FloatArray, FloatArray | None]:
    """Return the point moved in from the boards to the margin, and the inward normal if it had to move."""
    half_length, half_width, radius = sheet.length_m / 2, sheet.width_m / 2, sheet.corner_radius_m
    sign = np.where(point_m < 0, -1.0, 1.0)
    folded = np.abs(point_m)
    corner = np.array([half_length - radius, half_width - radius])
    if (folded > corner).all():
        offset = folded - corner
        distance = float(np.sqrt(offset @ offset))
        if distance <= radius - margin_m:
            return point_m, None
        direction = offset / max(distance, 1e-9)
        return sign * (corner + direction * (radius - margin_m)), -sign * direction
    limits = np.array([half_length, half_width]) - margin_m
    over = folded - limits
    axis = int(np.argmax(over))
    if over[axis] <= 0:
        return point_m, None
    moved = np.minimum(folded, limits)
    normal = np.zeros(2)
    normal[axis] = -sign[axis]
    return sign * moved, normal


def _triple(vector: FloatArray) -> tuple[float, float, float]:
    return float(vector[0]), float(vector[1]), float(vector[2])
