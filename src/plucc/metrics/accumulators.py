"""The figures batch by batch, for training and validation: thin torchmetrics over the pure functions.

Every state is a sum or a flat list, so that processes can be merged in any order, also one that saw no frame. Points
are tensors in the frame's own pixels, a row of NaN where there is none. Intervals are left to a full evaluation.
"""

from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from plucc.metrics import detection, homography, pixels, presence, rink
from plucc.rink.sheet import Sheet


def _numpy(tensor: Tensor) -> np.ndarray:
    """Return a tensor of any device in double precision, in which the pure functions agree to the last frame."""
    return tensor.detach().cpu().double().numpy()


class _Accumulator(Metric):
    """A metric whose list states hold flat float tensors on its own device."""

    is_differentiable = False
    full_state_update = False

    def _add_sum(self, name: str, size: int) -> None:
        self.add_state(name, torch.zeros(size, dtype=torch.long), dist_reduce_fx="sum")

    def _add_list(self, name: str) -> None:
        self.add_state(name, [], dist_reduce_fx="cat")

    def _count(self, name: str, marks: np.ndarray) -> None:
        """Add how many rows of a (n, k) array are marked."""
        counts = torch.from_numpy(marks.sum(axis=0, dtype=np.int64)).to(self.device)
        setattr(self, name, getattr(self, name) + counts)

    def _append(self, name: str, values: np.ndarray) -> None:
        getattr(self, name).append(torch.from_numpy(np.ascontiguousarray(values)).to(self.device, self.dtype))

    def _all(self, name: str) -> np.ndarray:
        state: list[Tensor] | Tensor = getattr(self, name)
        if isinstance(state, list) and not state:
            return np.zeros(0)
        return _numpy(dim_zero_cat(state))

    def _figures(self, figures: dict[str, float]) -> dict[str, Tensor]:
        return {name: torch.tensor(value, dtype=self.dtype, device=self.device) for name, value in figures.items()}


class PixelAccuracy(_Accumulator):
    """AP^τ, mAP^τ and D_pixel over batches.

    >>> metric = PixelAccuracy()
    >>> metric.update(torch.tensor([[10.0, 14.0]]), torch.tensor([[10.0, 10.0]]), torch.tensor([720]))
    >>> {name: round(value.item(), 3) for name, value in metric.compute().items()}
    {'AP5': 1.0, 'AP10': 1.0, 'AP25': 1.0, 'AP50': 1.0, 'mAP': 1.0, 'D_pixel': 4.0, 'measured': 1.0, 'labelled': 1.0}
    """

    def __init__(self) -> None:
        super().__init__()
        self._add_sum("hits", len(pixels.TAU_PX))
        self._add_sum("labelled", 1)
        self._add_list("distances_px")

    def update(
        self,
        predicted_px: Float[Tensor, "n 2"],
        target_px: Float[Tensor, "n 2"],
        height_px: Int[Tensor, " n"] | Float[Tensor, " n"],
    ) -> None:
        """Add frames with the heights of their pictures."""
        target, height = _numpy(target_px), _numpy(height_px)
        distances_px = pixels.pixel_distances(_numpy(predicted_px), target)
        self._count("hits", pixels.within_thresholds(distances_px, height))
        self._count("labelled", np.isfinite(target).all(axis=1)[:, None])
        self._append("distances_px", pixels.at_reference_height(distances_px, height)[np.isfinite(distances_px)])

    def compute(self) -> dict[str, Tensor]:
        """Return the figures by name."""
        distances_px, labelled = self._all("distances_px"), int(self._all("labelled")[0])
        precision = [hits / labelled if labelled else float("nan") for hits in self._all("hits")]
        names = [f"AP{tau_px:g}" for tau_px in pixels.TAU_PX]
        mean_px = float(distances_px.mean()) if len(distances_px) else float("nan")
        figures = dict(zip(names, precision, strict=True)) | {"mAP": float(np.mean(precision)), "D_pixel": mean_px}
        return self._figures(figures | {"measured": len(distances_px), "labelled": labelled})


class RinkAccuracy(_Accumulator):
    """AP^r, AP^2r, AP^4r, mean and median RSLE, and labelled frames without a homography, over batches."""

    def __init__(self) -> None:
        super().__init__()
        self._add_sum("hits", len(rink.RADIUS_MULTIPLES))
        self._add_sum("scored", 1)
        self._add_sum("without_homography", 1)
        self._add_list("distances_m")

    def update(
        self, predicted_px: Float[Tensor, "n 2"], target_px: Float[Tensor, "n 2"], to_rink: Float[Tensor, "n 3 3"]
    ) -> None:
        """Add frames with the homographies of their labels, NaN where there is none."""
        target, matrices = _numpy(target_px), _numpy(to_rink)
        distances_m = rink.rink_distances(_numpy(predicted_px), target, matrices)
        scored = rink.can_be_scored(target, matrices)
        self._count("hits", rink.within_radii(distances_m))
        self._count("scored", scored[:, None])
        self._count("without_homography", (np.isfinite(target).all(axis=1) & ~scored)[:, None])
        self._append("distances_m", distances_m[np.isfinite(distances_m)])

    def compute(self) -> dict[str, Tensor]:
        """Return the figures by name."""
        distances_m, scored = self._all("distances_m"), int(self._all("scored")[0])
        precision = [hits / scored if scored else float("nan") for hits in self._all("hits")]
        figures = dict(zip(("APr", "AP2r", "AP4r"), precision, strict=True))
        figures["RSLE mean"] = float(distances_m.mean()) if len(distances_m) else float("nan")
        figures["RSLE median"] = float(np.median(distances_m)) if len(distances_m) else float("nan")
        counts = {"measured": len(distances_m), "scored": scored}
        return self._figures(figures | counts | {"without homography": int(self._all("without_homography")[0])})


