"""Where models look for a puck that does not show: real frames with the puck painted out.

    python benchmarks/hidden_puck.py DATASET MODEL.onnx... --matches g4,g9 [--every 2]

The puck is filled with its surroundings by a way of painting that no training uses. What is left are the players: the
share of the heatmap near the place where the puck was tells what a model takes from them. Intervals are bootstrapped by
run of near-duplicates, differences are to the first model on the same frames.
"""

from collections.abc import Iterator, Sequence
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
from plucc.data.schema import Puck, Record
from plucc.metrics.bootstrap import Grouping, Resampling
from plucc.metrics.sums import mean_estimate
from plucc.puck_finder import observe
from plucc.runtime.base import Runtime
from plucc.runtime.load import load_runtime
from plucc.sighting import Observation
from plucc.training.painting import paint_by_flow
from plucc.types import FloatArray, Point
from plucc.video import read_image

REACHES_PX = (50.0, 100.0, 200.0)  # at 720 lines


def main(
    folder: Annotated[Path, typer.Argument(help="Folder of a dataset.")],
    models: Annotated[list[Path], typer.Argument(help="Exported models.")],
    matches: Annotated[str, typer.Option(help="Matches to look at, with commas between.")],
    every: Annotated[int, typer.Option(help="Take every n-th frame only.")] = 1,
) -> None:
    """Print the table."""
    dataset = read_dataset(folder)
    wanted = matches.split(",")
    records = [record for record in dataset.records if record.match in wanted and record.puck is not None][::every]
    runtimes = [load_runtime(model) for model in models]
    shares = np.array(list(_shares_near(dataset, records, runtimes)))  # frames, models, reaches
    grouping = Grouping.of(np.array([record.match for record in records]), np.array([record.run for record in records]))
    resampling = Resampling.draw(grouping, np.random.default_rng(0))
    head = [f"within {reach:g} px" for reach in REACHES_PX]
    table = Table(
        "model", *head, "against the first", title=f"{len(records)} frames, puck painted out: share of the heatmap, %"
    )
    for index, model in enumerate(models):
        cells = [_cell(resampling, 100 * shares[:, index, reach]) for reach in range(len(REACHES_PX))]
        gain = "" if index == 0 else _cell(resampling, 100 * (shares[:, index, 1] - shares[:, 0, 1]), "+")
        table.add_row(model.stem, *cells, gain)
    Console().print(table)


def _shares_near(dataset: Dataset, records: Sequence[Record], runtimes: Sequence[Runtime]) -> Iterator[FloatArray]:
    find_players, rng = ShippedFinder(), np.random.default_rng(0)
    for record in track(records, console=Console(stderr=True)):
        puck = record.puck
        if puck is None:
            continue
        image = paint_by_flow(read_image(dataset.image_path(record)), puck.centre_px, _extent_px(puck), rng)
        players = find_players(image)
        seen = [observe(runtime, image, players, Calibration()) for runtime in runtimes]
        reaches_px = np.array(REACHES_PX) / record.size.reference_scale
        yield np.array([[_mass_near(one, puck.centre_px, reach_px) for reach_px in reaches_px] for one in seen])


def _extent_px(puck: Puck) -> tuple[float, float]:
    box = puck.box_px
    return (12.0, 9.0) if box is None else (box.right - box.left, box.bottom - box.top)


def _mass_near(seen: Observation, place_px: Point, reach_px: float) -> float:
    rows, columns = seen.probability.shape
    x_px, y_px = ((np.arange(count) + 0.5) * seen.stride_px for count in (columns, rows))
    near = np.hypot(x_px[None] - place_px.x, y_px[:, None] - place_px.y) <= reach_px
    return float(seen.probability[near].sum())


def _cell(resampling: Resampling, values: FloatArray, sign: str = "") -> str:
    figure = resampling.figure(mean_estimate("", "", values))
    return f"{figure.value:{sign}.1f} ({figure.low:{sign}.1f} to {figure.high:{sign}.1f})"


if __name__ == "__main__":
    typer.run(main)
