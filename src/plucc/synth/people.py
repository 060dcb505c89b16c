"""From a moment of play to bodies in the picture: poses, and the layers they are painted on."""

from dataclasses import dataclass

import cv2
import numpy as np

from plucc.rink.camera import Camera
from plucc.synth.adverts import text_mask
from plucc.synth.body import Wardrobe, body_capsules, stick_capsules
from plucc.synth.layer import Layer
from plucc.synth.play import Action, Cast, PlayState, role_of
from plucc.synth.raster import Capsule, Light, Patch, rasterise
from plucc.synth.skeleton import Pose, Skeleton, Stance, build_skeleton
from plucc.types import Box, FloatArray, PlayerRole

BODY_HEIGHT_M = 1.75
REACH_M = 2.0
DETAIL_PX = 150.0  # bodies smaller than this do without the parts that would cover less than a pixel
FINE_PARTS = frozenset({"holder", "neck", "ankle"})
FALL = 0.997  # of a slow wave: somebody lies on the ice about one time in forty
ATTENTION_S = 1.7  # how long somebody looks away


@dataclass(frozen=True, slots=True)
class Figure:
    """A person in the picture: who, in which pose, and the layers of body and stick (None when out of sight)."""

    row: int
    pose: Pose
    skeleton: Skeleton
    body: Layer | None
    stick: Layer | None
    body_depth_m: float
    stick_depth_m: float


def pose_of(state: PlayState, cast: Cast, row: int) -> Pose:
    """Return the pose of one person: they lean and look to the puck, and reach for it when it is near."""
    x, y = (float(v) for v in state.position_m[row])
    velocity = state.velocity_m_s[row]
    speed = float(np.hypot(velocity[0], velocity[1]))
    puck = np.asarray(state.puck.position_m[:2])
    away = puck - state.position_m[row]
    distance = float(np.hypot(away[0], away[1]))
    facing = float(state.facing_rad[row])
    role = role_of(row)
    stance = _stance(state, cast, row, distance)
    fiddle = _wave(row, state.time_s, 0.37)
    turn = float(cast.handed[row])
    return Pose(
        position_m=(x, y),
        facing_rad=facing,
        gaze_rad=_gaze(state, cast, row, facing, float(np.arctan2(away[1], away[0]))),
        blade_m=_blade(state, cast, row, distance),
        stance=stance,
        crouch=0.1 if role is PlayerRole.REFEREE else float(np.clip(0.35 + 0.07 * speed + 0.25 * fiddle, 0.1, 1.0)),
        lean_rad=_lean(stance, role, speed, distance, fiddle),
        bank_rad=float(np.clip(0.05 * fiddle * speed, -0.35, 0.35)),
        phase_rad=float(state.phase_rad[row]),
        stride=float(np.clip(0.25 + 0.12 * speed, 0.2, 1.0)),
        handed=int(turn),
        scale=float(cast.scale[row]),
    )


def _stance(state: PlayState, cast: Cast, row: int, distance_m: float) -> Stance:
    role = role_of(row)
    if role is PlayerRole.REFEREE:
        return Stance.UPRIGHT
    if role is PlayerRole.SKATER:
        fell = row != state.holder and _wave(row, state.time_s + 997 * float(cast.scale[row]), 0.08) > FALL
        return Stance.FALLEN if fell else Stance.SKATING
    if distance_m > 25:
        return Stance.UPRIGHT
    return Stance.BUTTERFLY if distance_m < 5 and state.action in (Action.SHOT, Action.LOOSE) else Stance.SET


def _lean(stance: Stance, role: PlayerRole, speed_m_s: float, distance_m: float, fiddle: float) -> float:
    if stance is Stance.UPRIGHT:
        return 0.12 + (0.08 if role is PlayerRole.REFEREE else 0.0)
    if stance in (Stance.SET, Stance.BUTTERFLY):
        return 0.45 if stance is Stance.SET else 0.2
    if stance is Stance.FALLEN:
        return 1.25
    near = 0.15 if distance_m < REACH_M else 0.0
    return float(np.clip(0.38 + 0.045 * speed_m_s + near + 0.12 * fiddle, 0.15, 1.0))


