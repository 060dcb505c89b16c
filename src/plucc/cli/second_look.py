"""`plucc second-look`: train, export and attach the network that looks closely at what the first one finds."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plucc.cli.console import bar, out
from plucc.types import require

if TYPE_CHECKING:
    from plucc.config import SecondLookSpec

app = typer.Typer(help="Train, export and attach the network that looks again.", no_args_is_help=True)

TRAINING = ("torch", "timm", "onnx", "onnxscript")


@app.command()
def train(
    checkpoint: Annotated[
        Path, typer.Argument(help="Written every minute; where it exists, training goes on from it.")
    ],
    data: Annotated[
        list[str],
        typer.Option(
            help="DATASET, or DATASET=PEAKS.jsonl for peaks found before; either with @SHARE; may be repeated."
        ),
    ],
    model: Annotated[
        str, typer.Option(help="The puck model whose peaks are looked at again: .onnx, shipped or swift-l.")
    ] = "shipped",
    hold_out: Annotated[list[str] | None, typer.Option(help="Matches that are not trained on.")] = None,
    backbone: Annotated[str, typer.Option(help="Name of a timm backbone.")] = "mobilenetv3_small_100",
    start_from: Annotated[
        Path | None, typer.Option(help="The backbone's pretrained weights, or a second look: checkpoint or .onnx.")
    ] = None,
    pretrained: Annotated[bool, typer.Option("--pretrained", help="Take them from timm's hub instead.")] = False,
    windows: Annotated[str, typer.Option(help="Windows in pixels of 720 lines, with commas between.")] = "64,192",
    side: Annotated[int, typer.Option(min=64, help="The side of the patches that they become.")] = 96,
    minutes: Annotated[float, typer.Option(min=0.01, help="How long to train.")] = 60.0,
    steps: Annotated[int | None, typer.Option(min=1, help="Train for so many steps instead.")] = None,
    batch: Annotated[int, typer.Option(min=1, help="Frames of a batch, with up to seven places each.")] = 12,
    learning_rate: Annotated[float, typer.Option(min=0)] = 1e-3,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    freeze: Annotated[
        int, typer.Option(min=0, help="Stages of the backbone, and its stem, that stay as they start: far faster.")
    ] = 0,
    workers: Annotated[int, typer.Option(min=0, help="Processes that prepare batches.")] = 1,
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads of the network; all by default.")] = None,
) -> None:
    """Find where a puck model looks in labelled frames, and train a network to tell the puck from the rest."""
    import logging

    for module in TRAINING:
        require(module, "train")
    import torch

    from plucc.loading import model_file
    from plucc.puck_finder import Locator
    from plucc.training.second_look import SecondLookPlan, SecondLookTraining, train_second_look
    from plucc.training.shares import parse_source

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    if threads is not None:
        torch.set_num_threads(threads)
    training = SecondLookTraining(
        minutes,
        steps,
        batch=batch,
        learning_rate=learning_rate,
        seed=seed,
        workers=workers,
        frozen_stages=freeze,
    )
    sources = tuple(parse_source(text, "peaks") for text in data)
    held_out = frozenset(hold_out or ())
    plan = SecondLookPlan(sources, _spec(backbone, windows, side), training, held_out, start_from, pretrained)
    first = model_file(model)
    fit = train_second_look(plan, checkpoint, lambda: Locator(first, threads=threads).first_look, progress=bar)
    out.print(f"{fit.step} steps done; the weights are in {checkpoint}", markup=False)


@app.command()
def export(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint of plucc second-look train.")],
    model: Annotated[Path, typer.Argument(help="The model file to write, ending in .onnx.")],
    backbone: Annotated[
        str | None, typer.Option(help="Its timm backbone, where the checkpoint was made elsewhere and does not say.")
    ] = None,
    windows: Annotated[str, typer.Option(help="Its windows in pixels of 720 lines, with commas between.")] = "64,192",
    side: Annotated[int, typer.Option(min=64, help="The side of its patches.")] = 96,
) -> None:
    """Write a trained second look as ONNX; kept only if it answers as the checkpoint does."""
    for module in TRAINING:
        require(module, "train")
    from plucc.export import export_second_look

    spec = None if backbone is None else _spec(backbone, windows, side)
    difference = export_second_look(checkpoint, model, spec)
    size_mb = model.stat().st_size / 1e6
    out.print(f"{model}: {size_mb:.1f} MB, logits within {difference:.1g} of the checkpoint", markup=False)


@app.command()
def merge(
    model: Annotated[Path, typer.Argument(help="The model file to write, ending in .onnx.")],
    parts: Annotated[list[Path], typer.Argument(help="Exported second looks of one side; one has the windows of all.")],
    half: Annotated[bool, typer.Option("--half", help="Store weights in 16 bits, for half the size.")] = False,
) -> None:
    """Write one second look that says the mean of what several say; its weighing is to be fitted anew."""
    for module in TRAINING:
        require(module, "train")
    from plucc.export import merge_second_looks

    merge_second_looks(parts, model, halved=half)
    out.print(f"{model}: {model.stat().st_size / 1e6:.1f} MB, the mean of {len(parts)} second looks", markup=False)


@app.command()
def attach(
    model: Annotated[Path, typer.Argument(help="An exported puck model.")],
    second: Annotated[Path, typer.Argument(help="An exported second look in the same folder.")],
    opinion: Annotated[
        Path | None,
        typer.Option(help="Another exported puck model in that folder, asked too where both looks are unsure."),
    ] = None,
) -> None:
    """Make a second look part of a puck model: from now on both are used together, on pictures with the opinion too."""
    for module in TRAINING:
        require(module, "train")
    from plucc.export import attach_second_look

    attach_second_look(model, second, opinion)
    asks = "" if opinion is None else f", and asks {opinion.name} where that leaves it unsure"
    out.print(f"{model}: looks again with {second.name}{asks}", markup=False)


def _spec(backbone: str, windows: str, side: int) -> "SecondLookSpec":
    from plucc.config import SecondLookSpec, parse_section

    sides = [text.strip() for text in windows.split(",")]
    fields = {"backbone": backbone, "windows_px": sides, "side_px": side}
    return parse_section(SecondLookSpec, fields, "second look")
