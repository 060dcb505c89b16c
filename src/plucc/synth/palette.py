"""Colours of teams, arenas and sponsors, in BGR as OpenCV paints them."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

Colour: TypeAlias = tuple[int, int, int]

WHITE: Colour = (236, 236, 236)
BLACK: Colour = (24, 22, 22)
SKIN: tuple[Colour, ...] = ((150, 175, 222), (130, 155, 205), (95, 120, 170), (60, 80, 120))
GOAL_RED: Colour = (42, 30, 190)

_STRONG: tuple[Colour, ...] = (
    (40, 30, 180),
    (30, 28, 150),
    (130, 50, 25),
    (90, 30, 15),
    (70, 95, 20),
    (40, 70, 15),
    (20, 175, 235),
    (25, 120, 235),
    (28, 26, 26),
    (120, 40, 90),
    (180, 120, 40),
    (45, 22, 80),
)
_ACCENTS: tuple[Colour, ...] = (
    (20, 190, 240),
    (235, 235, 235),
    (30, 30, 30),
    (35, 35, 190),
    (150, 70, 30),
    (30, 120, 240),
)
SPONSORS: tuple[Colour, ...] = (
    (40, 36, 200),
    (150, 80, 20),
    (60, 120, 30),
    (25, 200, 245),
    (60, 60, 60),
    (30, 30, 30),
    (170, 60, 120),
    (200, 150, 40),
    (40, 120, 235),
    (150, 120, 240),
    (90, 60, 20),
)
CIRCLE_FILLS: tuple[Colour, ...] = (
    (110, 205, 240),
    (190, 160, 240),
    (110, 95, 215),
    (225, 160, 120),
    (200, 180, 150),
    (120, 200, 150),
)


@dataclass(frozen=True, slots=True)
class Kit:
    """What one team wears; stripes are bands of the accent colours."""

    jersey: Colour
    sleeve: Colour
    pants: Colour
    sock: Colour
    accent: Colour
    second_accent: Colour
    helmet: Colour
    glove: Colour
    number: Colour
    stripes: int


def pick(rng: np.random.Generator, colours: tuple[Colour, ...]) -> Colour:
    """Return one of the colours."""
    return colours[int(rng.integers(len(colours)))]


def jitter(rng: np.random.Generator, colour: Colour, spread: float = 12.0) -> Colour:
    """Return the colour a little off, as no two dyes agree."""
    shifted = np.clip(np.asarray(colour) + rng.normal(0, spread, 3), 8, 246)
    return int(shifted[0]), int(shifted[1]), int(shifted[2])


def sample_kits(rng: np.random.Generator) -> tuple[Kit, Kit]:
    """Return a home kit in strong colours and an away kit, mostly white."""
    home = jitter(rng, pick(rng, _STRONG))
    away = jitter(rng, WHITE, 6.0)
    other = jitter(rng, pick(rng, _STRONG))
    if rng.random() < 0.2 and np.abs(np.subtract(home, other)).sum() > 220:
        away = other
    return _kit(rng, home), _kit(rng, away)


def _kit(rng: np.random.Generator, jersey: Colour) -> Kit:
    is_light = sum(jersey) > 500
    accent = jitter(rng, pick(rng, _STRONG if is_light else _ACCENTS))
    second = jitter(rng, pick(rng, _ACCENTS))
    dark = jitter(rng, pick(rng, ((28, 26, 26), (28, 26, 26), (80, 40, 20), (40, 30, 150))))
    pants = dark if rng.random() < 0.7 else jitter(rng, accent)
    helmet = pick(rng, (dark, accent, jersey)) if not is_light else pick(rng, (WHITE, dark, accent))
    return Kit(
        jersey=jersey,
        sleeve=jersey if rng.random() < 0.75 else accent,
        pants=pants,
        sock=jersey if rng.random() < 0.8 else accent,
        accent=accent,
        second_accent=second,
        helmet=helmet,
        glove=pick(rng, (BLACK, dark, accent, BLACK)),
        number=accent if is_light else (WHITE if rng.random() < 0.7 else second),
        stripes=int(rng.integers(0, 4)),
    )
