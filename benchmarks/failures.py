"""A sheet of what a model gets wrong, drawn from frames that may be shown: rendered ones.

    python benchmarks/failures.py DATASET OUT.jpg [--model FILE.onnx] [--count 6]

The frames where it was surest and wrong: the heatmap, the players, a green ring where the puck is and a red one where
the answer is, and both places enlarged in the upper corners.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from plucc.draw import write_picture
from plucc.evaluate.run import Request, evaluate
from plucc.types import ImageArray

COLUMNS = 2


def main(
    folder: Annotated[Path, typer.Argument(help="Folder of a dataset of rendered frames.")],
    out: Annotated[Path, typer.Argument(help="The picture to write.")],
    model: Annotated[str, typer.Option(help="An exported model, or the word shipped.")] = "shipped",
    count: Annotated[int, typer.Option(min=1, help="How many frames.")] = 6,
) -> None:
    """Score the dataset, draw the sheet, print what it shows."""
    result = evaluate(Request(model, folder, pictures=count, resamples=100))
    wrong = [gallery for gallery in result.report.galleries if gallery.title == "Surest wrong"]
    exhibits = [exhibit for gallery in wrong for exhibit in gallery.exhibits]
    if not exhibits:
        raise typer.BadParameter(f"{model} gets no frame of {folder} wrong: give more frames")
    sheet = _tiled([exhibit.picture for exhibit in exhibits])
    write_picture(sheet, out)
    console = Console()
    for exhibit in exhibits:
        console.print(exhibit.caption)


def _tiled(pictures: list[ImageArray]) -> ImageArray:
    missing = -len(pictures) % COLUMNS
    cells = [*pictures, *[np.zeros_like(pictures[0])] * missing]
    rows = [np.hstack(cells[start : start + COLUMNS]) for start in range(0, len(cells), COLUMNS)]
    return np.asarray(np.vstack(rows), np.uint8)


if __name__ == "__main__":
    typer.run(main)
