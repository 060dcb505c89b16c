"""Small operations on player masks: boolean arrays (height, width) in the frame's own pixels."""

from collections.abc import Iterable, Sequence
from functools import reduce

import cv2
import numpy as np

from plucc.types import Box, FloatArray, ImageArray, MaskArray, Size

STICK_SHARE = 0.03  # a stick's half width, with room for blur, over the height of the player's box
BOX_SLACK = 0.1  # a segmenter may follow a body this far beyond its box, over the box's side


def blank(size: Size) -> MaskArray:
    """Return the mask of a frame that shows nobody."""
    return np.zeros((size.height, size.width), bool)


def union(masks: Iterable[MaskArray], size: Size) -> MaskArray:
    """Return where any of the masks is set; a frame without players has an empty one."""
    return reduce(np.logical_or, masks, blank(size))


def box_mask(boxes: Iterable[Box], size: Size) -> MaskArray:
    """Return the pixels whose centres lie in any of the boxes."""
    mask = blank(size)
    for box in boxes:
        left, top, right, bottom = _pixel_edges(box)
        mask[top:bottom, left:right] = True
    return mask


def ellipse_mask(box: Box, size: Size) -> MaskArray:
    """Return the pixels whose centres lie in the ellipse that fills the box."""
    centre = box.centre
    rows, columns = np.ogrid[: size.height, : size.width]
    across = (columns + 0.5 - centre.x) / (box.width / 2)
    down = (rows + 0.5 - centre.y) / (box.height / 2)
    return np.asarray(across**2 + down**2 <= 1, np.bool_)


def box_coverage(mask: MaskArray, boxes: Sequence[Box]) -> FloatArray:
    """Return for each box the share of its pixels that the mask covers."""
    shares = []
    for box in boxes:
        left, top, right, bottom = _pixel_edges(box)
        inside = mask[top:bottom, left:right]
        shares.append(int(np.count_nonzero(inside)) / max(1, inside.size))
    return np.asarray(shares, np.float64)


def enlarged(box: Box, share: float) -> Box:
    """Return the box with both sides longer by this share of themselves, about the same centre."""
    across, down = box.width * share / 2, box.height * share / 2
    return Box(box.left - across, box.top - down, box.right + across, box.bottom + down)


def body(mask: MaskArray, box: Box) -> MaskArray:
    """Return one player's mask without stick and without what lies far from his box.

    Opening removes whatever is thinner than a stick for a player of this size; the rest grows back into its own
    outline, so that a body keeps its corners.
    """
    height, width = mask.shape
    kept = np.zeros_like(mask)
    left, top, right, bottom = _pixel_edges(enlarged(box, 2 * BOX_SLACK))
    window = np.s_[top : min(bottom, height), left : min(right, width)]
    near = mask[window].astype(np.uint8)
    if near.any():
        radius = max(1, round(STICK_SHARE * box.height))
        thick = cv2.morphologyEx(near, cv2.MORPH_OPEN, _disc(radius))
        kept[window] = mask[window] & (cv2.dilate(thick, _disc(radius + 1)) > 0)
    return kept


def typical_height(mask: MaskArray) -> float | None:
    """Return how high the median part of the mask is, over the frame's height; None of a frame that shows nobody.

    Players who touch are one part, which the median bears with.
    """
    parts, _, facts, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=4)
    if parts == 1:  # what is not masked is a part too
        return None
    height_px = float(np.median(facts[1:, cv2.CC_STAT_HEIGHT]))
    return height_px / len(mask)


def resized(mask: MaskArray, size: Size) -> MaskArray:
    """Return the mask at another size: set where at least half of the new pixel is covered."""
    if mask.shape == (size.height, size.width):
        return mask
    shrinks = size.width < mask.shape[1]
    how = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(mask.astype(np.uint8) * 255, (size.width, size.height), interpolation=how) > 127, bool)


def _pixel_edges(box: Box) -> tuple[int, int, int, int]:
    """Return the columns and rows whose centres lie in the box: the first (left, top) and one past the last."""
    # the pixel centres i + 0.5 in [left, right) are those with ceil(left - 0.5) <= i < ceil(right - 0.5)
    left, top, right, bottom = (max(0, int(np.ceil(edge - 0.5))) for edge in (box.left, box.top, box.right, box.bottom))
    return left, top, right, bottom


def _disc(radius: int) -> ImageArray:
    side = 2 * radius + 1
    return np.asarray(cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (side, side)), np.uint8)
