"""The canvas while layers are laid on it: who owns each pixel, and what still shows of the puck."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from plucc.synth.layer import Layer, lay, overlap
from plucc.types import Box, FloatArray, ImageArray, Size

SOLID = 0.5  # a pixel belongs to whoever covers more than half of it


@dataclass(slots=True)
class PuckSight:
    """What is left of the puck's layer under everything laid over it."""

    layer: Layer
    through: FloatArray

    @classmethod
    def of(cls, layer: Layer) -> "PuckSight":
        return cls(layer, np.ones_like(layer.coverage))

    def dim(self, over: Layer) -> None:
        """Take away what a layer over the puck covers."""
        height, width = self.layer.coverage.shape
        moved = Layer(over.left_px - self.layer.left_px, over.top_px - self.layer.top_px, over.colour, over.coverage)
        windows = overlap(moved, Size(width, height))
        if windows is not None:
            self.through[windows[0]] *= np.maximum(1 - over.coverage[windows[1]], 0)

    def visible_fraction(self, size: Size) -> float:
        """Return the share of the puck that shows in a picture of this size."""
        total = float(self.layer.coverage.sum())
        windows = overlap(self.layer, size)
        if windows is None or total <= 0:
            return 0.0
        own = windows[1]
        return min(float((self.layer.coverage[own] * self.through[own]).sum()) / total, 1.0)


@dataclass(slots=True)
class Painter:
    """Lays layers from far to near."""

    canvas: ImageArray
    owner: NDArray[np.uint8]  # (w, h): columns first, as run lengths are counted
    puck: PuckSight | None = None
    extents: dict[int, Box] = field(default_factory=dict)

    @classmethod
    def on(cls, canvas: ImageArray) -> "Painter":
        return cls(canvas, np.zeros((canvas.shape[1], canvas.shape[0]), np.uint8))

    @property
    def size(self) -> Size:
        return Size(self.canvas.shape[1], self.canvas.shape[0])

    def lay(self, layer: Layer, owner: int = 0) -> None:
        """Lay a layer; the pixels it covers belong to `owner` (0: nobody) from now on."""
        lay(self.canvas, layer)
        self.cover(layer, owner)

    def cover(self, layer: Layer, owner: int = 0) -> None:
        """Note what a layer hides without painting it here; graphics go over the developed picture."""
        windows = overlap(layer, self.size)
        if windows is None:
            return
        if self.puck is not None:
            self.puck.dim(layer)
        frame, own = windows
        solid = layer.coverage[own] > SOLID
        self.owner[frame[1], frame[0]][solid.T] = owner
        if owner and solid.any():
            self.extents[owner] = _extent(solid, frame[1].start, frame[0].start)

    def lay_puck(self, layer: Layer, *, shown: bool) -> None:
        """Lay the puck, or only remember where it would be."""
        if shown:
            lay(self.canvas, layer)
        self.puck = PuckSight.of(layer)


def _extent(solid: NDArray[np.bool_], left: int, top: int) -> Box:
    rows, columns = np.flatnonzero(solid.any(axis=1)), np.flatnonzero(solid.any(axis=0))
    return Box(float(left + columns[0]), float(top + rows[0]), float(left + columns[-1] + 1), float(top + rows[-1] + 1))
