"""The whole way on footage whose truth is exact: render a clip, locate the puck in it, draw it, score it."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plucc.data.rows import Row, read_rows
from plucc.data.schema import Record
from plucc.jobs import Job, run_job
from plucc.metrics.figures import image_estimates, measure
from plucc.metrics.frames import ScoredFrames
from plucc.synth.clip import plan_clip, records_path, write_clip
from plucc.types import Progress, Size, Source, silent

SIZE = Size(1280, 720)


@dataclass(frozen=True, slots=True)
class DemoResult:
    """Where everything was written, and how the rows compare with the truth."""

    clip: Path
    rows: Path
    overlay: Path
    summary: Path
    frames: int
    figures: dict[str, float]  # AP5 to AP50 and mAP as shares, D_pixel in pixels
    sources: dict[Source, int]


def run_demo(folder: Path, *, seconds: float, seed: int, progress: Progress = silent) -> DemoResult:
    """Run the demo into a folder; files of an earlier run are replaced."""
    names = ("clip.mp4", "rows.csv", "overlay.mp4", "summary.png")
    clip, rows_file, overlay, summary = (folder / name for name in names)
    for old in (clip, records_path(clip)):
        old.unlink(missing_ok=True)
    plan = plan_clip(seconds, seed, SIZE)
    write_clip(clip, plan, progress=progress)
    run_job(Job((clip,), rows_file, overlay, summary), progress=progress)
    rows = list(read_rows(rows_file))
    truth = [Record.model_validate_json(line) for line in records_path(clip).read_text().splitlines()]
    figures = {figure.name: figure.value for figure in measure(scored(rows, truth), [image_estimates], _fixed())}
    sources = {source: sum(row.source is source for row in rows) for source in Source}
    return DemoResult(clip, rows_file, overlay, summary, len(rows), figures, sources)


def scored(rows: list[Row], truth: list[Record]) -> ScoredFrames:
    """Put rows beside the records of the same frames."""
    predicted = [(np.nan, np.nan) if row.x_px is None else (row.x_px, row.y_px) for row in rows]
    target = [(np.nan, np.nan) if record.puck is None else tuple(record.puck.centre_px) for record in truth]
    return ScoredFrames.plain(np.array(predicted, float), np.array(target, float), SIZE)


def _fixed() -> np.random.Generator:
    return np.random.default_rng(0)
