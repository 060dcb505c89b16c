"""Who films and from where: the main camera that follows the play with lag, and the others that a director cuts to."""

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from plucc.rink.camera import Camera
from plucc.synth.match import Match
from plucc.types import REFERENCE_HEIGHT_PX, FloatArray, InputError, Size


class View(StrEnum):
    """The kinds of shot."""

    MAIN = "main"
    CLOSE = "close"
    END = "end"
    BEHIND_NET = "behind-net"
    ICE_LEVEL = "ice-level"


VIEW_SHARES = {View.MAIN: 0.84, View.CLOSE: 0.07, View.END: 0.03, View.BEHIND_NET: 0.03, View.ICE_LEVEL: 0.03}


@dataclass(frozen=True, slots=True)
class Operator:
    """A camera and the hands on it. `px_per_m` is the size of things at the point aimed at, for 720 lines."""

    view: View
    position_m: tuple[float, float, float]
    px_per_m: float
    aim_offset_m: tuple[float, float]
    aim_height_m: float
    roll_rad: float
    k1: float
    k2: float
    lag_s: float
    reach_m: tuple[float, float, float]  # it aims at most this far along the rink, and between these across it
    focal_at_720_px: float | None = None  # fixed lenses do not zoom


@dataclass(frozen=True, slots=True)
class Aim:
    """Where the camera points on the ice, and how fast that moves."""

    point_m: tuple[float, float]
    velocity_m_s: tuple[float, float]


def sample_operator(rng: np.random.Generator, match: Match, side: float, view: View | None = None) -> Operator:
    """Return a camera; `side` is the end of the rink (-1 or 1) that the play is in."""
    if view is None:
        kinds = list(VIEW_SHARES)
        view = kinds[int(rng.choice(len(kinds), p=list(VIEW_SHARES.values())))]
    return _SAMPLERS[view](rng, match, side)


def _main(rng: np.random.Generator, match: Match, side: float) -> Operator:  # noqa: ARG001
    lift = rng.normal(0, 0.25, 3)
    x, y, z = np.asarray(match.arena.camera_position_m) + lift
    zoom = float(np.clip(np.exp(rng.normal(np.log(70), 0.27)), 38, 135))
    return Operator(
        View.MAIN,
        (float(x), float(y), float(z)),
        zoom,
        _offset(rng, 3.9, 2.4),
        0.6,
        float(rng.normal(0, 0.012)),
        match.arena.distortion,
        0.0,
        float(rng.uniform(0.25, 0.7)),
        _reach(match, 6.0),
    )


def _close(rng: np.random.Generator, match: Match, side: float) -> Operator:
    main = _main(rng, match, side)
    zoom = float(rng.uniform(130, 330))
    return replace(
        main, view=View.CLOSE, px_per_m=zoom, aim_offset_m=_offset(rng, 0.9, 0.5), lag_s=0.2, reach_m=_reach(match)
    )


def _end(rng: np.random.Generator, match: Match, side: float) -> Operator:
    x = side * (match.sheet.length_m / 2 + rng.uniform(5, 14))
    position = (float(x), float(rng.uniform(-6, 6)), float(rng.uniform(6, 12)))
    return Operator(
        View.END,
        position,
        float(rng.uniform(50, 110)),
        _offset(rng, 2.5, 2.5),
        0.6,
        float(rng.normal(0, 0.01)),
        match.arena.distortion,
        0.0,
        0.5,
        _reach(match),
    )


def _behind_net(rng: np.random.Generator, match: Match, side: float) -> Operator:
    position = (
        float(side * (match.sheet.length_m / 2 - rng.uniform(0.1, 0.6))),
        float(rng.normal(0, 0.8)),
        float(rng.uniform(2.8, 4.6)),
    )
    return Operator(
        View.BEHIND_NET,
        position,
        0.0,
        (float(-side * rng.uniform(4, 9)), 0.0),
        0.4,
        float(rng.normal(0, 0.02)),
        float(rng.uniform(-0.09, -0.02)),
        0.004,
        0.9,
        _reach(match),
        focal_at_720_px=float(rng.uniform(640, 900)),
    )


def _ice_level(rng: np.random.Generator, match: Match, side: float) -> Operator:
    along = float(side * rng.uniform(5, match.sheet.length_m / 2 - 9))
    near = -match.sheet.width_m / 2 + 0.5
    position = (along, near if rng.random() < 0.7 else -near, float(rng.uniform(1.7, 3.0)))
    return Operator(
        View.ICE_LEVEL,
        position,
        0.0,
        _offset(rng, 1.5, 0.5),
        0.7,
        float(rng.normal(0, 0.015)),
        float(rng.uniform(-0.06, 0.0)),
        0.0,
        0.4,
        _reach(match),
        focal_at_720_px=float(rng.uniform(900, 1900)),
    )


_SAMPLERS = {
    View.MAIN: _main,
    View.CLOSE: _close,
    View.END: _end,
    View.BEHIND_NET: _behind_net,
    View.ICE_LEVEL: _ice_level,
}


def _reach(match: Match, near_m: float = 2.0) -> tuple[float, float, float]:
    """Return how far out a camera aims: short of the boards, by `near_m` on the main camera's side."""
    half_width = match.sheet.width_m / 2
    return match.sheet.length_m / 2 - 2.5, near_m - half_width, half_width - 2.0


def _offset(rng: np.random.Generator, x_m: float, y_m: float) -> tuple[float, float]:
    return float(rng.normal(0, x_m)), float(rng.normal(0, y_m))


def follow(aim: Aim, target_m: FloatArray, operator: Operator, step_s: float) -> Aim:
    """Return the aim a step later: it is pulled towards the target like a damped spring with the operator's lag."""
    point, velocity = np.asarray(aim.point_m), np.asarray(aim.velocity_m_s)
    stiffness = 1.0 / operator.lag_s**2
    pull = stiffness * (target_m - point) - 2.0 / operator.lag_s * velocity
    velocity = velocity + pull * step_s
    speed = float(np.hypot(velocity[0], velocity[1]))
    if speed > 16.0:
        velocity = velocity * (16.0 / speed)
    point = point + velocity * step_s
    return Aim((float(point[0]), float(point[1])), (float(velocity[0]), float(velocity[1])))


def camera_at(operator: Operator, aim: Aim, size: Size, shift_s: float = 0.0) -> Camera:
    """Return the camera, `shift_s` before or after the moment of the aim (within an exposure)."""
    aimed = np.asarray(aim.point_m) + np.asarray(operator.aim_offset_m)
    along, near, far = operator.reach_m
    still_x, still_y = float(np.clip(aimed[0], -along, along)), float(np.clip(aimed[1], near, far))
    target = (still_x + aim.velocity_m_s[0] * shift_s, still_y + aim.velocity_m_s[1] * shift_s, operator.aim_height_m)
    lines = size.height / REFERENCE_HEIGHT_PX
    if operator.focal_at_720_px is not None:
        focal = operator.focal_at_720_px * lines
    else:
        # zoom belongs to the moment, not to the instant within the exposure
        away = np.subtract((still_x, still_y, operator.aim_height_m), operator.position_m)
        focal = operator.px_per_m * lines * float(np.linalg.norm(away))
    camera = Camera.look_at(operator.position_m, target, focal, size, operator.roll_rad)
    try:
        return replace(camera, k1=operator.k1, k2=operator.k2)
    except InputError:
        return camera  # a lens this wide would fold over in so broad a picture
