"""`plucc explain`: which players moved the heatmap, and where the players alone would put the puck."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plucc.cli.console import bar, out
from plucc.types import DataError, InputError

if TYPE_CHECKING:
    from plucc.data.schema import Player
    from plucc.runtime.base import Runtime


def explain(
    frame: Annotated[
        Path, typer.Argument(help="A picture; or the folder of a rendered dataset, to measure gaze over its players.")
    ],
    model: Annotated[
        Path | None, typer.Option(help="A model (.onnx) or checkpoint (.ckpt) that reads context images.")
    ] = None,
    dataset: Annotated[
        Path | None, typer.Option(help="The dataset that the picture belongs to: its labelled players are used.")
    ] = None,
    folder: Annotated[Path, typer.Option("--out", help="Folder for the pictures.")] = Path("explained"),
    frames: Annotated[int, typer.Option(min=1, help="Of a dataset, look at so many frames, evenly spread.")] = 20,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of the network. Default: all cores.")] = None,
) -> None:
    """Take one player after the other out of the context image and show what the heatmap does."""
    from plucc.evaluate.subjects import SHIPPED, HeatmapSubject, Opening, open_subject

    subject = open_subject(str(model or SHIPPED), Opening(threads=threads))
    if not isinstance(subject, HeatmapSubject) or not subject.runtime.card.uses_context:
        raise InputError(f"{model} looks at no players, so there is nothing to explain: give a model with a context")
    if frame.is_dir():
        _measure_gaze(frame, subject.runtime, frames)
    else:
        _explain_picture(frame, subject.runtime, dataset, folder)


def _explain_picture(frame: Path, runtime: "Runtime", dataset: Path | None, folder: Path) -> None:
    from plucc.context.shipped import ShippedFinder
    from plucc.draw import write_picture
    from plucc.explain import draw_influences, draw_players_alone, masks_of
    from plucc.explain import explain as look_into
    from plucc.video import read_image

    image = read_image(frame)
    players = None if dataset is None else _players(dataset, frame)
    explanation = look_into(runtime, image, masks_of(image, players, ShippedFinder()(image)))
    write_picture(draw_influences(explanation), folder / f"{frame.stem}-players.png")
    write_picture(draw_players_alone(explanation), folder / f"{frame.stem}-gaze.png")
    out.print(f"peak at {explanation.peak_px.x:.1f}, {explanation.peak_px.y:.1f} px", markup=False)
    ranked = sorted(explanation.influences, key=lambda one: -one.moved)
    for one in ranked:
        out.print(
            f"player at {one.centre_px.x:.0f}, {one.centre_px.y:.0f}: without him {one.moved:.1%} of the heatmap "
            f"moves, the peak by {one.shift_px:.1f} px",
            markup=False,
        )
    alone = explanation.peak_of_players_px
    out.print(f"the players alone point to {alone.x:.0f}, {alone.y:.0f} px; pictures in {folder}", markup=False)


def _players(dataset: Path, frame: Path) -> "tuple[Player, ...] | None":
    from plucc.data.manifest import read_dataset

    data = read_dataset(dataset)
    for record in data.records:
        if data.image_path(record).resolve() == frame.resolve():
            return record.players
    raise DataError(f"{dataset} has no record of {frame}: give the dataset that the picture lies in")


def _measure_gaze(folder: Path, runtime: "Runtime", count: int) -> None:
    from plucc.data.manifest import read_dataset
    from plucc.explain import gaze
    from plucc.video import read_image

    data = read_dataset(folder)
    chosen = data.records[:: max(1, len(data) // count)][:count]
    pictures = ((record, read_image(data.image_path(record))) for record in bar(chosen, total=len(chosen)))
    found = gaze(runtime, pictures)
    out.print(
        f"{found.players} players, one at a time: {found.ahead:.1%} of the heatmap lies on the side that they look at, "
        f"{found.by_chance:.1%} without anybody; more than that for {found.ahead_more_often:.1%} of them",
        markup=False,
    )
