"""The plots of a report: what the figures look like over thresholds, confidence, size, distance and place."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np

from plucc.evaluate.scoring import Scoring, size_classes, size_labels
from plucc.evaluate.svg import Axes, Bar, Line, bar_chart, line_chart
from plucc.evaluate.tables import Measuring
from plucc.metrics.figures import CORRECT_PX, is_correct, pck_curve, risk_coverage_curve
from plucc.metrics.presence import reliability
from plucc.metrics.rink import rink_distances
from plucc.metrics.sums import share_estimate
from plucc.overlay import rink_map
from plucc.rink.sheet import Sheet
from plucc.types import ImageArray

THRESHOLDS_PX = np.concatenate((np.arange(0.5, 10, 0.5), np.arange(10, 51, 1.0)))
COVERAGE = np.arange(0.05, 1.001, 0.05)
DISTANCE_EDGES_M = (0.0, 30.0, 40.0, 50.0, 60.0, np.inf)
CELL_M = 2.0
FEWEST_IN_BIN = 5
MAP_WIDTH_PX = 900
WORST_M = 5.0  # the colour scale of the map ends here


@dataclass(frozen=True, slots=True)
class Side:
    """One of the models of a report with what it answered."""

    name: str
    scoring: Scoring


def charts(sides: Sequence[Side], measuring: Measuring) -> list[str]:
    """Return all charts that the data allow, as SVG."""
    drawn = [_accuracy(sides, measuring), _reliability(sides), _risk(sides, measuring)]
    if np.isfinite(sides[0].scoring.puck_size_px).any():
        drawn.append(_by_size(sides, measuring))
    if np.isfinite(sides[0].scoring.camera_distance_m).any():
        drawn.append(_by_distance(sides, measuring))
    return [chart for chart in drawn if chart]


def _accuracy(sides: Sequence[Side], measuring: Measuring) -> str:
    """Draw the share of frames within each threshold: the paper's figure, continued between its four points."""
    lines = []
    for side in sides:
        curve = pck_curve(side.scoring.answered, THRESHOLDS_PX, measuring.resampling(side.scoring))
        lines.append(Line(side.name, curve.x, curve.value, curve.low, curve.high))
    axes = Axes("Accuracy over threshold", "threshold τ (px at 720 lines)", "share within τ", (0, 50))
    return line_chart(axes, lines)


def _reliability(sides: Sequence[Side]) -> str:
    lines = []
    for side in sides:
        frames = side.scoring.answered
        diagram = reliability(np.clip(frames.confidence, 0, 1), is_correct(frames), bins=10)
        shown = diagram.count >= FEWEST_IN_BIN
        lines.append(Line(side.name, diagram.confidence[shown], diagram.frequency[shown], dots=True))
    axes = Axes("Reliability", "confidence", f"share within {CORRECT_PX:g} px", (0, 1))
    return line_chart(axes, lines, diagonal=True)


def _risk(sides: Sequence[Side], measuring: Measuring) -> str:
    lines = []
    for side in sides:
        curve = risk_coverage_curve(side.scoring.answered, COVERAGE, measuring.resampling(side.scoring))
        lines.append(Line(side.name, curve.x, curve.value, curve.low, curve.high))
    return line_chart(Axes("Risk and coverage", "share of frames answered, surest first", "share wrong", (0, 1)), lines)


def _by_size(sides: Sequence[Side], measuring: Measuring) -> str:
    labels = size_labels(sides[0].scoring.puck_size_px)
    axes = Axes("By size of the puck", "root of the box's area at 720 lines; frames below", _within(), (0, 1))
    return _bars(axes, sides, (labels, size_classes()), measuring)


def _by_distance(sides: Sequence[Side], measuring: Measuring) -> str:
    distances = sides[0].scoring.camera_distance_m
    names = [_span(low, high) for low, high in pairwise(DISTANCE_EDGES_M)]
    places = np.searchsorted(DISTANCE_EDGES_M, np.nan_to_num(distances, nan=-1.0), side="right") - 1
    labels = ["" if np.isnan(distance) else names[place] for distance, place in zip(distances, places, strict=True)]
    axes = Axes("By distance to the camera", "metres from camera to puck; frames below", _within(), (0, 1))
    return _bars(axes, sides, (labels, names), measuring)


def _bars(axes: Axes, sides: Sequence[Side], groups: tuple[Sequence[str], Sequence[str]], measuring: Measuring) -> str:
    """Draw the share of right frames for each group, given as the label of every frame and the order of the labels."""
    labels, order = groups
    label = np.array(labels)
    bars = []
    for name in order:
        chosen = label == name
        if chosen.any():
            values = tuple(_share(side.scoring, chosen, measuring) for side in sides)
            bars.append(Bar(name, values, int(chosen.sum())))
    return bar_chart(axes, bars, [side.name for side in sides]) if bars else ""


def _share(scoring: Scoring, chosen: np.ndarray, measuring: Measuring) -> tuple[float, float, float]:
    part = scoring.select(chosen)
    right = share_estimate("", is_correct(part.answered), part.answered.has_puck)
    figure = measuring.resampling(part).figure(right)
    return figure.value, figure.low, figure.high


def _within() -> str:
    return f"share within {CORRECT_PX:g} px"


def _span(low: float, high: float) -> str:
    return f"over {low:g}" if np.isinf(high) else f"{low:g} to {high:g}"


def rink_error_map(scoring: Scoring, sheet: Sheet) -> ImageArray | None:
    """Draw the median RSLE by place of the puck on the rink, green for none to red from 5 m; None without places."""
    distances_m = rink_distances(scoring.on_ice.predicted_px, scoring.on_ice.target_px, scoring.on_ice.to_rink)
    known = np.isfinite(scoring.target_m).all(axis=1) & ~np.isnan(distances_m)
    if not known.any():
        return None
    canvas, to_px = rink_map(sheet, MAP_WIDTH_PX)
    layer = canvas.copy()
    cells = np.floor(scoring.target_m[known] / CELL_M).astype(int)
    values = distances_m[known]
    for cell in np.unique(cells, axis=0):
        middle = float(np.median(values[(cells == cell).all(axis=1)]))
        corners = np.array([cell, cell + 1]) * CELL_M @ to_px[:2, :2].T + to_px[:2, 2]
        (x0, y0), (x1, y1) = np.round(corners).astype(int)
        cv2.rectangle(layer, (int(x0), int(y1)), (int(x1) - 1, int(y0) - 1), _heat(middle), -1)
    return np.asarray(cv2.addWeighted(layer, 0.75, canvas, 0.25, 0), np.uint8)


def _heat(value_m: float) -> tuple[int, int, int]:
    share = float(np.clip(np.sqrt(value_m / WORST_M), 0, 1)) if np.isfinite(value_m) else 1.0
    return round(40 + 190 * share), round(170 - 120 * share), 60
