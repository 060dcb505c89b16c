"""`plucc calibrate`: the main camera of a game, from its own frames."""

from pathlib import Path
from typing import Annotated

import typer

from plucc.cli.console import bar, out
from plucc.cli.register import Rink, RinkWidth


def calibrate(
    source: Annotated[Path, typer.Argument(metavar="INPUT", help="A video, or a folder of pictures of one game.")],
    file: Annotated[
        Path | None, typer.Option("--out", help="Where the camera goes. Default: beside the input.")
    ] = None,
    rink: Rink = None,
    width: RinkWidth = None,
    frames: Annotated[int, typer.Option(min=3, help="How many frames to look at, spread over the whole.")] = 40,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of the player network. Default: all.")] = None,
) -> None:
    """Find where the game's main camera stands, and keep it beside the video for plucc register and plucc locate."""
    from plucc.register.game import camera_file, write_game_camera
    from plucc.register.session import calibrate_source

    camera = calibrate_source(source, rink=rink, width_m=width, frames=frames, threads=threads, progress=bar)
    path = camera_file(source) if file is None else file
    write_game_camera(path, camera)
    x, y, z = camera.prior.position_m
    sigma = " ".join(f"{value:.2f}" for value in camera.prior.position_sigma_m)
    out.print(f"{path}: {camera.sheet.name} sheet, {camera.sheet.width_m:g} m wide; {camera.frames} frames agree")
    out.print(f"camera at x {x:.2f}, y {y:.2f}, z {z:.2f} m (sigma {sigma}), k1 {camera.prior.k1:.3f}", markup=False)
