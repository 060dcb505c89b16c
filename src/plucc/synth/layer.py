"""A patch of picture with coverage, and the canvas that layers are laid on from far to near."""

from dataclasses import dataclass

import cv2
import numpy as np

from plucc.types import FloatArray, ImageArray, Size


@dataclass(frozen=True, slots=True)
class Layer:
    """Colours multiplied by coverage (BGR, 0 to 255) at a whole-pixel place in the frame; coverage is 0 to 1."""

    left_px: int
    top_px: int
    colour: FloatArray  # (h, w, 3) float32, premultiplied
    coverage: FloatArray  # (h, w) float32

    @property
    def bottom_px(self) -> int:
        return self.top_px + int(self.coverage.shape[0])

    def blurred(self, kernel: FloatArray | None) -> "Layer":
        """Return the layer under a small convolution kernel; the margin grows with it."""
        if kernel is None:
            return self
        down, aside = kernel.shape[0] // 2, kernel.shape[1] // 2
        border = (down, down, aside, aside, cv2.BORDER_CONSTANT)
        colour = cv2.filter2D(cv2.copyMakeBorder(self.colour, *border, value=(0, 0, 0)), -1, kernel)
        coverage = cv2.filter2D(cv2.copyMakeBorder(self.coverage, *border, value=0), -1, kernel)
        return Layer(
            self.left_px - aside, self.top_px - down, np.asarray(colour, np.float32), np.asarray(coverage, np.float32)
        )


def overlap(layer: Layer, size: Size) -> tuple[tuple[slice, slice], tuple[slice, slice]] | None:
    """Return (frame window, layer window) where the layer meets the frame, or None."""
    height, width = layer.coverage.shape
    left, top = max(layer.left_px, 0), max(layer.top_px, 0)
    right, bottom = min(layer.left_px + width, size.width), min(layer.top_px + height, size.height)
    if left >= right or top >= bottom:
        return None
    frame = (slice(top, bottom), slice(left, right))
    own = (slice(top - layer.top_px, bottom - layer.top_px), slice(left - layer.left_px, right - layer.left_px))
    return frame, own


def lay(canvas: ImageArray, layer: Layer) -> None:
    """Lay the layer over the canvas in place."""
    windows = overlap(layer, Size(canvas.shape[1], canvas.shape[0]))
    if windows is None:
        return
    frame, own = windows
    through = 1 - layer.coverage[own]
    blended = cv2.multiply(canvas[frame], cv2.merge([through, through, through]), dtype=cv2.CV_32F)
    canvas[frame] = cv2.add(blended, layer.colour[own], dtype=cv2.CV_8U)


def dim(picture: ImageArray, share: ImageArray) -> None:
    """Multiply a picture in place by shares of 255, one for each pixel."""
    cv2.multiply(picture, cv2.merge([share, share, share]), dst=picture, scale=1 / 255)


def veil(picture: ImageArray, alpha: ImageArray, level: float) -> None:
    """Lay a grey over a picture in place, `alpha` of 255 of it at each pixel."""
    dim(picture, 255 - alpha)
    grey = cv2.convertScaleAbs(alpha, alpha=level / 255)
    cv2.add(picture, cv2.merge([grey, grey, grey]), dst=picture)


def line_kernel(dx_px: float, dy_px: float) -> FloatArray | None:
    """Return the blur of a straight move by (dx, dy) during the exposure, or None when it is under half a pixel.

    The kernel is symmetric, so what it blurs stays centred.
    """
    length = float(np.hypot(dx_px, dy_px))
    if length < 0.5:
        return None
    aside, down = int(abs(dx_px) / 2) + 1, int(abs(dy_px) / 2) + 1
    kernel = np.zeros((2 * down + 1, 2 * aside + 1), np.float32)
    count = max(int(np.ceil(length * 3)), 3)
    steps = (np.arange(count) + 0.5) / count - 0.5
    x, y = aside + steps * dx_px, down + steps * dy_px
    x0, y0 = np.floor(x).astype(int), np.floor(y).astype(int)
    fx, fy = x - x0, y - y0
    for ox, wx in ((0, 1 - fx), (1, fx)):
        for oy, wy in ((0, 1 - fy), (1, fy)):
            np.add.at(kernel, (y0 + oy, x0 + ox), (wx * wy).astype(np.float32))
    return np.asarray(kernel / kernel.sum())
