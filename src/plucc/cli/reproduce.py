"""`plucc reproduce`: every table and figure of the paper, with one command."""

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from plucc.cli.console import bar, out


def reproduce(
    scale: Annotated[
        Literal["smoke", "tiny", "small", "paper"],
        typer.Option(
            help="smoke: does it run (a minute or two). tiny: an hour on two cores. small: a night. paper: on a GPU."
        ),
    ] = "tiny",
    data: Annotated[
        Path | None, typer.Option(help="A dataset with splits. Without it, smoke, tiny and small render their own.")
    ] = None,
    folder: Annotated[Path, typer.Option("--out", help="Folder for rows, weights and the page.")] = Path("report"),
    rows: Annotated[str, typer.Option(help="Only these rows, such as plucc,fcn,context-only.")] = "",
    seed: Annotated[int, typer.Option(min=0, help="Of the networks and of what they see.")] = 0,
    device: Annotated[
        str | None, typer.Option(help="cpu or cuda, for scoring. Default: what the scale is for.")
    ] = None,
    processes: Annotated[int, typer.Option(min=1, help="Processes that render.")] = 2,
) -> None:
    """Train and score every row of the paper's tables; a run that was stopped goes on, finished rows are kept."""
    # threads that spin while they wait halve the speed of a machine that does anything else; read when torch loads
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from plucc.reproduce.run import Wish
    from plucc.reproduce.run import reproduce as run_all

    chosen = tuple(name.strip() for name in rows.split(",") if name.strip())
    wish = Wish(scale, folder, data, seed, chosen, device, processes)
    page = run_all(wish, say=lambda line: out.print(line, markup=False), progress=bar)
    out.print(f"{page}: all tables, with the paper's numbers beside them", markup=False)
