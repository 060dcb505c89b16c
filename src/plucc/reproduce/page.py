"""The page of a reproduction: the paper's tables with its numbers beside those of the run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plucc.evaluate.paired import Difference
from plucc.evaluate.svg import Axes, Line, line_chart
from plucc.explain import Gaze
from plucc.files import whole_file
from plucc.metrics.pixels import TAU_PX
from plucc.reproduce import published
from plucc.reproduce.experiments import SIGMAS_PX, Experiment, Scale, experiments
from plucc.reproduce.rows import RowFacts, Triple

PAGE = "reproduction.md"
FIGURE, GAZE_PICTURE = "images/reproduction-sigma.svg", "images/reproduction-gaze.png"
PRECISION = ("AP5", "AP10", "AP25", "AP50")
RINK = ("APr", "AP2r", "AP4r")
MAIN = ("yolov5", "faster-rcnn", "d-fine", "fcn", "sigma-15", "plucc")
NONE = "–"


@dataclass(frozen=True, slots=True)
class Findings:
    """All that the page tells."""

    scale: Scale
    rows: dict[str, RowFacts]
    margins: dict[tuple[str, str], Difference]
    gaze: Gaze | None
    players_ms: float  # the shipped player network, on the same frames


Cells = Callable[[RowFacts, Experiment, Findings], list[str]]


def write_page(findings: Findings, folder: Path) -> Path:
    """Write the page and its figure; return the page's path."""
    with whole_file(folder / FIGURE) as temporary:
        temporary.write_text(sigma_figure(findings), encoding="utf-8")
    with whole_file(folder / PAGE) as temporary:
        temporary.write_text(markdown(findings), encoding="utf-8")
    return folder / PAGE


def markdown(findings: Findings) -> str:
    """Return the page."""
    scale = findings.scale
    parts = [
        f"# The paper's tables, at the scale `{scale.name}`",
        f"Made by `plucc reproduce --scale {scale.name}`. {scale.claim}",
        "In every cell: this run, and in brackets the paper, whose numbers come from 19,000 frames of another, "
        "proprietary dataset. AP and mAP in percent. Intervals are 95 %, bootstrapped over matches.",
        "## Table 1: in the image",
        _table(findings, MAIN, ("method", "mAP", *PRECISION, "D_pixel (px)", "frames/s", "with players*"), _image_row),
        f"\\* With the players found by the shipped network ({findings.players_ms:.0f} ms a frame here); the paper's "
        f"6.0 frames/s include its detector and SAM 2. Frames/s are of this machine at this scale's frame size.",
        "## Table 2: on the rink",
        _table(findings, MAIN, ("method", *RINK, "RSLE (m)"), _rink_row),
        "## Table 3: the context image alone",
        _table(findings, ("context-only", "plucc"), ("method", "mAP", *PRECISION, "D_pixel (px)"), _context_row),
        *_gaze_words(findings.gaze),
        "## Table 4: context-driven dropout",
        _table(findings, ("no-dropout", "plucc"), ("method", "AP5", "D_pixel (px)", "APr", "RSLE (m)"), _dropout_row),
        "## Figure: the width of the target",
        f"![AP over threshold for networks trained with different σ]({FIGURE})",
        "## Margins",
        _margin_table(findings.margins),
        "## What each row rests on",
        _fact_table(findings),
    ]
    return "\n\n".join(parts) + "\n"


def sigma_figure(findings: Findings) -> str:
    """Draw AP over threshold, a line for each σ that was trained."""
    lines = []
    for sigma in SIGMAS_PX:
        row = findings.rows.get("plucc" if sigma == SIGMAS_PX[0] else f"sigma-{sigma:g}")
        if row is not None and row.is_done:
            values = [row.figures.get(name, (None, None, None))[0] for name in PRECISION]
            heights = np.array([np.nan if value is None else 100 * value for value in values])
            lines.append(Line(f"σ = {sigma:g}", np.array(TAU_PX), heights, dots=True))
    axes = Axes("Precision over threshold", "threshold τ (px at 720 lines)", "AP (%)", (0, 50), (0, 100))
    return line_chart(axes, lines)


def _table(findings: Findings, keys: Sequence[str], head: Sequence[str], cells: Cells) -> str:
    known = {one.key: one for one in experiments()}
    rows = []
    for key in keys:
        row = findings.rows.get(key)
        if row is None:
            rows.append([known[key].label, *["not run"] * (len(head) - 1)])
        else:
            rows.append([row.label, *cells(row, known[key], findings)])
    return _grid(head, rows)


