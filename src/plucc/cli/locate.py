"""`plucc locate` and `plucc demo`: the main job, and the main job on footage that the demo renders itself."""

from pathlib import Path
from typing import Annotated

import typer

from plucc.cli.console import bar, out


def locate(
    source: Annotated[Path, typer.Argument(help="A video, a picture, or a folder of pictures.")],
    table: Annotated[Path, typer.Option("--out", help="Where the rows go: .csv, .jsonl or .parquet.")] = Path(
        "rows.csv"
    ),
    overlay: Annotated[
        Path | None, typer.Option(help="Write the video again with the puck marked; for video input.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="A model that plucc export wrote. Default: the shipped one.")
    ] = None,
    absent_below: Annotated[
        float, typer.Option(min=0, max=1, help="Below this confidence a frame counts as one without a puck.")
    ] = 0.25,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of the network. Default: all cores.")] = None,
) -> None:
    """Find the puck in every frame: where it is, how sure that is, and how it was found."""
    from plucc.data.rows import read_rows, write_rows
    from plucc.locator import SHIPPED_MODEL, Locator, count_frames, write_overlay
    from plucc.locator import locate as rows_of

    total = count_frames(source)
    rows = rows_of(source, Locator(model or SHIPPED_MODEL, threads=threads), absent_below=absent_below)
    count = write_rows(table, bar(rows, total=total, label="locating"))
    out.print(f"{table}: {count} rows", markup=False)
    if overlay is not None:
        write_overlay(source, bar(read_rows(table), total=count, label="drawing"), overlay)
        out.print(f"{overlay}: the same with the puck marked", markup=False)


def demo(
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for what the demo makes.")] = Path("out"),
    seconds: Annotated[float, typer.Option(help="Length of the rendered clip.")] = 4.0,
    seed: Annotated[int, typer.Option(help="Another seed, another match.")] = 7,
) -> None:
    """Render a short broadcast with exact truth, locate the puck in it, and score the result."""
    from plucc.demo import run_demo

    result = run_demo(folder, seconds=seconds, seed=seed, progress=bar)
    shares = ", ".join(f"{source.value} {count}" for source, count in result.sources.items() if count)
    out.print(f"{result.frames} frames: {shares}", markup=False)
    precise = "  ".join(f"{name} {100 * result.figures[name]:.1f}" for name in ("AP5", "AP10", "AP25", "AP50", "mAP"))
    out.print(f"against the exact truth: {precise}  mean error {result.figures['D_pixel']:.1f} px", markup=False)
    out.print(
        f"rows: {result.rows}\npictures to look at: {result.overlay}\nthe clip itself: {result.clip}", markup=False
    )
