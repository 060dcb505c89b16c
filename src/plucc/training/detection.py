"""The training and validation steps of a detector: the same samples, steps and scores as every network's."""

from math import nan
from typing import cast

import torch
from torch import Tensor

from plucc.network.boxes import boxes_around
from plucc.network.detectors import PuckDetector, best_boxes
from plucc.training.dataset import Batch
from plucc.training.module import PuckModule
from plucc.training.validation import Sighting, ValidationBatch


class DetectorModule(PuckModule):
    """A detector in training. Its label is the puck's box, hidden or not: what the heatmap networks are told too."""

    @property
    def _detector(self) -> PuckDetector:
        return cast(PuckDetector, self.network)

    def training_step(self, batch: Batch, _index: int) -> Tensor:
        self._batch = batch
        frames = planes(batch.frames)
        boxes_px = boxes_around(batch.points_px, batch.extents_px, *frames.shape[-2:])
        parts = self._detector.losses(frames, boxes_px)
        total = torch.stack(list(parts.values())).sum()
        if not torch.isfinite(total):
            self._stop_on_divergence("the loss")
        values = {f"train/{name}": value.detach() for name, value in parts.items()}
        self.log_dict(values | {"train/total": total.detach()}, batch_size=len(frames))
        return total

    def validation_step(self, batch: ValidationBatch, _index: int) -> None:
        frames = planes(batch.frames)
        found = self.used_network(frames)
        for (boxes, scores), truth in zip(found, batch.truths, strict=True):
            best, _ = best_boxes((boxes, scores), count=1)
            x_px, y_px = ((best[0, :2] + best[0, 2:]) / 2).tolist() if len(best) else (nan, nan)
            self._sightings.append(Sighting(x_px, y_px, nan, frames.shape[-2], truth))


def planes(pixels: Tensor) -> Tensor:
    """Return bytes (n, h, w, 3) as RGB in 0..1, (n, 3, h, w)."""
    return pixels.permute(0, 3, 1, 2).float() / 255
