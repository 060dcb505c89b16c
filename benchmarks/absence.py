"""Whether confidence tells frames without a puck: real frames as they are, and with the puck painted out.

    python benchmarks/absence.py DATASET --matches g4,g9 [--model FILE.onnx] [--every 2]

Paint is of a kind that no training uses. False alarms are painted frames that are still as sure as the least sure of
the 90 % surest frames with a puck; once over all frames, and once over those in which the puck was found within 10 px.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from plucc.data.manifest import read_dataset
from plucc.loading import SHIPPED_MODEL
from plucc.puck_finder import Locator
from plucc.training.painting import paint_by_flow
from plucc.types import FloatArray
from plucc.video import read_image

RECALL = 0.9
FOUND_PX = 10.0


def main(
    folder: Annotated[Path, typer.Argument(help="Folder of a dataset.")],
    matches: Annotated[str, typer.Option(help="Matches to look at, with commas between.")],
    model: Annotated[Path, typer.Option(help="An exported model.")] = SHIPPED_MODEL,
    every: Annotated[int, typer.Option(help="Take every n-th frame only.")] = 1,
) -> None:
    """Print the table."""
    dataset = read_dataset(folder)
    wanted = matches.split(",")
    records = [record for record in dataset.records if record.match in wanted][::every]
    locator, rng = Locator(model), np.random.default_rng(0)
    rows = []
    for record in track(records, console=Console(stderr=True)):
        puck = record.puck
        if puck is None or puck.box_px is None:
            continue
        image = read_image(dataset.image_path(record))
        extent_px = (puck.box_px.right - puck.box_px.left, puck.box_px.bottom - puck.box_px.top)
        shown = locator.frame(image)
        painted = locator.frame(paint_by_flow(image, puck.centre_px, extent_px, rng))
        error_px = shown.candidates[0].xy_px.distance(puck.centre_px) * record.size.reference_scale
        confidences = (shown.candidates[0].probability, painted.candidates[0].probability)
        rows.append((*confidences, shown.presence, painted.presence, error_px))
    values = np.array(rows)
    table = Table("judged by", "frames", "false alarms, all", "false alarms, puck found")
    for column, name in ((0, "confidence"), (2, "presence")):
        pair = values[:, column : column + 2]
        found = pair[values[:, 4] <= FOUND_PX]
        table.add_row(name, str(len(pair)), f"{_false_alarms(pair):.1%}", f"{_false_alarms(found):.1%}")
    Console().print(table)


def _false_alarms(pairs: FloatArray) -> float:
    """Return the share of painted frames (second column) at or above the threshold that keeps 90 % of the first."""
    threshold = np.quantile(pairs[:, 0], 1 - RECALL)
    return float((pairs[:, 1] >= threshold).mean())


if __name__ == "__main__":
    typer.run(main)