class Outcomes(_Accumulator):
    """Outcome counts, precision, recall, F1 and accuracy over batches, by WASB's or TrackNet's protocol."""

    def __init__(self, protocol: Literal["wasb", "tracknet"] = "wasb") -> None:
        super().__init__()
        self.protocol = protocol
        self._add_sum("counts", len(detection.OUTCOMES))

    def update(
        self, predicted_px: Float[Tensor, "n 2"], target_px: Float[Tensor, "n 2"], size_px: Int[Tensor, "n 2"]
    ) -> None:
        """Add frames with the widths and heights of their pictures."""
        predicted, target = _numpy(predicted_px), _numpy(target_px)
        if self.protocol == "wasb":
            outcomes = detection.wasb_outcomes(predicted, target)
        else:
            outcomes = detection.tracknet_outcomes(predicted, target, _numpy(size_px))
        self._count("counts", outcomes)

    def compute(self) -> dict[str, Tensor]:
        """Return counts and figures by name."""
        counts = self._all("counts")
        figures = {
            "precision": float(detection.precision(counts)),
            "recall": float(detection.recall(counts)),
            "F1": float(detection.f1(counts)),
            "accuracy": float(detection.accuracy(counts)),
        }
        return self._figures(dict(zip(detection.OUTCOMES, counts.tolist(), strict=True)) | figures)


class Presence(_Accumulator):
    """AUROC, false alarms, Brier score and calibration error of the presence of a puck, over batches."""

    def __init__(self) -> None:
        super().__init__()
        self._add_list("confidence")
        self._add_list("has_puck")
        self._add_list("is_predicted")

    def update(
        self, confidence: Float[Tensor, " n"], predicted_px: Float[Tensor, "n 2"], target_px: Float[Tensor, "n 2"]
    ) -> None:
        """Add frames with the confidence given to each, also to those without a point."""
        self._append("confidence", _numpy(confidence))
        self._append("has_puck", np.isfinite(_numpy(target_px)).all(axis=1))
        self._append("is_predicted", np.isfinite(_numpy(predicted_px)).all(axis=1))

    def compute(self) -> dict[str, Tensor]:
        """Return the figures by name."""
        confidence = self._all("confidence")
        has_puck, is_predicted = self._all("has_puck") > 0, self._all("is_predicted") > 0
        figures = {
            "AUROC": presence.auroc(confidence, has_puck),
            "false alarms": presence.false_alarm_rate(is_predicted, has_puck),
            "false alarms at recall": presence.false_alarm_rate_at_recall(confidence, has_puck),
            "Brier": presence.brier_score(confidence, has_puck),
            "ECE": presence.expected_calibration_error(confidence, has_puck),
        }
        return self._figures(figures)


class RegistrationAccuracy(_Accumulator):
    """Coverage, IoU_part, IoU_whole, projection and reprojection error of homographies over batches."""

    def __init__(self, sheet: Sheet) -> None:
        super().__init__()
        self.field_m = homography.field_rectangle(sheet.length_m, sheet.width_m)
        self.points_m = homography.field_grid(sheet.length_m, sheet.width_m)
        self._add_sum("covered_and_labelled", 2)
        for name in ("iou_part", "iou_whole", "projection_m", "reprojection_px"):
            self._add_list(name)

    def update(
        self, predicted: Float[Tensor, "n 3 3"], target: Float[Tensor, "n 3 3"], size_px: Int[Tensor, "n 2"]
    ) -> None:
        """Add frames with predicted and labelled homographies, NaN where there is none, and sizes of their pictures."""
        guess, label, size = _numpy(predicted), _numpy(target), size_px.detach().cpu().numpy()
        labelled = homography.has_homography(label)
        covered = homography.has_homography(guess) & labelled
        self._count("covered_and_labelled", np.stack((covered, labelled), axis=1))
        self._append("iou_part", homography.iou_part(guess, label, size, self.field_m))
        self._append("iou_whole", homography.iou_whole(guess, label, self.field_m))
        self._append("projection_m", homography.projection_error_m(guess, label, size, self.field_m))
        self._append("reprojection_px", homography.reprojection_error_px(guess, label, size, self.points_m))

    def compute(self) -> dict[str, Tensor]:
        """Return the figures by name; all but coverage are over the covered frames."""
        covered, labelled = self._all("covered_and_labelled")
        figures = {"coverage": covered / labelled if labelled else float("nan")}
        for name in ("iou_part", "iou_whole", "projection_m", "reprojection_px"):
            values = self._all(name)
            present = values[np.isfinite(values)]
            figures[name] = float(present.mean()) if len(present) else float("nan")
        return self._figures(figures)
