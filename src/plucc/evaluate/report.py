"""A report as data and as text: JSON, CSV and Markdown; the page with plots and pictures is made in `page`."""

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import isnan
from pathlib import Path
from typing import Any

from plucc.evaluate.gallery import Gallery
from plucc.evaluate.paired import Comparison, Difference, correct_words
from plucc.evaluate.tables import ALL, FigureTable, Theme
from plucc.evaluate.tracking import TrackScores
from plucc.files import whole_file
from plucc.metrics.bootstrap import Figure
from plucc.types import ImageArray

CSV_COLUMNS = ("model", "theme", "by", "group", "figure", "unit", "value", "low", "high", "frames")
TITLES = {
    Theme.IMAGE: "In the image",
    Theme.RINK: "On the rink",
    Theme.METRES: "Metres as written in the rows",
    Theme.PRESENCE: "Presence and calibration",
    Theme.PROTOCOLS: "Protocols of the neighbours",
    Theme.TRACKING: "Along the path",
    Theme.SPEED: "Speed",
}
WIDE = 4  # tables over all frames with more figures than this are written one figure a line


@dataclass(frozen=True, slots=True)
class Speed:
    """What one look at a frame took on the machine of this run, decoding of the picture left out."""

    mean_ms: float
    median_ms: float
    players_ms: float  # of the mean: finding players
    frames_per_s: float


@dataclass(frozen=True, slots=True)
class SideReport:
    """Everything measured of one model or table."""

    name: str
    facts: dict[str, str]
    tables: tuple[FigureTable, ...]
    tracking: TrackScores | None = None
    speed: Speed | None = None

    def figures(self, theme: Theme) -> dict[str, Figure]:
        """Return the figures over all frames by name; empty where the theme was not measured."""
        for table in self.tables:
            if table.theme is theme and table.by == ALL:
                return {figure.name: figure for figure in table.groups[ALL]}
        return {}


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """What was scored on what, and all results."""

    title: str
    facts: dict[str, str]
    notes: tuple[str, ...]
    sides: tuple[SideReport, ...]
    comparison: Comparison | None = None
    charts: tuple[str, ...] = ()
    maps: tuple[tuple[str, ImageArray], ...] = ()
    galleries: tuple[Gallery, ...] = ()

    def summary(self) -> str:
        """Return the lines that a terminal shows."""
        return "\n".join(_summary_lines(self))


