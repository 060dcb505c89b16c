"""`plucc register`: which part of the rink every frame shows."""

from pathlib import Path
from typing import Annotated

import typer

from plucc.cli.console import bar, out

Rink = Annotated[
    str | None, typer.Option(help="nhl, nhl-pre2014, iihf or ncaa. Default: the camera file's, or found from frames.")
]
RinkWidth = Annotated[float | None, typer.Option("--width", help="Width of an iihf or ncaa rink, in metres.")]


def register(
    source: Annotated[Path, typer.Argument(metavar="INPUT", help="A video, a picture, or a folder of pictures.")],
    table: Annotated[Path, typer.Option("--out", help="Where the registrations go: one line of JSON a frame.")] = Path(
        "registration.jsonl"
    ),
    overlay: Annotated[
        Path | None, typer.Option(help="Draw the registered rink: a video for a video, a folder for pictures.")
    ] = None,
    rink: Rink = None,
    width: RinkWidth = None,
    camera: Annotated[
        Path | None, typer.Option(help="The game's camera from plucc calibrate. Default: the file beside the video.")
    ] = None,
    points: Annotated[Path | None, typer.Option(help="Clicked points for frames that should not be guessed.")] = None,
    homographies: Annotated[
        Path | None, typer.Option(help="Homographies that you have already: .json, .jsonl or .npz.")
    ] = None,
    convention: Annotated[
        str, typer.Option(help="What they map: metres (pixels to metres), to-pixels (the other way), paper.")
    ] = "metres",
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of the player network. Default: all.")] = None,
) -> None:
    """Say for every frame where its camera stands and looks, or why that cannot be told."""
    from plucc.register.session import open_session
    from plucc.register.table import write_registrations

    session = open_session(source, rink=rink, width_m=width, camera=camera, threads=threads)
    session = session.with_given(points, homographies, convention)
    counts = write_registrations(table, bar(session.frames(), total=session.count, label="registering"))
    accepted = sum(count for how, count in counts.items() if how in session.accepted_hows)
    out.print(f"{table}: {accepted} of {sum(counts.values())} frames registered on the {session.sheet_name} sheet")
    for how, count in sorted(counts.items(), key=lambda item: -item[1]):
        out.print(f"  {count:6d}  {how}", markup=False)
    if overlay is not None:
        session.draw(table, overlay)
        out.print(f"{overlay}: the same with the rink drawn over it", markup=False)