def _gaze(state: PlayState, cast: Cast, row: int, facing: float, to_puck: float) -> float:
    slot = int(state.time_s / ATTENTION_S)
    attentive = 0.5 + 0.5 * np.sin(12.9898 * row + 78.233 * slot + 3.1 * cast.scale[row]) <= cast.attention[row]
    wanted = to_puck if attentive else facing + 0.8 * _wave(row, state.time_s, 0.2)
    # a neck turns by about a right angle
    return facing + float(np.clip(np.angle(np.exp(1j * (wanted - facing))), -1.5, 1.5))


def _blade(state: PlayState, cast: Cast, row: int, distance_m: float) -> tuple[float, float, float]:
    position = state.position_m[row]
    facing = float(state.facing_rad[row])
    puck = np.asarray(state.puck.position_m)
    skater = role_of(row) is not PlayerRole.REFEREE
    if skater and distance_m < REACH_M and puck[2] < 0.4:
        towards = (puck[:2] - position) / max(distance_m, 1e-6)
        # the heel stops short of the puck, so that the blade lies beside it rather than through it
        short = (
            0.25 + 0.1 * _wave(row, state.time_s, 1.3)
            if row == state.holder
            else 0.4 + 0.4 * abs(_wave(row, state.time_s, 0.9))
        )
        side = np.array([-towards[1], towards[0]]) * cast.handed[row] * 0.12
        x, y = puck[:2] - towards * short + side
        return float(x), float(y), 0.0
    forward = np.array([np.cos(facing), np.sin(facing)])
    left = np.array([-forward[1], forward[0]])
    sway = _wave(row, state.time_s, 0.5)
    x, y = position + forward * (1.05 + 0.25 * sway) + left * (0.35 * cast.handed[row] + 0.3 * sway)
    raised = max(_wave(row + 31, state.time_s, 0.25) - 0.55, 0.0)
    return float(x), float(y), float(raised * (0.9 if raised > 0.3 else 0.5))


def _wave(row: int, time_s: float, rate_hz: float) -> float:
    """Return a slow wobble between -1 and 1 that differs from person to person."""
    return float(np.sin(2 * np.pi * rate_hz * time_s + 2.399 * row))


@dataclass(frozen=True, slots=True)
class Look:
    """What all people in a picture share: the light, the folds of their clothes, the window that is wanted (pixels)."""

    light: Light
    folds: FloatArray
    within: Box


def draw_figure(camera: Camera, row: int, pose: Pose, wardrobe: Wardrobe, look: Look) -> Figure:
    """Return the person painted on layers of frame resolution, not yet blurred."""
    skeleton = build_skeleton(pose)
    middle = (*pose.position_m, 0.8)
    depths = camera.depth(np.array([middle, skeleton.heel, *skeleton.hands]))
    depth = float(depths[0])
    if depth < 1.0:
        return Figure(row, pose, skeleton, None, None, depth, depth)
    height_px = BODY_HEIGHT_M * camera.focal_px / depth
    capsules = body_capsules(skeleton, wardrobe, pose.stance)
    if height_px < DETAIL_PX:
        capsules = [capsule for capsule in capsules if capsule.part not in FINE_PARTS]
    patch = rasterise(camera, capsules, look.light, _supersampling(height_px), look.within)
    body = None
    if patch is not None:
        if wardrobe.role is not PlayerRole.REFEREE:
            _print_number(camera, patch, capsules, skeleton, wardrobe)
        _fold_cloth(patch, look.folds, row)
        body = patch.layer()
    stick_patch = _draw_stick(camera, skeleton, wardrobe, look, height_px)
    stick_depth = float(depths[1] / 2 + depths[2:].mean() / 2)
    return Figure(row, pose, skeleton, body, stick_patch, depth, stick_depth)


