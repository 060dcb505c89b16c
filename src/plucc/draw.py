"""Pictures for people: what was found, drawn with OpenCV on RGB arrays."""

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from plucc.files import whole_file
from plucc.types import FloatArray, ImageArray, InputError, Size

INK = (235, 235, 235)
PAPER = (24, 26, 32)
DOT = (255, 255, 255)
MAX_DOTS = 20_000  # beyond that dots hide the density that they should show
PLOT_WIDTH_PX = 960
SPREAD = 0.012  # of the plot's width: how far one puck spreads in the density
TICKS = 5


@dataclass(frozen=True, slots=True)
class _Plot:
    """A drawing with a frame in it: the frame's corner and size on the canvas."""

    canvas: ImageArray
    left: int
    top: int
    width: int
    height: int

    def write(self, text: str, x: int, y: int, *, align: float = 0.0, scale: float = 0.5) -> None:
        """Write a line of text whose baseline is at y; `align` 0 puts x at its left end, 1 at its right."""
        (width, _), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, scale, 1)
        origin = (round(x - align * width), y)
        cv2.putText(self.canvas, text, origin, cv2.FONT_HERSHEY_SIMPLEX, scale, INK, 1, cv2.LINE_AA)


def write_picture(image: ImageArray, path: Path) -> None:
    """Write an RGB picture in the format of its suffix, whole or not at all."""
    if not cv2.haveImageWriter(path.name):
        raise InputError(f"{path} has no picture suffix that can be written: use .png or .jpg")
    with whole_file(path) as temporary:
        cv2.imwrite(str(temporary), cv2.cvtColor(image, cv2.COLOR_RGB2BGR))


def position_map(places: FloatArray, size: Size, title: str) -> ImageArray:
    """Draw where in the frame pucks are: their density in colour and a dot for each, with axes in pixels.

    `places` are (n, 2) shares of the frame's width and height, so that frames of several sizes go on one map; the axes
    are labelled for `size`. The scale says how many pucks there are on one percent of the frame's area.
    """
    height = round(PLOT_WIDTH_PX * size.height / size.width)
    canvas = np.full((height + 130, PLOT_WIDTH_PX + 220, 3), PAPER, dtype=np.uint8)
    plot = _Plot(canvas, 80, 60, PLOT_WIDTH_PX, height)
    density = _density(places, plot)
    highest = float(density.max()) or 1.0
    area = canvas[plot.top : plot.top + plot.height, plot.left : plot.left + plot.width]
    area[:] = _colours(density / highest)
    if len(places) <= MAX_DOTS:
        for x, y in places * (plot.width, plot.height):
            cv2.circle(area, (int(x), int(y)), 1, DOT, -1, cv2.LINE_AA)
    _draw_axes(plot, size)
    _draw_scale(plot, highest)
    plot.write(title, plot.left, 38, scale=0.7)
    return canvas


def _density(places: FloatArray, plot: _Plot) -> FloatArray:
    """Pucks per percent of the frame's area, at every pixel of the plot."""
    counts, _, _ = np.histogram2d(
        places[:, 1], places[:, 0], bins=(plot.height, plot.width), range=((0.0, 1.0), (0.0, 1.0))
    )
    per_percent = counts * (plot.width * plot.height / 100)
    blurred = cv2.GaussianBlur(per_percent, (0, 0), SPREAD * plot.width, borderType=cv2.BORDER_REFLECT)
    return np.asarray(blurred, dtype=np.float64)


def _colours(shares: FloatArray) -> ImageArray:
    levels = np.clip(shares * 255, 0, 255).astype(np.uint8)
    coloured = cv2.applyColorMap(levels, cv2.COLORMAP_INFERNO)
    return np.asarray(cv2.cvtColor(coloured, cv2.COLOR_BGR2RGB), dtype=np.uint8)


def _draw_axes(plot: _Plot, size: Size) -> None:
    right, bottom = plot.left + plot.width, plot.top + plot.height
    cv2.rectangle(plot.canvas, (plot.left - 1, plot.top - 1), (right, bottom), INK, 1)
    for share in np.linspace(0.0, 1.0, TICKS):
        x, y = round(plot.left + share * plot.width), round(plot.top + share * plot.height)
        cv2.line(plot.canvas, (x, bottom), (x, bottom + 6), INK, 1)
        cv2.line(plot.canvas, (plot.left - 7, y), (plot.left - 1, y), INK, 1)
        plot.write(f"{share * size.width:.0f}", x, bottom + 24, align=0.5)
        plot.write(f"{share * size.height:.0f}", plot.left - 12, y + 5, align=1.0)
    plot.write("x (px)", plot.left + plot.width // 2, bottom + 52, align=0.5)
    plot.write("y (px)", plot.left - 12, plot.top - 14, align=1.0)


def _draw_scale(plot: _Plot, highest: float) -> None:
    left, right = plot.left + plot.width + 30, plot.left + plot.width + 50
    ramp = np.linspace(1.0, 0.0, plot.height)[:, None].repeat(right - left, axis=1)
    plot.canvas[plot.top : plot.top + plot.height, left:right] = _colours(ramp)
    cv2.rectangle(plot.canvas, (left - 1, plot.top - 1), (right, plot.top + plot.height), INK, 1)
    for share in np.linspace(0.0, 1.0, TICKS):
        y = round(plot.top + (1 - share) * plot.height)
        cv2.line(plot.canvas, (right, y), (right + 6, y), INK, 1)
        plot.write(f"{share * highest:.3g}", right + 12, y + 5)
    plot.write("pucks per 1 % of area", plot.canvas.shape[1] - 12, plot.top - 14, align=1.0)
