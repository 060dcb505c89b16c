"""`plucc synth`: render broadcast footage with exact truth."""

import re
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from plucc.cli.console import bar, out
from plucc.types import InputError, Size

app = typer.Typer(help="Render hockey footage with exact truth: frames, clips, a contact sheet.", no_args_is_help=True)

Seed: TypeAlias = Annotated[int, typer.Option("--seed", help="The same seed gives the same bytes.")]
SizeText: TypeAlias = Annotated[str, typer.Option("--size", help="Width and height in pixels, as 1280x720.")]


def _size(text: str) -> Size:
    found = re.fullmatch(r"\s*(\d{1,6})\s*[x×]\s*(\d{1,6})\s*", text)
    if found is None:
        raise InputError(f"the size {text!r} cannot be read: write width and height as 1280x720")
    return Size(int(found[1]), int(found[2]))


@app.command()
def frames(
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="The new folder of the dataset.")],
    count: Annotated[int, typer.Option("--count", help="How many frames.")] = 200,
    seed: Seed = 0,
    size: SizeText = "1280x720",
    mix: Annotated[
        str, typer.Option("--mix", help="Shares of the categories, as standard=0.4,blurry=0.2,no-puck=0.4.")
    ] = "",
    frames_per_match: Annotated[
        int, typer.Option("--frames-per-match", help="Frames that share teams and arena.")
    ] = 25,
    processes: Annotated[int, typer.Option("--processes", help="How many processes render side by side.")] = 1,
) -> None:
    """Render a dataset of single frames; a run that was interrupted goes on where it stopped."""
    from plucc.synth.frames import parse_mix, plan_frames, write_frames

    plan = plan_frames(count, seed, _size(size), parse_mix(mix) if mix else None, frames_per_match)
    before = write_frames(folder, plan, processes=processes, progress=bar)
    resumed = f", {before} of them from the interrupted run" if before else ""
    out.print(f"{folder}: {count} frames{resumed}", markup=False)


@app.command()
def clip(
    file: Annotated[
        Path, typer.Argument(metavar="OUT.mp4", help="The new video; its truth goes to OUT.records.jsonl.")
    ],
    seconds: Annotated[float, typer.Option("--seconds", help="How long.")] = 20.0,
    seed: Seed = 0,
    size: SizeText = "1280x720",
    rate: Annotated[int, typer.Option("--rate", help="Frames per second.")] = 25,
) -> None:
    """Render a clip: continuous play, a camera that follows it, cuts and replays, and a record for every frame."""
    from plucc.synth.clip import plan_clip, records_path, write_clip

    if file.suffix.lower() not in {".mp4", ".mkv", ".mov"}:
        raise InputError(f"{file} is no name for a clip: let it end in .mp4, .mkv or .mov")
    plan = plan_clip(seconds, seed, _size(size), rate)
    write_clip(file, plan, progress=bar)
    out.print(f"{file}: {plan.count} frames; truth in {records_path(file)}", markup=False)


@app.command()
def sheet(
    file: Annotated[Path, typer.Argument(metavar="OUT.png", help="The new picture.")],
    seed: Seed = 0,
    size: SizeText = "1280x720",
) -> None:
    """Draw a contact sheet: every category, with the puck enlarged."""
    from plucc.synth.contact_sheet import write_sheet

    write_sheet(file, seed, _size(size), progress=bar)
    out.print(f"{file}: one row a category", markup=False)
