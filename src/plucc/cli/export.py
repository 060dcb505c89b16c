"""`plucc export`: a checkpoint in, a model file out."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from plucc.cli.console import out


def export(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint that plucc train wrote.")],
    model: Annotated[Path, typer.Argument(help="The model file to write, ending in .onnx.")],
    precision: Annotated[
        Literal["fp32", "fp16", "int8"],
        typer.Option(help="fp32; fp16 for half the size; int8 for speed, most of all on OpenVINO."),
    ] = "fp32",
    calibrate: Annotated[
        Path | None, typer.Option(help="Dataset with real frames, from which int8 takes its ranges.")
    ] = None,
    frames: Annotated[int, typer.Option(min=1, help="How many of its frames to take.")] = 32,
    logit_stride: Annotated[
        int | None, typer.Option(min=1, help="Coarser logits than the network's own, without the last upsampling.")
    ] = None,
) -> None:
    """Write a trained network as an ONNX file that says what it is; kept only if it answers as the checkpoint does."""
    from plucc.types import require

    for module in ("torch", "timm", "onnx", "onnxscript"):
        require(module, "train")
    from plucc.export import export_checkpoint
    from plucc.quantise import calibration_pictures

    pictures = calibration_pictures(calibrate, frames) if calibrate is not None else ()
    agreement = export_checkpoint(checkpoint, model, precision=precision, logit_stride=logit_stride, pictures=pictures)
    size_mb = model.stat().st_size / 1e6
    out.print(
        f"{model}: {size_mb:.1f} MB, logits within {agreement.logit_difference:.1g} of the checkpoint", markup=False
    )
