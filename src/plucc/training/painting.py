"""Pucks painted over, the same paint where no puck was, and pucks carried elsewhere.

Every real frame of a set may show a puck. Painting it out makes frames without one; painting elsewhere on frames with
one keeps the paint itself from giving the answer away.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import cv2
import numpy as np

from plucc.training.photometry import line_kernel
from plucc.training.sample import Sample, contains
from plucc.types import FloatArray, ImageArray, Point, Size

Extent: TypeAlias = tuple[float, float]
Painter: TypeAlias = Callable[[ImageArray, Point, Extent, np.random.Generator], ImageArray]

MARGIN_PX = 3.0  # paint reaches this far beyond the labelled box: compression smears the puck
TRIES = 12
IN_FLIGHT = 0.7
TRAVEL = (0.7, 5.0)  # of the puck's width, during one exposure
LEVEL_SHARE, LEVEL_RAD = 0.7, 0.3
PALENESS = (0.6, 1.0)
FAINTEST = (0.14, 0.24)  # darkness of the darkest pixel: what still shows under noise and compression
ABOVE_ICE = 0.3  # of carried pucks, before boards, net or glass as a flying puck is
DARKEST_BACKGROUND = 90  # of 255: a puck before anything darker could not be seen


def paint_from_rim(image: ImageArray, centre_px: Point, extent_px: Extent, rng: np.random.Generator) -> ImageArray:
    """Fill an ellipse with what surrounds it (fast marching), with grain like its surroundings'."""
    return _filled(image, centre_px, extent_px, cv2.INPAINT_TELEA, rng)


def paint_by_flow(image: ImageArray, centre_px: Point, extent_px: Extent, rng: np.random.Generator) -> ImageArray:
    """Fill an ellipse by fluid-flow interpolation.

    Training does not use this one: it is for judging whether absence was learnt or only the look of the other paints.
    """
    return _filled(image, centre_px, extent_px, cv2.INPAINT_NS, rng)


def paint_from_nearby(image: ImageArray, centre_px: Point, extent_px: Extent, rng: np.random.Generator) -> ImageArray:
    """Cover an ellipse with the neighbouring patch whose rim fits best, feathered at the edge."""
    window = _window(image, centre_px, _paint_radii(extent_px), pad_px=6)
    if window is None:
        return image
    rows, columns, mask = window
    height, width = mask.shape
    here = image[rows, columns].astype(np.float32)
    rim = cv2.dilate(mask, np.ones((5, 5), np.uint8)) - mask
    best, best_cost = None, np.inf
    for angle in rng.uniform(0, 2 * np.pi, TRIES):
        distance = rng.uniform(1.0, 1.8)
        top = rows.start + int(distance * height * np.sin(angle))
        left = columns.start + int(distance * width * np.cos(angle))
        if not (0 <= top <= image.shape[0] - height and 0 <= left <= image.shape[1] - width):
            continue
        patch = image[top : top + height, left : left + width].astype(np.float32)
        cost = float(np.abs(patch - here)[rim > 0].mean())
        if cost < best_cost:
            best, best_cost = patch, cost
    if best is None:
        return paint_from_rim(image, centre_px, extent_px, rng)
    alpha = cv2.GaussianBlur(mask.astype(np.float32), (0, 0), 1.0)[..., None]
    painted = image.copy()
    painted[rows, columns] = np.rint(alpha * best + (1 - alpha) * here).astype(np.uint8)
    return painted


TRAINING_PAINTERS: tuple[Painter, ...] = (paint_from_rim, paint_from_nearby)


def paint_out(sample: Sample, rng: np.random.Generator) -> Sample:
    """Return the sample with its puck painted over: a frame without one."""
    if sample.point_px is None:
        return sample
    painter = TRAINING_PAINTERS[rng.integers(len(TRAINING_PAINTERS))]
    return replace(sample, image=painter(sample.image, sample.point_px, sample.extent_px, rng), point_px=None)


def hide(sample: Sample, rng: np.random.Generator) -> Sample:
    """Return the sample with its puck painted over but still there, as behind a player: it does not show."""
    return replace(paint_out(sample, rng), point_px=sample.point_px, is_visible=False)


