"""Evidence as fields that a search can look poses up in: how well each piece of the rink would fit at each pixel.

A field value is what a sample of the template adds to a pose's score if it shows there: up to 1 where its evidence is,
and a cost where none is. Summed over the picture this is a log-likelihood ratio against "no line here"; so it rewards
explaining evidence as much as it punishes lines without any, and neither zooming in nor zooming out can cheat it.
"""

from dataclasses import dataclass
from math import pi

import cv2
import numpy as np
from jaxtyping import Bool, Float, Int, UInt8

from plucc.rink.evidence import Evidence
from plucc.types import Size

DIRECTIONS = 6
DIRECTION_REACH_RAD = 0.75 * pi / DIRECTIONS
RED, BLUE, PLATE, EDGES = 0, 1, 2, 3  # the fields' order; one edge field for each direction follows
ICE = EDGES + DIRECTIONS
FIELDS = ICE + 1
ICE_INSIDE, ICE_OUTSIDE = 0.85, 0.2  # how often a pixel on the rink, and one off it, has the colour of ice
ICE_WORTH = 0.25  # neighbouring pixels tell the same
# how often a line in view leaves marks, field by field: paint fades, players and glass hide it
SEEN = np.array([0.8, 0.9, 0.9, *([0.7] * DIRECTIONS)], np.float32)
WORTH = np.array([1.5, 2.0, 1.3, *([1.0] * DIRECTIONS)], np.float32)  # of evidence; a band is wide, so it tells more
BINS_PER_REACH, FARTHEST = 4, 5.0  # of the histogram of distances, in reaches
RED_LEAST, BLUE_LEAST = 5.0, 6.0  # Lab units over the ice that make a band
EDGE_LEAST, EDGE_SURE = 7, 13  # gradients of a faint line, in Lab units over three pixels
THICKEST_PX = 17  # of a band, at half the working size
EDGE_GAIN = 8  # Canny takes whole numbers


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """All fields of a frame at one scale, in one array for one lookup; a border of zeros stands for out of view."""

    size: Size
    values: Float[np.ndarray, "fields h w"]


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """Evidence as marked pixels at half the working size: bands and the kick plate as areas, edges with direction."""

    size: Size
    areas: UInt8[np.ndarray, "3 h w"]
    edges: UInt8[np.ndarray, "d h w"]
    usable: Bool[np.ndarray, "h w"]
    on_ice: Bool[np.ndarray, "h w"]
    bare: Float[np.ndarray, "h w"]


