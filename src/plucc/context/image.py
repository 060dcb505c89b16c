"""The context image: the colours of the players, nothing else, at half resolution.

As in the paper, every player is cut out of the frame onto black, and the result is shrunk by averaging. It stays 8-bit
RGB; whoever feeds a network normalises it exactly as the frame itself.

A mask is never so exact that a puck at a skate stays out of it. A puck is dark, flat, and has ice above and below; so
each pixel shows the brightest colours of the few rows around it, and no puck. Outlines and whatever is tall stay.
"""

from collections.abc import Sequence

import cv2
import numpy as np

from plucc.config import CONTEXT_STRIDE
from plucc.context.cache import MaskCache
from plucc.context.finder import PlayerFinder
from plucc.data.schema import Player
from plucc.types import REFERENCE_HEIGHT_PX, ImageArray, MaskArray, ShapeError, Size

PUCK_REACH_PX = 8.0  # at 720 lines, up and down: beyond it there is ice


def as_rgb(frame: ImageArray) -> ImageArray:
    """Return an 8-bit picture as RGB (height, width, 3): greyscale is tripled, alpha is dropped."""
    if frame.dtype != np.uint8 or frame.ndim not in (2, 3) or 0 in frame.shape:
        raise ShapeError(f"a frame of shape {frame.shape} and type {frame.dtype}: expected 8-bit (height, width, 3)")
    if frame.ndim == 2:
        frame = frame[:, :, None]
    channels = frame.shape[2]
    if channels not in (1, 3, 4):
        raise ShapeError(f"a frame with {channels} channels: expected 1 (grey), 3 (RGB) or 4 (RGB and alpha)")
    return np.ascontiguousarray(np.repeat(frame, 3, axis=2) if channels == 1 else frame[:, :, :3])


def context_size(size: Size) -> Size:
    """Return the size of a frame's context image: half, odd sides rounded up."""
    return Size(-(-size.width // CONTEXT_STRIDE), -(-size.height // CONTEXT_STRIDE))


def context_image(frame: ImageArray, mask: MaskArray, lines: int = REFERENCE_HEIGHT_PX) -> ImageArray:
    """Return the players' colours on black at half the frame's size, without the puck; an empty mask gives black.

    `lines` is the height of the whole frame that this one is, or is a part of: pucks grow with it.
    """
    height, width = frame.shape[:2]
    if mask.shape != (height, width):
        raise ShapeError(f"a mask of {mask.shape[1]}x{mask.shape[0]} for a frame of {width}x{height}: resize the mask")
    half = context_size(Size(width, height))
    colours, cover = (
        cv2.resize(image, (half.width, half.height), interpolation=cv2.INTER_AREA)
        for image in (frame, mask.astype(np.uint8) * np.uint8(255))
    )
    return players_on_black(np.asarray(colours, np.uint8), np.asarray(cover, np.uint8), lines)


def players_on_black(colours: ImageArray, cover: ImageArray, lines: int) -> ImageArray:
    """Return colours (h, w, 3) as far as players cover each pixel (h, w), 0 to 255, of a frame at half its size.

    Each pixel first takes the brightest red, green and blue within a few rows of it.
    """
    reach = max(1, round(PUCK_REACH_PX * lines / REFERENCE_HEIGHT_PX / CONTEXT_STRIDE))
    bright = cv2.dilate(colours, np.ones((2 * reach + 1, 1), np.uint8))
    return np.asarray(cv2.multiply(bright, cv2.merge([cover] * 3), scale=1 / 255), np.uint8)


class ContextMaker:
    """Frames in, context images out: one finder, and a cache of what it found."""

    def __init__(self, finder: PlayerFinder, cache: MaskCache | None = None) -> None:
        self.finder = finder
        self._cache = cache

    def __call__(self, frame: ImageArray, players: Sequence[Player] | None = None) -> ImageArray:
        frame = as_rgb(frame)
        return context_image(frame, self.mask(frame, players), frame.shape[0])

    def mask(self, frame: ImageArray, players: Sequence[Player] | None = None) -> MaskArray:
        """Return where the players are, from the cache if the same frame was seen before."""
        frame = as_rgb(frame)
        if self._cache is None:
            return self.finder(frame, players)
        key = self._cache.key(frame, self.finder.version, players)
        known = self._cache.get(key)
        if known is None:
            known = self.finder(frame, players)
            self._cache.put(key, known)
        return known
