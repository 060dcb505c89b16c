"""Detectors as baselines: frames in, boxes out; one class, the puck.

All share one contract, so that training, scoring and tests treat them alike. Frames are RGB in 0..1, (b, 3, h, w), of
any size; each detector normalises and pads as it was published. Boxes are left, top, right, bottom in frame pixels.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from plucc.config import DetectorSpec, DFineSpec, FasterRcnnSpec, Spec, parse_section
from plucc.network.checkpoint import load_weights, read_checkpoint
from plucc.network.dfine import DFine
from plucc.network.faster_rcnn import FasterRcnn
from plucc.network.yolo import Yolo
from plucc.types import FloatArray, ImageArray, InputError, ModelError

KEPT = 5  # boxes of a frame, best first

PuckDetector: TypeAlias = FasterRcnn | DFine | Yolo


def build_detector(spec: DetectorSpec, *, pretrained: bool = True) -> PuckDetector:
    """Build a detector; `pretrained=False` leaves out the weights that the spec names: others will be loaded."""
    if isinstance(spec, FasterRcnnSpec):
        detector: PuckDetector = FasterRcnn(spec)
    elif isinstance(spec, DFineSpec):
        return DFine(spec, pretrained=pretrained)
    else:
        detector = Yolo(spec)
    if pretrained and spec.weights_file is not None:
        take_fitting(detector.model, spec.weights_file)
    return detector


def take_fitting(model: nn.Module, path: Path) -> int:
    """Take the weights of a local file that fit by name and shape; return how many; refuse a file without any."""
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist: set weights_file to the downloaded weights") from error
    except Exception as error:  # torch raises many kinds for a foreign file
        raise ModelError(
            f"{path} is no file of plain weights: save the detector's state_dict with torch.save"
        ) from error
    given: Mapping[str, Any] = content.get("state_dict", content) if isinstance(content, dict) else {}
    own = model.state_dict()
    prefixes = ("", "backbone.body.")
    fitting = {
        prefix + key: value
        for prefix in prefixes
        for key, value in given.items()
        if isinstance(value, Tensor) and prefix + key in own and own[prefix + key].shape == value.shape
    }
    if not fitting:
        raise ModelError(f"{path} has no layer in common with this detector: give weights of the same one")
    model.load_state_dict(own | fitting)
    return len(fitting)


def is_detector(path: Path) -> bool:
    """Tell whether a checkpoint holds a detector."""
    return read_checkpoint(path)[1].get("detector") is not None


def load_detector(path: Path) -> tuple[PuckDetector, Spec]:
    """Read a detector's checkpoint, in evaluation mode on the CPU, with the spec that it was trained by."""
    content, sections = read_checkpoint(path)
    spec = parse_section(Spec, sections, str(path))
    if spec.detector is None:
        raise ModelError(f"{path} holds a heatmap network, not a detector: load it as one")
    detector = build_detector(spec.detector, pretrained=False)
    load_weights(path, detector, content["state_dict"])
    return detector.eval(), spec


class DetectorRuntime:
    """A detector ready to run on pictures: boxes and scores, best first, at most five."""

    def __init__(self, detector: PuckDetector, kind: str, *, threads: int | None = None, device: str = "cpu") -> None:
        if device == "cpu" and threads is not None:
            torch.set_num_threads(threads)
        self.kind = kind
        self._detector, self._device = detector.to(device).eval(), device

    @torch.inference_mode()
    def __call__(self, image: ImageArray) -> tuple[FloatArray, FloatArray]:
        planes = torch.from_numpy(np.ascontiguousarray(image)).to(self._device).permute(2, 0, 1)[None].float() / 255
        boxes, scores = best_boxes(self._detector(planes)[0])
        return boxes.cpu().numpy(), scores.cpu().numpy()


def load_detector_runtime(path: Path, *, threads: int | None = None, device: str = "cpu") -> DetectorRuntime:
    """Load a detector's checkpoint to run."""
    detector, spec = load_detector(path)
    kind = spec.detector.kind if spec.detector is not None else ""
    return DetectorRuntime(detector, kind, threads=threads, device=device)


def best_boxes(found: tuple[Tensor, Tensor], count: int = KEPT) -> tuple[Tensor, Tensor]:
    """Return the boxes of one frame that score highest, best first."""
    boxes, scores = found
    kept = scores.argsort(descending=True, stable=True)[:count]
    return boxes[kept].float(), scores[kept].float()
