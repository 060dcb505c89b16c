"""The paper's figures in the image: AP^τ, mAP^τ and D_pixel.

Thresholds and distances are quoted at 720 lines: in a frame of another height τ means τ · height / 720 of its pixels.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from plucc.types import REFERENCE_HEIGHT_PX

TAU_PX = (5.0, 10.0, 25.0, 50.0)


@dataclass(frozen=True, slots=True)
class PixelScores:
    """The row of the paper's image table, with the number of frames behind each part.

    The paper calls AP^τ an average precision; nothing is ranked or averaged in it. It is the share of labelled frames
    whose prediction lies within τ of the label. A labelled frame without a prediction is a miss; a frame without a
    puck does not count. The paper says "within the threshold", read here as ≤ τ.

    mAP^τ is the mean of the AP^τ, as the paper defines it. Its table agrees for YOLOv5 (51.5, 57.5, 57.9, 58.4: 56.3),
    but not everywhere: the row of PLUCC with σ = 5 (82.2, 83.6, 84.2, 85.0) has the mean 83.75, printed as 83.5,
    and that of the context-only network (0.2, 1.0, 5.7, 18.0) has 6.2, printed as 6.0. The definition is followed here,
    not the table.

    D_pixel is the mean distance over labelled frames with a prediction, `measured` of them. A detector that stays
    silent when unsure looks better in it than one that always answers, so it says little without that count. The
    paper leaves open whether misses enter its D_pixel; they cannot, having no distance.
    """

    average_precision: tuple[float, ...]  # one for each threshold
    mean_average_precision: float
    distance_px: float  # D_pixel at 720 lines
    measured: int
    labelled: int


def pixel_distances(
    predicted_px: Float[np.ndarray, "n 2"], target_px: Float[np.ndarray, "n 2"]
) -> Float[np.ndarray, " n"]:
    """Return D_pixel of every frame in its own pixels; NaN where prediction or label is missing."""
    return np.asarray(np.hypot(predicted_px[:, 0] - target_px[:, 0], predicted_px[:, 1] - target_px[:, 1]))


def at_reference_height(
    distances_px: Float[np.ndarray, " n"], height_px: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Return distances as they would be at 720 lines."""
    return np.asarray(distances_px * REFERENCE_HEIGHT_PX / height_px)


def within_thresholds(
    distances_px: Float[np.ndarray, " n"],
    height_px: Float[np.ndarray, " n"],
    thresholds_px: Sequence[float] = TAU_PX,
) -> Bool[np.ndarray, "n t"]:
    """Tell which frames have a distance within each threshold, taken at 720 lines; NaN is within none."""
    limits_px = np.asarray(thresholds_px)[None, :] * height_px[:, None] / REFERENCE_HEIGHT_PX
    return np.asarray(distances_px[:, None] <= limits_px)


def pck_curve(
    distances: Float[np.ndarray, " n"], labelled: Bool[np.ndarray, " n"], thresholds: Float[np.ndarray, " t"]
) -> Float[np.ndarray, " t"]:
    """Return the share of labelled frames within each threshold (percentage of correct keypoints).

    Distances and thresholds share a unit, pixels at 720 lines or metres. NaN, a missing prediction, is a miss.

    >>> pck_curve(np.array([1.0, 3.0, np.nan, np.nan]), np.array([True, True, True, False]), np.array([0.5, 1.0, 4.0]))
    array([0.        , 0.33333333, 0.66666667])
    """
    if not labelled.any():
        return np.full(len(thresholds), np.nan)
    ranked = np.sort(np.where(np.isnan(distances), np.inf, distances)[labelled])
    return np.searchsorted(ranked, thresholds, side="right") / len(ranked)


def pck_area(distances: Float[np.ndarray, " n"], labelled: Bool[np.ndarray, " n"], largest: float) -> float:
    """Return the area under the PCK curve from 0 to `largest`, as a share of the whole: exact, without steps.

    Each frame within reach adds 1 − distance / largest.

    >>> round(pck_area(np.array([0.0, 5.0, 20.0]), np.array([True, True, True]), largest=10.0), 6)
    0.5
    """
    if not labelled.any():
        return float("nan")
    return float(pck_gains(distances, largest)[labelled].mean())


def pck_gains(distances: Float[np.ndarray, " n"], largest: float) -> Float[np.ndarray, " n"]:
    """Return what each frame adds to the area under the PCK curve."""
    return np.maximum(0.0, 1.0 - np.where(np.isnan(distances), np.inf, distances) / largest)


def pixel_scores(
    predicted_px: Float[np.ndarray, "n 2"],
    target_px: Float[np.ndarray, "n 2"],
    height_px: Float[np.ndarray, " n"],
    thresholds_px: Sequence[float] = TAU_PX,
) -> PixelScores:
    """Return AP^τ, mAP^τ and D_pixel; see `PixelScores` for what each means.

    >>> label = np.array([[100.0, 100.0]] * 4)
    >>> guess = label + [[3, 4], [0, 8], [60, 0], [np.nan, np.nan]]
    >>> scores = pixel_scores(guess, label, np.full(4, 720.0))
    >>> scores.average_precision, scores.mean_average_precision, scores.measured
    ((0.25, 0.5, 0.5, 0.5), 0.4375, 3)
    """
    labelled = np.isfinite(target_px).all(axis=1)
    distances_px = pixel_distances(predicted_px, target_px)
    measured = np.isfinite(distances_px)
    hits = within_thresholds(distances_px, height_px, thresholds_px).sum(axis=0)
    precision = tuple(float(hit / labelled.sum()) if labelled.any() else float("nan") for hit in hits)
    mean_px = at_reference_height(distances_px, height_px)[measured].mean() if measured.any() else float("nan")
    return PixelScores(
        average_precision=precision,
        mean_average_precision=float(np.mean(precision)),
        distance_px=float(mean_px),
        measured=int(measured.sum()),
        labelled=int(labelled.sum()),
    )
