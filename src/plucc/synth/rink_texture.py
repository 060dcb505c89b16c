"""The ice from above: tone, paint, adverts, scuffs. Columns run along +x, rows along +y."""

from dataclasses import dataclass

import cv2
import numpy as np

from plucc.rink.sheet import COLOURS_RGB, Marking, Sheet
from plucc.synth.adverts import sponsor_mask, stamp
from plucc.synth.match import Match
from plucc.synth.noise import blotches, darken, rng_for, scratch_tile
from plucc.synth.palette import CIRCLE_FILLS, SPONSORS, jitter, pick
from plucc.types import FloatArray, ImageArray, Point

PX_PER_M = 40.0
MARGIN_M = 1.0
LEVELS = 3  # of halving along either axis
ICE_STREAM = 301
FLOOR = (40, 37, 36)
MAX_FINE_PX = 3_000_000  # finer sampling of a marking than this costs more than it shows


@dataclass(frozen=True, slots=True)
class IceTexture:
    """The painted ice, and its scratches as a repeating tile at several sizes.

    `levels[j][i]` has its columns halved i times and its rows j times: at a flat angle the ice shrinks one way only.
    """

    levels: tuple[tuple[ImageArray, ...], ...]  # the first of the first has PX_PER_M
    scratches: tuple[ImageArray, ...]
    origin_m: Point  # the rink position of the texture's corner

    @classmethod
    def of(cls, image: ImageArray, tile: ImageArray, origin_m: Point) -> "IceTexture":
        """Return the texture with all sizes made."""
        tall = _halvings(image, LEVELS - 1, (1, 2))
        # one more column and row than the tile has, so that samples between the last and the first find both
        tiles = tuple(np.pad(level, ((0, 1), (0, 1)), mode="wrap") for level in _halvings(tile, 3, (2, 2)))
        return cls(tuple(_halvings(level, LEVELS - 1, (2, 1)) for level in tall), tiles, origin_m)

    def centre_px(self, level_x: int, level_y: int) -> Point:
        """Return OpenCV's sample position (0 at the centre of the first texel) of the rink's centre."""
        return Point(-self.origin_m.x * PX_PER_M / 2.0**level_x - 0.5, -self.origin_m.y * PX_PER_M / 2.0**level_y - 0.5)


