"""How well a model finds the puck in single frames of a labelled dataset: `plucc evaluate` in one line.

    python benchmarks/accuracy.py DATASET --matches g4,g9 [--model FILE.onnx]

Players by the shipped network, no tracking. `plucc evaluate --out` writes the whole report.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from plucc.evaluate.run import Request, calibrate, evaluate
from plucc.evaluate.selection import Selection
from plucc.loading import SHIPPED_MODEL

console = Console(soft_wrap=True, highlight=False)


def main(
    folder: Annotated[Path, typer.Argument(help="Folder of a dataset.")],
    matches: Annotated[str, typer.Option(help="Matches to score, with commas between.")],
    model: Annotated[Path, typer.Option(help="An exported model, or a checkpoint.")] = SHIPPED_MODEL,
    every: Annotated[int, typer.Option(help="Score every n-th frame only.")] = 1,
    fit: Annotated[
        bool,
        typer.Option("--calibrate", help="Fit the model's confidence on these matches and write it into its card."),
    ] = False,
    worst: Annotated[int, typer.Option(help="List so many frames with the largest errors.")] = 0,
) -> None:
    """Score a model on the matches."""
    selection = Selection(matches=tuple(matches.split(",")), every=every)
    result = evaluate(Request(str(model), folder, selection=selection, pictures=0))
    console.print(result.report.summary(), markup=False)
    if fit:
        console.print(f"{model}: confidence calibrated, {calibrate(model, result)}", markup=False)
    scoring = result.scorings[0]
    for index in np.argsort(-np.nan_to_num(scoring.error_px, nan=-1.0))[:worst]:
        sure, image = scoring.answers[index].confidence, scoring.records[index].image
        console.print(f"{scoring.error_px[index]:7.1f} px  {sure:.2f}  {image}", markup=False)


if __name__ == "__main__":
    typer.run(main)
