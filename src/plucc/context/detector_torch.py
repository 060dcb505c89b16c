"""People through transformers: boxes from any object detector, or masks at once from an instance segmenter."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from plucc.context.hub import EXTRA, load_pair, version_of
from plucc.context.masks import body, union
from plucc.data.schema import Player
from plucc.types import Box, ImageArray, MaskArray, ModelError, Size, require

PERSON_LABELS = frozenset({"person", "player", "skater", "goaltender", "goalkeeper", "referee"})
BOX_SCORE = 0.4
INSTANCE_SCORE = 0.4


class TorchDetector:
    """RF-DETR, D-FINE or any other detector that knows people; keeps whoever scores enough."""

    def __init__(self, source: str, *, device: str = "auto", score: float = BOX_SCORE) -> None:
        self._model, self._processor = load_pair("AutoModelForObjectDetection", "AutoImageProcessor", source, device)
        self._people = people_among(self._model.config.id2label, source)
        self._score = score
        self.version = f"boxes-{score:g}-{version_of(source, self._model)}"

    def __call__(self, frame: ImageArray) -> list[Box]:
        height, width = frame.shape[:2]
        output = _run(self._model, self._processor, frame)
        found = self._processor.post_process_object_detection(
            output, threshold=self._score, target_sizes=[(height, width)]
        )[0]
        pairs = zip(found["labels"].tolist(), found["boxes"].float().tolist(), strict=True)
        boxes = (_clipped(corners, Size(width, height)) for label, corners in pairs if label in self._people)
        return [box for box in boxes if box is not None]


class InstanceFinder:
    """RF-DETR's instance segmentation: people and their masks in one step."""

    def __init__(self, source: str, *, device: str = "auto", score: float = INSTANCE_SCORE) -> None:
        self._model, self._processor = load_pair("RfDetrForInstanceSegmentation", "AutoImageProcessor", source, device)
        self._people = people_among(self._model.config.id2label, source)
        self._score = score
        self.version = f"instances-{score:g}-{version_of(source, self._model)}"

    def __call__(self, frame: ImageArray, players: Sequence[Player] | None = None) -> MaskArray:  # noqa: ARG002
        height, width = frame.shape[:2]
        output = _run(self._model, self._processor, frame)
        found = self._processor.post_process_instance_segmentation(
            output, threshold=self._score, target_sizes=[(height, width)], return_binary_maps=True
        )[0]
        segments = found["segments_info"]
        maps = found["segmentation"].cpu().numpy() if segments else ()
        pairs = zip(maps, segments, strict=True)
        people = [np.asarray(mask, bool) for mask, info in pairs if info["label_id"] in self._people]
        return union((body(mask, _extent(mask)) for mask in people), Size(width, height))


def people_among(labels: dict[int, str], source: str) -> frozenset[int]:
    """Return the numbers of the classes that are people; a model that knows none is refused."""
    people = frozenset(number for number, name in labels.items() if name.lower() in PERSON_LABELS)
    if not people:
        expected = ", ".join(sorted(PERSON_LABELS))
        raise ModelError(f"{source} knows no class of people ({expected}): use another detector")
    return people


def _run(model: Any, processor: Any, frame: ImageArray) -> Any:
    torch = require("torch", EXTRA)
    pixels = processor(images=frame, return_tensors="pt")["pixel_values"]
    with torch.inference_mode():
        return model(pixel_values=pixels.to(model.device, model.dtype))


def _clipped(corners: Sequence[float], size: Size) -> Box | None:
    left, right = (min(max(edge, 0.0), float(size.width)) for edge in corners[0::2])
    top, bottom = (min(max(edge, 0.0), float(size.height)) for edge in corners[1::2])
    return Box(left, top, right, bottom) if left < right and top < bottom else None


def _extent(mask: MaskArray) -> Box:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return Box(float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1))
