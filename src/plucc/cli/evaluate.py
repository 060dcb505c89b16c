"""`plucc evaluate`: a model or a table of rows beside the labels of a dataset."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from plucc.cli.console import bar, out
from plucc.types import InputError


def evaluate(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="MODEL_OR_ROWS", help="A model (.onnx, .ckpt), rows (.csv, .jsonl, .parquet), shipped or swift-l."
        ),
    ],
    dataset: Annotated[Path, typer.Argument(help="Folder of a dataset, or the .records.jsonl beside a rendered clip.")],
    split: Annotated[
        Literal["train", "val", "test"] | None, typer.Option(help="Score one split of the dataset.")
    ] = None,
    matches: Annotated[str, typer.Option(help="Score these matches only, with commas between.")] = "",
    categories: Annotated[
        str, typer.Option(help="Score these categories only, such as blurry,goal-line,yellow-line.")
    ] = "",
    every: Annotated[int, typer.Option(min=1, help="Score every n-th frame only.")] = 1,
    against: Annotated[str | None, typer.Option(help="A second model or table, for a paired comparison.")] = None,
    protocol: Annotated[
        Literal["full", "paper", "wasb", "tracknet"], typer.Option(help="Whose rules and figures.")
    ] = "full",
    players: Annotated[
        Literal["shipped", "labels", "none"], typer.Option(help="Where the players of context images come from.")
    ] = "shipped",
    folder: Annotated[
        Path | None, typer.Option("--out", help="Folder for the report; without it, it is printed.")
    ] = None,
    absent_below: Annotated[
        float, typer.Option(min=0, max=1, help="Below this confidence an answer counts as no puck.")
    ] = 0.15,
    sheet: Annotated[str, typer.Option(help="The rink: nhl, nhl-pre2014, iihf or ncaa.")] = "nhl",
    pictures: Annotated[int, typer.Option(min=0, help="Pictures in each gallery of the report.")] = 6,
    resamples: Annotated[int, typer.Option(min=100, help="Draws of the bootstrap.")] = 1000,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of the network. Default: all cores.")] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Fit the model's confidence on these frames and write it into its card, or its second look's.",
        ),
    ] = False,
    first_look: Annotated[
        bool, typer.Option("--first-look", help="Leave the second look out, where the model has one.")
    ] = False,
) -> None:
    """Score a model or a table of rows: tables by category and match with intervals, plots, galleries."""
    from plucc.data.splits import Split
    from plucc.evaluate.run import FILES, Request, write_report
    from plucc.evaluate.run import calibrate as fit
    from plucc.evaluate.run import evaluate as score
    from plucc.evaluate.selection import Selection, parse_categories
    from plucc.evaluate.subjects import Opening
    from plucc.evaluate.tables import Protocol

    if calibrate and not subject.endswith(".onnx"):
        raise InputError(f"{subject} carries no card to calibrate: give an exported model, ending in .onnx")
    chosen = Selection(
        split=None if split is None else Split(split),
        matches=tuple(name.strip() for name in matches.split(",") if name.strip()),
        categories=parse_categories(categories),
        every=every,
    )
    request = Request(
        subject=subject,
        dataset=dataset,
        against=against,
        selection=chosen,
        protocol=Protocol(protocol),
        opening=Opening(players=players, threads=threads, device=device, first_look_only=first_look),
        absent_below=absent_below,
        sheet=sheet,
        pictures=pictures if folder is not None else 0,
        resamples=resamples,
    )
    result = score(request, progress=bar)
    out.print(result.report.summary(), markup=False)
    if folder is not None:
        write_report(result, folder)
        out.print(f"{folder}: {', '.join(FILES)}, rows.csv", markup=False)
    if calibrate:
        out.print(f"{subject}: confidence calibrated, {fit(Path(subject), result)}", markup=False)
