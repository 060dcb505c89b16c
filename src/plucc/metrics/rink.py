"""The paper's figures on the ice: RSLE and AP^r; and whether the zone is right."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from plucc.rink.projective import HORIZON_TOLERANCE
from plucc.rink.sheet import Sheet
from plucc.types import PUCK_RADIUS_M

RADIUS_MULTIPLES = (1.0, 2.0, 4.0)
ZONES = ("defensive", "neutral", "offensive")


@dataclass(frozen=True, slots=True)
class RinkScores:
    """The row of the paper's rink table, with the number of frames behind each part.

    AP^kr is the share of the `scored` frames, those with a label and a homography, whose prediction lies within k
    puck radii of the label on the ice. The paper speaks of a "percentage of detections", which leaves open whether
    silence is a miss; here it is one, as in AP^τ, and so is a prediction above the horizon. Mean and median RSLE are
    over the `measured` frames, those of the scored ones that have a prediction on the ice.
    """

    average_precision: tuple[float, ...]  # one for each multiple of the radius
    mean_m: float
    median_m: float
    measured: int
    scored: int
    beyond_horizon: int  # scored frames whose prediction looks above the ice
    without_homography: int  # labelled frames that could not be scored


def project_each(points: Float[np.ndarray, "n 2"], matrices: Float[np.ndarray, "n 3 3"]) -> Float[np.ndarray, "n 2"]:
    """Return each point mapped by its own matrix; NaN at or behind the horizon, or where point or matrix is missing."""
    homogeneous = np.concatenate((points, np.ones((len(points), 1))), axis=1)
    mapped = np.einsum("nij,nj->ni", matrices, homogeneous)
    terms = np.einsum("nj,nj->n", np.abs(matrices[:, 2]), np.abs(homogeneous))
    weight = np.where(mapped[:, 2] > HORIZON_TOLERANCE * terms, mapped[:, 2], np.nan)
    projected: Float[np.ndarray, "n 2"] = mapped[:, :2] / weight[:, None]
    return projected


def rink_distances(
    predicted_px: Float[np.ndarray, "n 2"], target_px: Float[np.ndarray, "n 2"], to_rink: Float[np.ndarray, "n 3 3"]
) -> Float[np.ndarray, " n"]:
    """Return RSLE, the distance on the ice in metres between prediction and label of every frame.

    RSLE = √((x̂ − x)² + (ŷ − y)²) after both points went through the frame's homography. Both are taken to lie on the
    ice: an airborne puck lands beyond its true place. Infinite where only the prediction looks above the horizon; NaN
    where prediction, label or homography is missing.

    >>> centimetres = np.diag([0.01, 0.01, 1.0])[None]
    >>> rink_distances(np.array([[300.0, 400.0]]), np.zeros((1, 2)), centimetres)
    array([5.])
    """
    predicted_m, target_m = project_each(predicted_px, to_rink), project_each(target_px, to_rink)
    distances_m = np.hypot(predicted_m[:, 0] - target_m[:, 0], predicted_m[:, 1] - target_m[:, 1])
    off_the_ice = np.isnan(predicted_m[:, 0]) & np.isfinite(predicted_px).all(axis=1) & np.isfinite(target_m[:, 0])
    return np.where(off_the_ice, np.inf, distances_m)


def can_be_scored(target_px: Float[np.ndarray, "n 2"], to_rink: Float[np.ndarray, "n 3 3"]) -> Bool[np.ndarray, " n"]:
    """Tell which frames have a label that a homography puts on the ice."""
    return np.asarray(np.isfinite(project_each(target_px, to_rink)[:, 0]))


def within_radii(
    distances_m: Float[np.ndarray, " n"], multiples: Sequence[float] = RADIUS_MULTIPLES
) -> Bool[np.ndarray, "n k"]:
    """Tell which frames are within each multiple of the puck's radius."""
    return distances_m[:, None] <= PUCK_RADIUS_M * np.asarray(multiples)[None, :]


def rink_scores(
    predicted_px: Float[np.ndarray, "n 2"],
    target_px: Float[np.ndarray, "n 2"],
    to_rink: Float[np.ndarray, "n 3 3"],
    multiples: Sequence[float] = RADIUS_MULTIPLES,
) -> RinkScores:
    """Return AP^r, AP^2r, AP^4r and RSLE; see `RinkScores` for what each means."""
    distances_m = rink_distances(predicted_px, target_px, to_rink)
    scored = can_be_scored(target_px, to_rink)
    measured_m = distances_m[np.isfinite(distances_m)]
    hits = within_radii(distances_m, multiples).sum(axis=0)
    return RinkScores(
        average_precision=tuple(float(hit / scored.sum()) if scored.any() else float("nan") for hit in hits),
        mean_m=float(measured_m.mean()) if len(measured_m) else float("nan"),
        median_m=float(np.median(measured_m)) if len(measured_m) else float("nan"),
        measured=len(measured_m),
        scored=int(scored.sum()),
        beyond_horizon=int(np.isinf(distances_m).sum()),
        without_homography=int((np.isfinite(target_px).all(axis=1) & ~scored).sum()),
    )


def zone_indices(points_m: Float[np.ndarray, "n 2"], sheet: Sheet, attacks_right: bool = True) -> Int[np.ndarray, " n"]:
    """Return the zone of each point as an index into `ZONES`, −1 for NaN. A blue line belongs to its end zone.

    >>> from plucc.rink.sheet import nhl
    >>> zone_indices(np.array([[-20.0, 0.0], [7.61, 3.0], [7.63, 0.0], [np.nan, np.nan]]), nhl())
    array([ 0,  1,  2, -1])
    """
    zone = 1 + sheet.zones(points_m) * (1 if attacks_right else -1)
    return np.where(np.isnan(points_m[:, 0]), -1, zone)


def zone_confusion(
    predicted_m: Float[np.ndarray, "n 2"], target_m: Float[np.ndarray, "n 2"], sheet: Sheet, attacks_right: bool = True
) -> Int[np.ndarray, "3 4"]:
    """Count frames by true zone (rows) and predicted zone (columns; the last one holds frames without a prediction)."""
    truth = zone_indices(target_m, sheet, attacks_right)
    guess = zone_indices(predicted_m, sheet, attacks_right)
    known = truth >= 0
    cells = truth[known] * 4 + np.where(guess[known] < 0, 3, guess[known])
    return np.bincount(cells, minlength=12).reshape(3, 4)


def zone_accuracy(predicted_m: Float[np.ndarray, "n 2"], target_m: Float[np.ndarray, "n 2"], sheet: Sheet) -> float:
    """Return the share of frames with a label on the ice whose prediction is in the same zone; silence is a miss."""
    confusion = zone_confusion(predicted_m, target_m, sheet)
    return float(np.trace(confusion) / confusion.sum()) if confusion.any() else float("nan")
