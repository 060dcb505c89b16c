"""What networks accept as input, checked where it enters."""

import torch
from torch import Tensor

from plucc.config import CONTEXT_STRIDE
from plucc.types import ShapeError

MIN_SIDE_PX = 64


def check_frame(frame: Tensor) -> None:
    """Refuse what is not a batch of RGB frames of a useful size."""
    if torch.compiler.is_exporting():  # sizes are symbols then
        return
    _check_rgb(frame, "frame")
    height, width = frame.shape[-2:]
    if min(height, width) < MIN_SIDE_PX:
        raise ShapeError(
            f"frame is {height}x{width}; both sides must be at least {MIN_SIDE_PX} px: scale it up, or crop less"
        )


def check_context(context: Tensor | None, frame: Tensor) -> Tensor:
    """Return the context image; refuse one that is missing or is not half the frame."""
    if context is None:
        raise ShapeError("this network reads a context image and got none: hand one in, black if there are no players")
    if torch.compiler.is_exporting():
        return context
    _check_rgb(context, "context")
    frame_side, side = frame.shape[-2:], context.shape[-2:]
    if len(context) != len(frame) or any(
        abs(f - CONTEXT_STRIDE * c) > 1 for f, c in zip(frame_side, side, strict=True)
    ):
        raise ShapeError(
            f"context is {len(context)} of {side[0]}x{side[1]} for {len(frame)} frames of "
            f"{frame_side[0]}x{frame_side[1]}: give one for each frame, at half its height and width"
        )
    return context


def _check_rgb(image: Tensor, name: str) -> None:
    if image.dim() != 4 or image.shape[1] != 3:
        raise ShapeError(f"{name} has shape {tuple(image.shape)}: expected RGB as (batch, 3, height, width)")