def paint_decoy(sample: Sample, near_px: Point, reach_px: float, rng: np.random.Generator) -> Sample:
    """Return the sample painted at a spot within `reach_px` of `near_px` that is not the puck's."""
    painter = TRAINING_PAINTERS[rng.integers(len(TRAINING_PAINTERS))]
    extent = tuple(float(side * rng.uniform(0.7, 1.4)) for side in sample.extent_px)
    for _ in range(TRIES):
        spot = Point(*(float(value + rng.uniform(-reach_px, reach_px)) for value in near_px))
        clearance_px = 2 * max(sample.extent_px) + 4 * MARGIN_PX
        far = sample.point_px is None or spot.distance(sample.point_px) > clearance_px
        if far and contains(sample.size, spot):
            return replace(sample, image=painter(sample.image, spot, (extent[0], extent[1]), rng))
    return sample


def transplant(sample: Sample, rng: np.random.Generator) -> Sample:
    """Return the sample with its puck carried elsewhere, to ice or before what is bright; most are faint streaks then.

    The puck is lifted as darkness against the ice around it, so only a dark puck on bright ice is carried; any other
    sample comes back as it was.
    """
    if sample.point_px is None:
        return sample
    darkness = _lift(sample.image, sample.point_px, sample.extent_px)
    spot = None if darkness is None else _clear_spot(sample, rng)
    if darkness is None or spot is None:
        return sample
    if rng.random() < IN_FLIGHT:
        darkness = _in_flight(darkness, max(sample.extent_px), rng)
    cleaned = paint_out(sample, rng).image
    image, point = _lay(cleaned, darkness, spot)
    return replace(sample, image=image, point_px=point)


def _in_flight(darkness: FloatArray, length_px: float, rng: np.random.Generator) -> FloatArray:
    """Smear a puck along its way over the shutter time: it pales as it lengthens. Most ways lie along the picture."""
    travel_px = length_px * np.exp(rng.uniform(*np.log(TRAVEL)))
    angle = rng.normal(0, LEVEL_RAD) if rng.random() < LEVEL_SHARE else rng.uniform(0, np.pi)
    pad = int(np.ceil(travel_px / 2)) + 1
    smeared = cv2.filter2D(np.pad(darkness, pad), -1, line_kernel(travel_px, angle))
    palest = rng.uniform(*FAINTEST) / max(float(smeared.max()), 1e-6)
    return np.asarray(smeared * max(rng.uniform(*PALENESS), palest), np.float32)


def _filled(
    image: ImageArray, centre_px: Point, extent_px: Extent, method: int, rng: np.random.Generator
) -> ImageArray:
    window = _window(image, centre_px, _paint_radii(extent_px), pad_px=10)
    if window is None:
        return image
    rows, columns, mask = window
    filled = cv2.inpaint(np.ascontiguousarray(image[rows, columns]), mask, 4, method).astype(np.float32)
    grain = image[rows, columns].astype(np.float32) - cv2.GaussianBlur(image[rows, columns], (0, 0), 1.5)
    spread = np.median(np.abs(grain[mask == 0])) * 1.4826 if (mask == 0).any() else 0.0
    noise = cv2.GaussianBlur(rng.standard_normal(mask.shape, dtype=np.float32), (0, 0), 0.6) * 1.9  # keeps unit spread
    filled += spread * noise[..., None] * (mask[..., None] > 0)
    painted = image.copy()
    painted[rows, columns] = np.clip(np.rint(filled), 0, 255).astype(np.uint8)
    return painted


def _paint_radii(extent_px: Extent) -> Extent:
    return extent_px[0] / 2 + MARGIN_PX, extent_px[1] / 2 + MARGIN_PX


def _window(
    image: ImageArray, centre_px: Point, radii_px: Extent, pad_px: int
) -> tuple[slice, slice, ImageArray] | None:
    """Return rows and columns around an ellipse, and the ellipse as a mask of that window; None when it is outside."""
    reach_x, reach_y = radii_px[0] + pad_px, radii_px[1] + pad_px
    left, right = max(int(centre_px.x - reach_x), 0), min(int(centre_px.x + reach_x) + 1, image.shape[1])
    top, bottom = max(int(centre_px.y - reach_y), 0), min(int(centre_px.y + reach_y) + 1, image.shape[0])
    if left >= right or top >= bottom:
        return None
    y, x = np.mgrid[top:bottom, left:right] + 0.5
    inside = ((x - centre_px.x) / radii_px[0]) ** 2 + ((y - centre_px.y) / radii_px[1]) ** 2 <= 1
    return slice(top, bottom), slice(left, right), inside.astype(np.uint8)


