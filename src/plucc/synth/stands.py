"""What is painted around the ice: boards with adverts, screens behind the glass, benches, the crowd."""

import cv2
import numpy as np

from plucc.synth.adverts import panel
from plucc.synth.match import Match
from plucc.synth.noise import blotches, rng_for
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
    return Texture.of(_weather(rng, image, kick), BOARD_PX_PER_M)


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


def _weather(rng: np.random.Generator, image: ImageArray, kick_px: int) -> ImageArray:
    height, width = image.shape[:2]
    field = blotches(rng, (max(height // 8, 4), width // 8), 30.0, 2)
    shade = 1 + 0.035 * cv2.resize(field, (width, height), interpolation=cv2.INTER_LINEAR)
    shade[height - kick_px :] *= np.linspace(1.06, 0.9, kick_px, dtype=np.float32)[:, None]
    return np.clip(image * shade[..., None], 0, 255).astype(np.uint8)


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
    lit = image.astype(np.float32) * match.arena.crowd_light
    rough = 1 + 0.15 * blotches(rng, (height, width), 240.0, 2) + 0.16 * blotches(rng, (height, width), 7.0, 2)
    lit *= np.maximum(rough, 0.2)[..., None]
    return Texture.of(np.clip(cv2.GaussianBlur(lit, (0, 0), 0.7), 0, 255).astype(np.uint8), CROWD_PX_PER_M)


def _seat_row(
    rng: np.random.Generator, image: ImageArray, row: int, seat: Colour, tints: list[Colour], fill: float
) -> None:
    """Draw a row of seats and people; nearer rows are drawn later and hide the laps of those behind."""
    scale = CROWD_PX_PER_M
    y = image.shape[0] - row * ROW_M * scale
    columns = int(CROWD_TILE_M / SEAT_M)
    taken = rng.random(columns) < fill
    wobble = rng.normal(0, 0.07, (columns, 2)) * scale
    back = tuple(int(c * 0.75) for c in seat)
    for column in range(columns):
        x = (column + 0.5) * SEAT_M * scale
        if taken[column]:
            _spectator(rng, image, (x + wobble[column, 0], y - 1.05 * scale + wobble[column, 1]), tints)
            continue
        low, high = (int(x - 0.19 * scale), int(y - 0.62 * scale)), (int(x + 0.19 * scale), int(y))
        cv2.rectangle(image, low, high, back, -1)
        cv2.ellipse(image, (int(x), low[1]), (int(0.19 * scale), int(0.09 * scale)), 0, 0, 360, seat, -1, cv2.LINE_AA)


def _spectator(rng: np.random.Generator, image: ImageArray, top_px: tuple[float, float], tints: list[Colour]) -> None:
    """Draw somebody sitting: head, shoulders, and sometimes hands, a scarf or a drink."""
    scale = CROWD_PX_PER_M
    x, y = top_px
    shade, mute = float(rng.uniform(0.35, 1.05)), float(rng.uniform(0.2, 0.75))
    tint = np.asarray(jitter(rng, tints[int(rng.integers(len(tints)))], 10), float)
    tint = shade * ((1 - mute) * tint + mute * tint.mean())
    cloth = (float(tint[0]), float(tint[1]), float(tint[2]))
    dark = (0.55 * cloth[0], 0.55 * cloth[1], 0.55 * cloth[2])
    skin = jitter(rng, pick(rng, SKIN), 14)
    lean = rng.normal(0, 0.05) * scale
    cv2.ellipse(
        image, _at(x, y + 0.72 * scale), _axes(0.23, 0.5), float(rng.normal(0, 6)), 0, 360, dark, -1, cv2.LINE_AA
    )
    cv2.ellipse(
        image, _at(x, y + 0.62 * scale), _axes(0.2, 0.37), float(rng.normal(0, 6)), 0, 360, cloth, -1, cv2.LINE_AA
    )
    for _ in range(int(rng.choice([0, 1, 2], p=[0.5, 0.3, 0.2]))):
        spot = _at(x + rng.uniform(-0.22, 0.22) * scale, y + rng.uniform(0.4, 0.9) * scale)
        colour = skin if rng.random() < 0.7 else jitter(rng, pick(rng, SPONSORS), 15)
        cv2.ellipse(image, spot, _axes(rng.uniform(0.04, 0.09), 0.05), float(rng.uniform(0, 180)), 0, 360, colour, -1)
    hair = jitter(rng, pick(rng, HAIR), 10)
    cv2.ellipse(image, _at(x + lean, y + 0.17 * scale), _axes(0.1, 0.125), 0, 0, 360, skin, -1, cv2.LINE_AA)
    cv2.ellipse(image, _at(x + lean, y + 0.1 * scale), _axes(0.105, 0.075), 0, 0, 360, hair, -1, cv2.LINE_AA)


def _at(x: float, y: float) -> tuple[int, int]:
    return round(x), round(y)


def _axes(width_m: float, height_m: float) -> tuple[int, int]:
    return max(round(width_m * CROWD_PX_PER_M), 1), max(round(height_m * CROWD_PX_PER_M), 1)


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
