"""Invented sponsors: wordmarks and emblems as coverage masks, and panels for boards, ice and screens.

Some emblems show a puck or a black dot, as sponsors of hockey like to: they are the false alarms to learn from.
"""

import cv2
import numpy as np

from plucc.synth.palette import SPONSORS, WHITE, Colour, jitter, pick
from plucc.types import FloatArray, ImageArray

_ONSETS = (
    "Nor",
    "Vin",
    "Bor",
    "Kal",
    "Sti",
    "Hel",
    "Frost",
    "Ald",
    "Mar",
    "Tek",
    "Lum",
    "Gran",
    "Olve",
    "Sund",
    "Ek",
    "Bryg",
)
_ENDS = (
    "dal",
    "tec",
    "vik",
    "berg",
    "ex",
    "ia",
    "lund",
    "mark",
    "bygg",
    "on",
    "sten",
    "care",
    "ing",
    "ova",
    "and",
    "kraft",
)
_TAILS = ("", "", "", "", " AB", ".se", " & Co", " Energi", " Bank", " Group", " Bil", "24")
_FONTS = (cv2.FONT_HERSHEY_SIMPLEX, cv2.FONT_HERSHEY_DUPLEX, cv2.FONT_HERSHEY_TRIPLEX, cv2.FONT_HERSHEY_COMPLEX)
_CAP_PX = 22.0  # height of a capital letter at font scale 1


def sponsor_name(rng: np.random.Generator) -> str:
    """Return a made-up company name."""
    name = _ONSETS[int(rng.integers(len(_ONSETS)))] + _ENDS[int(rng.integers(len(_ENDS)))]
    name += _TAILS[int(rng.integers(len(_TAILS)))]
    return name.upper() if rng.random() < 0.5 else name


def text_mask(text: str, height_px: int, font: int, boldness: float) -> FloatArray:
    """Return coverage (0 to 1) of a line of text with capitals about `height_px` high and a little air around."""
    scale = 2.0 * height_px / _CAP_PX
    thickness = max(int(boldness * 2 * height_px), 1)
    (width, height), baseline = cv2.getTextSize(text, font, scale, thickness)
    pad = thickness + 2
    image = np.zeros((height + baseline + 2 * pad, width + 2 * pad), np.uint8)
    cv2.putText(image, text, (pad, height + pad), font, scale, 255, thickness, cv2.LINE_AA)
    size = (max(image.shape[1] // 2, 1), max(image.shape[0] // 2, 1))
    return cv2.resize(image, size, interpolation=cv2.INTER_AREA).astype(np.float32) / 255


def emblem_mask(rng: np.random.Generator, size_px: int) -> FloatArray:
    """Return coverage of a square emblem: a ring, bars, a wedge, a flag, a disc, or a puck."""
    side = 4 * size_px
    image = np.zeros((side, side), np.uint8)
    centre, radius = (side // 2, side // 2), int(side * 0.42)
    kind = int(rng.integers(6))
    if kind == 0:
        cv2.circle(image, centre, radius, 255, int(side * 0.12), cv2.LINE_AA)
    elif kind == 1:
        for k in range(3):
            x = int(side * (0.15 + 0.27 * k))
            cv2.rectangle(image, (x, int(side * (0.55 - 0.2 * k))), (x + int(side * 0.17), int(side * 0.9)), 255, -1)
    elif kind == 2:
        wedge = np.array([[0.1, 0.9], [0.55, 0.1], [0.9, 0.9]]) * side
        cv2.fillPoly(image, [wedge.astype(np.int32)], 255, cv2.LINE_AA)
    elif kind == 3:
        cv2.rectangle(image, (side // 8, side // 4), (side * 7 // 8, side * 3 // 4), 255, -1)
        cv2.circle(image, centre, side // 8, 0, -1, cv2.LINE_AA)
    elif kind == 4:
        cv2.circle(image, centre, radius, 255, -1, cv2.LINE_AA)
    else:
        cv2.ellipse(image, centre, (radius, int(radius * 0.55)), 0, 0, 360, 255, -1, cv2.LINE_AA)
    return cv2.resize(image, (size_px, size_px), interpolation=cv2.INTER_AREA).astype(np.float32) / 255


def sponsor_mask(rng: np.random.Generator, height_px: int) -> FloatArray:
    """Return coverage of a sponsor's sign: a name, mostly with an emblem before it."""
    font = _FONTS[int(rng.integers(len(_FONTS)))]
    letters = text_mask(sponsor_name(rng), max(int(height_px * 0.6), 3), font, rng.uniform(0.12, 0.24))
    rows = max(height_px, letters.shape[0])
    parts = [_centred(letters, rows)]
    if rng.random() < 0.6:
        emblem = emblem_mask(rng, height_px)
        parts.insert(0, _centred(np.pad(emblem, ((0, 0), (0, height_px // 4))), rows))
    return np.concatenate(parts, axis=1)


def panel(rng: np.random.Generator, width_px: int, height_px: int, glowing: bool = False) -> ImageArray:
    """Return an advert panel that fills the given size; a glowing one is a screen, darker or brighter all over."""
    dark_ground = rng.random() < (0.75 if glowing else 0.28)
    if dark_ground:
        ground, ink = jitter(rng, pick(rng, SPONSORS)), jitter(rng, WHITE, 8)
        if rng.random() < 0.25:
            ink = (20, 210, 245)
    else:
        ground, ink = (jitter(rng, (228, 226, 226), 8), jitter(rng, pick(rng, SPONSORS)))
    image = np.full((height_px, width_px, 3), ground, np.float32)
    sign = sponsor_mask(rng, max(int(height_px * rng.uniform(0.38, 0.6)), 3))
    if sign.shape[1] > width_px * 0.92:
        sign = np.asarray(cv2.resize(sign, (int(width_px * 0.92), sign.shape[0]), interpolation=cv2.INTER_AREA))
    stamp(image, sign, ink, ((width_px - sign.shape[1]) // 2, (height_px - sign.shape[0]) // 2))
    return np.clip(image, 0, 255).astype(np.uint8)


def stamp(
    image: FloatArray | ImageArray, mask: FloatArray, ink: Colour, corner_px: tuple[int, int], opacity: float = 1.0
) -> None:
    """Paint a coverage mask on a picture in place; what sticks out is cut off."""
    left, top = corner_px
    rows = slice(max(top, 0), min(top + mask.shape[0], image.shape[0]))
    columns = slice(max(left, 0), min(left + mask.shape[1], image.shape[1]))
    if rows.start >= rows.stop or columns.start >= columns.stop:
        return
    own = mask[rows.start - top : rows.stop - top, columns.start - left : columns.stop - left] * np.float32(opacity)
    window = image[rows, columns]
    ground = np.empty_like(window)
    ground[:] = ink
    cv2.blendLinear(ground, window, own, 1 - own, dst=ground)
    window[:] = ground


def _centred(mask: FloatArray, rows: int) -> FloatArray:
    missing = max(rows - mask.shape[0], 0)
    return np.pad(mask, ((missing // 2, missing - missing // 2), (0, 0)))
