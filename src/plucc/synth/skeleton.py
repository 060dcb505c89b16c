"""Where the joints of a skating body are, from a pose that says what it does. Metres; z up from the ice."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np

from plucc.types import FloatArray

THIGH_M, SHIN_M = 0.45, 0.44
UPPER_ARM_M, FOREARM_M = 0.31, 0.29
TRUNK_M = 0.50
ANKLE_M = 0.11
STICK_M = 1.48
HAND_GAP_M = 0.46
UP = np.array([0.0, 0.0, 1.0])
Pair: TypeAlias = tuple[FloatArray, FloatArray]  # left, right


class Stance(StrEnum):
    """What the body does apart from striding."""

    SKATING = "skating"
    UPRIGHT = "upright"
    SET = "set"
    BUTTERFLY = "butterfly"
    FALLEN = "fallen"


@dataclass(frozen=True, slots=True)
class Pose:
    """A body at one moment. Angles run from +x towards +y; `handed` is +1 when the lower hand is the left one."""

    position_m: tuple[float, float]
    facing_rad: float
    gaze_rad: float
    blade_m: tuple[float, float, float]
    stance: Stance = Stance.SKATING
    crouch: float = 0.5
    lean_rad: float = 0.5
    bank_rad: float = 0.0
    phase_rad: float = 0.0
    stride: float = 0.5
    handed: int = 1
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Skeleton:
    """Joint positions in metres on the rink; pairs are (left, right)."""

    pelvis: FloatArray
    neck: FloatArray
    head: FloatArray
    hips: Pair
    knees: Pair
    ankles: Pair
    toes: Pair
    shoulders: Pair
    elbows: Pair
    hands: Pair
    butt: FloatArray
    heel: FloatArray
    blade_tip: FloatArray
    forward: FloatArray
    left: FloatArray
    gaze: FloatArray
    chest: FloatArray  # unit vector out of the chest


def build_skeleton(pose: Pose) -> Skeleton:
    """Return the joints; feet and blade stay where physics wants them, limbs bend to reach."""
    forward = _heading(pose.facing_rad)
    left = np.array([-forward[1], forward[0], 0.0])
    size = pose.scale
    origin = np.array([*pose.position_m, 0.0])
    lean, bank = pose.lean_rad, pose.bank_rad
    trunk_axis = _unit(np.sin(lean) * forward + np.cos(lean) * UP + np.sin(bank) * left)
    pelvis = origin + _hip_height(pose) * size * UP - 0.16 * np.sin(lean) * forward - 0.25 * np.sin(bank) * left
    neck = pelvis + TRUNK_M * size * trunk_axis
    gaze = _heading(pose.gaze_rad)
    stick = _place_stick(pose, neck, forward, left)
    shoulders = (neck + 0.19 * size * left - 0.05 * UP, neck - 0.19 * size * left - 0.05 * UP)
    wanted = (stick.lower, stick.upper) if pose.handed > 0 else (stick.upper, stick.lower)
    elbows = _elbows(shoulders, wanted, forward, left, size)
    hands = (_reach(elbows[0], wanted[0], FOREARM_M * size), _reach(elbows[1], wanted[1], FOREARM_M * size))
    hips = (pelvis + 0.11 * left, pelvis - 0.11 * left)
    ankles = (_ankle(pose, origin, forward, left, 1), _ankle(pose, origin, forward, left, -1))
    return Skeleton(
        pelvis=pelvis,
        neck=neck,
        head=neck + 0.16 * size * _unit(trunk_axis + 0.8 * UP) + 0.03 * gaze,
        hips=hips,
        knees=_knees(pose, hips, ankles, forward, left),
        ankles=ankles,
        toes=(_toe(pose, ankles[0], forward, left, 1), _toe(pose, ankles[1], forward, left, -1)),
        shoulders=shoulders,
        elbows=elbows,
        hands=hands,
        butt=_butt(hands[1] if pose.handed > 0 else hands[0], stick.heel),
        heel=stick.heel,
        blade_tip=stick.tip,
        forward=forward,
        left=left,
        gaze=gaze,
        chest=_unit(np.cos(lean) * forward - np.sin(lean) * UP),
    )


def _elbows(shoulders: Pair, hands: Pair, forward: FloatArray, left: FloatArray, size: float) -> Pair:
    first, second = (
        _bend(shoulder, hand, UPPER_ARM_M * size, FOREARM_M * size, side * left - 0.5 * UP - 0.3 * forward)
        for shoulder, hand, side in zip(shoulders, hands, (1, -1), strict=True)
    )
    return first, second


def _knees(pose: Pose, hips: Pair, ankles: Pair, forward: FloatArray, left: FloatArray) -> Pair:
    outward = 0.9 if pose.stance is Stance.BUTTERFLY else 0.25
    first, second = (
        _bend(hip, ankle, THIGH_M * pose.scale, SHIN_M * pose.scale, forward + side * outward * left)
        for hip, ankle, side in zip(hips, ankles, (1, -1), strict=True)
    )
    return first, second


@dataclass(frozen=True, slots=True)
class _Stick:
    upper: FloatArray
    lower: FloatArray
    heel: FloatArray
    tip: FloatArray


def _place_stick(pose: Pose, neck: FloatArray, forward: FloatArray, left: FloatArray) -> _Stick:
    side = -pose.handed
    drop = 0.42 if pose.stance is not Stance.UPRIGHT else 0.5
    upper = neck + 0.30 * forward + side * 0.16 * left - drop * pose.scale * UP
    upper[2] = max(upper[2], 0.3)
    wanted = np.asarray(pose.blade_m, float)
    away = wanted - upper
    flat = away.copy()
    flat[2] = 0.0
    reach = float(np.sqrt(flat @ flat))
    limit = float(np.sqrt(max(STICK_M**2 - (upper[2] - wanted[2]) ** 2, 0.1)))
    direction = flat / reach if reach > 1e-3 else forward
    heel = upper + direction * min(max(reach, 0.35), limit)
    heel[2] = wanted[2]
    shaft = _unit(heel - upper)
    length = float(np.sqrt((heel - upper) @ (heel - upper)))
    lower = upper + shaft * min(HAND_GAP_M, 0.6 * length)
    flat_shaft = _unit(np.array([shaft[0], shaft[1], 0.0]))
    turn = 0.55 * pose.handed
    blade = np.cos(turn) * flat_shaft - np.sin(turn) * np.array([-flat_shaft[1], flat_shaft[0], 0.0])
    return _Stick(upper, lower, heel, heel + 0.27 * _unit(blade))


def _butt(upper_hand: FloatArray, heel: FloatArray) -> FloatArray:
    """Return the end of the shaft: it runs through the upper hand and sticks out behind when the blade is near."""
    shaft = heel - upper_hand
    length = float(np.sqrt(shaft @ shaft))
    return np.asarray(upper_hand - shaft / max(length, 1e-9) * max(STICK_M - length, 0.06))


def _hip_height(pose: Pose) -> float:
    heights = {
        Stance.SKATING: 0.95 - 0.22 * pose.crouch,
        Stance.UPRIGHT: 0.96,
        Stance.SET: 0.66,
        Stance.BUTTERFLY: 0.46,
        Stance.FALLEN: 0.27,
    }
    return heights[pose.stance]


def _ankle(pose: Pose, origin: FloatArray, forward: FloatArray, left: FloatArray, side: int) -> FloatArray:
    """Return the ankle on `side` (+1 left): one leg glides under the body while the other pushes out and back."""
    if pose.stance is Stance.BUTTERFLY:
        return np.asarray(origin + side * 0.62 * left - 0.12 * forward + 0.10 * UP)
    if pose.stance is Stance.SET:
        return origin + side * 0.33 * left + ANKLE_M * UP
    if pose.stance is Stance.FALLEN:
        return np.asarray(origin + side * 0.25 * left - 0.75 * forward + 0.14 * UP)
    swing = np.sin(pose.phase_rad + (0.0 if side > 0 else np.pi))
    push = max(-swing, 0.0) * pose.stride
    lift = max(np.sin(pose.phase_rad + (0.0 if side > 0 else np.pi) + 0.9), 0.0) * pose.stride
    along = 0.30 * swing * pose.stride - 0.25 * push
    aside = 0.16 + 0.06 * pose.crouch + 0.24 * push
    return np.asarray(origin + along * forward + side * aside * left + (ANKLE_M + 0.05 * lift) * UP)


def _toe(pose: Pose, ankle: FloatArray, forward: FloatArray, left: FloatArray, side: int) -> FloatArray:
    turn = 0.2 if pose.stance is not Stance.BUTTERFLY else 1.3
    if pose.stance is Stance.SKATING:
        swing = np.sin(pose.phase_rad + (0.0 if side > 0 else np.pi))
        turn += 0.5 * max(-swing, 0.0) * pose.stride
    direction = np.cos(turn) * forward + side * np.sin(turn) * left
    return np.asarray(ankle + 0.19 * direction - 0.05 * UP)


def _bend(start: FloatArray, stop: FloatArray, first_m: float, second_m: float, pole: FloatArray) -> FloatArray:
    """Return the middle joint of a two-bone limb, bent towards the pole; a limb too short stays straight."""
    axis = stop - start
    distance = float(np.sqrt(axis @ axis))
    axis = axis / max(distance, 1e-6)
    distance = min(max(distance, abs(first_m - second_m) + 1e-3), first_m + second_m - 1e-3)
    along = (first_m**2 - second_m**2 + distance**2) / (2 * distance)
    aside = np.sqrt(max(first_m**2 - along**2, 0.0))
    side = pole - (pole @ axis) * axis
    return np.asarray(start + along * axis + aside * _unit(side))


def _reach(elbow: FloatArray, hand: FloatArray, length_m: float) -> FloatArray:
    return elbow + length_m * _unit(hand - elbow)


def _heading(angle_rad: float) -> FloatArray:
    return np.array([np.cos(angle_rad), np.sin(angle_rad), 0.0])


def _unit(vector: FloatArray) -> FloatArray:
    return vector / max(float(np.sqrt(vector @ vector)), 1e-9)
