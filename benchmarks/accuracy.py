"""How well a model finds the puck in single frames of a labelled dataset, as in use: shipped players, no tracking.

    python benchmarks/accuracy.py DATASET --matches g4,g9 [--model FILE.onnx]

Prints the paper's figures with intervals, ranked AP, and how confidence would have decided about presence.
"""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from plucc.calibration import fit_calibration
from plucc.data.manifest import read_dataset
from plucc.export import write_card
from plucc.locator import SHIPPED_MODEL, Locator
from plucc.metrics.detection import ranked_average_precision
from plucc.metrics.figures import image_estimates, measure
from plucc.metrics.frames import ScoredFrames
from plucc.runtime.onnx import read_card
from plucc.types import InputError, Point, Size
from plucc.video import read_image

console = Console()


def main(
    folder: Annotated[Path, typer.Argument(help="Folder of a dataset.")],
    matches: Annotated[str, typer.Option(help="Matches to score, with commas between.")],
    model: Annotated[Path, typer.Option(help="An exported model.")] = SHIPPED_MODEL,
    every: Annotated[int, typer.Option(help="Score every n-th frame only.")] = 1,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Fit the model's confidence on these matches and write it into its card."),
    ] = False,
    worst: Annotated[int, typer.Option(help="List so many frames with the largest errors.")] = 0,
) -> None:
    """Score a model on the matches."""
    dataset = read_dataset(folder)
    wanted = matches.split(",")
    records = [record for record in dataset.records if record.match in wanted and record.puck is not None][::every]
    locator = Locator(model)
    best = []
    for record in track(records, console=Console(stderr=True)):
        candidates = locator.frame(read_image(dataset.image_path(record))).candidates
        best.append(candidates[0])
    target = np.array([tuple(record.puck.centre_px if record.puck else Point(np.nan, np.nan)) for record in records])
    frames = replace(
        ScoredFrames.plain(np.array([tuple(each.xy_px) for each in best]), target, Size(1280, 720)),
        confidence=np.array([each.probability for each in best]),
        size_px=np.array([(record.size.width, record.size.height) for record in records]),
        match=np.array([record.match for record in records]),
        run=np.array([record.run or record.image for record in records]),
    )
    show(frames)
    errors = np.hypot(*(frames.predicted_px - frames.target_px).T)
    if calibrate:
        card = read_card(model)
        if card.calibration:
            raise InputError(f"{model} is calibrated already: export it again first")
        fitted = fit_calibration(frames.confidence, errors * 720 / frames.height_px <= 10)
        write_card(model, card.model_copy(update={"calibration": fitted.to_card()}))
        console.print(f"{model}: confidence calibrated, {fitted}", markup=False)
    for index in np.argsort(-errors)[:worst]:
        console.print(f"{errors[index]:7.1f} px  {frames.confidence[index]:.2f}  {records[index].image}", markup=False)


def show(frames: ScoredFrames) -> None:
    """Print the table."""
    errors = np.hypot(*(frames.predicted_px - frames.target_px).T) * 720 / frames.height_px
    ranked = ranked_average_precision(errors <= 10, frames.is_predicted, frames.has_puck, frames.confidence)
    table = Table("figure", "value", "95 % interval", title=f"{len(frames)} frames")
    for figure in measure(frames, [image_estimates], np.random.default_rng(0)):
        table.add_row(figure.name, f"{figure.value:.4g}", f"{figure.low:.4g} to {figure.high:.4g}")
    table.add_row("median error (px)", f"{np.median(errors):.2f}", "")
    table.add_row("ranked AP at 10 px", f"{ranked:.4f}", "")
    for level in (0.05, 0.1, 0.15, 0.25, 0.5):
        table.add_row(f"share with confidence of {level} and more", f"{(frames.confidence >= level).mean():.3f}", "")
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
