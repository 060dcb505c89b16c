"""What is painted around the ice: boards with adverts, screens behind the glass, benches, the crowd."""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from plucc.synth.adverts import panel
from plucc.synth.match import Match
from plucc.synth.noise import blotches, darken, rng_for
from plucc.synth.palette import SKIN, SPONSORS, Colour, jitter, pick
from plucc.synth.strip import Texture
from plucc.types import FloatArray, ImageArray

BOARD_PX_PER_M = 80.0
SCREEN_PX_PER_M = 48.0
CROWD_PX_PER_M = 34.0
CROWD_TILE_M = 36.0
ROW_M = 0.85
SEAT_M = 0.52
BENCH_PX_PER_M = 48.0
BOARDS_STREAM, CROWD_STREAM = 201, 202
CLOTHES: tuple[Colour, ...] = (
    *((26, 24, 24),) * 6,
    (52, 46, 44),
    (40, 40, 46),
    (70, 56, 46),
    (62, 62, 66),
    (50, 52, 84),
    (96, 84, 74),
    (150, 148, 146),
)
HAIR: tuple[Colour, ...] = ((28, 32, 38), (40, 52, 70), (80, 110, 140), (60, 60, 62), (25, 25, 25))
SEAT_COLOURS: tuple[Colour, ...] = ((90, 60, 40), (40, 40, 140), (70, 70, 70), (35, 35, 35), (150, 110, 60))


def board_texture(match: Match, length_m: float) -> Texture:
    """Return the inner face of the boards all the way round: rail, adverts, joints, marks, kick plate."""
    rng = rng_for(*match.key, BOARDS_STREAM)
    arena = match.arena
    width, height = int(length_m * BOARD_PX_PER_M), int(arena.board_height_m * BOARD_PX_PER_M)
    image = np.empty((height, width, 3), np.uint8)
    image[:] = arena.board_ground
    rail, kick = int(0.06 * BOARD_PX_PER_M) + 1, int(arena.kick_height_m * BOARD_PX_PER_M)
    free = slice(rail + 2, height - kick - 2)
    left = 0
    while left < width:
        span = min(int(rng.uniform(1.8, 5.5) * BOARD_PX_PER_M), width - left)
        if span > BOARD_PX_PER_M and rng.random() < 0.92:
            inset = int(0.12 * BOARD_PX_PER_M)
            shown = panel(rng, span - 2 * inset, free.stop - free.start - 4)
            image[free.start + 2 : free.start + 2 + shown.shape[0], left + inset : left + inset + shown.shape[1]] = (
                shown
            )
        left += span
    _mark_boards(rng, image, free)
    image[:rail] = arena.rail
    image[height - kick :] = arena.kick
    image[height - kick - 1 : height - kick + 1] = np.asarray(arena.kick) * 0.8
    image[height - 2 :] = arena.ice  # snow that gathers at the foot
    _weather(rng, image, kick)
    return Texture.of(image, BOARD_PX_PER_M)


def _mark_boards(rng: np.random.Generator, image: ImageArray, free: slice) -> None:
    """Draw joints, puck marks, camera holes and microphones: dark, round, puck-sized."""
    height, width = image.shape[:2]
    for x in range(0, width, int(2.44 * BOARD_PX_PER_M)):
        image[free, x : x + 2] = (image[free, x : x + 2] * 0.72).astype(np.uint8)
    for _ in range(int(rng.integers(40, 500))):
        centre = (int(rng.integers(width)), int(rng.integers(free.start, height - 3)))
        size = (int(rng.integers(1, 4)), 1)
        level = int(rng.integers(90, 200))
        cv2.ellipse(image, centre, size, float(rng.uniform(-40, 40)), 0, 360, (level, level, level), -1, cv2.LINE_AA)
    for _ in range(int(rng.integers(2, 14))):
        centre = (int(rng.integers(width)), int(rng.integers(free.start + 4, free.stop)))
        cv2.circle(image, centre, int(rng.integers(2, 5)), (18, 18, 18), -1, cv2.LINE_AA)
    for _ in range(int(rng.integers(0, 40))):  # marks low on the plate
        centre = (int(rng.integers(width)), int(rng.integers(free.stop, height - 1)))
        cv2.ellipse(image, centre, (int(rng.integers(2, 6)), 2), 0, 0, 360, (40, 70, 80), -1, cv2.LINE_AA)


