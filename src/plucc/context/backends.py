"""The ways to find players, and how each is opened; torch and transformers are imported when one needs them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from plucc.context.detector_torch import InstanceFinder, TorchDetector
from plucc.context.finder import BoxDetector, BoxedFinder, PlayerFinder, PromptedFinder
from plucc.context.labels import LabelFinder
from plucc.context.sam2_onnx import Sam2Onnx
from plucc.context.sam2_torch import Sam2Torch
from plucc.context.shipped import SHIPPED_WEIGHTS, ShippedFinder
from plucc.types import InputError

Way: TypeAlias = Literal["shipped", "labels", "boxes", "sam2", "sam2-onnx", "instances"]
WAYS: tuple[Way, ...] = get_args(Way)

DEFAULT_DETECTOR = "ustc-community/dfine-small-coco"
DEFAULT_SEGMENTER = "facebook/sam2.1-hiera-tiny"
DEFAULT_INSTANCES = "Roboflow/rf-detr-seg-small"
NO_DETECTOR = "labels"  # in place of a detector's name: every frame comes with boxes


@dataclass(frozen=True, slots=True)
class FinderChoice:
    """Which way, and with what: weights are files, folders, or names on the model hub; None means the default."""

    way: Way = "shipped"
    weights: str | None = None
    detector: str | None = None
    device: str = "cpu"
    threads: int | None = None
    within_boxes: bool = False  # keep to what labels confirm


def open_finder(choice: FinderChoice) -> PlayerFinder:
    """Open a finder; each way imports only what it needs."""
    opener = _OPENERS.get(choice.way)
    if opener is None:
        raise InputError(f"{choice.way} is no way to find players: choose one of {', '.join(WAYS)}")
    finder = opener(choice)
    return BoxedFinder(finder) if choice.within_boxes else finder


def _open_shipped(choice: FinderChoice) -> PlayerFinder:
    path = Path(choice.weights) if choice.weights else SHIPPED_WEIGHTS
    return ShippedFinder(path, threads=choice.threads)


def _open_labels(choice: FinderChoice) -> PlayerFinder:
    return LabelFinder(boxes_only=choice.way == "boxes")


def _open_sam2_onnx(choice: FinderChoice) -> PlayerFinder:
    if choice.weights is None:
        raise InputError("SAM 2 as ONNX needs its files: give the folder that holds the encoder and the decoder")
    return PromptedFinder(Sam2Onnx(Path(choice.weights), threads=choice.threads), _detector(choice))


def _open_sam2(choice: FinderChoice) -> PlayerFinder:
    return PromptedFinder(Sam2Torch(choice.weights or DEFAULT_SEGMENTER, device=choice.device), _detector(choice))


def _open_instances(choice: FinderChoice) -> PlayerFinder:
    return InstanceFinder(choice.weights or DEFAULT_INSTANCES, device=choice.device)


def _detector(choice: FinderChoice) -> BoxDetector | None:
    if choice.detector == NO_DETECTOR:
        return None
    return TorchDetector(choice.detector or DEFAULT_DETECTOR, device=choice.device)


_OPENERS: dict[Way, Callable[[FinderChoice], PlayerFinder]] = {
    "shipped": _open_shipped,
    "labels": _open_labels,
    "boxes": _open_labels,
    "sam2": _open_sam2,
    "sam2-onnx": _open_sam2_onnx,
    "instances": _open_instances,
}
