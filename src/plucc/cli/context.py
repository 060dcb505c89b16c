"""`plucc context`: find the players of a video, a folder of frames or a dataset, before anything needs them."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from plucc.cli.console import bar, out

GIGABYTE = 10**9


class WayOption(StrEnum):
    """Ways to find players, as written on the command line."""

    SHIPPED = "shipped"
    LABELS = "labels"
    BOXES = "boxes"
    SAM2 = "sam2"
    SAM2_ONNX = "sam2-onnx"
    INSTANCES = "instances"


def context(
    source: Annotated[Path, typer.Argument(help="A video, a folder of frames, one picture, or a dataset's folder.")],
    way: Annotated[WayOption, typer.Option(help="How to find players.")] = WayOption.SHIPPED,
    weights: Annotated[
        str | None, typer.Option(help="Weights for that way: a file, a folder, or a name on the model hub.")
    ] = None,
    detector: Annotated[
        str | None, typer.Option(help="Detector for SAM 2: a folder or hub name, or 'labels' for the dataset's boxes.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, mps, or auto; for the ways that run on torch.")] = "auto",
    within_boxes: Annotated[
        bool, typer.Option("--within-boxes", help="Keep to the players that the dataset's boxes confirm.")
    ] = False,
    every: Annotated[int, typer.Option(min=1, help="Look at every n-th frame only.")] = 1,
    cache: Annotated[Path | None, typer.Option(help="Folder of the cache; by default the user's.")] = None,
    cache_limit_gb: Annotated[float, typer.Option(min=0, help="Size that the cache is kept within.")] = 2.0,
    pictures: Annotated[Path | None, typer.Option(help="Write context images and overlays here.")] = None,
    masks: Annotated[Path | None, typer.Option(help="Write a dataset's masks to this JSONL file instead.")] = None,
) -> None:
    """Find the players of every frame and keep them in the cache; a run that was stopped goes on where it was."""
    from plucc.context.backends import FinderChoice, open_finder
    from plucc.context.cache import MaskCache, default_cache_folder
    from plucc.context.fill import fill, open_source
    from plucc.context.image import ContextMaker

    finder = open_finder(FinderChoice(way.value, weights, detector, device, within_boxes=within_boxes))
    if masks is not None:
        from plucc.context.maskfile import write_dataset_masks

        made = write_dataset_masks(source, finder, masks, progress=bar)
        out.print(f"{made} masks by {finder.version} added to {masks}")
        return
    folder = cache or default_cache_folder()
    maker = ContextMaker(finder, MaskCache(folder, int(cache_limit_gb * GIGABYTE)))
    count = fill(maker, open_source(source, step=every), pictures=pictures, progress=bar)
    out.print(f"players of {count} frames, found by {finder.version}, are in {folder}")
    if pictures is not None:
        out.print(f"pictures are in {pictures}")
