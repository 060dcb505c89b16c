"""Accuracy against milliseconds: several networks, each at several heights of the frame that it is shown.

    python benchmarks/sizes.py DATASET MODEL.onnx... --matches g0 [--lines 540 --lines 720] [--every 2]

Frames are scaled to the height before the network looks; places count in the frame's own pixels. Accuracy is that of
the best peak alone, without a second look or tracking. Milliseconds are the network's, best of several on every runtime
that is installed, measured in one run.
"""

import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from plucc.calibration import Calibration
from plucc.context.shipped import ShippedFinder
from plucc.data.manifest import Dataset, read_dataset
from plucc.data.schema import Record
from plucc.metrics.pixels import pixel_scores
from plucc.puck_finder import observe
from plucc.runtime.base import Heatmaps, Runtime
from plucc.runtime.card import ModelCard
from plucc.runtime.load import Backend, load_runtime
from plucc.types import ImageArray
from plucc.video import read_image

REPEATS = 12


class AtHeight:
    """A network that is shown frames of another height than it was trained for."""

    def __init__(self, runtime: Runtime, lines: int) -> None:
        self._runtime = runtime
        heatmap = runtime.card.heatmap.model_copy(update={"height": lines, "width": lines * 16 // 9})
        self.card: ModelCard = runtime.card.model_copy(update={"heatmap": heatmap})
        self.device = runtime.device

    def __call__(self, frames: ImageArray, contexts: ImageArray | None = None) -> Heatmaps:
        return self._runtime(frames, contexts)


def main(
    folder: Annotated[Path, typer.Argument(help="Folder of a dataset.")],
    models: Annotated[list[Path], typer.Argument(help="Exported models.")],
    matches: Annotated[str, typer.Option(help="Matches to score, with commas between.")],
    lines: Annotated[
        list[int] | None, typer.Option(help="Heights of the frame; 540 and 720 where none is named.")
    ] = None,
    every: Annotated[int, typer.Option(help="Score every n-th frame only.")] = 1,
) -> None:
    """Print the table."""
    dataset = read_dataset(folder)
    wanted = matches.split(",")
    records = [record for record in dataset.records if record.match in wanted and record.puck is not None][::every]
    heights = lines or [540, 720]
    backends: list[Backend] = ["onnx", "openvino"] if find_spec("openvino") else ["onnx"]
    table = Table("network", "lines", "MB", "mAP", "AP5", "AP50", *(f"{backend}, ms" for backend in backends))
    for model in models:
        scores = _scores(dataset, records, [AtHeight(load_runtime(model), height) for height in heights])
        for height, (mean, shares) in zip(heights, scores, strict=True):
            times = [f"{_best_ms(load_runtime(model, backend=backend), height):.0f}" for backend in backends]
            figures = [f"{100 * value:.1f}" for value in (mean, shares[0], shares[-1])]
            table.add_row(model.stem, str(height), f"{model.stat().st_size / 1e6:.1f}", *figures, *times)
    Console().print(table)


def _scores(
    dataset: Dataset, records: Sequence[Record], networks: Sequence[AtHeight]
) -> Iterator[tuple[float, tuple[float, ...]]]:
    """Yield mAP and AP of every network, over the same frames."""
    find_players = ShippedFinder()
    found, labels = [], []
    for record in track(records, console=Console(stderr=True)):
        image = read_image(dataset.image_path(record))
        players = find_players(image)
        seen = [observe(network, image, players, Calibration()).candidates[0].xy_px for network in networks]
        found.append([tuple(place) for place in seen])
        labels.append(tuple(record.puck.centre_px) if record.puck else (np.nan, np.nan))
    height_px = np.array([float(record.size.height) for record in records])
    for places in np.array(found).transpose(1, 0, 2):
        scored = pixel_scores(places, np.array(labels), height_px)
        yield scored.mean_average_precision, scored.average_precision


def _best_ms(runtime: Runtime, lines: int) -> float:
    width = lines * 16 // 9
    frames = np.random.default_rng(0).integers(0, 255, (1, lines, width, 3), dtype=np.uint8)
    contexts = frames[:, ::2, ::2].copy() if runtime.card.uses_context else None
    taken = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        runtime(frames, contexts)
        taken.append(time.perf_counter() - started)
    return 1e3 * min(taken)


if __name__ == "__main__":
    typer.run(main)
