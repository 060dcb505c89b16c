"""What is minimised: the distance between two heatmaps, and whether a puck shows."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from plucc.heatmap import PIXEL_CENTRE
from plucc.network.heads import NOWHERE_LOGIT


@dataclass(frozen=True, slots=True)
class Losses:
    """The parts of the objective, each averaged over the whole batch, and their weighted sum."""

    total: Tensor
    heatmap: Tensor
    presence: Tensor
    background: Tensor


def axis_log_gaussian(coordinate_px: Tensor, cells: int, sigma_px: float, stride_px: float) -> Tensor:
    """Return the logarithm of a Gaussian over the cell centres of one axis, normalised to sum one: (n, cells)."""
    centres = (torch.arange(cells, device=coordinate_px.device, dtype=torch.float32) + PIXEL_CENTRE) * stride_px
    exponents = -0.5 * ((centres - coordinate_px[:, None].float()) / sigma_px) ** 2
    return exponents.log_softmax(dim=1)


def heatmap_kl(logits: Tensor, points_px: Tensor, sigma_px: float, stride_px: float) -> Tensor:
    """Return KL(G ‖ softmax(Z)) of each map against the Gaussian at its point: (n,), in float32.

    The Gaussian is a product of one along x and one along y, so its entropy is the sum of theirs and the cross term
    Σ G·log Ĝ needs no full-size target.
    """
    scores = logits.squeeze(1).float()
    log_across = axis_log_gaussian(points_px[:, 0], scores.shape[2], sigma_px, stride_px)
    log_down = axis_log_gaussian(points_px[:, 1], scores.shape[1], sigma_px, stride_px)
    across, down = log_across.exp(), log_down.exp()
    negative_entropy = (across * log_across).sum(dim=1) + (down * log_down).sum(dim=1)
    expected_logit = torch.einsum("nh,nhw,nw->n", down, scores, across)
    return negative_entropy - (expected_logit - scores.flatten(1).logsumexp(dim=1))


def background_loss(logits: Tensor, holds_puck: Tensor) -> Tensor:
    """Return −log of what a softmax over a map's cells and one cell "nowhere" gives to the right side: (n,).

    A softmax over a crop only compares places within it. The fixed logit of "nowhere" makes logits of different crops,
    and of crops without a puck, comparable: there every cell has to stay below it.
    """
    somewhere = logits.flatten(1).float().logsumexp(dim=1) - NOWHERE_LOGIT
    return F.binary_cross_entropy_with_logits(somewhere, holds_puck.float(), reduction="none")


@dataclass(frozen=True, slots=True)
class Objective:
    """Weights of the parts, and the target's shape in frame pixels.

    Frames without a puck do not enter the heatmap term; they do enter the others. A hidden puck enters the heatmap term
    (the players tell) and counts as absent for presence. Every part is divided by the batch size, not by the number of
    frames that entered it, so that a sample weighs the same in any batch, on any number of processes.
    """

    sigma_px: float
    stride_px: float
    presence_weight: float = 1.0
    background_weight: float = 0.0

    def __call__(self, logits: Tensor, presence: Tensor | None, points_px: Tensor, present: Tensor) -> Losses:
        count = len(logits)
        held = ~points_px.isnan().any(dim=1)
        zero = logits.sum() * 0.0
        heatmap = heatmap_kl(logits[held], points_px[held], self.sigma_px, self.stride_px).sum() / count
        background = zero
        if self.background_weight:
            decided = held == present.bool()  # a hidden puck is neither
            background = (background_loss(logits, held) * decided).sum() / count
        judged = zero
        if presence is not None:
            judged = F.binary_cross_entropy_with_logits(presence.float(), present)
        total = heatmap + self.presence_weight * judged + self.background_weight * background
        return Losses(total, heatmap, judged, background)
