"""Equipment on a skeleton: the capsules that make a skater, a goalkeeper or a referee, and their sticks."""

from dataclasses import dataclass

import numpy as np

from plucc.synth.palette import BLACK, WHITE, Colour, Kit
from plucc.synth.raster import Capsule, Paint
from plucc.synth.skeleton import STICK_M, UP, Skeleton, Stance
from plucc.types import FloatArray, PlayerRole

STEEL: Colour = (225, 222, 220)
ARMBAND: Colour = (30, 110, 235)
LEFT, RIGHT = 0, 1


@dataclass(frozen=True, slots=True)
class Wardrobe:
    """The paints of one person, made once a match."""

    role: PlayerRole
    trunk: Paint
    sleeve: Paint
    pants: Paint
    sock: Paint
    glove: Paint
    helmet: Paint
    face: Paint
    pad: Paint
    boot: Paint
    holder: Paint
    shaft: Paint
    blade: Paint
    number: int
    number_colour: Colour
    girth: float = 1.0


def dress_skater(kit: Kit, rng: np.random.Generator, skin: Colour) -> Wardrobe:
    """Return what a skater wears."""
    return _dress(kit, rng, skin, PlayerRole.SKATER)


def dress_goaltender(kit: Kit, rng: np.random.Generator, skin: Colour) -> Wardrobe:
    """Return what a goalkeeper wears."""
    return _dress(kit, rng, skin, PlayerRole.GOALTENDER)


def dress_referee(rng: np.random.Generator, skin: Colour) -> Wardrobe:
    """Return what an official wears: black and white stripes; the referees proper carry an armband."""
    stripes = Paint.stripes_along(WHITE, BLACK, 9)
    band = ((0.30, 0.5, ARMBAND),) if rng.random() < 0.5 else ()
    black = Paint.plain(BLACK)
    return Wardrobe(
        role=PlayerRole.REFEREE,
        trunk=stripes,
        sleeve=Paint.banded(
            WHITE, ((0.0, 0.14, BLACK), (0.28, 0.42, BLACK), (0.56, 0.7, BLACK), (0.85, 1.0, BLACK), *band)
        ),
        pants=black,
        sock=black,
        glove=Paint.plain(skin),
        helmet=Paint.plain(BLACK, gloss=0.15),
        face=Paint.plain(skin),
        pad=black,
        boot=black,
        holder=Paint.plain((90, 90, 92)),
        shaft=black,
        blade=black,
        number=int(rng.integers(1, 100)),
        number_colour=WHITE,
    )


def _dress(kit: Kit, rng: np.random.Generator, skin: Colour, role: PlayerRole) -> Wardrobe:
    sleeve_bands = _bands(kit, 0.45, 0.85)
    sock_bands = _bands(kit, 0.35, 0.75)
    hem = _bands(kit, 0.04, 0.24)
    yoke = ((0.86, 1.0, kit.accent),) if kit.stripes % 2 else ()
    is_goaltender = role is PlayerRole.GOALTENDER
    pad = WHITE if rng.random() < 0.6 else kit.accent
    tape = BLACK if rng.random() < 0.82 else WHITE
    shaft = (BLACK, (50, 50, 54), kit.accent, WHITE)[int(rng.choice(4, p=[0.55, 0.2, 0.12, 0.13]))]
    stick = WHITE if is_goaltender and rng.random() < 0.5 else shaft
    return Wardrobe(
        role=role,
        trunk=Paint.banded(kit.jersey, (*hem, *yoke)),
        sleeve=Paint.banded(kit.sleeve, sleeve_bands),
        pants=Paint.banded(kit.pants, ((0.42, 0.5, kit.accent),) if rng.random() < 0.4 else ()),
        sock=Paint.banded(kit.sock, sock_bands),
        glove=Paint.plain(kit.glove),
        helmet=Paint.plain(kit.helmet, gloss=0.18),
        face=Paint.plain(skin),
        pad=Paint.banded(pad, ((0.1, 0.18, kit.jersey), (0.55, 0.72, kit.accent))),
        boot=Paint.plain(BLACK, gloss=0.2),
        holder=Paint.plain((205, 205, 205) if rng.random() < 0.4 else (60, 60, 62)),
        shaft=Paint.banded(stick, ((0.55, 0.72, kit.second_accent),) if rng.random() < 0.35 else ()),
        blade=Paint.plain(tape if not is_goaltender else WHITE if tape == WHITE else (60, 60, 60)),
        number=int(rng.integers(1, 99)),
        number_colour=kit.number,
        girth=float(rng.uniform(0.93, 1.07)),
    )