def _weather(rng: np.random.Generator, image: ImageArray, kick_px: int) -> None:
    """Shade the boards unevenly in place, and the kick plate darker to its foot."""
    height, width = image.shape[:2]
    darken(image, 1 + np.float32(0.035) * blotches(rng, (max(height // 8, 4), width // 8), 30.0, 2))
    darken(image[height - kick_px :], np.linspace(1.06, 0.9, kick_px, dtype=np.float32)[:, None])


def screen_texture(match: Match, length_m: float, height_m: float) -> tuple[Texture, list[tuple[float, float]]]:
    """Return the screens and walls behind the glass, and the stretches (metres along) where there are any."""
    rng = rng_for(*match.key, BOARDS_STREAM, 1)
    width, height = int(length_m * SCREEN_PX_PER_M), int(height_m * SCREEN_PX_PER_M)
    image = np.full((height, width, 3), 38, np.uint8)
    spans = []
    left = 0
    while left < width:
        span = min(int(rng.uniform(4, 16) * SCREEN_PX_PER_M), width - left)
        kind = rng.random()
        if span > SCREEN_PX_PER_M and kind < 0.55:
            unit = panel(rng, int(rng.uniform(3.0, 4.5) * SCREEN_PX_PER_M), height, glowing=True)
            tiled = np.tile(unit, (1, span // unit.shape[1] + 1, 1))[:, :span]
            image[:, left : left + span] = np.clip(tiled * rng.uniform(0.75, 1.15), 0, 255)
        elif kind < 0.7:
            image[:, left : left + span] = jitter(rng, (60, 55, 52))
        if kind < 0.7:
            spans.append((left / SCREEN_PX_PER_M, (left + span) / SCREEN_PX_PER_M))
        left += span
    return Texture.of(image, SCREEN_PX_PER_M), spans


def crowd_texture(match: Match) -> Texture:
    """Return a repeating piece of the stands: seats in rows, people in most of them, stairs in between."""
    rng = rng_for(*match.key, CROWD_STREAM)
    rows = 26
    width, height = int(CROWD_TILE_M * CROWD_PX_PER_M), int(rows * ROW_M * CROWD_PX_PER_M)
    image = np.full((height, width, 3), 28, np.uint8)
    seat = jitter(rng, pick(rng, SEAT_COLOURS))
    fans = [match.arena.crowd_tint] * int(rng.integers(1, 7))
    tints = [*fans, *CLOTHES, jitter(rng, pick(rng, SPONSORS))]
    for row in reversed(range(rows)):
        _seat_row(rng, image, row, seat, tints, match.arena.crowd_fill)
    _stairs(rng, image)
    rough = 1 + 0.15 * blotches(rng, (height, width), 240.0, 2) + 0.16 * blotches(rng, (height, width), 7.0, 2)
    darken(image, np.float32(match.arena.crowd_light) * np.maximum(rough, 0.2))
    return Texture.of(np.asarray(cv2.GaussianBlur(image, (0, 0), 0.7), np.uint8), CROWD_PX_PER_M)


def _seat_row(
    rng: np.random.Generator, image: ImageArray, row: int, seat: Colour, tints: list[Colour], fill: float
) -> None:
    """Draw a row of seats and people; nearer rows are drawn later and hide the laps of those behind."""
    scale = CROWD_PX_PER_M
    y = image.shape[0] - row * ROW_M * scale
    columns = int(CROWD_TILE_M / SEAT_M)
    taken = rng.random(columns) < fill
    people = iter(_sample_spectators(rng, int(taken.sum()), tints))
    wobble = rng.normal(0, 0.07, (columns, 2)) * scale
    back = tuple(int(c * 0.75) for c in seat)
    for column in range(columns):
        x = (column + 0.5) * SEAT_M * scale
        if taken[column]:
            _draw_spectator(image, (x + wobble[column, 0], y - 1.05 * scale + wobble[column, 1]), next(people))
            continue
        low, high = (int(x - 0.19 * scale), int(y - 0.62 * scale)), (int(x + 0.19 * scale), int(y))
        cv2.rectangle(image, low, high, back, -1)
        cv2.ellipse(image, (int(x), low[1]), (int(0.19 * scale), int(0.09 * scale)), 0, 0, 360, seat, -1, cv2.LINE_AA)


@dataclass(frozen=True, slots=True)
class _Spectator:
    """Somebody who sits: colours, how they lean (degrees; metres for the head), and what they hold before them."""

    cloth: list[float]
    skin: list[float]
    hair: list[float]
    tilts: list[float]
    lean_m: float
    holds: list[tuple[float, float, float, float, list[float]]]  # x, y, half width in metres; turn; colour


def _sample_spectators(rng: np.random.Generator, count: int, tints: list[Colour]) -> list[_Spectator]:
    """Return people; drawn all at once, as one draw of many numbers costs little more than one of one."""
    shade, mute = rng.uniform(0.35, 1.05, (count, 1)), rng.uniform(0.2, 0.75, (count, 1))
    tint = _dyed(rng, tints, count, 10)
    cloth = (shade * ((1 - mute) * tint + mute * tint.mean(axis=1, keepdims=True))).tolist()
    skin, hair = _dyed(rng, SKIN, count, 14).tolist(), _dyed(rng, HAIR, count, 10).tolist()
    tilts, lean = rng.normal(0, 6, (count, 2)).tolist(), rng.normal(0, 0.05, count).tolist()
    held = rng.choice([0, 1, 2], count, p=[0.5, 0.3, 0.2]).tolist()
    low, high = (-0.22, 0.4, 0.04, 0.0), (0.22, 0.9, 0.09, 180.0)
    spots, bare = rng.uniform(low, high, (count, 2, 4)).tolist(), (rng.random((count, 2)) < 0.7).tolist()
    things = _dyed(rng, SPONSORS, 2 * count, 15).reshape(count, 2, 3).tolist()
    return [
        _Spectator(
            cloth[i],
            skin[i],
            hair[i],
            tilts[i],
            lean[i],
            [(*spots[i][k], skin[i] if bare[i][k] else things[i][k]) for k in range(held[i])],
        )
        for i in range(count)
    ]


def _dyed(rng: np.random.Generator, colours: Sequence[Colour], count: int, spread: float) -> FloatArray:
    """Return colours picked at random, each a little off."""
    chosen = np.asarray(colours, float)[rng.integers(len(colours), size=count)]
    return np.clip(chosen + rng.normal(0, spread, (count, 3)), 8, 246)


def _draw_spectator(image: ImageArray, top_px: tuple[float, float], person: _Spectator) -> None:
    """Draw somebody sitting: head, shoulders, and sometimes hands, a scarf or a drink."""
    scale = CROWD_PX_PER_M
    x, y = top_px
    dark = [0.55 * channel for channel in person.cloth]
    _oval(image, (x, y + 0.72 * scale), (0.23, 0.5), person.tilts[0], dark)
    _oval(image, (x, y + 0.62 * scale), (0.2, 0.37), person.tilts[1], person.cloth)
    for aside, down, width, turn, colour in person.holds:
        _oval(image, (x + aside * scale, y + down * scale), (width, 0.05), turn, colour)
    head = x + person.lean_m * scale
    _oval(image, (head, y + 0.17 * scale), (0.1, 0.125), 0.0, person.skin)
    _oval(image, (head, y + 0.1 * scale), (0.105, 0.075), 0.0, person.hair)


def _oval(
    image: ImageArray, centre_px: tuple[float, float], half_m: tuple[float, float], turn: float, colour: list[float]
) -> None:
    centre = (round(centre_px[0]), round(centre_px[1]))
    axes = (max(round(half_m[0] * CROWD_PX_PER_M), 1), max(round(half_m[1] * CROWD_PX_PER_M), 1))
    cv2.ellipse(image, centre, axes, turn, 0, 360, colour, -1, cv2.LINE_AA)


def _stairs(rng: np.random.Generator, image: ImageArray) -> None:
    scale = CROWD_PX_PER_M
    grey = jitter(rng, (105, 100, 98))
    for centre_m in (rng.uniform(3, 9), rng.uniform(15, 21), rng.uniform(27, 33)):
        left, right = int((centre_m - 0.6) * scale), int((centre_m + 0.6) * scale)
        image[:, left:right] = grey
        step = int(ROW_M / 2 * scale)
        for y in range(0, image.shape[0], step):
            image[y : y + 3, left:right] = (np.asarray(grey) * 0.6).astype(np.uint8)


def bench_texture(match: Match, team: int, length_m: float, height_m: float) -> Texture:
    """Return a row of waiting players behind the boards."""
    rng = rng_for(*match.key, CROWD_STREAM, 1 + team)
    kit = match.kits[team]
    scale = BENCH_PX_PER_M
    width, height = int(length_m * scale), int(height_m * scale)
    image = np.empty((height, width, 3), np.uint8)
    image[:] = (34, 30, 29)
    for x_m in np.arange(0.4, length_m, 0.62):
        x, top = int((x_m + rng.normal(0, 0.06)) * scale), int(height * rng.uniform(0.25, 0.45))
        body = np.array([[-0.28, 0.5], [-0.2, 0.22], [0.2, 0.22], [0.28, 0.5], [0.26, 1.2], [-0.26, 1.2]]) * scale
        cv2.fillConvexPoly(
            image, np.round((body + np.array([x, top])) * 8).astype(np.int32), kit.jersey, cv2.LINE_AA, 3
        )
        for level, colour in ((0.42, kit.accent), (0.62, kit.pants), (0.9, kit.glove)):
            y, half = top + int(level * scale), int(0.24 * scale)
            cv2.line(image, (x - half, y), (x + half, y), colour, max(int(0.08 * scale), 1), cv2.LINE_AA)
        cv2.circle(image, (x, top + int(0.12 * scale)), int(0.1 * scale), pick(rng, SKIN), -1, cv2.LINE_AA)
        cv2.ellipse(
            image, (x, top + int(0.03 * scale)), (int(0.13 * scale), int(0.1 * scale)), 0, 0, 360, kit.helmet, -1
        )
    shade = np.clip(0.7 + 0.1 * blotches(rng, (height, width), 30.0, 2), 0.3, 1.1)
    return Texture.of(np.clip(_soft(image) * shade[..., None], 0, 255).astype(np.uint8), scale)


def _soft(image: ImageArray) -> FloatArray:
    return cv2.GaussianBlur(image, (0, 0), 0.9).astype(np.float32)
