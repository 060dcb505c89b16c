"""The fit of a camera to a frame: pieces of the rink are looked for near where they should be, and pull it there.

Gauss-Newton over place, pan, tilt, roll, zoom and distortion, held by what is known of the camera beforehand. Each step
looks anew for every visible piece, along its normal, within a reach that shrinks.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from plucc.rink.camera import Camera
from plucc.rink.evidence import Evidence
from plucc.rink.pose import PARAMETERS, parameters, projection_jacobians, with_parameters
from plucc.rink.prior import CameraPrior
from plucc.rink.profiles import Matches, Pieces, match
from plucc.rink.sheet import Sheet
from plucc.rink.template import Look, Template
from plucc.rink.visibility import visible
from plucc.types import InputError

KICK_PLATE_HEIGHT_M = 0.2
ROUGH_REACHES_PX = (40, 32, 26, 20, 16)
REACHES_PX = (20, 16, 12, 10, 8, 6, 5, 4, 4)
# How often a piece of each look is found where it should be: under the right camera, and under a wrong one by chance.
FOUND_IF_RIGHT = np.array([0.90, 0.90, 0.55, 0.80, 0.75, 0.92])
FOUND_IF_WRONG = np.array([0.15, 0.15, 0.10, 0.15, 0.20, 0.25])
WARM_REACHES_PX = (10, 6, 4, 4)
OUTLIER_SHARE = 1.1  # of the reach: a match further off counts for nothing
NOISE_PX = 1.0
PIECE_PX = 8.0  # matches closer together than this tell the same thing
FREE = 8  # parameters; k2 stays as it is
NEAR_PX = 2.5  # of the working size: a piece found this near is where it should be
TINY_PX = 1e-6
JUDGED_REACH_PX = 6
# Calibrated on rendered frames: lines are painted, filmed and found with errors that neighbouring matches share.
INFLATION, USUAL_RMS_PX = 12.0, 0.6
FARTHEST_NOISE_PX = 50.0
RIDGE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """A fitted camera at the working size, the covariance of its parameters (in the order of PARAMETERS), and support.

    `agreement` is the share of the visible outline, in pixels of length, that the picture shows where the camera puts
    it; `length_px` is that visible length. `by_look` holds both for each look.
    """

    camera: Camera
    covariance: Float[np.ndarray, "9 9"]
    agreement: float
    length_px: float
    rms_px: float
    by_look: Float[np.ndarray, "6 2"]

    @property
    def support_px(self) -> float:
        """How much the matches speak for this camera against a wrong one: a log-likelihood ratio a pixel of outline."""
        found, length = self.by_look.T
        hit, miss = np.log(FOUND_IF_RIGHT / FOUND_IF_WRONG), np.log((1 - FOUND_IF_RIGHT) / (1 - FOUND_IF_WRONG))
        return float(found @ hit + (length - found) @ miss)


@dataclass(frozen=True, slots=True, eq=False)
class _Visible:
    """The samples that a camera sees, with everything that matching and fitting need."""

    pieces: Pieces
    jacobian: Float[np.ndarray, "n 8"]  # of the place along the normal
    weight: Float[np.ndarray, " n"]  # length in pixels


def align(
    evidence: Evidence,
    samples: Template,
    sheet: Sheet,
    start: Camera,
    prior: CameraPrior,
    reaches_px: tuple[int, ...] = REACHES_PX,
) -> Alignment | None:
    """Fit a camera to a frame from a start that is off by no more than the first reach; None where it slips away."""
    camera = start
    seen, found = None, None
    for reach_px in reaches_px:
        seen = _project(camera, samples, sheet, evidence)
        if seen is None:
            return None
        found = match(evidence, seen.pieces, reach_px)
        moved = _step(camera, seen, found, reach_px, prior)
        if moved is None:
            return None
        camera = moved
    return _judged(evidence, samples, sheet, camera, prior)


def _project(camera: Camera, samples: Template, sheet: Sheet, evidence: Evidence) -> _Visible | None:
    points = np.column_stack((samples.points_m, np.zeros(len(samples))))
    at_px = camera.project(points)
    shows = visible(camera, samples, sheet) & _usable(evidence, at_px)
    if shows.sum() < FREE:
        return None
    points, part, at_px = points[shows], samples.part(shows), at_px[shows]
    by_point, by_camera = projection_jacobians(camera, points)
    along = np.einsum("nij,nj->ni", by_point[:, :, :2], part.tangents)
    scale = np.maximum(np.hypot(along[:, 0], along[:, 1]), TINY_PX)
    normal = np.column_stack((-along[:, 1], along[:, 0])) / scale[:, None]
    is_plate = part.look == Look.KICK_PLATE
    normal = np.where((is_plate & (normal[:, 1] > 0))[:, None], -normal, normal)
    across = np.column_stack((-part.tangents[:, 1], part.tangents[:, 0]))
    flat = np.abs(np.einsum("ni,nij,nj->n", normal, by_point[:, :, :2], across)) * part.width_m
    upright = np.einsum("ni,ni->n", normal, by_point[:, :, 2]) * KICK_PLATE_HEIGHT_M
    pieces = Pieces(at_px, normal, np.where(is_plate, upright, flat), part.look)
    jacobian = np.einsum("ni,nij->nj", normal, by_camera)[:, :FREE]
    return _Visible(pieces, jacobian, scale * part.step_m)


def _usable(evidence: Evidence, at_px: Float[np.ndarray, "n 2"]) -> Bool[np.ndarray, " n"]:
    """Tell which points are in the picture and not on a player."""
    inside = (at_px > 1).all(axis=1) & (at_px < (evidence.size.width - 1, evidence.size.height - 1)).all(axis=1)
    column, row = (np.where(inside, at_px[:, axis], 0).astype(np.int64) for axis in (0, 1))
    return np.asarray(inside & evidence.usable[row, column])


def _step(camera: Camera, seen: _Visible, found: Matches, reach_px: int, prior: CameraPrior) -> Camera | None:
    """Return the camera after one step; None where the evidence does not hold one."""
    limit = max(OUTLIER_SHARE * reach_px, NEAR_PX)
    weight = _trust(seen, found, limit)
    if np.count_nonzero(weight) < FREE:
        return None
    known, wanted = prior.information(camera)
    # a wide reach means that the start is far off and the matches are rough
    noise_px = max(NOISE_PX, reach_px / 3)
    weighted = seen.jacobian * (weight / noise_px**2)[:, None]
    normal_matrix = weighted.T @ seen.jacobian + known
    change = np.linalg.solve(normal_matrix, weighted.T @ found.offset_px + wanted)
    try:
        return prior.bounded(with_parameters(camera, parameters(camera) + np.append(change, 0.0)))
    except InputError:
        return None


def _trust(seen: _Visible, found: Matches, limit_px: float) -> Float[np.ndarray, " n"]:
    """Return how many independent matches each piece stands for: none beyond the limit (Tukey's biweight)."""
    share = np.clip(1 - (found.offset_px / limit_px) ** 2, 0.0, None) ** 2
    return np.asarray(np.where(found.found, share * seen.weight / PIECE_PX, 0.0))


def _judged(
    evidence: Evidence, samples: Template, sheet: Sheet, camera: Camera, prior: CameraPrior
) -> Alignment | None:
    """Return the fit with its covariance and its support, from one more look at every piece."""
    seen = _project(camera, samples, sheet, evidence)
    if seen is None:
        return None
    found = match(evidence, seen.pieces, JUDGED_REACH_PX)
    near = found.found & (np.abs(found.offset_px) < NEAR_PX)
    looks = [seen.pieces.look == look for look in Look if look is not Look.ICE]
    by_look = np.array([[seen.weight[near & of].sum(), seen.weight[of].sum()] for of in looks])
    total = float(seen.weight.sum())
    rms_px = float(np.sqrt(np.mean(found.offset_px[near] ** 2))) if near.any() else np.inf
    return Alignment(
        camera=camera,
        covariance=_covariance(seen, _trust(seen, found, 2 * NEAR_PX), rms_px, prior.information(camera)[0]),
        agreement=float(seen.weight[near].sum()) / max(total, 1.0),
        length_px=total,
        rms_px=rms_px,
        by_look=by_look,
    )


def _covariance(
    seen: _Visible, weight: Float[np.ndarray, " n"], rms_px: float, known: Float[np.ndarray, "8 8"]
) -> Float[np.ndarray, "9 9"]:
    """Return the covariance of the fit; matches are worth less than they seem, by what rendered frames say."""
    noise_px = NOISE_PX * max(rms_px / USUAL_RMS_PX, 1.0) if np.isfinite(rms_px) else FARTHEST_NOISE_PX
    by_match = (seen.jacobian * (weight / (INFLATION * noise_px**2))[:, None]).T @ seen.jacobian
    covariance = np.zeros((len(PARAMETERS), len(PARAMETERS)))
    # a tiny ridge in units of the diagonal: too few matches leave pan, tilt and zoom free
    information = by_match + known
    scale = np.sqrt(np.maximum(np.diag(information), 1e-12))
    covariance[:FREE, :FREE] = np.linalg.inv(information / np.outer(scale, scale) + RIDGE * np.eye(FREE)) / np.outer(
        scale, scale
    )
    return covariance