def _bands(kit: Kit, start: float, stop: float) -> tuple[tuple[float, float, Colour], ...]:
    """Return the team's stripes spread between two fractions of a limb."""
    if kit.stripes == 0:
        return ()
    step = (stop - start) / (2 * kit.stripes - 1)
    colours = (kit.accent, kit.second_accent)
    return tuple(
        (start + 2 * i * step, start + (2 * i + 1) * step, colours[i % 2 if kit.stripes > 2 else 0])
        for i in range(kit.stripes)
    )


def body_capsules(skeleton: Skeleton, wardrobe: Wardrobe, stance: Stance) -> list[Capsule]:
    """Return the body without its stick, in no particular order: depth decides what hides what."""
    if wardrobe.role is PlayerRole.GOALTENDER:
        return [
            *_trunk(skeleton, wardrobe, 1.18),
            *_head(skeleton, wardrobe),
            *_goal_arms(skeleton, wardrobe),
            *_goal_legs(skeleton, wardrobe, stance),
        ]
    return [
        *_trunk(skeleton, wardrobe, 1.0),
        *_head(skeleton, wardrobe),
        *_arms(skeleton, wardrobe),
        *_legs(skeleton, wardrobe),
    ]


def stick_capsules(skeleton: Skeleton, wardrobe: Wardrobe) -> list[Capsule]:
    """Return shaft and blade; an official has none."""
    if wardrobe.role is PlayerRole.REFEREE:
        return []
    return _stick(skeleton.butt, skeleton.heel, skeleton.blade_tip, wardrobe)


def lost_stick(position_m: tuple[float, float], heading_rad: float, wardrobe: Wardrobe) -> list[Capsule]:
    """Return a stick that somebody dropped: it lies on the ice, its knob at the position."""
    along = np.array([np.cos(heading_rad), np.sin(heading_rad), 0.0])
    butt = np.array([*position_m, 0.02])
    heel = butt + STICK_M * along - 0.02 * UP
    return _stick(butt, heel, heel + 0.28 * np.array([-along[1], along[0], 0.0]), wardrobe)


def _stick(butt: FloatArray, heel: FloatArray, tip: FloatArray, wardrobe: Wardrobe) -> list[Capsule]:
    heel, tip = heel + 0.035 * UP, tip + 0.04 * UP
    parts = [
        Capsule(butt, heel, 0.017, 0.016, wardrobe.shaft, "shaft"),
        Capsule(butt, butt + 0.04 * (heel - butt), 0.023, 0.021, wardrobe.blade, "knob"),
    ]
    if wardrobe.role is PlayerRole.GOALTENDER:
        paddle = heel + (butt - heel) * 0.42
        parts.append(Capsule(paddle, heel, 0.042, 0.045, wardrobe.blade, "paddle"))
    return [*parts, Capsule(heel, tip, 0.021, 0.03, wardrobe.blade, "blade")]


def _trunk(s: Skeleton, w: Wardrobe, width: float) -> list[Capsule]:
    axis = s.neck - s.pelvis
    low, high = s.pelvis + 0.16 * axis, s.neck - 0.14 * axis
    aside, r = 0.115 * width * s.left, w.girth * width
    seat = s.pelvis - 0.02 * axis
    return [
        Capsule(low, high, 0.178 * r, 0.175 * r, w.trunk, "trunk"),
        Capsule(low + 0.7 * aside, high + aside, 0.148 * r, 0.125 * r, w.trunk, "trunk"),
        Capsule(low - 0.7 * aside, high - aside, 0.148 * r, 0.125 * r, w.trunk, "trunk"),
        Capsule(seat + 0.8 * aside, seat - 0.8 * aside, 0.155 * r, 0.155 * r, w.pants, "pants"),
    ]


def _head(s: Skeleton, w: Wardrobe) -> list[Capsule]:
    back, front = s.head - 0.035 * s.gaze + 0.02 * UP, s.head + 0.035 * s.gaze + 0.03 * UP
    face = s.head + 0.075 * s.gaze - 0.045 * UP
    chin = s.head + 0.07 * s.gaze - 0.09 * UP
    if w.role is PlayerRole.GOALTENDER:
        cage = Paint.banded((150, 150, 152), ((0.0, 0.3, (70, 70, 72)), (0.6, 0.8, (70, 70, 72))))
        return [Capsule(back, front, 0.128, 0.122, w.helmet, "helmet"), Capsule(face, chin, 0.098, 0.088, cage, "face")]
    return [
        Capsule(back, front, 0.118, 0.110, w.helmet, "helmet"),
        Capsule(face, chin, 0.082, 0.07, w.face, "face"),
        Capsule(s.neck, s.head - 0.05 * UP, 0.075, 0.075, w.face, "neck"),
    ]


