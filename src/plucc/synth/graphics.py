"""What the broadcaster lays over the picture: score bug, lower third, channel logo, replay wipe."""

from dataclasses import dataclass

import cv2
import numpy as np

from plucc.synth.adverts import emblem_mask, stamp, text_mask
from plucc.synth.layer import Layer
from plucc.synth.match import Match
from plucc.synth.noise import rng_for
from plucc.synth.palette import SPONSORS, Colour, jitter, pick
from plucc.types import REFERENCE_HEIGHT_PX, FloatArray, Point, Size

GRAPHICS_STREAM = 401
FONT = cv2.FONT_HERSHEY_DUPLEX


@dataclass(frozen=True, slots=True)
class Graphics:
    """Which graphics are on air. Places are fractions of the frame; a wipe runs from 0 to 1."""

    bug: bool = False
    logo: bool = False
    lower_third: Point | None = None
    wipe: float | None = None
    clock_s: int = 900
    score: tuple[int, int] = (0, 0)
    period: int = 1


@dataclass(frozen=True, slots=True)
class Design:
    """The look of a broadcaster's graphics, the same through a match."""

    bug_place: Point
    bug_width: float
    dark: Colour
    light: Colour
    accent: Colour
    logo_place: Point
    stacked: bool
    opacity: float


def sample_design(match: Match) -> Design:
    """Return the broadcaster's design of a match."""
    rng = rng_for(*match.key, GRAPHICS_STREAM)
    at_top = rng.random() < 0.75
    left = float(rng.choice([0.03, 0.04, 0.3]))
    return Design(
        bug_place=Point(left, 0.035 if at_top else 0.88),
        bug_width=float(rng.uniform(0.28, 0.4)),
        dark=jitter(rng, pick(rng, ((60, 25, 18), (30, 28, 28), (70, 60, 20)))),
        light=jitter(rng, (235, 232, 230), 6),
        accent=jitter(rng, pick(rng, SPONSORS)),
        logo_place=Point(0.9, 0.05 if rng.random() < 0.7 else 0.88),
        stacked=bool(rng.random() < 0.5),
        opacity=float(rng.uniform(0.85, 1.0)),
    )


def draw_graphics(graphics: Graphics, match: Match, design: Design, size: Size) -> list[Layer]:
    """Return the layers on air, the lowest first."""
    layers = []
    if graphics.logo:
        layers.append(_logo(design, match, size))
    if graphics.bug:
        layers.append(_bug(graphics, match, design, size))
    if graphics.lower_third is not None:
        layers.append(_lower_third(graphics.lower_third, match, design, size))
    if graphics.wipe is not None:
        layers.append(_wipe(graphics.wipe, design, size))
    return layers


def _opaque(image: FloatArray, left: float, top: float, opacity: float) -> Layer:
    coverage = np.full(image.shape[:2], opacity, np.float32)
    return Layer(round(left), round(top), image.astype(np.float32) * np.float32(opacity), coverage)


def _bug(graphics: Graphics, match: Match, design: Design, size: Size) -> Layer:
    scale = size.height / REFERENCE_HEIGHT_PX
    width, row = max(int(design.bug_width * size.width), 24), max(int(34 * scale), 6)
    image = np.empty(((2 if design.stacked else 1) * row, width, 3), np.float32)
    image[:] = design.light
    if design.stacked:
        image[row:] = design.dark
        _write(image, f"Period {graphics.period}", (int(width * 0.72), row, width, 2 * row), design.light, 0.42)
        _write(image, "Skott 12 - 9", (0, row, int(width * 0.6), 2 * row), design.light, 0.42)
    middle = slice(int(width * 0.34), int(width * 0.54))
    image[:row, middle] = design.accent
    image[:row, int(width * 0.8) :] = design.dark
    score = f"{graphics.score[0]} - {graphics.score[1]}"
    clock = f"{graphics.clock_s // 60:02d}:{graphics.clock_s % 60:02d}"
    _write(image, match.team_names[0], (0, 0, middle.start, row), (30, 26, 26), 0.5)
    _write(image, score, (middle.start, 0, middle.stop, row), (240, 240, 240), 0.5)
    _write(image, match.team_names[1], (middle.stop, 0, int(width * 0.8), row), (30, 26, 26), 0.5)
    _write(image, clock, (int(width * 0.8), 0, width, row), (240, 240, 240), 0.5)
    image[: row // 8 + 1, : max(width // 60, 2)] = match.kits[0].jersey
    left = min(design.bug_place.x * size.width, size.width - width)
    return _opaque(image, left, design.bug_place.y * size.height, design.opacity)


def _write(image: FloatArray, text: str, box: tuple[int, int, int, int], ink: Colour, share: float) -> None:
    """Write a text into the middle of a box (left, top, right, bottom), made narrower if it would not fit."""
    left, top, right, bottom = box
    mask = text_mask(text, max(int((bottom - top) * share), 2), FONT, 0.12)
    room = max(int((right - left) * 0.92), 1)
    if mask.shape[1] > room:
        mask = np.asarray(cv2.resize(mask, (room, mask.shape[0]), interpolation=cv2.INTER_AREA))
    stamp(image, mask, ink, (left + (right - left - mask.shape[1]) // 2, top + (bottom - top - mask.shape[0]) // 2))


def _logo(design: Design, match: Match, size: Size) -> Layer:
    side = max(int(0.055 * size.height), 6)
    mask = emblem_mask(rng_for(*match.key, GRAPHICS_STREAM, 1), side) * np.float32(0.55)
    colour = mask[..., None] * np.array([235, 235, 235], np.float32)
    return Layer(int(design.logo_place.x * size.width), int(design.logo_place.y * size.height), colour, mask)


def _lower_third(place: Point, match: Match, design: Design, size: Size) -> Layer:
    width, height = max(int(0.46 * size.width), 24), max(int(0.105 * size.height), 10)
    image = np.empty((height, width, 3), np.float32)
    image[:] = design.dark
    image[: height // 10 + 1] = design.accent
    image[height // 2 :, : int(width * 0.16)] = match.kits[0].jersey
    _write(
        image, f"#{7 + match.number % 80} {match.team_names[0]} HOLMVIK", (0, 0, width, height // 2), design.light, 0.5
    )
    _write(image, "2 MAL  1 ASSIST  17:42", (width // 6, height // 2, width, height), (200, 200, 200), 0.42)
    return _opaque(image, place.x * size.width, place.y * size.height, design.opacity)


def _wipe(progress: float, design: Design, size: Size) -> Layer:
    """Return a slanted band that sweeps over the picture with the league's sign on it."""
    height, width = size.height, size.width
    slant = 0.35 * height
    band = 0.55 * width
    front = -slant + progress * (width + band + 2 * slant)
    polygon = np.array([[front, 0], [front - slant, height], [front - slant - band, height], [front - band, 0]])
    mask = np.zeros((height, width), np.uint8)
    cv2.fillPoly(mask, [np.round(np.clip(polygon, -32000, 32000) * 16).astype(np.int32)], 255, cv2.LINE_AA, 4)
    coverage = mask.astype(np.float32) / 255
    ramp = np.linspace(0.7, 1.15, height, dtype=np.float32)[:, None, None]
    colour = np.asarray(design.accent, np.float32) * ramp * np.ones((1, width, 1), np.float32)
    letters = text_mask("REPLAY", max(int(0.12 * height), 3), FONT, 0.16)
    stamp(
        colour, letters, design.light, (int(front - slant / 2 - band * 0.5 - letters.shape[1] / 2), int(0.42 * height))
    )
    return Layer(0, 0, np.clip(colour, 0, 255) * coverage[..., None], coverage)
