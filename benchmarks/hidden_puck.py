"""How much of the heatmap models put near the puck: in real frames with the puck painted out, or as they are.

    python benchmarks/hidden_puck.py DATASET MODEL.onnx... --matches g4,g9 [--every 2] [--shown]

The puck is filled with its surroundings by a way of painting that no training uses. What is left are the players: the
share of the heatmap near the place where the puck was tells what a model takes from them. `--shown` leaves the puck in.
Intervals are bootstrapped by run of near-duplicates, differences are to the first model on the same frames: of the
share within the middle reach, and of its logarithm, which counts what a model learns of frames that it finds hard.
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

HIDDEN_REACHES_PX = (50.0, 100.0, 200.0)  # at 720 lines, these and the next
SHOWN_REACHES_PX = (5.0, 10.0, 25.0)
LEAST = 1e-4  # of a share: a model that gives less to the puck's place has lost it, however little that is


def main(
    folder: Annotated[Path, typer.Argument(help="Folder of a dataset.")],
    models: Annotated[list[Path], typer.Argument(help="Exported models.")],
    matches: Annotated[str, typer.Option(help="Matches to look at, with commas between.")],
    every: Annotated[int, typer.Option(help="Take every n-th frame only.")] = 1,
    shown: Annotated[bool, typer.Option("--shown", help="Leave the puck in.")] = False,
) -> None:
    """Print the table."""
    dataset = read_dataset(folder)
    wanted = matches.split(",")
    records = [record for record in dataset.records if record.match in wanted and record.puck is not None][::every]
    runtimes = [load_runtime(model) for model in models]
    reaches_px = SHOWN_REACHES_PX if shown else HIDDEN_REACHES_PX
    masses = _shares_near(dataset, records, runtimes, reaches_px, paint=not shown)
    shares = np.array(list(masses))  # frames, models, reaches
    grouping = Grouping.of(np.array([record.match for record in records]), np.array([record.run for record in records]))
    resampling = Resampling.draw(grouping, np.random.default_rng(0))
    head = [f"within {reach:g} px" for reach in reaches_px]
    table = Table(
        "model",
        *head,
        "against the first",
        "in the logarithm",
        title=f"{len(records)} frames, puck {'as it is' if shown else 'painted out'}: share of the heatmap, %",
    )
    middle = shares[:, :, 1]
    logs = np.log(np.maximum(middle, LEAST))
    for index, model in enumerate(models):
        cells = [_cell(resampling, 100 * shares[:, index, reach]) for reach in range(len(reaches_px))]
        if index > 0:
            cells.append(_cell(resampling, 100 * (middle[:, index] - middle[:, 0]), "+"))
            cells.append(_cell(resampling, logs[:, index] - logs[:, 0], "+", digits=3))
        table.add_row(model.stem, *cells)
    Console().print(table)


def _shares_near(
    dataset: Dataset,
    records: Sequence[Record],
    runtimes: Sequence[Runtime],
    reaches_px: Sequence[float],
    *,
    paint: bool,
) -> Iterator[FloatArray]:
    find_players, rng = ShippedFinder(), np.random.default_rng(0)
    for record in track(records, console=Console(stderr=True)):
        puck = record.puck
        if puck is None:
            continue
        image = read_image(dataset.image_path(record))
        if paint:
            image = paint_by_flow(image, puck.centre_px, _extent_px(puck), rng)
        players = find_players(image)
        seen = [observe(runtime, image, players, Calibration()) for runtime in runtimes]
        own_px = [reach_px / record.size.reference_scale for reach_px in reaches_px]
        yield np.array([[_mass_near(one, puck.centre_px, reach_px) for reach_px in own_px] for one in seen])


def _extent_px(puck: Puck) -> tuple[float, float]:
    box = puck.box_px
    return (12.0, 9.0) if box is None else (box.right - box.left, box.bottom - box.top)


def _mass_near(seen: Observation, place_px: Point, reach_px: float) -> float:
    rows, columns = seen.probability.shape
    x_px, y_px = ((np.arange(count) + 0.5) * seen.stride_px for count in (columns, rows))
    near = np.hypot(x_px[None] - place_px.x, y_px[:, None] - place_px.y) <= reach_px
    return float(seen.probability[near].sum())


def _cell(resampling: Resampling, values: FloatArray, sign: str = "", digits: int = 1) -> str:
    figure = resampling.figure(mean_estimate("", "", values))
    form = f"{sign}.{digits}f"
    return f"{figure.value:{form}} ({figure.low:{form}} to {figure.high:{form}})"


if __name__ == "__main__":
    typer.run(main)
