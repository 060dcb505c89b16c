"""Boxes in the forms that detectors want, and frames in the sizes that they take."""

import torch
from torch import Tensor
from torch.nn.functional import pad


def boxes_around(points_px: Tensor, extents_px: Tensor, height: int, width: int) -> Tensor:
    """Return the boxes (b, 4) of pucks, clipped to the frame and at least a pixel wide; NaN where there is no puck.

    Boxes are left, top, right, bottom in pixels of the frame.
    """
    half = extents_px.clamp(min=1.0) / 2
    limits = torch.tensor([width, height], device=points_px.device, dtype=points_px.dtype)
    low = torch.minimum((points_px - half).clamp(min=0.0), limits - 1.0)
    high = torch.maximum(torch.minimum(points_px + half, limits), low + 1.0)
    missing = points_px.isnan().any(dim=1, keepdim=True)
    return torch.where(missing, torch.nan, torch.cat((low, high), dim=1))


def padded(frames: Tensor, multiple: int) -> Tensor:
    """Pad frames at the right and bottom with black to sides that are whole multiples."""
    bottom, right = (-side % multiple for side in frames.shape[-2:])
    return pad(frames, (0, right, 0, bottom)) if bottom or right else frames


def as_shares(boxes_px: Tensor, frames: Tensor) -> Tensor:
    """Return boxes (n, 4) as centre x, centre y, width, height, in shares of the frames' size."""
    height, width = frames.shape[-2:]
    size = torch.tensor([width, height], device=boxes_px.device, dtype=boxes_px.dtype)
    return torch.cat(
        ((boxes_px[:, :2] + boxes_px[:, 2:]) / 2 / size, (boxes_px[:, 2:] - boxes_px[:, :2]) / size), dim=1
    )


def from_centres(boxes: Tensor) -> Tensor:
    """Return boxes (n, 4) given as centre and size as left, top, right, bottom."""
    return torch.cat((boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2), dim=1)


def grown_to(boxes_px: Tensor, least_px: float) -> Tensor:
    """Return boxes (n, 4) with the same centres and sides of at least so many pixels."""
    middle = (boxes_px[:, :2] + boxes_px[:, 2:]) / 2
    half = (boxes_px[:, 2:] - boxes_px[:, :2]).clamp(min=least_px) / 2
    return torch.cat((middle - half, middle + half), dim=1)


def held(boxes_px: Tensor) -> Tensor:
    """Tell which frames have a box."""
    return ~boxes_px.isnan().any(dim=1)
