"""How well frames are registered to the rink, in the terms of the literature on sports fields.

Homographies are (n, 3, 3) arrays from undistorted pixels to metres, signed as in `rink.homography`; NaN where there
is none. A frame without a predicted homography has no error, NaN; `coverage` counts it. The field is a convex polygon
in metres.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from plucc.heatmap import axis_centres
from plucc.metrics.polygons import areas, clip_all, edge_lines
from plucc.types import REFERENCE_HEIGHT_PX

CANVAS_SCALE = 4.0
SAMPLES = (24, 14)  # image points across and down for the projection error
CHUNK = 256  # frames at a time, to keep intermediate arrays in the cache


def field_rectangle(length_m: float, width_m: float) -> Float[np.ndarray, "4 2"]:
    """Return the corners of a field around centre ice; rounded corners are left out, as in the literature."""
    x_m, y_m = length_m / 2, width_m / 2
    return np.array([[-x_m, -y_m], [x_m, -y_m], [x_m, y_m], [-x_m, y_m]])


def field_grid(length_m: float, width_m: float, across: int = 13, down: int = 7) -> Float[np.ndarray, "k 2"]:
    """Return a grid of points over a field, borders included: what the literature takes the reprojection error at."""
    x_m, y_m = np.linspace(-length_m / 2, length_m / 2, across), np.linspace(-width_m / 2, width_m / 2, down)
    return np.stack(np.meshgrid(x_m, y_m), axis=-1).reshape(-1, 2)


def has_homography(matrices: Float[np.ndarray, "n 3 3"]) -> Bool[np.ndarray, " n"]:
    """Tell which rows hold a homography; a singular matrix is none."""
    is_finite = np.isfinite(matrices).all(axis=(1, 2))
    return np.asarray(is_finite & (np.linalg.det(np.where(is_finite[:, None, None], matrices, 0.0)) != 0))


def coverage(predicted: Float[np.ndarray, "n 3 3"], target: Float[np.ndarray, "n 3 3"]) -> float:
    """Return the share of frames with a labelled homography that got a predicted one."""
    labelled = has_homography(target)
    return float(has_homography(predicted)[labelled].mean()) if labelled.any() else float("nan")


def iou_part(
    predicted: Float[np.ndarray, "n 3 3"],
    target: Float[np.ndarray, "n 3 3"],
    size_px: Int[np.ndarray, "n 2"],
    field_m: Float[np.ndarray, "k 2"],
) -> Float[np.ndarray, " n"]:
    """Return the overlap of the parts of the field that the picture shows, by one homography and by the other.

    Computed on the field from exact polygons: the field is bounded and the picture's edges are lines on it, so a
    horizon in the picture needs no special care. NaN where neither shows any of the field.
    """
    result = np.full(len(target), np.nan)
    for rows in _scored_chunks(predicted, target):
        field = np.broadcast_to(field_m, (len(rows), *field_m.shape))
        seen = clip_all(field, _frame_lines(np.linalg.inv(target[rows]), size_px[rows]))
        guess_lines = _frame_lines(np.linalg.inv(predicted[rows]), size_px[rows])
        result[rows] = _iou(areas(seen), areas(clip_all(field, guess_lines)), areas(clip_all(seen, guess_lines)))
    return result


def iou_whole(
    predicted: Float[np.ndarray, "n 3 3"], target: Float[np.ndarray, "n 3 3"], field_m: Float[np.ndarray, "k 2"]
) -> Float[np.ndarray, " n"]:
    """Return the overlap of the whole field with itself, taken to the picture by the label and back by the prediction.

    Also the unseen part of the field counts, so this punishes errors far outside the picture. What the way there and
    back throws beyond four times the field's size is cut off, as in the literature, since near the horizon it has no
    bound.
    """
    edges = edge_lines(field_m)
    middle = (field_m.min(axis=0) + field_m.max(axis=0)) / 2
    canvas_m = middle + CANVAS_SCALE * (field_m - middle)
    result = np.full(len(target), np.nan)
    for rows in _scored_chunks(predicted, target):
        to_image = np.linalg.inv(predicted[rows])
        back = target[rows] @ to_image
        # a point of the canvas is in the moved field if it was in the field before: linear in the point, as w > 0
        lines = np.concatenate((to_image[:, 2:3], np.einsum("kj,nji->nki", edges, back)), axis=1)
        field, canvas = (np.broadcast_to(shape, (len(rows), *shape.shape)) for shape in (field_m, canvas_m))
        result[rows] = _iou(areas(field), areas(clip_all(canvas, lines)), areas(clip_all(field, lines)))
    return result


def projection_error_m(
    predicted: Float[np.ndarray, "n 3 3"],
    target: Float[np.ndarray, "n 3 3"],
    size_px: Int[np.ndarray, "n 2"],
    field_m: Float[np.ndarray, "k 2"],
) -> Float[np.ndarray, " n"]:
    """Return how far apart on the ice the two homographies put the same pixels, in metres, averaged over the picture.

    Pixels are spread evenly over the picture; those count that both homographies put on the field, as in the
    literature, so that a gross error shows in the overlap rather than here.
    """
    edges = edge_lines(field_m)
    result = np.full(len(target), np.nan)
    for rows in _scored_chunks(predicted, target):
        pixels = _spread(size_px[rows])
        first, second = pixels.mapped(predicted[rows]), pixels.mapped(target[rows])
        counts = first.is_on_field(edges) & second.is_on_field(edges)
        result[rows] = _masked_mean(first.distance(second), counts)
    return result


def reprojection_error_px(
    predicted: Float[np.ndarray, "n 3 3"],
    target: Float[np.ndarray, "n 3 3"],
    size_px: Int[np.ndarray, "n 2"],
    points_m: Float[np.ndarray, "k 2"],
) -> Float[np.ndarray, " n"]:
    """Return how far apart in the picture the two homographies put the same points of the rink, in pixels at 720 lines.

    Those points count that both put inside the picture. The literature divides by the frame's height: this, divided
    by 720.
    """
    result = np.full(len(target), np.nan)
    for rows in _scored_chunks(predicted, target):
        points = _Points(*(np.broadcast_to(axis, (len(rows), len(points_m))) for axis in points_m.T))
        first, second = points.mapped(np.linalg.inv(predicted[rows])), points.mapped(np.linalg.inv(target[rows]))
        counts = first.is_in_frame(size_px[rows]) & second.is_in_frame(size_px[rows])
        mean_px = _masked_mean(first.distance(second), counts)
        result[rows] = mean_px * REFERENCE_HEIGHT_PX / size_px[rows, 1]
    return result


def _scored_chunks(
    predicted: Float[np.ndarray, "n 3 3"], target: Float[np.ndarray, "n 3 3"]
) -> Iterator[Int[np.ndarray, " m"]]:
    rows = np.flatnonzero(has_homography(predicted) & has_homography(target))
    for start in range(0, len(rows), CHUNK):
        yield rows[start : start + CHUNK]


def _frame_lines(to_image: Float[np.ndarray, "n 3 3"], size_px: Int[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 4 3"]:
    """Return the picture's edges as lines on the ice, positive inside: 0 ≤ u ≤ width · w, 0 ≤ v ≤ height · w.

    Together they also demand w ≥ 0, that is, ice in front of the camera.
    """
    across, down, weight = to_image[:, 0], to_image[:, 1], to_image[:, 2]
    lines = (across, size_px[:, :1] * weight - across, down, size_px[:, 1:] * weight - down)
    return np.stack(lines, axis=1)


def _iou(
    first: Float[np.ndarray, " n"], second: Float[np.ndarray, " n"], shared: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    union = first + second - shared
    return np.asarray(np.divide(shared, union, out=np.full_like(union, np.nan), where=union > 0))


class _Points(NamedTuple):
    """Many points for each of many frames; the axes apart, which numpy is much faster with."""

    x: Float[np.ndarray, "n k"]
    y: Float[np.ndarray, "n k"]

    def mapped(self, matrices: Float[np.ndarray, "n 3 3"]) -> "_Points":
        """Return the points mapped by each frame's matrix; NaN behind the horizon."""
        across, down, weight = (
            matrices[:, row, 0, None] * self.x + matrices[:, row, 1, None] * self.y + matrices[:, row, 2, None]
            for row in range(3)
        )
        weight = np.where(weight > 0, weight, np.nan)
        return _Points(across / weight, down / weight)

    def distance(self, other: "_Points") -> Float[np.ndarray, "n k"]:
        return np.asarray(np.sqrt((self.x - other.x) ** 2 + (self.y - other.y) ** 2))

    def is_on_field(self, edges: Float[np.ndarray, "e 3"]) -> Bool[np.ndarray, "n k"]:
        return np.asarray(np.logical_and.reduce([a * self.x + b * self.y + c >= 0 for a, b, c in edges]))

    def is_in_frame(self, size_px: Int[np.ndarray, "n 2"]) -> Bool[np.ndarray, "n k"]:
        width_px, height_px = size_px[:, :1], size_px[:, 1:]
        return (self.x >= 0) & (self.x <= width_px) & (self.y >= 0) & (self.y <= height_px)


def _spread(size_px: Int[np.ndarray, "n 2"]) -> _Points:
    across, down = (axis_centres(count, 1 / count) for count in SAMPLES)
    x, y = (grid.reshape(1, -1) for grid in np.meshgrid(across, down))
    return _Points(x * size_px[:, :1], y * size_px[:, 1:])


def _masked_mean(values: Float[np.ndarray, "n k"], counts: Bool[np.ndarray, "n k"]) -> Float[np.ndarray, " n"]:
    number = counts.sum(axis=1)
    total = np.where(counts, values, 0.0).sum(axis=1)
    return np.asarray(np.divide(total, number, out=np.full(len(values), np.nan), where=number > 0))
