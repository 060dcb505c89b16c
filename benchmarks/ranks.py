"""What a second look can win: how often the puck is at a network's first peak, and how often among the first eight.

    python benchmarks/ranks.py MODEL.onnx... --data hockeyai@g0 --data rendered [--every 2]

Shares of frames with a puck, within 10 px at 720 lines, from one distance: once by frame, and once with near-duplicates
sharing their weight, so that every run counts as one. "Both looks" is the best place of a model that has a second look.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from plucc.data.manifest import Dataset, read_dataset
from plucc.data.schema import Record
from plucc.puck_finder import Locator
from plucc.second_look import PLACES
from plucc.sighting import View
from plucc.types import FloatArray, Point
from plucc.video import read_image

FOUND_PX = 10.0
COLUMNS = ("first peak", "first eight", "both looks")


def main(
    models: Annotated[list[Path], typer.Argument(help="Exported models.")],
    data: Annotated[list[str], typer.Option(help="A dataset; behind @ its matches, with commas between.")],
    every: Annotated[int, typer.Option(help="Take every n-th frame only.")] = 1,
) -> None:
    """Print the table."""
    table = Table("network", "frames", "runs", *COLUMNS, *(f"{name}, by run" for name in COLUMNS))
    for part in data:
        folder, _, matches = part.partition("@")
        dataset = read_dataset(Path(folder))
        records = [
            record
            for record in dataset.records
            if record.puck is not None and (not matches or record.match in matches.split(","))
        ][::every]
        runs = [record.run or record.image for record in records]
        for model in models:
            hits = _hits(Locator(model), dataset, records)
            shares = [*hits.mean(axis=0), *_by_run(hits, runs)]
            name = f"{model.stem}, {Path(folder).name} {matches}"
            table.add_row(name, str(len(hits)), str(len(set(runs))), *(f"{share:.1%}" for share in shares))
    Console().print(table)


def _hits(locator: Locator, dataset: Dataset, records: Sequence[Record]) -> FloatArray:
    """Return for each frame whether each of the columns has the puck."""
    rows = []
    for record in track(records, console=Console(stderr=True)):
        image = read_image(dataset.image_path(record))
        peaks = [place for place, _ in locator.first_look(image, PLACES).places]
        best = [candidate.xy_px for candidate in locator.look(image, None, View()).candidates[:1]]
        rows.append([_has_puck(places, record) for places in (peaks[:1], peaks, best)])
    return np.array(rows, float)


def _has_puck(places: Sequence[Point], record: Record) -> bool:
    puck = record.puck
    scale = record.size.reference_scale
    return puck is not None and any(place.distance(puck.centre_px) * scale <= FOUND_PX for place in places)


def _by_run(hits: FloatArray, runs: Sequence[str]) -> FloatArray:
    names = np.array(runs)
    return np.mean([hits[names == name].mean(axis=0) for name in sorted(set(runs))], axis=0)


if __name__ == "__main__":
    typer.run(main)
