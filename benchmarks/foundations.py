"""Throughput of the foundations: manifests, run lengths, heatmaps, scoring. python benchmarks/foundations.py.

Each line stands beside a plain numpy pass over a 720p map in the same run, so that a busy machine shows in both.
"""

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from plucc.data.findings import Findings
from plucc.data.manifest import read_records, write_dataset
from plucc.data.masks import decode_mask, encode_mask
from plucc.data.schema import DatasetInfo, LabelClass, Record
from plucc.evaluate.answers import Answer
from plucc.evaluate.scoring import Scoring
from plucc.evaluate.tables import Measuring, measured_tables
from plucc.heatmap import decode, gaussian_target, top_peaks
from plucc.metrics import figures
from plucc.metrics.frames import ScoredFrames
from plucc.rink.camera import Camera
from plucc.rink.sheet import nhl
from plucc.types import Point, Size, Source

SIZE = Size(1280, 720)
ROWS = 200_000
INFO = DatasetInfo(name="benchmark", classes=(LabelClass.PUCK,), licence="MIT", source="made up")


def seconds(work: Callable[[], object], runs: int) -> float:
    """Return the best wall time of a few runs."""
    best = float("inf")
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def manifest_reader(folder: Path) -> Callable[[], object]:
    """Return the work of validating a manifest of 200,000 lines."""
    puck = {"box_px": {"left": 600, "top": 300, "right": 612, "bottom": 309}}
    records = (
        Record.model_validate({"image": f"{n}.jpg", "size": {"width": 1280, "height": 720}, "match": "m", "puck": puck})
        for n in range(ROWS)
    )
    write_dataset(folder / "dataset", INFO, records)
    return lambda: sum(1 for _ in read_records(folder / "dataset", INFO, Findings(skip_bad=False)))


def scored_frames() -> ScoredFrames:
    """Return predictions with errors of a heavy tail, on registered frames of 40 matches."""
    rng = np.random.default_rng(0)
    target = rng.uniform([100, 300], [1180, 700], (ROWS, 2))
    frames = ScoredFrames.plain(target + 4 * rng.standard_t(2, (ROWS, 2)), target, SIZE)
    to_rink = Camera.look_at((0.0, -40.0, 15.0), (0.0, 0.0, 0.0), 1100.0, SIZE).homography().matrix
    return replace(
        frames,
        confidence=rng.uniform(size=ROWS),
        to_rink=np.broadcast_to(to_rink, (ROWS, 3, 3)),
        match=np.arange(ROWS) // 5000,
        run=np.arange(ROWS) // 5,
    )


def report_tables() -> Callable[[], object]:
    """Return the work of every table of a report: all themes, by category, match, source and size, with intervals."""
    frames = scored_frames()
    to_rink = frames.to_rink[0].tolist()
    size = {"width": SIZE.width, "height": SIZE.height}
    categories = ("standard", "blurry", "occluded")
    records = tuple(
        Record.model_validate(
            {
                "image": f"{n}.jpg",
                "size": size,
                "match": f"m{frames.match[n]}",
                "run": f"r{frames.run[n]}",
                "category": categories[n % 3],
                "homography": to_rink,
                "puck": {"box_px": {"left": x - 4, "top": y - 3, "right": x + 4, "bottom": y + 3}},
            }
        )
        for n, (x, y) in enumerate(frames.target_px)
    )
    answers = tuple(
        Answer(Point(*place), sure, Source.SEEN)
        for place, sure in zip(frames.predicted_px.tolist(), frames.confidence.tolist(), strict=True)
    )
    return lambda: measured_tables(Scoring(records, answers, 0.5), Measuring(nhl()))


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(0)
    mask = np.zeros((SIZE.height, SIZE.width), dtype=bool)
    mask[200:500, 300:420] = rng.random((300, 120)) < 0.9
    runs = encode_mask(mask)
    logits = np.log(gaussian_target(Point(640.3, 360.7), SIZE) + 1e-9).astype(np.float32)
    frames, tables = scored_frames(), figures.all_estimators(nhl())[:4]
    with tempfile.TemporaryDirectory() as folder:
        work: dict[str, tuple[Callable[[], object], int]] = {
            "numpy: softmax of one 720p map": (lambda: np.exp(logits - logits.max()).sum(), 20),
            "encode one 720p mask": (lambda: encode_mask(mask), 20),
            "decode one 720p mask": (lambda: decode_mask(runs), 20),
            "decode one 720p heatmap": (lambda: decode(logits), 20),
            "five peaks of one 720p heatmap": (lambda: top_peaks(logits, 5), 20),
            f"validate a manifest of {ROWS:,} lines": (manifest_reader(Path(folder)), 1),
            f"score {ROWS:,} rows, 1000 resamples": (
                lambda: figures.measure(frames, tables, np.random.default_rng(0), resamples=1000),
                1,
            ),
            f"all tables of a report on {ROWS:,} rows": (report_tables(), 1),
        }
        times = {name: seconds(*item) for name, item in work.items()}
    reference = next(iter(times.values()))
    table = Table("work", "best time", "times the numpy pass")
    for name, value in times.items():
        table.add_row(name, f"{1e3 * value:,.1f} ms", f"{value / reference:,.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
