"""YOLOv5 through ultralytics, where the user has installed it.

ultralytics is AGPL-3.0: this package neither contains nor requires it, and whoever installs it accepts its terms. Only
its network and loss are used; samples, steps and scores are this package's, as for every other model.
"""

from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

from plucc.config import YoloSpec
from plucc.network.boxes import as_shares, from_centres, grown_to, held, padded
from plucc.types import MissingExtraError

STRIDE = 32
LEAST_BOX_PX = 9.0  # a box that holds no centre of an 8 px cell is never assigned; the puck stays in its middle
ADVICE = (
    "ultralytics is missing: pip install ultralytics. It is AGPL-3.0, not part of plucc, and what you build with it "
    "comes under its terms"
)


def has_ultralytics() -> bool:
    """Tell whether YOLOv5 can be built here."""
    try:
        import_module("ultralytics")
    except ImportError:
        return False
    return True


class Yolo(nn.Module):
    """Boxes by a grid of predictions; `model` is ultralytics' own module."""

    def __init__(self, spec: YoloSpec) -> None:
        super().__init__()
        if not has_ultralytics():
            raise MissingExtraError(ADVICE)
        tasks, settings = import_module("ultralytics.nn.tasks"), import_module("ultralytics.cfg")
        self.model: Any = tasks.DetectionModel(f"yolov5{spec.scale}.yaml", ch=3, nc=1, verbose=False)
        self.model.args = settings.get_cfg()  # the weights of the parts of its loss

    def losses(self, frames: Tensor, boxes_px: Tensor) -> dict[str, Tensor]:
        """Return the parts of the objective, averaged over the batch."""
        frames = padded(frames, STRIDE)
        labelled = held(boxes_px)
        batch = {
            "img": frames,
            "batch_idx": labelled.nonzero().flatten().to(frames.dtype),
            "cls": torch.zeros(int(labelled.sum()), 1, device=frames.device),
            "bboxes": as_shares(grown_to(boxes_px[labelled], LEAST_BOX_PX), frames),
        }
        parts, _ = self.model(batch)
        return dict(zip(("box", "class", "distribution"), parts / len(frames), strict=True))

    def forward(self, frames: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Return boxes and scores of each frame."""
        output = self.model(padded(frames, STRIDE))
        predicted = output[0] if isinstance(output, tuple | list) else output
        return [(from_centres(one[:4].T), one[4]) for one in predicted]
