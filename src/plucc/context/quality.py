"""How good player masks are: against true masks, and against boxes where no true mask exists."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from plucc.context.masks import box_coverage, box_mask, ellipse_mask, enlarged
from plucc.data.schema import Puck
from plucc.types import Box, DataError, MaskArray, Size

FOUND_COVERAGE = 0.4  # a labelled box counts as found when the mask covers this much of it
BOX_ALLOWANCE = 0.2  # mask within a labelled box enlarged by this share is not outside


def mask_iou(mask: MaskArray, truth: MaskArray) -> float:
    """Return intersection over union; two empty masks agree fully."""
    either = np.count_nonzero(mask | truth)
    return float(np.count_nonzero(mask & truth) / either) if either else 1.0


def pixels_outside(mask: MaskArray, boxes: Sequence[Box], allowance: float = BOX_ALLOWANCE) -> int:
    """Return how many mask pixels lie outside every box enlarged by the allowance."""
    near = box_mask([enlarged(box, allowance) for box in boxes], Size(mask.shape[1], mask.shape[0]))
    return int(np.count_nonzero(mask & ~near))


def puck_pixels(mask: MaskArray, puck: Puck) -> tuple[float, float]:
    """Return (covered, visible): puck pixels under the mask, and those that show in the frame at all.

    The puck is the ellipse in its box. A part that a body hides lies under that body's mask and is no puck pixel.
    """
    if puck.box_px is None:
        raise DataError("a puck without a box: how much of it is covered can only be told of pucks with an extent")
    ellipse = ellipse_mask(puck.box_px, Size(mask.shape[1], mask.shape[0]))
    area = int(np.count_nonzero(ellipse))
    hidden = 0.0 if puck.visible_fraction is None else area * (1 - puck.visible_fraction)
    return max(0.0, int(np.count_nonzero(mask & ellipse)) - hidden), area - hidden


@dataclass(slots=True)
class MaskQuality:
    """Gathers frames; reads out the figures of the whole set."""

    coverages: list[float] = field(default_factory=list)
    outside_px: int = 0
    mask_px: int = 0
    ious: list[float] = field(default_factory=list)
    covered_px: float = 0.0
    puck_px: float = 0.0

    def add_puck(self, mask: MaskArray, puck: Puck) -> None:
        covered_px, visible_px = puck_pixels(mask, puck)
        self.covered_px += covered_px
        self.puck_px += visible_px

    def add_boxes(self, mask: MaskArray, boxes: Sequence[Box]) -> None:
        self.coverages.extend(box_coverage(mask, boxes).tolist())
        self.outside_px += pixels_outside(mask, boxes)
        self.mask_px += int(np.count_nonzero(mask))

    def add_truth(self, mask: MaskArray, truth: MaskArray) -> None:
        self.ious.append(mask_iou(mask, truth))

    @property
    def found(self) -> float:
        """Share of labelled boxes covered to at least 40 %."""
        return float(np.mean(np.asarray(self.coverages) >= FOUND_COVERAGE)) if self.coverages else float("nan")

    @property
    def outside(self) -> float:
        """Share of all mask pixels outside every labelled box enlarged by 20 %."""
        return self.outside_px / max(1, self.mask_px)

    @property
    def iou(self) -> float:
        """Mean over frames."""
        return float(np.mean(self.ious)) if self.ious else float("nan")

    @property
    def puck_share(self) -> float:
        """Share of visible puck pixels under the mask, which the context image has to hide."""
        return self.covered_px / self.puck_px if self.puck_px else float("nan")