def _draw_stick(camera: Camera, skeleton: Skeleton, wardrobe: Wardrobe, look: Look, height_px: float) -> Layer | None:
    capsules = stick_capsules(skeleton, wardrobe)
    if not capsules:
        return None
    patch = rasterise(camera, capsules, look.light, max(_supersampling(height_px), 2), look.within)
    return None if patch is None else patch.layer()


def _supersampling(height_px: float) -> int:
    if height_px < 80:
        return 3
    return 2 if height_px < 260 else 1


def _fold_cloth(patch: Patch, folds: FloatArray, row: int) -> None:
    height, width = patch.light.shape
    top, left = (37 * row) % 128, (91 * row) % 128
    scale = max(height, width) / 320
    rows = (top + np.arange(height) / max(scale, 0.5)).astype(int) % folds.shape[0]
    columns = (left + np.arange(width) / max(scale, 0.5)).astype(int) % folds.shape[1]
    patch.light *= folds.take(rows, axis=0).take(columns, axis=1)


def _print_number(
    camera: Camera, patch: Patch, capsules: list[Capsule], skeleton: Skeleton, wardrobe: Wardrobe
) -> None:
    """Put the number on the back, or a crest on the chest, whichever the camera sees."""
    axis = skeleton.neck - skeleton.pelvis
    centre = skeleton.pelvis + 0.55 * axis
    towards = np.asarray(camera.position_m) - centre
    towards = towards / np.sqrt(towards @ towards)
    facing = float(skeleton.chest @ towards)
    if abs(facing) < 0.15:
        return
    sign = 1.0 if facing > 0 else -1.0
    unit = axis / np.sqrt(axis @ axis)
    half_width, half_height = (0.15, 0.13) if sign < 0 else (0.1, 0.1)
    middle = centre + sign * 0.2 * skeleton.chest
    across = sign * half_width * skeleton.left  # reading direction as seen from outside
    up = half_height * unit
    corners = np.stack([middle - across + up, middle + across + up, middle + across - up, middle - across - up])
    quad = patch.to_patch(camera.project(corners)).astype(np.float32)
    if not np.isfinite(quad).all():
        return
    low = np.maximum(np.floor(quad.min(axis=0)).astype(int), 0)
    high = np.minimum(np.ceil(quad.max(axis=0)).astype(int) + 1, patch.winner.shape[::-1])
    if (high <= low).any():
        return
    mask = _number_mask(wardrobe.number) if sign < 0 else _crest_mask()
    source = np.array([[0, 0], [mask.shape[1], 0], [mask.shape[1], mask.shape[0]], [0, mask.shape[0]]], np.float32)
    matrix = cv2.getPerspectiveTransform(source, quad - low.astype(np.float32))
    size = (int(high[0] - low[0]), int(high[1] - low[1]))
    warped = cv2.warpPerspective(mask, matrix, size, flags=cv2.INTER_LINEAR)
    trunk = np.zeros(len(capsules) + 1, bool)
    trunk[[i + 1 for i, c in enumerate(capsules) if c.part == "trunk"]] = True
    window = (slice(low[1], high[1]), slice(low[0], high[0]))
    patch.albedo[window][(warped > 0.45) & trunk[patch.winner[window]]] = (*wardrobe.number_colour, 255)


def _number_mask(number: int) -> FloatArray:
    return text_mask(str(number), 24, cv2.FONT_HERSHEY_DUPLEX, 0.2)


def _crest_mask() -> FloatArray:
    mask = np.zeros((32, 32), np.float32)
    cv2.circle(mask, (16, 16), 14, 1.0, 5, cv2.LINE_AA)
    cv2.line(mask, (8, 20), (24, 10), 1.0, 4, cv2.LINE_AA)
    return mask