def _halvings(image: ImageArray, count: int, by: tuple[int, int]) -> tuple[ImageArray, ...]:
    """Return the picture and, one after another, smaller ones; `by` divides columns and rows."""
    made = [image]
    for _ in range(count):
        size = (made[-1].shape[1] // by[0], made[-1].shape[0] // by[1])
        # at exactly half the size this is the mean of neighbours, as INTER_AREA would give, and much faster
        made.append(np.asarray(cv2.resize(made[-1], size, interpolation=cv2.INTER_LINEAR), np.uint8))
    return tuple(made)


def ice_texture(match: Match) -> IceTexture:
    """Return the ice of a match."""
    rng = rng_for(*match.key, ICE_STREAM)
    sheet, arena = match.sheet, match.arena
    origin = Point(-sheet.length_m / 2 - MARGIN_M, -sheet.width_m / 2 - MARGIN_M)
    whole = 2 ** (LEVELS - 1)  # every halving must come out even
    width = int((sheet.length_m + 2 * MARGIN_M) * PX_PER_M) // whole * whole
    height = int((sheet.width_m + 2 * MARGIN_M) * PX_PER_M) // whole * whole
    image = np.empty((height, width, 3), np.uint8)
    image[:] = arena.ice
    canvas = _Canvas(image, origin)
    _paint_adverts(rng, canvas, sheet)
    for marking in sheet.markings:
        _paint_marking(canvas, marking, arena.line_fade)
    _scuff(rng, image, arena.wear)
    shade = blotches(rng, (height // 8, width // 8), 42.0, 3)
    darken(image, 1 + np.float32(arena.ice_unevenness) * shade)
    _darken_outside(canvas, sheet)
    return IceTexture.of(image, scratch_tile(rng, arena.wear), origin)


@dataclass(frozen=True, slots=True)
class _Canvas:
    image: ImageArray
    origin_m: Point

    def to_px(self, points_m: FloatArray) -> FloatArray:
        """Return continuous texture coordinates."""
        return np.asarray((points_m - np.array([self.origin_m.x, self.origin_m.y])) * PX_PER_M)


def coverage_of(polygon_px: FloatArray, low: FloatArray, shape: tuple[int, int]) -> FloatArray:
    """Return how much of each texel in the window at `low` the polygon covers, by fine sampling."""
    fine = 8 if shape[0] * shape[1] * 64 <= MAX_FINE_PX else 4
    mask = np.zeros((shape[0] * fine, shape[1] * fine), np.uint8)
    fixed = np.round(((polygon_px - low) * fine - 0.5) * 256).astype(np.int32)
    cv2.fillPoly(mask, [fixed], 255, cv2.LINE_8, 8)
    return cv2.resize(mask, shape[::-1], interpolation=cv2.INTER_AREA).astype(np.float32) / 255


def _paint_marking(canvas: _Canvas, marking: Marking, fade: float) -> None:
    polygon = canvas.to_px(marking.polygon())
    low = np.maximum(np.floor(polygon.min(axis=0)).astype(int) - 1, 0)
    high = np.minimum(np.ceil(polygon.max(axis=0)).astype(int) + 1, canvas.image.shape[1::-1])
    coverage = coverage_of(polygon, low, (int(high[1] - low[1]), int(high[0] - low[0])))
    red, green, blue = COLOURS_RGB[marking.colour]
    thick = marking.width_m > 0.1
    opacity = 1 - fade * (0.75 if thick else 0.95)
    if marking.colour == "light blue":
        opacity *= 0.45
    if marking.colour == "blue":
        red, green, blue = 62, 88, 158
    if marking.colour == "red":
        red, green, blue = 196, 44, 66
    stamp(canvas.image, coverage, (blue, green, red), (int(low[0]), int(low[1])), opacity)


def _darken_outside(canvas: _Canvas, sheet: Sheet) -> None:
    """Paint the floor beyond the boards, which shows past the corners on the camera's side."""
    height, width = canvas.image.shape[:2]
    corners = np.array([[-1, -1], [width, -1], [width, height], [-1, height]], np.int32)
    outline = canvas.to_px(sheet.boards(0.2) * (1 + 0.2 / sheet.width_m))
    cv2.fillPoly(canvas.image, [corners, np.round(outline).astype(np.int32)], FLOOR)  # what lies between the two


def _paint_adverts(rng: np.random.Generator, canvas: _Canvas, sheet: Sheet) -> None:
    spots = [Point(sx * sheet.end_spot.x, sy * sheet.end_spot.y) for sx in (-1, 1) for sy in (-1, 1)]
    for spot in spots:
        draw = rng.random()
        if draw < 0.62:
            filled = draw < 0.42
            _circle_advert(rng, canvas, spot, sheet.circle_radius_m, filled)
    _circle_advert(rng, canvas, Point(0.0, 0.0), sheet.circle_radius_m, bool(rng.random() < 0.35))
    half_width = sheet.width_m / 2
    for x in (-0.5 * sheet.blue_line_x_m, 0.5 * sheet.blue_line_x_m, 12.0, -12.0, sheet.goal_line_x_m + 1.7):
        for sign in (-1, 1):
            if rng.random() < 0.35:
                _word(rng, canvas, Point(x, sign * half_width * rng.uniform(0.3, 0.75)), rng.uniform(0.8, 1.6))
    for sign in (-1, 1):
        if rng.random() < 0.5:
            _word(
                rng, canvas, Point(sign * (sheet.goal_line_x_m + 1.2), rng.choice([-5.0, 5.0])), rng.uniform(0.7, 1.1)
            )


def _circle_advert(rng: np.random.Generator, canvas: _Canvas, centre: Point, radius_m: float, filled: bool) -> None:
    opacity = float(rng.uniform(0.25, 0.7))
    ink = jitter(rng, pick(rng, SPONSORS))
    if filled:
        angles = np.linspace(0, 2 * np.pi, 180, endpoint=False)
        disc = canvas.to_px(
            np.array([centre.x, centre.y]) + (radius_m - 0.03) * np.stack([np.cos(angles), np.sin(angles)], 1)
        )
        low = np.floor(disc.min(axis=0)).astype(int)
        size = np.ceil(disc.max(axis=0)).astype(int) - low
        coverage = coverage_of(disc, low, (int(size[1]), int(size[0])))
        stamp(canvas.image, coverage, jitter(rng, pick(rng, CIRCLE_FILLS)), (int(low[0]), int(low[1])), opacity)
        if rng.random() < 0.4:
            ink = (232, 232, 232)
    letters = sponsor_mask(rng, int(rng.uniform(0.9, 1.8) * PX_PER_M))
    limit = int(radius_m * 1.75 * PX_PER_M)
    if letters.shape[1] > limit:
        shrink = limit / letters.shape[1]
        size_px = (limit, max(int(letters.shape[0] * max(shrink, 0.6)), 4))
        letters = np.asarray(cv2.resize(letters, size_px, interpolation=cv2.INTER_AREA))
    _stamp_word(canvas, letters, centre, ink, min(opacity + 0.1, 0.85), turned=bool(rng.random() < 0.12))


def _word(rng: np.random.Generator, canvas: _Canvas, centre: Point, height_m: float) -> None:
    letters = sponsor_mask(rng, int(height_m * PX_PER_M))
    if rng.random() < 0.15:
        letters = np.ascontiguousarray(np.rot90(letters))
    ink = jitter(rng, pick(rng, SPONSORS))
    _stamp_word(canvas, letters, centre, ink, float(rng.uniform(0.2, 0.65)), turned=bool(rng.random() < 0.15))


def _stamp_word(
    canvas: _Canvas, letters: FloatArray, centre: Point, ink: tuple[int, int, int], opacity: float, *, turned: bool
) -> None:
    # rows run away from the main camera, so upright letters are stored upside down
    letters = letters[:, ::-1] if turned else letters[::-1]
    place = canvas.to_px(np.array([[centre.x, centre.y]]))[0] - np.array(letters.shape[::-1]) / 2
    stamp(canvas.image, letters, ink, (int(place[0]), int(place[1])), opacity)


def _scuff(rng: np.random.Generator, image: ImageArray, wear: float) -> None:
    """Add grey skate-stop patches and dark specks, smaller and fainter than a puck."""
    height, width = image.shape[:2]
    for _ in range(int(rng.integers(10, 40) * (0.3 + wear))):
        centre = (int(rng.integers(width)), int(rng.integers(height)))
        axes = (int(rng.integers(1, 3)), 1)
        level = float(rng.uniform(70, 190))
        cv2.ellipse(image, centre, axes, float(rng.uniform(0, 180)), 0, 360, (level, level, level), -1, cv2.LINE_AA)