def read_marks(evidence: Evidence) -> Marks:
    """Mark the pixels that look like paint or kick plate."""
    size = Size(evidence.size.width // 2, evidence.size.height // 2)
    shape = (size.width, size.height)
    inside = cv2.erode(evidence.on_ice.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    open_ice = inside & evidence.usable
    is_red = (evidence.red > RED_LEAST) & (evidence.red > evidence.blue) & open_ice
    is_blue = (evidence.blue > BLUE_LEAST) & (evidence.blue > evidence.red) & open_ice
    areas = [
        (cv2.resize(mask.astype(np.uint8) * 255, shape, interpolation=cv2.INTER_AREA) > 100).astype(np.uint8)
        for mask in (is_red, is_blue, evidence.kick_plate)
    ]
    areas[RED], areas[BLUE] = _slender(areas[RED]), _slender(areas[BLUE])
    edges = _directed_edges(evidence, shape)
    small = cv2.resize(evidence.usable.astype(np.uint8), shape, interpolation=cv2.INTER_NEAREST) > 0
    away = cv2.resize(open_ice.astype(np.uint8), shape, interpolation=cv2.INTER_NEAREST)
    bare = cv2.resize(evidence.bare.astype(np.float32), shape, interpolation=cv2.INTER_AREA)
    return Marks(size, np.stack(areas), edges * away, np.asarray(small), away > 0, bare)


def _slender(mask: UInt8[np.ndarray, "h w"]) -> UInt8[np.ndarray, "h w"]:
    """Return a mask without what is thicker than any band: sponsors' discs have the colours of lines."""
    thick = cv2.morphologyEx(mask, cv2.MORPH_OPEN, np.ones((THICKEST_PX, THICKEST_PX), np.uint8))
    blob = cv2.dilate(thick, np.ones((3, 3), np.uint8)) > 0
    return np.where(blob, np.uint8(0), mask)


def _directed_edges(evidence: Evidence, shape: tuple[int, int]) -> UInt8[np.ndarray, "d h w"]:
    """Return edge pixels by the direction of the line along them."""
    planes = [
        cv2.GaussianBlur(cv2.resize(plane, shape, interpolation=cv2.INTER_AREA), (0, 0), 0.7)
        for plane in (evidence.red, evidence.blue, evidence.yellow)
    ]
    across = np.stack([cv2.Sobel(plane, cv2.CV_32F, 1, 0) for plane in planes])
    down = np.stack([cv2.Sobel(plane, cv2.CV_32F, 0, 1) for plane in planes])
    strongest = np.argmax(across**2 + down**2, axis=0)[None]
    dx, dy = (np.take_along_axis(slope, strongest, axis=0)[0] for slope in (across, down))
    whole = [np.clip(slope * EDGE_GAIN, -8000, 8000).astype(np.int16) for slope in (dx, dy)]
    found = cv2.Canny(whole[0], whole[1], EDGE_LEAST * EDGE_GAIN, EDGE_SURE * EDGE_GAIN, L2gradient=True) > 0
    line_rad = np.arctan2(dx, -dy)  # along the line: across the gradient
    return np.stack([found & (_turn(line_rad, number) < DIRECTION_REACH_RAD) for number in range(DIRECTIONS)]).astype(
        np.uint8
    )


def _turn(line_rad: Float[np.ndarray, "..."], direction: int) -> Float[np.ndarray, "..."]:
    """Return how far lines are turned from a direction, as lines have no sense of it: 0 to pi / 2."""
    turned = (line_rad - direction * pi / DIRECTIONS) % pi
    return np.minimum(turned, pi - turned)


def direction_of(along: Float[np.ndarray, "... 2"]) -> Int[np.ndarray, "..."]:
    """Return the number of the direction that lines run in, given vectors along them in the picture."""
    angle = np.arctan2(along[..., 1], along[..., 0])
    return np.asarray(np.rint(np.nan_to_num(angle) * (DIRECTIONS / pi)).astype(np.int64) % DIRECTIONS)


def build_fields(marks: Marks, shrink: int, reach_px: float) -> Fields:
    """Return the fields at a size smaller than the marks', falling off over `reach_px` of that size."""
    size = Size(marks.size.width // shrink, marks.size.height // shrink)
    shape = (size.width, size.height)
    layers = np.concatenate((marks.areas, marks.edges))
    usable = cv2.resize(marks.usable.astype(np.uint8), shape, interpolation=cv2.INTER_NEAREST)
    ice = cv2.resize(marks.on_ice.astype(np.uint8), shape, interpolation=cv2.INTER_NEAREST) > 0
    values = np.zeros((FIELDS, size.height + 2, size.width + 2), np.float32)
    for number, layer in enumerate(layers):
        small = layer if shrink == 1 else (cv2.resize(layer * 255, shape, interpolation=cv2.INTER_AREA) > 15)
        away_px = cv2.distanceTransform(1 - small.astype(np.uint8), cv2.DIST_L2, 3)
        away = np.minimum(away_px / reach_px, FARTHEST)
        region = ice if number != PLATE else usable > 0
        values[number, 1:-1, 1:-1] = WORTH[number] * _log_ratio(away, region, float(SEEN[number])) * usable
    bare = cv2.resize(marks.bare, shape, interpolation=cv2.INTER_AREA)
    of_ice, of_other = np.log(ICE_INSIDE / ICE_OUTSIDE), np.log((1 - ICE_INSIDE) / (1 - ICE_OUTSIDE))
    values[ICE, 1:-1, 1:-1] = ICE_WORTH * (of_other + bare * (of_ice - of_other)) * usable
    return Fields(size, values)


def _log_ratio(
    away: Float[np.ndarray, "h w"], region: Bool[np.ndarray, "h w"], seen: float
) -> Float[np.ndarray, "h w"]:
    """Return log p(distance | a line is here) / p(distance | none is), for distances in reaches.

    What "none is" looks like is read off the frame: where marks are everywhere, being near one says little.
    """
    bins = round(FARTHEST * BINS_PER_REACH) + 1
    counts = np.bincount(np.rint(away[region] * BINS_PER_REACH).astype(np.int64), minlength=bins).astype(np.float64)
    chance = (counts + 1.0) / (counts.sum() + bins) * BINS_PER_REACH
    at = np.arange(bins) / BINS_PER_REACH
    on_line = np.sqrt(2 / np.pi) * np.exp(-0.5 * at**2)
    ratio = np.log(1 - seen + seen * on_line / chance)
    return np.asarray(np.interp(away, at, ratio), np.float32)


def field_of(look: Int[np.ndarray, " n"], direction: Int[np.ndarray, "h n"]) -> Int[np.ndarray, "h n"]:
    """Return the field in which each sample is looked up, by its look and the direction it has in the picture."""
    area = np.array([RED, BLUE, -1, -1, RED, PLATE, ICE])[look]
    return np.where(area >= 0, area, EDGES + direction)
