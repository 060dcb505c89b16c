"""`plucc retrain`: weights like the shipped ones, from labelled frames to a report, with one command."""

import os
from pathlib import Path
from typing import Annotated

import typer

from plucc.cli.console import bar, out
from plucc.types import InputError


def retrain(
    frames: Annotated[Path, typer.Argument(help="Labelled frames in YOLO's layout, such as HockeyAI's folder.")],
    folder: Annotated[Path, typer.Option("--out", help="Folder for data, runs, models and the report.")],
    protocol: Annotated[str, typer.Option(help="A protocol's YAML file, or the shipped one.")] = "hockeyai",
    backbones: Annotated[
        list[str] | None,
        typer.Option(
            "--backbone",
            metavar="NAME=FILE",
            help="A file with ImageNet weights, such as resnet18=FILE; may be repeated. Default: from timm's hub.",
        ),
    ] = None,
    scratch: Annotated[bool, typer.Option("--scratch", help="Start without ImageNet weights.")] = False,
    scale: Annotated[
        float, typer.Option(min=1e-5, help="Train so many times as long as the protocol says: 0.002 to see it work.")
    ] = 1.0,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override a setting of the networks' training, such as train.devices=2."),
    ] = None,
    processes: Annotated[int, typer.Option(min=1, help="Processes that render.")] = 2,
) -> None:
    """Make weights as the shipped ones are made, and score them on the test games; what was stopped goes on."""
    # threads that spin while they wait halve the speed of a machine that does anything else; read when torch loads
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from plucc.retrain.protocol import load_protocol
    from plucc.retrain.run import Wish
    from plucc.retrain.run import retrain as run_all

    wish = Wish(
        frames,
        folder,
        load_protocol(protocol),
        dict(map(_named_file, backbones or ())),
        scratch,
        scale,
        tuple(overrides or ()),
        processes,
    )
    report = run_all(wish, say=lambda line: out.print(line, markup=False), progress=bar)
    out.print(f"{report}: the report; the models are in {folder}", markup=False)


def _named_file(given: str) -> tuple[str, Path]:
    name, equals, file = given.partition("=")
    if not (name and equals and file):
        raise InputError(f"{given!r} names no backbone: write it as NAME=FILE, such as resnet18=weights.pth")
    return name, Path(file)