def write_json(report: Report, path: Path) -> None:
    """Write all numbers; what could not be measured is null."""
    content = {
        "title": report.title,
        "facts": report.facts,
        "notes": list(report.notes),
        "sides": [_side_json(side) for side in report.sides],
        "comparison": None if report.comparison is None else asdict(report.comparison),
    }
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(_without_nan(content), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def write_csv(report: Report, path: Path) -> None:
    """Write every figure of every table as one line."""
    with whole_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(CSV_COLUMNS)
        for side in report.sides:
            for part in side.tables:
                for group, figures in part.groups.items():
                    table.writerows(_csv_line(side.name, part, group, figure) for figure in figures)


def write_markdown(report: Report, path: Path) -> None:
    """Write the tables for people."""
    with whole_file(path) as temporary:
        temporary.write_text(markdown(report), encoding="utf-8")


def markdown(report: Report) -> str:
    """Return the whole report without its pictures."""
    lines = [f"# {report.title}", ""]
    lines += [f"- {name}: {value}" for name, value in report.facts.items()]
    lines += [f"- Note: {note}" for note in report.notes]
    for side in report.sides:
        facts = ", ".join(f"{name} {value}" for name, value in side.facts.items())
        lines += ["", f"## {side.name}", "", facts]
        for head, cells in side_grids(side):
            lines += ["", f"### {head}", "", *_grid_lines(cells)]
    if report.comparison is not None:
        lines += ["", "## Side by side"]
        for head, cells in comparison_grids(report):
            lines += ["", f"### {head}", "", *_grid_lines(cells)]
    return "\n".join(lines) + "\n"


Grid = list[list[str]]  # a heading row, then the rows


def side_grids(side: SideReport) -> list[tuple[str, Grid]]:
    """Return the tables of a model as text, each under its heading."""
    grids = []
    for table in side.tables:
        head = TITLES[table.theme] + ("" if table.by == ALL else f", by {table.by}")
        tall = table.by == ALL and len(table.columns) > WIDE
        grids.append((head, _tall(table) if tall else _wide(table)))
    if side.tracking is not None:
        grids.append((TITLES[Theme.TRACKING], _tracking_grid(side.tracking)))
    if side.speed is not None:
        grids.append((TITLES[Theme.SPEED], _speed_grid(side.speed)))
    return grids


def comparison_grids(report: Report) -> list[tuple[str, Grid]]:
    """Return the differences of the first model to the second as text."""
    comparison = report.comparison
    if comparison is None:
        return []
    first, second = (side.name for side in report.sides)
    head = ["figure", first, second, "difference", "95 % interval", "chance"]
    grids = [
        (TITLES[theme], [head, *(_difference_row(one) for one in differences)])
        for theme, differences in comparison.differences.items()
    ]
    counts = [str(value) for value in (comparison.both, comparison.only_first, comparison.only_second)]
    frames = [["both right", f"only {first}", f"only {second}", "neither"], [*counts, str(comparison.neither)]]
    return [*grids, (f"Frames with a puck ({correct_words()})", frames)]


def number(value: float, unit: str) -> str:
    """Write a figure: shares in percent, lengths with their unit left to the heading, nothing for NaN."""
    if isnan(value):
        return "–"
    return f"{100 * value:.1f}" if unit == "share" else f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def named(name: str, unit: str) -> str:
    """Write a figure's name with the unit that its numbers are in."""
    shown = {"share": "%", "": ""}.get(unit, unit)
    return f"{name} ({shown})" if shown else name


def _interval(figure: Figure) -> str:
    if isnan(figure.low):
        return "–"
    return f"{number(figure.low, figure.unit)} to {number(figure.high, figure.unit)}"


def _tall(table: FigureTable) -> Grid:
    head = ["figure", "value", "95 % interval", "frames", "resampled"]
    rows = []
    for figure in table.groups[ALL]:
        groups = f"{figure.groups} by {figure.resampled_by}"
        shown = number(figure.value, figure.unit)
        rows.append([named(figure.name, figure.unit), shown, _interval(figure), str(figure.count), groups])
    return [head, *rows]


def _wide(table: FigureTable) -> Grid:
    head = [table.by, "frames", *(named(name, unit) for name, unit in table.columns)]
    rows = []
    for group, figures in table.groups.items():
        cells = [_with_interval(figure) for figure in figures]
        rows.append([group, str(max((figure.count for figure in figures), default=0)), *cells])
    return [head, *rows]


def _with_interval(figure: Figure) -> str:
    value = number(figure.value, figure.unit)
    return value if isnan(figure.low) or isnan(figure.value) else f"{value} ({_interval(figure)})"


def _tracking_grid(scores: TrackScores) -> Grid:
    per_thousand = 1000 * scores.leaps / scores.steps if scores.steps else float("nan")
    cells = {
        "frames": str(scores.frames),
        "shots": str(scores.shots),
        "right where it shows (%)": number(scores.held_shown, "share"),
        "right where hidden (%)": number(scores.held_hidden, "share"),
        "losses": str(scores.losses),
        "longest loss (frames)": str(scores.longest_loss),
        "leaps per 1000 steps": number(per_thousand, ""),
    }
    return [list(cells), list(cells.values())]


def _speed_grid(speed: Speed) -> Grid:
    values = (speed.mean_ms, speed.median_ms, speed.players_ms, speed.frames_per_s)
    return [["mean ms", "median ms", "of it players, ms", "frames/s"], [number(value, "") for value in values]]


def _difference_row(one: Difference) -> list[str]:
    shown = [number(value, one.unit) for value in (one.first, one.second, one.value)]
    interval = "–" if isnan(one.low) else f"{number(one.low, one.unit)} to {number(one.high, one.unit)}"
    return [named(one.name, one.unit), *shown, interval, "–" if isnan(one.chance) else f"{one.chance:.3f}"]


def _grid_lines(cells: Grid) -> list[str]:
    head, *rows = cells
    rule = ["---", *["---:"] * (len(head) - 1)]
    return [f"| {' | '.join(line)} |" for line in [head, rule, *rows]]


def _summary_lines(report: Report) -> Iterable[str]:
    yield f"{report.title}: " + ", ".join(f"{name} {value}" for name, value in report.facts.items())
    for side in report.sides:
        for theme in (Theme.IMAGE, Theme.RINK, Theme.METRES, Theme.PRESENCE, Theme.PROTOCOLS):
            figures = side.figures(theme)
            if figures:
                shown = "  ".join(_brief(figure) for figure in figures.values() if not isnan(figure.value))
                yield f"{side.name}, {TITLES[theme].lower()}: {shown}"
        if side.speed is not None:
            yield f"{side.name}, speed: {side.speed.mean_ms:.0f} ms a frame ({side.speed.frames_per_s:.1f} frames/s)"
    if report.comparison is not None:
        for differences in report.comparison.differences.values():
            for one in differences[:5]:
                yield "difference  " + "  ".join(_difference_row(one))
    yield from (f"note: {note}" for note in report.notes)


def _brief(figure: Figure) -> str:
    return f"{named(figure.name, figure.unit)} {number(figure.value, figure.unit)}"


def _side_json(side: SideReport) -> dict[str, Any]:
    return {
        "name": side.name,
        "facts": side.facts,
        "tables": [{"theme": table.theme, "by": table.by, "groups": _groups_json(table)} for table in side.tables],
        "tracking": None if side.tracking is None else asdict(side.tracking),
        "speed": None if side.speed is None else asdict(side.speed),
    }


def _groups_json(table: FigureTable) -> dict[str, list[dict[str, Any]]]:
    return {group: [asdict(figure) for figure in figures] for group, figures in table.groups.items()}


def _csv_line(model: str, table: FigureTable, group: str, figure: Figure) -> Sequence[str]:
    values = ["" if isnan(value) else f"{value:.6g}" for value in (figure.value, figure.low, figure.high)]
    return (model, table.theme, table.by, group, figure.name, figure.unit, *values, str(figure.count))


def _without_nan(value: Any) -> Any:
    if isinstance(value, float) and (isnan(value) or value in (float("inf"), float("-inf"))):
        return None
    if isinstance(value, dict):
        return {str(key): _without_nan(entry) for key, entry in value.items()}
    return [_without_nan(entry) for entry in value] if isinstance(value, list | tuple) else value
