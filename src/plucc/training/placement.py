"""Where a training crop looks: at the puck, anywhere, or at a known mistake."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from plucc.config import AugmentSpec, Spec
from plucc.training.sample import Sample, crop_matrix, move_point
from plucc.types import FloatArray, Point, Size

Reach: TypeAlias = tuple[float, float]  # half the width and height that a crop shows, in the frame's pixels

EDGE_PX = 12.0  # a puck cut by the crop's edge is neither there nor not: such crops are drawn again
TRIES = 8


def place_crop(sample: Sample, spec: Spec, mistakes_px: Sequence[Point], rng: np.random.Generator) -> FloatArray:
    """Return the map from the frame to a crop, by the shares that the spec gives each kind of placement.

    Lengths are first brought to the spec's frame height, so that datasets of several resolutions mix, then jittered.
    """
    augment = spec.augment
    side = spec.data.crop_px or spec.heatmap.height
    crop = Size(side, side)
    scale = spec.heatmap.height / sample.size.height * _log_uniform(augment.scale, rng)
    flip = bool(rng.random() < augment.flip)
    rotation = float(np.radians(rng.uniform(-1, 1) * augment.rotation_deg))
    squeeze = _log_uniform(augment.squeeze, rng)
    reach_px = side / scale / squeeze / 2, side / scale / 2
    target = _target(sample, augment, mistakes_px, rng)
    matrix: FloatArray = np.eye(3)
    for _ in range(TRIES):
        centre = _anywhere(sample.size, rng) if target is None else _near(target, reach_px, rng)
        matrix = crop_matrix(
            _pull_inside(centre, sample.size, reach_px),
            crop,
            scale=scale,
            squeeze=squeeze,
            rotation_rad=rotation,
            flip=flip,
        )
        if sample.point_px is None or not _on_edge(move_point(sample.point_px, matrix), crop):
            break
    return matrix


def place_frame(sample: Sample, spec: Spec, rng: np.random.Generator) -> tuple[FloatArray, Size]:
    """Return the map to a whole frame of the spec's size, mirrored half of the time."""
    size = Size(spec.heatmap.width, spec.heatmap.height)
    scale = min(size.width / sample.size.width, size.height / sample.size.height)
    middle = Point(sample.size.width / 2, sample.size.height / 2)
    return crop_matrix(middle, size, scale=scale, flip=bool(rng.random() < spec.augment.flip)), size


def _target(
    sample: Sample, augment: AugmentSpec, mistakes_px: Sequence[Point], rng: np.random.Generator
) -> Point | None:
    """Return what the crop must show; None when it may lie anywhere."""
    if mistakes_px and rng.random() < augment.hard_negative:
        return mistakes_px[int(rng.integers(len(mistakes_px)))]
    return None if rng.random() < augment.anywhere else sample.point_px


def _anywhere(size: Size, rng: np.random.Generator) -> Point:
    return Point(float(rng.uniform(0, size.width)), float(rng.uniform(0, size.height)))


def _near(target_px: Point, reach_px: Reach, rng: np.random.Generator) -> Point:
    """Return a centre such that the target lies evenly in the crop, so that its place there says nothing."""
    dx, dy = rng.uniform(-0.95, 0.95, 2) * np.array(reach_px)
    return Point(target_px.x + float(dx), target_px.y + float(dy))


def _pull_inside(centre: Point, size: Size, reach_px: Reach) -> Point:
    """Move a crop's centre so that the crop shows frame rather than border, as far as it fits."""
    return Point(_clamped(centre.x, size.width, reach_px[0]), _clamped(centre.y, size.height, reach_px[1]))


def _clamped(value: float, length: int, reach_px: float) -> float:
    slack = 0.06 * reach_px  # a little border, for the network meets borders in use
    low, high = reach_px - slack, length - reach_px + slack
    return length / 2 if low > high else float(np.clip(value, low, high))


def _on_edge(point: Point, size: Size) -> bool:
    distances = (point.x, point.y, size.width - point.x, size.height - point.y)
    return -EDGE_PX < min(distances) < EDGE_PX / 2


def _log_uniform(bounds: tuple[float, float], rng: np.random.Generator) -> float:
    return float(np.exp(rng.uniform(np.log(bounds[0]), np.log(bounds[1]))))
