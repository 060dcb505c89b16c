"""The context image: the colours of the players, nothing else, at half resolution.

As in the paper: every player is cut out of the full frame onto black, and the result is shrunk by averaging. It stays
8-bit RGB; whoever feeds a network normalises it exactly as the frame itself.
"""

from collections.abc import Sequence

import cv2
import numpy as np

from plucc.config import CONTEXT_STRIDE
from plucc.context.cache import MaskCache
from plucc.context.finder import PlayerFinder
from plucc.data.schema import Player
from plucc.types import ImageArray, MaskArray, ShapeError, Size


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


def context_image(frame: ImageArray, mask: MaskArray) -> ImageArray:
    """Return the players' colours on black at half the frame's size; an empty mask gives a black image."""
    height, width = frame.shape[:2]
    if mask.shape != (height, width):
        raise ShapeError(f"a mask of {mask.shape[1]}x{mask.shape[0]} for a frame of {width}x{height}: resize the mask")
    players = cv2.copyTo(frame, mask.astype(np.uint8), np.zeros_like(frame))
    half = context_size(Size(width, height))
    return np.asarray(cv2.resize(players, (half.width, half.height), interpolation=cv2.INTER_AREA), np.uint8)


class ContextMaker:
    """Frames in, context images out: one finder, and a cache of what it found."""

    def __init__(self, finder: PlayerFinder, cache: MaskCache | None = None) -> None:
        self.finder = finder
        self._cache = cache

    def __call__(self, frame: ImageArray, players: Sequence[Player] | None = None) -> ImageArray:
        frame = as_rgb(frame)
        return context_image(frame, self.mask(frame, players))

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
