"""From a point to a heatmap and back; the one place where array indices become coordinates.

The centre of cell (row, column) lies at ((column + 0.5) · stride, (row + 0.5) · stride) in frame pixels, where the
stride is the number of frame pixels along one cell: 1 for a map of the frame's own size, 2 for one of half its size.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import cv2
import numpy as np
from jaxtyping import Float

from plucc.types import InputError, Point, ShapeError, Size

PIXEL_CENTRE = 0.5
SIGMA_PX = 5.0  # the paper's, at 720 lines
CONFIDENCE_SIGMAS = 3.0
FIT_SIGMAS = 1.5  # wider lets noise average out; narrower keeps a flat floor under the peak out of the fit

DecodeMethod: TypeAlias = Literal["argmax", "soft-argmax", "parabola"]


@dataclass(frozen=True, slots=True)
class Peak:
    """One place where a heatmap puts the puck.

    `confidence` is raw: the share of the map's probability within 3σ of the peak, 0.989 for a perfect Gaussian.
    Calibration turns it into a probability. `height` is the probability of the single highest cell.
    """

    xy_px: Point
    confidence: float
    height: float


@dataclass(frozen=True, slots=True)
class _Patch:
    """A square of logits with one cell of interest; columns and rows are offsets from that cell."""

    logits: Float[np.ndarray, "h w"]
    columns: Float[np.ndarray, " w"]
    rows: Float[np.ndarray, " h"]

    @property
    def weights(self) -> Float[np.ndarray, "h w"]:
        """Probabilities up to a common factor, 1 at the highest cell."""
        weights: Float[np.ndarray, "h w"] = np.exp(self.logits - self.logits.max())
        return weights


@dataclass(frozen=True, slots=True)
class _Map:
    """A heatmap with what every reading of it needs, computed once."""

    logits: Float[np.ndarray, "h w"]
    log_total: float
    sigma_px: float
    stride_px: float

    @property
    def sigma_cells(self) -> float:
        return self.sigma_px / self.stride_px

    def patch(self, row: int, column: int, radius: int) -> _Patch:
        """Return the cells up to `radius` away; the border cuts some off, but leaves three each way for a fit."""
        height, width = self.logits.shape
        top, left = max(min(row - radius, height - 3), 0), max(min(column - radius, width - 3), 0)
        logits = self.logits[top : max(row + radius + 1, 3), left : max(column + radius + 1, 3)].astype(np.float64)
        rows, columns = np.arange(logits.shape[0]) + (top - row), np.arange(logits.shape[1]) + (left - column)
        return _Patch(logits, columns.astype(np.float64), rows.astype(np.float64))


def pixel_centres(size: Size, stride_px: float = 1.0) -> Float[np.ndarray, "h w 2"]:
    """Return the frame coordinates (x, y) of the centre of every cell of a map of this size.

    >>> pixel_centres(Size(width=3, height=2))[1, 2]
    array([2.5, 1.5])
    """
    columns, rows = axis_centres(size.width, stride_px), axis_centres(size.height, stride_px)
    return np.stack(np.meshgrid(columns, rows), axis=-1)


def axis_centres(count: int, stride_px: float = 1.0) -> Float[np.ndarray, " n"]:
    """Return the coordinates of the centres of `count` cells along one axis.

    >>> axis_centres(3, stride_px=2.0)
    array([1., 3., 5.])
    """
    centres: Float[np.ndarray, " n"] = (np.arange(count) + PIXEL_CENTRE) * stride_px
    return centres


def gaussian_target(
    point_px: Point, size: Size, sigma_px: float = SIGMA_PX, *, stride_px: float = 1.0
) -> Float[np.ndarray, "h w"]:
    """Return the paper's Gaussian label as a distribution over the cells of a map of this size.

    G(x, y) ∝ exp(−((x − μx)² + (y − μy)²) / 2σ²), taken at the cells' centres and divided by its sum over the map:
    near a border the mass outside is spread over what is visible, so that the target always sums to one.

    The Gaussian is sampled at the centres, not integrated over the cells: that is the paper's formula, and its
    logarithm is exactly quadratic, so that a parabola through a few cells gives back the point without error, even at
    the border. Point and sigma are in frame pixels.

    >>> target = gaussian_target(Point(4.0, 2.5), Size(width=8, height=5), sigma_px=1.0)
    >>> round(float(target.sum()), 12), bool(target[2, 3] == target[2, 4] == target.max())
    (1.0, True)
    """
    width_px, height_px = size.width * stride_px, size.height * stride_px
    if not (0 <= point_px.x <= width_px and 0 <= point_px.y <= height_px):
        raise InputError(
            f"point ({point_px.x:g}, {point_px.y:g}) is not inside the {width_px:g}x{height_px:g} px frame: "
            f"a puck outside the picture has no heatmap, mark the frame as one without a puck"
        )
    if not sigma_px > 0:
        raise InputError(f"sigma is {sigma_px:g} px; a Gaussian needs a positive one, the paper's is {SIGMA_PX:g}")
    across = _normalised_gaussian(axis_centres(size.width, stride_px) - point_px.x, sigma_px)
    down = _normalised_gaussian(axis_centres(size.height, stride_px) - point_px.y, sigma_px)
    return np.outer(down, across)


def _normalised_gaussian(offsets_px: Float[np.ndarray, " n"], sigma_px: float) -> Float[np.ndarray, " n"]:
    exponents = -0.5 * (offsets_px / sigma_px) ** 2
    # relative to the highest cell, or a sigma far below a cell would leave nothing but zeros
    weights = np.exp(exponents - exponents.max())
    normalised: Float[np.ndarray, " n"] = weights / weights.sum()
    return normalised


def kl_divergence(logits: Float[np.ndarray, "*batch h w"], target: Float[np.ndarray, "*batch h w"]) -> float:
    """Return KL(target ‖ softmax(logits)) in nats, averaged over the batch.

    Finite for every finite map, because log-probabilities come from the logits and never from the logarithm of a
    probability that has underflowed. Cells where the target is zero add nothing.

    >>> saturated = np.array([[400.0, 0.0], [0.0, 0.0]])
    >>> kl_divergence(saturated, np.array([[0.5, 0.5], [0.0, 0.0]])).__round__(3)
    199.307
    """
    if logits.shape != target.shape:
        raise ShapeError(f"logits are {logits.shape} and the target is {target.shape}: both must have the same shape")
    scores = logits.astype(np.float64).reshape(-1, logits.shape[-2] * logits.shape[-1])
    share = target.astype(np.float64).reshape(scores.shape)
    scores = scores - scores.max(axis=1, keepdims=True)
    log_probability = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    held = share > 0
    terms = np.zeros_like(share)
    terms[held] = share[held] * (np.log(share[held]) - log_probability[held])
    return float(terms.sum(axis=1).mean())


def decode(
    logits: Float[np.ndarray, "h w"],
    *,
    method: DecodeMethod = "parabola",
    sigma_px: float = SIGMA_PX,
    stride_px: float = 1.0,
) -> Peak:
    """Return the highest peak of a map of logits, in frame pixels.

    `argmax` is the paper's: the centre of the highest cell, up to 0.7 px off. `soft-argmax` is the
    probability-weighted mean within 3σ of it; next to a border the window shrinks to stay symmetric, and its answer
    falls back to the cell. `parabola`, the default, fits a quadratic to the logits within 1.5σ of the highest cell,
    weighted by probability (DARK's idea, by least squares instead of derivatives, so that noise averages out); exact
    on a Gaussian, at borders too.

    >>> logits = np.log(gaussian_target(Point(20.3, 11.8), Size(width=64, height=32)))
    >>> [round(value, 3) for value in decode(logits).xy_px]
    [20.3, 11.8]
    >>> decode(logits, method="argmax").xy_px
    Point(x=20.5, y=11.5)
    """
    heatmap = _read_map(logits, sigma_px, stride_px)
    row, column = np.unravel_index(int(np.argmax(logits)), logits.shape)
    return _peak_at(heatmap, int(row), int(column), method)


def top_peaks(
    logits: Float[np.ndarray, "h w"],
    count: int,
    *,
    method: DecodeMethod = "parabola",
    sigma_px: float = SIGMA_PX,
    stride_px: float = 1.0,
) -> tuple[Peak, ...]:
    """Return up to `count` separate peaks, highest first; the first is what `decode` returns.

    A peak is the highest cell within σ of itself, and lies at least 3σ from every higher peak. Fewer are returned when
    the map has fewer. Masses of peaks closer than 6σ overlap, so confidences may add up to more than one.

    >>> two = gaussian_target(Point(10, 16), Size(80, 32)) + 0.5 * gaussian_target(Point(60, 16), Size(80, 32))
    >>> [(round(peak.xy_px.x, 2), round(peak.confidence, 2)) for peak in top_peaks(np.log(two), count=5)]
    [(10.0, 0.66), (60.0, 0.33)]
    """
    heatmap = _read_map(logits, sigma_px, stride_px)
    open_logits = np.where(_is_local_maximum(logits, heatmap.sigma_cells), logits, -np.inf)
    radius = max(1, round(CONFIDENCE_SIGMAS * heatmap.sigma_cells))
    peaks: list[Peak] = []
    while len(peaks) < count:
        row, column = (int(index) for index in np.unravel_index(int(np.argmax(open_logits)), logits.shape))
        if open_logits[row, column] == -np.inf:
            break
        peaks.append(_peak_at(heatmap, row, column, method))
        _close_disc(open_logits, row, column, radius)
    return tuple(peaks)


def _read_map(logits: Float[np.ndarray, "h w"], sigma_px: float, stride_px: float) -> _Map:
    highest = float(logits.max())
    if not np.isfinite(highest):
        raise InputError("the heatmap holds NaN or infinite logits: check the model and the frame it was given")
    log_total = highest + float(np.log(np.exp(logits - highest).sum(dtype=np.float64)))
    return _Map(logits, log_total, sigma_px, stride_px)


def _is_local_maximum(logits: Float[np.ndarray, "h w"], sigma_cells: float) -> np.ndarray:
    side = 2 * max(1, round(sigma_cells)) + 1
    values = logits if logits.dtype.itemsize >= 4 else logits.astype(np.float32)  # OpenCV knows no half precision
    rises_above_lowest = values > values.min()  # a flat floor is one plateau of equal cells, none of them a peak
    is_highest: np.ndarray = values >= cv2.dilate(values, np.ones((side, side), np.uint8))
    if not rises_above_lowest.any():
        return is_highest
    return np.asarray(np.logical_and(is_highest, rises_above_lowest))


def _close_disc(open_logits: Float[np.ndarray, "h w"], row: int, column: int, radius: int) -> None:
    rows = slice(max(row - radius, 0), row + radius + 1)
    columns = slice(max(column - radius, 0), column + radius + 1)
    height, width = open_logits.shape
    down = np.arange(height)[rows, None] - row
    across = np.arange(width)[None, columns] - column
    open_logits[rows, columns][down**2 + across**2 < radius**2] = -np.inf


def _peak_at(heatmap: _Map, row: int, column: int, method: DecodeMethod) -> Peak:
    if method not in _REFINERS:
        raise InputError(f"decoding method {method!r} is unknown: choose one of {', '.join(_REFINERS)}")
    offset = _REFINERS[method](heatmap, row, column)
    height, width = heatmap.logits.shape
    stride_px = heatmap.stride_px
    xy_px = Point(
        float(np.clip((column + PIXEL_CENTRE + offset.x) * stride_px, 0, width * stride_px)),
        float(np.clip((row + PIXEL_CENTRE + offset.y) * stride_px, 0, height * stride_px)),
    )
    probability = float(np.exp(float(heatmap.logits[row, column]) - heatmap.log_total))
    return Peak(xy_px, _mass_around(heatmap, row, column, offset), probability)


def _mass_around(heatmap: _Map, row: int, column: int, offset: Point) -> float:
    radius = CONFIDENCE_SIGMAS * heatmap.sigma_cells
    patch = heatmap.patch(row, column, int(np.ceil(radius)) + 1)
    inside = np.hypot(patch.columns[None, :] - offset.x, patch.rows[:, None] - offset.y) <= max(radius, PIXEL_CENTRE)
    return min(float(np.exp(patch.logits - heatmap.log_total)[inside].sum()), 1.0)


def _highest_cell(heatmap: _Map, row: int, column: int) -> Point:  # noqa: ARG001
    return Point(0.0, 0.0)


def _weighted_mean(heatmap: _Map, row: int, column: int) -> Point:
    height, width = heatmap.logits.shape
    radius = max(1, round(CONFIDENCE_SIGMAS * heatmap.sigma_cells))
    across, down = min(radius, column, width - 1 - column), min(radius, row, height - 1 - row)
    patch = heatmap.patch(row, column, radius)
    # a window that a border cuts on one side only would pull the mean inwards
    weights = patch.weights * (np.abs(patch.columns) <= across)[None, :] * (np.abs(patch.rows) <= down)[:, None]
    mean_x = float(weights.sum(axis=0) @ patch.columns / weights.sum())
    mean_y = float(weights.sum(axis=1) @ patch.rows / weights.sum())
    return Point(mean_x, mean_y)


def _vertex_of_parabola(heatmap: _Map, row: int, column: int) -> Point:
    radius = max(1, round(FIT_SIGMAS * heatmap.sigma_cells))
    patch = heatmap.patch(row, column, radius)
    x, y = (grid.ravel() for grid in np.meshgrid(patch.columns, patch.rows))
    root_weights = np.sqrt(patch.weights.ravel())
    design = np.stack((np.ones_like(x), x, y, x**2, x * y, y**2), axis=1) * root_weights[:, None]
    values = (patch.logits - patch.logits.max()).ravel()
    # a cell at −inf has no weight; 0 · −inf would poison the fit
    weighted_values = np.where(root_weights > 0, values, 0.0) * root_weights
    _, along_x, along_y, xx, xy, yy = np.linalg.lstsq(design, weighted_values, rcond=None)[0]
    determinant = 4 * xx * yy - xy**2
    if not (xx < 0 and determinant > 0):
        return _weighted_mean(heatmap, row, column)
    vertex = Point(
        float((xy * along_y - 2 * yy * along_x) / determinant), float((xy * along_x - 2 * xx * along_y) / determinant)
    )
    if max(abs(vertex.x), abs(vertex.y)) > radius:
        return _weighted_mean(heatmap, row, column)
    return vertex


_REFINERS: dict[DecodeMethod, Callable[[_Map, int, int], Point]] = {
    "argmax": _highest_cell,
    "soft-argmax": _weighted_mean,
    "parabola": _vertex_of_parabola,
}
