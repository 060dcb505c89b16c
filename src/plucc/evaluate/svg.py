"""Small charts as SVG text: lines with bands, and bars with intervals. No program to install, nothing to load."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from plucc.types import FloatArray

COLOURS = ("#1f6feb", "#d1481f", "#2a8f4d", "#8250df", "#9a6700", "#57606a")
WIDTH, HEIGHT = 520, 320
LEFT, RIGHT, TOP, BOTTOM = 56, 14, 34, 46
TICKS = 5


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A curve, its points in order, with a band where there is one; NaN points are left out."""

    name: str
    x: FloatArray
    y: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None
    dots: bool = False


@dataclass(frozen=True, slots=True)
class Axes:
    """Title, labels and ranges of a chart."""

    title: str
    x_label: str
    y_label: str
    x_range: tuple[float, float]
    y_range: tuple[float, float] = (0.0, 1.0)

    def x_px(self, value: float) -> float:
        low, high = self.x_range
        return LEFT + (value - low) / (high - low or 1.0) * (WIDTH - LEFT - RIGHT)

    def y_px(self, value: float) -> float:
        low, high = self.y_range
        return HEIGHT - BOTTOM - (value - low) / (high - low or 1.0) * (HEIGHT - TOP - BOTTOM)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar with its interval and the frames that it rests on."""

    label: str
    values: tuple[tuple[float, float, float], ...]  # value, low, high for each series
    count: int


def line_chart(axes: Axes, lines: Sequence[Line], *, diagonal: bool = False) -> str:
    """Draw curves over common axes; the diagonal is where a reliability diagram should lie."""
    parts = [_ground(axes, _ticks(*axes.x_range))]
    if diagonal:
        (x0, x1), (y0, y1) = axes.x_range, axes.y_range
        parts.append(_path([(axes.x_px(x0), axes.y_px(y0)), (axes.x_px(x1), axes.y_px(y1))], "#8c959f", dash=True))
    for number, line in enumerate(lines):
        parts.append(_curve(axes, line, COLOURS[number % len(COLOURS)]))
    parts.append(_legend([line.name for line in lines]))
    return _svg(axes.title, parts)


def bar_chart(axes: Axes, bars: Sequence[Bar], series: Sequence[str]) -> str:
    """Draw groups of bars side by side, a colour for each series, with intervals as whiskers."""
    parts = [_ground(axes, [])]
    slot = (WIDTH - LEFT - RIGHT) / max(len(bars), 1)
    wide = 0.7 * slot / max(len(series), 1)
    for place, bar in enumerate(bars):
        for number, (value, low, high) in enumerate(bar.values):
            x = LEFT + slot * place + 0.15 * slot + wide * number
            parts.append(_bar(axes, x, wide, (value, low, high), COLOURS[number % len(COLOURS)]))
        middle = LEFT + slot * (place + 0.5)
        parts.append(_text(middle, HEIGHT - BOTTOM + 15, bar.label, anchor="middle", size=10))
        parts.append(_text(middle, HEIGHT - BOTTOM + 28, f"{bar.count}", anchor="middle", size=9, colour="#57606a"))
    parts.append(_legend(list(series)))
    return _svg(axes.title, parts)


def _bar(axes: Axes, x: float, wide: float, value: tuple[float, float, float], colour: str) -> str:
    middle, low, high = value
    if np.isnan(middle):
        return ""
    top, floor = axes.y_px(middle), axes.y_px(axes.y_range[0])
    drawn = f'<rect x="{x:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{max(floor - top, 0):.1f}" fill="{colour}"/>'
    if np.isnan(low) or np.isnan(high):
        return drawn
    centre = x + wide / 2
    return drawn + _path([(centre, axes.y_px(low)), (centre, axes.y_px(high))], "#24292f")


def _curve(axes: Axes, line: Line, colour: str) -> str:
    kept = np.isfinite(line.x) & np.isfinite(line.y)
    points = [(axes.x_px(x), axes.y_px(y)) for x, y in zip(line.x[kept], line.y[kept], strict=True)]
    parts = []
    if line.low is not None and line.high is not None:
        banded = kept & np.isfinite(line.low) & np.isfinite(line.high)
        over = [(axes.x_px(x), axes.y_px(y)) for x, y in zip(line.x[banded], line.high[banded], strict=True)]
        under = [(axes.x_px(x), axes.y_px(y)) for x, y in zip(line.x[banded], line.low[banded], strict=True)]
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*over, *under[::-1]])
        parts.append(f'<polygon points="{corners}" fill="{colour}" opacity="0.15"/>')
    parts.append(_path(points, colour))
    if line.dots:
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
    return "".join(parts)


def _ground(axes: Axes, x_ticks: Sequence[float]) -> str:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    for value in _ticks(*axes.y_range):
        y = axes.y_px(value)
        parts.append(_path([(LEFT, y), (right, y)], "#eaeef2"))
        parts.append(_text(LEFT - 6, y + 4, f"{value:g}", anchor="end", size=10))
    parts += [_text(axes.x_px(value), bottom + 15, f"{value:g}", anchor="middle", size=10) for value in x_ticks]
    parts.append(_path([(LEFT, TOP), (LEFT, bottom), (right, bottom)], "#57606a"))
    parts.append(_text((LEFT + right) / 2, HEIGHT - 6, axes.x_label, anchor="middle", size=11))
    middle = (TOP + bottom) / 2
    turned = f'transform="rotate(-90 14 {middle:.0f})"'
    parts.append(_text(14, middle, axes.y_label, anchor="middle", size=11, extra=turned))
    parts.append(_text(LEFT, 18, axes.title, size=13, extra='font-weight="600"'))
    return "".join(parts)


def _ticks(low: float, high: float) -> list[float]:
    return [round(float(value), 6) for value in np.linspace(low, high, TICKS + 1)]


def _legend(names: Sequence[str]) -> str:
    if len(names) < 2:
        return ""
    parts = []
    for number, name in enumerate(names):
        y = HEIGHT - BOTTOM - 12 - 15 * (len(names) - 1 - number)
        colour = COLOURS[number % len(COLOURS)]
        parts.append(_path([(WIDTH - RIGHT - 22, y - 4), (WIDTH - RIGHT - 4, y - 4)], colour, wide=3))
        parts.append(_text(WIDTH - RIGHT - 28, y, name, anchor="end", size=10))
    return "".join(parts)


def _path(points: Sequence[tuple[float, float]], colour: str, *, wide: float = 1.6, dash: bool = False) -> str:
    if not points:
        return ""
    way = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashed = ' stroke-dasharray="4 4"' if dash else ""
    return f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="{wide:g}"{dashed}/>'


def _text(  # noqa: PLR0913
    x: float, y: float, text: str, *, anchor: str = "start", size: int = 11, colour: str = "#24292f", extra: str = ""
) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}"'
    return f"<text {place} {extra}>{escape(text)}</text>"


def _svg(title: str, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img"'
    style = 'font-family="system-ui, sans-serif"'
    ground = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    return f'{head} {style} aria-label="{escape(title)}">{ground}{"".join(parts)}</svg>'
