"""The one way to run a model: RGB pictures in, heatmaps out."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from plucc.config import CONTEXT_STRIDE
from plucc.runtime.card import ModelCard
from plucc.types import FloatArray, ImageArray, ShapeError

MIN_SIDE_PX = 64
GRID_PX = 16  # cells of all feature maps but the coarsest: over whole ones they lie on each other as in training crops
CGROUP_LIMIT = Path("/sys/fs/cgroup/cpu.max")


@dataclass(frozen=True, slots=True)
class Heatmaps:
    """What a model says of a batch: raw logits (b, h, w), one for each square of `stride_px` frame pixels.

    `presence_logits` (b,) is None for a model without presence output.
    """

    logits: FloatArray
    stride_px: int
    presence_logits: FloatArray | None = None


class Runtime(Protocol):
    """A loaded model. Frames are 8-bit RGB (b, h, w, 3), contexts the same at half the height and width, rounded up.

    Contexts may be left out exactly when the card says that the model does not use them. Several threads may call it.
    """

    @property
    def card(self) -> ModelCard: ...

    @property
    def device(self) -> str: ...

    def __call__(self, frames: ImageArray, contexts: ImageArray | None = None) -> Heatmaps: ...


class Graph(Protocol):
    """A loaded model file of any kind: 8-bit inputs by name, its outputs in order. Several threads may call it."""

    def __call__(self, inputs: Mapping[str, ImageArray]) -> list[FloatArray]: ...


def named_inputs(card: ModelCard, frames: ImageArray, contexts: ImageArray | None) -> dict[str, ImageArray]:
    """Return the model's inputs by name, checked, and filled up to whole cells of the network's grid.

    Right of and below a frame lies what training crops show beyond its edge: the colour that the network takes for
    zero, and no players.
    """
    _check_rgb(frames, "frames")
    height, width = frames.shape[1:3]
    if min(height, width) < MIN_SIDE_PX:
        raise ShapeError(
            f"frame is {height}x{width}; both sides must be at least {MIN_SIDE_PX} px: scale it up, or crop less"
        )
    whole = (-(-height // GRID_PX) * GRID_PX, -(-width // GRID_PX) * GRID_PX)
    red, green, blue = (round(255 * value) for value in card.spec.mean)
    inputs = {"frames": _filled(frames, whole, (red, green, blue))}
    if not card.uses_context:
        return inputs
    if contexts is None:
        raise ShapeError("this model reads context images and got none: hand them in, black where there are no players")
    _check_rgb(contexts, "contexts")
    half = (len(frames), -(-height // CONTEXT_STRIDE), -(-width // CONTEXT_STRIDE), 3)
    if contexts.shape != half:
        raise ShapeError(f"contexts have shape {contexts.shape} for frames of {frames.shape}: expected {half}")
    return inputs | {"contexts": _filled(contexts, (whole[0] // CONTEXT_STRIDE, whole[1] // CONTEXT_STRIDE), (0, 0, 0))}


def to_heatmaps(card: ModelCard, outputs: list[FloatArray], frames: ImageArray) -> Heatmaps:
    """Give the raw outputs of a graph, logits (b, 1, h, w) first, their names, and cut them to the frames' own size."""
    presence = outputs[1] if card.spec.presence else None
    stride_px = card.spec.logit_stride
    rows, columns = (-(-side // stride_px) for side in frames.shape[1:3])
    return Heatmaps(outputs[0][:, 0, :rows, :columns], stride_px, presence)


def fitting_threads() -> int:
    """Return how many threads this process can really run at once: cores it may use, within its container's quota."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = CGROUP_LIMIT.read_text().split()
        return max(1, min(cores, int(quota) // int(period)))
    except (OSError, ValueError):  # no such file, or "max": no quota
        return cores


def _check_rgb(pictures: ImageArray, name: str) -> None:
    if pictures.dtype != np.uint8 or pictures.ndim != 4 or pictures.shape[3] != 3 or not len(pictures):
        raise ShapeError(
            f"{name} have shape {pictures.shape} and type {pictures.dtype}: "
            f"expected 8-bit RGB as (batch, height, width, 3)"
        )


def _filled(pictures: ImageArray, whole: tuple[int, int], colour: tuple[int, int, int]) -> ImageArray:
    """Return the pictures in the upper left corner of larger ones of an even colour."""
    height, width = pictures.shape[1:3]
    if (height, width) == whole:
        return np.ascontiguousarray(pictures)
    filled = np.empty((len(pictures), *whole, 3), np.uint8)
    filled[:, :height, :width] = pictures
    filled[:, height:] = colour
    filled[:, :height, width:] = colour
    return filled