def _arms(s: Skeleton, w: Wardrobe) -> list[Capsule]:
    parts = []
    for side in (LEFT, RIGHT):
        reach = s.hands[side] - s.elbows[side]
        wrist = s.hands[side] - 0.28 * reach
        parts += [
            Capsule(s.shoulders[side], s.elbows[side], 0.108 * w.girth, 0.082 * w.girth, w.sleeve, "arm"),
            Capsule(s.elbows[side], wrist, 0.082 * w.girth, 0.064, w.sleeve, "forearm"),
            Capsule(wrist, s.hands[side], 0.070, 0.062, w.glove, "glove"),
        ]
    return parts


def _legs(s: Skeleton, w: Wardrobe) -> list[Capsule]:
    parts = []
    for side in (LEFT, RIGHT):
        hip, knee, ankle = s.hips[side], s.knees[side], s.ankles[side]
        parts += [
            Capsule(hip, hip + 0.86 * (knee - hip), 0.148 * w.girth, 0.122 * w.girth, w.pants, "pants"),
            Capsule(knee, ankle + 0.06 * (knee - ankle), 0.094, 0.070, w.sock, "sock"),
        ]
        parts += _skate(ankle, s.toes[side], w)
    return parts


def _skate(ankle: FloatArray, toe: FloatArray, w: Wardrobe) -> list[Capsule]:
    direction = toe - ankle
    direction[2] = 0.0
    direction = direction / max(float(np.sqrt(direction @ direction)), 1e-6)
    lift = max(ankle[2] - 0.11, 0.0)
    sole = np.array([ankle[0], ankle[1], 0.075 + lift])
    steel = np.array([ankle[0], ankle[1], 0.014 + lift])
    holder = np.array([ankle[0], ankle[1], 0.04 + lift])
    return [
        Capsule(ankle + 0.06 * UP, sole - 0.03 * direction, 0.058, 0.055, w.boot, "ankle"),
        Capsule(sole - 0.07 * direction, sole + 0.17 * direction, 0.05, 0.04, w.boot, "boot"),
        Capsule(holder - 0.1 * direction, holder + 0.15 * direction, 0.016, 0.016, w.holder, "holder"),
        Capsule(steel - 0.12 * direction, steel + 0.17 * direction, 0.011, 0.011, Paint.plain(STEEL), "steel"),
    ]


def _goal_arms(s: Skeleton, w: Wardrobe) -> list[Capsule]:
    parts = []
    for side in (LEFT, RIGHT):
        parts += [
            Capsule(s.shoulders[side], s.elbows[side], 0.128, 0.105, w.sleeve, "arm"),
            Capsule(s.elbows[side], s.hands[side], 0.105, 0.09, w.sleeve, "forearm"),
            Capsule(s.hands[side], s.hands[side] + 0.10 * UP - 0.05 * s.forward, 0.115, 0.105, w.pad, "glove"),
        ]
    return parts


def _goal_legs(s: Skeleton, w: Wardrobe, stance: Stance) -> list[Capsule]:
    parts = []
    for side, sign in ((LEFT, 1), (RIGHT, -1)):
        hip, knee, ankle = s.hips[side], s.knees[side], s.ankles[side]
        parts.append(Capsule(hip, knee, 0.165, 0.14, w.pants, "pants"))
        if stance is Stance.BUTTERFLY:
            inner = s.pelvis * np.array([1, 1, 0]) + 0.17 * UP + 0.16 * s.forward + sign * 0.06 * s.left
            outer = inner + sign * 0.72 * s.left - 0.05 * s.forward
            edges: tuple[FloatArray, FloatArray] = (0.07 * UP, -0.06 * UP)
        else:
            top = knee + 0.14 * UP + 0.05 * s.forward
            inner, outer = top, np.array([ankle[0], ankle[1], 0.11]) + 0.06 * s.forward
            edges = (0.065 * s.left, -0.065 * s.left)
        parts += [Capsule(inner + edge, outer + edge, 0.085, 0.088, w.pad, "pad") for edge in edges]
        parts += _skate(ankle, s.toes[side], w)
    return parts