def _image_row(row: RowFacts, one: Experiment, findings: Findings) -> list[str]:
    paper = one.paper
    alone = None if row.frame_ms is None else 1e3 / row.frame_ms
    both = None if row.frame_ms is None else 1e3 / (row.frame_ms + findings.players_ms)
    uses_players = row.key in ("plucc", "sigma-15")
    return [
        *_precision_cells(row, one),
        _beside(_plain(alone), paper.frames_per_s),
        _beside(_plain(both), paper.frames_per_s_with_players) if uses_players else NONE,
    ]


def _precision_cells(row: RowFacts, one: Experiment) -> list[str]:
    paper = one.paper
    told = paper.precision or (None,) * len(PRECISION)
    cells = [_beside(_share(row, name, interval=False), value) for name, value in zip(PRECISION, told, strict=True)]
    mean = _beside(_share(row, "mAP", interval=True), paper.mean_precision)
    return [mean, *cells, _beside(_length(row, "D_pixel"), paper.distance_px)]


def _rink_row(row: RowFacts, one: Experiment, findings: Findings) -> list[str]:  # noqa: ARG001
    told = one.paper.rink_precision or (None,) * len(RINK)
    cells = [_beside(_share(row, name, interval=False), value) for name, value in zip(RINK, told, strict=True)]
    return [*cells, _beside(_length(row, "RSLE mean"), one.paper.rsle_m)]


def _context_row(row: RowFacts, one: Experiment, findings: Findings) -> list[str]:  # noqa: ARG001
    return _precision_cells(row, one)


def _dropout_row(row: RowFacts, one: Experiment, findings: Findings) -> list[str]:  # noqa: ARG001
    paper = one.paper
    precise = published.NO_DROPOUT_AP5 if paper.precision is None else paper.precision[0]
    radius = None if paper.rink_precision is None else paper.rink_precision[0]
    return [
        _beside(_share(row, "AP5", interval=True), precise),
        _beside(_length(row, "D_pixel"), paper.distance_px),
        _beside(_share(row, "APr", interval=True), radius),
        _beside(_length(row, "RSLE mean"), paper.rsle_m),
    ]


def _gaze_words(found: Gaze | None) -> list[str]:
    if found is None:
        return []
    return [
        f"Shown one rendered player at a time ({found.players} of them), the context-only network puts "
        f"{found.ahead:.1%} of its heatmap on the side that the player looks at; with nobody in the picture "
        f"{found.by_chance:.1%} would lie there. Above that for {found.ahead_more_often:.1%} of the players.",
        f"![Where the context-only network looks for one player]({GAZE_PICTURE})",
    ]


def _margin_table(margins: dict[tuple[str, str], Difference]) -> str:
    if not margins:
        return "Not measured: the rows to compare were not run."
    labels = {one.key: one.label for one in experiments()}
    told = {
        ("plucc", "fcn"): f"{published.MARGIN_OVER_FCN:+g}",
        ("plucc", "faster-rcnn"): f"{published.MARGIN_OVER_FASTER_RCNN:+g}",
    }
    rows = []
    for pair, one in margins.items():
        interval = NONE if np.isnan(one.low) else f"{100 * one.low:+.1f} to {100 * one.high:+.1f}"
        chance = NONE if np.isnan(one.chance) else f"{one.chance:.3f}"
        names = f"{labels[pair[0]]} over {labels[pair[1]]}"
        rows.append([names, f"{100 * one.value:+.1f}", interval, chance, told.get(pair, NONE)])
    return _grid(("mAP", "here", "95 % interval", "chance", "paper"), rows)


def _fact_table(findings: Findings) -> str:
    head = ("row", "data", "test frames", "training", "seed", "parameters", "training time (min)")
    rows = []
    for row in findings.rows.values():
        if row.is_done:
            count = f"{row.parameters / 1e6:.2f} M"
            cells = [row.data, str(row.test_frames), row.budget, str(row.seed), count, f"{row.minutes:.1f}"]
        else:
            cells = [f"not run: {row.reason}", *[NONE] * (len(head) - 2)]
        rows.append([row.label, *cells])
    return _grid(head, rows)


def _share(row: RowFacts, name: str, *, interval: bool) -> str:
    value, low, high = _triple(row, name)
    if value is None:
        return NONE
    shown = f"{100 * value:.1f}"
    return shown if not interval or low is None or high is None else f"{shown} [{100 * low:.1f} to {100 * high:.1f}]"


def _length(row: RowFacts, name: str) -> str:
    value = _triple(row, name)[0]
    return NONE if value is None else f"{value:.3g}"


def _triple(row: RowFacts, name: str) -> Triple:
    return row.figures.get(name, (None, None, None))


def _plain(value: float | None) -> str:
    return NONE if value is None else f"{value:.1f}"


def _beside(mine: str, paper: float | None) -> str:
    told = NONE if paper is None or np.isnan(paper) else f"{paper:g}"
    return f"{mine} ({told})"


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *rows])