def _lift(image: ImageArray, centre_px: Point, extent_px: Extent) -> FloatArray | None:
    """Return how much darker than the ice around it each pixel of the puck is, 0 to 1.

    None for a puck that is not on bright ice. The window has odd sides and the puck's centre in its middle pixel.
    """
    half_x, half_y = int(extent_px[0] / 2 + 4), int(extent_px[1] / 2 + 4)
    column, row = int(centre_px.x), int(centre_px.y)
    top, left = row - half_y, column - half_x
    patch = image[max(top, 0) : row + half_y + 1, max(left, 0) : column + half_x + 1]
    if top < 0 or left < 0 or patch.shape[:2] != (2 * half_y + 1, 2 * half_x + 1):
        return None
    grey = cv2.cvtColor(np.ascontiguousarray(patch), cv2.COLOR_RGB2GRAY).astype(np.float32)
    rim = np.concatenate((grey[:2].ravel(), grey[-2:].ravel(), grey[:, :2].ravel(), grey[:, -2:].ravel()))
    ice = float(np.median(rim))
    if ice < 110 or float(np.percentile(rim, 10)) < 0.8 * ice:  # something else than ice is in the way
        return None
    darkness: FloatArray = np.clip(1 - grey / ice, 0, 1)
    if darkness.max() < 0.25:
        return None
    darkness[darkness < 0.06] = 0  # the ice's own grain stays behind
    return darkness


def _clear_spot(sample: Sample, rng: np.random.Generator) -> Point | None:
    """Return a random bright spot that no player covers: ice, with a line or a logo maybe, or what stands around it."""
    size = Size(sample.image.shape[1], sample.image.shape[0])
    reach = int(max(sample.extent_px)) + 4
    on_ice = rng.random() >= ABOVE_ICE
    for _ in range(TRIES):
        x = int(rng.integers(reach, max(size.width - reach, reach + 1)))
        y = int(rng.integers(reach, max(size.height - reach, reach + 1)))
        patch = sample.image[y - reach : y + reach + 1, x - reach : x + reach + 1]
        covered = sample.players[(y - reach) // 2 : (y + reach) // 2 + 1, (x - reach) // 2 : (x + reach) // 2 + 1]
        if patch.size and not covered.any() and _is_bright(patch, on_ice=on_ice):
            return Point(x + 0.5, y + 0.5)
    return None


def _is_bright(patch: ImageArray, *, on_ice: bool) -> bool:
    if on_ice:
        return bool(patch.min() > DARKEST_BACKGROUND and patch.std() < 26)
    middle = patch[patch.shape[0] // 4 : -patch.shape[0] // 4, patch.shape[1] // 4 : -patch.shape[1] // 4]
    return bool(middle.max(axis=2).min() > DARKEST_BACKGROUND)


def _lay(image: ImageArray, darkness: FloatArray, spot_px: Point) -> tuple[ImageArray, Point]:
    """Darken the image around a pixel's centre; the label is the centre of what was darkened."""
    half_y, half_x = darkness.shape[0] // 2, darkness.shape[1] // 2
    row, column = int(spot_px.y), int(spot_px.x)
    top, left = max(row - half_y, 0), max(column - half_x, 0)
    bottom, right = min(row + half_y + 1, image.shape[0]), min(column + half_x + 1, image.shape[1])
    part = darkness[top - row + half_y : bottom - row + half_y, left - column + half_x : right - column + half_x]
    laid = image.copy()
    laid[top:bottom, left:right] = np.rint(image[top:bottom, left:right] * (1 - part[..., None])).astype(np.uint8)
    y, x = np.mgrid[top:bottom, left:right] + 0.5
    weight = part / part.sum()
    return laid, Point(float((x * weight).sum()), float((y * weight).sum()))
