"""Robust estimation of a plane projective map from point pairs."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from plucc.rink.projective import matrix_jacobian, project
from plucc.types import FloatArray, InputError, ShapeError

MINIMUM_PAIRS = 4
BATCH_HYPOTHESES = 256
MAX_BATCHES = 16
CONFIDENCE = 0.9999
COLLINEARITY = 1e-7  # share of the figure's size below which it counts as a line
DEFAULT_SEED = 0
REFINEMENTS = 10
REFINEMENT_STEPS = 100
SETTLED_STEP = 1e-12  # of a matrix of unit size
FIRST_DAMPING, LAST_DAMPING, DAMPING_CHANGE = 1e-8, 1e4, 10.0


@dataclass(frozen=True, slots=True, eq=False)
class MatrixEstimate:
    """The map from measured points to exact ones, with inliers, residuals at the measured points, and covariance."""

    matrix: Float[np.ndarray, "3 3"]
    inliers: Bool[np.ndarray, " n"]
    residuals_px: Float[np.ndarray, " n"]
    rms_px: float
    covariance: Float[np.ndarray, "9 9"]


def estimate_matrix(
    image_px: FloatArray,
    rink_m: FloatArray,
    *,
    threshold_px: float,
    noise_px: float | None,
    rng: np.random.Generator | None,
) -> MatrixEstimate:
    """Estimate the map from image points to rink points; see `plucc.rink.homography.fit_homography`."""
    image_px, rink_m = _checked_pairs(image_px, rink_m)
    rng = np.random.default_rng(DEFAULT_SEED) if rng is None else rng
    # Work in coordinates of unit size: pixels and metres differ by orders of magnitude, their squares by more.
    from_image, from_rink = _unit_frame(image_px), _unit_frame(rink_m)
    image, rink = project(image_px, from_image), project(rink_m, from_rink)
    threshold = threshold_px * float(from_image[0, 0])
    to_image = _best_hypothesis(image, rink, threshold, rng)
    to_image, inliers = _refined(to_image, image, rink, threshold)
    _check_support(image, inliers, threshold_px)
    residuals_px = np.sqrt(_squared_errors(to_image[None], image, rink)[0]) / from_image[0, 0]
    sigma_px = _noise(residuals_px[inliers]) if noise_px is None else noise_px
    covariance = _covariance(to_image, rink[inliers], sigma_px * float(from_image[0, 0]))
    matrix = np.linalg.inv(from_rink) @ np.linalg.inv(to_image) @ from_image
    by_unit_matrix = np.kron(np.linalg.inv(from_rink), from_image.T)
    scale = float(np.linalg.norm(matrix))
    return MatrixEstimate(
        matrix=matrix / scale,
        inliers=inliers,
        residuals_px=np.where(np.isinf(residuals_px), np.nan, residuals_px),
        rms_px=float(np.sqrt(np.mean(residuals_px[inliers] ** 2))),
        covariance=by_unit_matrix @ covariance @ by_unit_matrix.T / scale**2,
    )


def _checked_pairs(
    image_px: FloatArray, rink_m: FloatArray
) -> tuple[Float[np.ndarray, "n 2"], Float[np.ndarray, "n 2"]]:
    image_px, rink_m = np.asarray(image_px, dtype=np.float64), np.asarray(rink_m, dtype=np.float64)
    if image_px.shape != rink_m.shape or image_px.ndim != 2 or image_px.shape[1] != 2:
        raise ShapeError(
            f"image points have shape {image_px.shape} and rink points {rink_m.shape}; "
            f"both must be n x 2, pair by pair: pass as many of one as of the other"
        )
    if len(image_px) < MINIMUM_PAIRS:
        raise InputError(f"a homography needs at least 4 point pairs, and there are {len(image_px)}: add pairs")
    if not (np.isfinite(image_px).all() and np.isfinite(rink_m).all()):
        raise InputError("some point pairs are not finite; a homography needs finite points: leave those pairs out")
    for points, where in ((image_px, "in the image"), (rink_m, "on the rink")):
        if _all_but_one_on_a_line(points):
            raise InputError(
                f"the points {where} lie on one line but for at most one; "
                f"a homography needs four of which no three are in line: add pairs off that line"
            )
    return image_px, rink_m


def _all_but_one_on_a_line(points: Float[np.ndarray, "n 2"]) -> bool:
    """Tell whether some line holds all points, or all but one: then no four of them fix a homography."""
    distinct = np.unique(points, axis=0)
    if len(distinct) < MINIMUM_PAIRS:
        return True
    if _flatness(distinct) < COLLINEARITY:
        return True
    # A line through all but one point passes through at least two of any three, so three pairs decide it.
    first = distinct[0]
    second = distinct[np.argmax(np.hypot(*(distinct - first).T))]
    third = distinct[np.argmax(np.abs(_cross(second - first, distinct - first)))]
    size = np.hypot(*np.ptp(distinct, axis=0))
    for start, end in ((first, second), (first, third), (second, third)):
        direction = (end - start) / np.hypot(*(end - start))
        off_line = np.abs(_cross(direction, distinct - start)) > COLLINEARITY * size
        if off_line.sum() <= 1:
            return True
    return False


def _cross(one: Float[np.ndarray, "... 2"], other: Float[np.ndarray, "... 2"]) -> Float[np.ndarray, "..."]:
    return np.asarray(one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0])


def _flatness(points: Float[np.ndarray, "n 2"]) -> float:
    """Return the ratio of the short to the long extent of a cloud of points."""
    long, short = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return float(short / long) if long > 0 else 0.0


def _unit_frame(points: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "3 3"]:
    """Return the map that moves points to the origin and scales them to a root mean square distance of sqrt(2)."""
    centre = points.mean(axis=0)
    scale = np.sqrt(2.0 / np.mean(np.sum((points - centre) ** 2, axis=1)))
    return np.array([[scale, 0.0, -scale * centre[0]], [0.0, scale, -scale * centre[1]], [0.0, 0.0, 1.0]])


def _best_hypothesis(
    image: Float[np.ndarray, "n 2"], rink: Float[np.ndarray, "n 2"], threshold: float, rng: np.random.Generator
) -> Float[np.ndarray, "3 3"]:
    """Return the map rink -> image, from four pairs, under which all pairs have the least truncated squared error."""
    best, best_cost, needed, tried = None, np.inf, np.inf, 0
    for _ in range(MAX_BATCHES):
        candidates = _hypotheses(image, rink, rng)
        if len(candidates) == 0:
            continue
        squares = _squared_errors(candidates, image, rink)
        costs = np.minimum(squares, threshold**2).sum(axis=1)
        winner = int(np.argmin(costs))
        if costs[winner] < best_cost:
            best, best_cost = candidates[winner], costs[winner]
            needed = _hypotheses_needed(float(np.mean(squares[winner] < threshold**2)))
        tried += len(candidates)
        if tried >= needed:
            break
    if best is None:
        raise InputError(
            "no four point pairs can be one camera's view of the ice, they are nearly in line or paired crosswise: "
            "check the pairs, or add others"
        )
    return np.asarray(best)


def _hypotheses_needed(inlier_share: float) -> float:
    """Return how many fours must be drawn to draw four inliers at least once, with CONFIDENCE."""
    all_good = inlier_share**MINIMUM_PAIRS
    if all_good >= CONFIDENCE:
        return 1.0
    return float(np.log(1 - CONFIDENCE) / np.log1p(-all_good)) if all_good > 0 else np.inf


def _hypotheses(
    image: Float[np.ndarray, "n 2"], rink: Float[np.ndarray, "n 2"], rng: np.random.Generator
) -> Float[np.ndarray, "k 3 3"]:
    """Return exact maps through random fours of pairs, leaving out fours that no camera could see so."""
    fours = rng.integers(len(image), size=(BATCH_HYPOTHESES, MINIMUM_PAIRS))
    turns_image, turns_rink = _turns(image[fours]), _turns(rink[fours])
    # A camera in front of the plane keeps the turning sense of every triple or flips all of them, never a part.
    products = np.sign(turns_image * turns_rink)
    usable = np.abs(products.sum(axis=1)) == products.shape[1]
    # three in line fix nothing, and neither does a pair drawn twice, whose triangles are empty
    usable &= (np.abs(turns_image).min(axis=1) > COLLINEARITY) & (np.abs(turns_rink).min(axis=1) > COLLINEARITY)
    chosen = fours[usable]
    return _four_point_maps(rink[chosen], image[chosen])


def _turns(fours: Float[np.ndarray, "k 4 2"]) -> Float[np.ndarray, "k 4"]:
    """Return twice the signed areas of the four triangles in each four of points."""
    triples = np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]])
    corners = fours[:, triples]
    return _cross(corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0])


def _four_point_maps(
    source: Float[np.ndarray, "k 4 2"], target: Float[np.ndarray, "k 4 2"]
) -> Float[np.ndarray, "k 3 3"]:
    """Return the maps that take four points exactly to four others, positive on those points.

    The map of the projective frame (three points and the unit point) is scaled to meet the fourth, on both sides.
    """
    return np.asarray(_frame(target) @ np.linalg.inv(_frame(source)))


def _frame(fours: Float[np.ndarray, "k 4 2"]) -> Float[np.ndarray, "k 3 3"]:
    homogeneous = np.concatenate((fours, np.ones((*fours.shape[:2], 1))), axis=2).transpose(0, 2, 1)
    weights = np.linalg.solve(homogeneous[:, :, :3], homogeneous[:, :, 3:])
    return np.asarray(homogeneous[:, :, :3] * weights.transpose(0, 2, 1))


def _squared_errors(
    maps: Float[np.ndarray, "k 3 3"], image: Float[np.ndarray, "n 2"], rink: Float[np.ndarray, "n 2"]
) -> Float[np.ndarray, "k n"]:
    """Return the squared image distance of every pair under every map; infinite behind the camera."""
    mapped = np.column_stack((rink, np.ones(len(rink)))) @ maps.transpose(0, 2, 1)
    in_front = mapped[:, :, 2] > 0
    weight = np.where(in_front, mapped[:, :, 2], 1.0)
    squares = np.sum((mapped[:, :, :2] / weight[:, :, None] - image) ** 2, axis=2)
    return np.where(in_front, squares, np.inf)


def _refined(
    to_image: Float[np.ndarray, "3 3"],
    image: Float[np.ndarray, "n 2"],
    rink: Float[np.ndarray, "n 2"],
    threshold: float,
) -> tuple[Float[np.ndarray, "3 3"], Bool[np.ndarray, " n"]]:
    """Alternate between choosing the inliers and least squares over them, until the choice stands or gets worse."""
    squares = _squared_errors(to_image[None], image, rink)[0]
    for _ in range(REFINEMENTS):
        inliers = squares < threshold**2
        if inliers.sum() < MINIMUM_PAIRS:
            break
        candidate = _least_squares(to_image, image[inliers], rink[inliers])
        candidate_squares = _squared_errors(candidate[None], image, rink)[0]
        if _truncated(candidate_squares, threshold) > _truncated(squares, threshold):
            break
        to_image, squares = candidate, candidate_squares
        if np.array_equal(squares < threshold**2, inliers):
            break
    return to_image, squares < threshold**2


def _truncated(squares: Float[np.ndarray, " n"], threshold: float) -> float:
    return float(np.minimum(squares, threshold**2).sum())


def _least_squares(
    start: Float[np.ndarray, "3 3"], image: Float[np.ndarray, "n 2"], rink: Float[np.ndarray, "n 2"]
) -> Float[np.ndarray, "3 3"]:
    """Return the map rink -> image near `start` with the least sum of squared image distances (Levenberg-Marquardt)."""
    matrix, damping = start / np.linalg.norm(start), FIRST_DAMPING
    errors = project(rink, matrix) - image
    for _ in range(REFINEMENT_STEPS):
        step = _damped_step(matrix_jacobian(rink, matrix).reshape(-1, 9), errors.ravel(), matrix, damping)
        candidate = matrix + step
        candidate_errors = project(rink, candidate) - image
        # a step that takes a point behind the camera makes NaN, and so compares as no improvement
        if np.sum(candidate_errors**2) <= np.sum(errors**2):
            matrix, errors = candidate / np.linalg.norm(candidate), candidate_errors
            damping /= DAMPING_CHANGE
            if np.linalg.norm(step) < SETTLED_STEP:
                break
        elif damping < LAST_DAMPING:
            damping *= DAMPING_CHANGE
        else:
            break
    return np.asarray(matrix)


def _damped_step(
    jacobian: Float[np.ndarray, "m 9"],
    errors: Float[np.ndarray, " m"],
    matrix: Float[np.ndarray, "3 3"],
    damping: float,
) -> Float[np.ndarray, "3 3"]:
    """Return the change of a unit-size matrix that best lowers the errors, held short by damping.

    The scale of the matrix is free; the last row keeps the step across it.
    """
    size = float(np.linalg.norm(jacobian))
    rows = np.concatenate((jacobian, np.sqrt(damping) * size * np.eye(9), size * matrix.reshape(1, 9)))
    wanted = np.concatenate((-errors, np.zeros(10)))
    return np.asarray(np.linalg.lstsq(rows, wanted, rcond=None)[0].reshape(3, 3))


def _check_support(image: Float[np.ndarray, "n 2"], inliers: Bool[np.ndarray, " n"], threshold_px: float) -> None:
    agreeing, total = int(inliers.sum()), len(inliers)
    # Any four pairs agree with some homography, so among more than four, four agreeing ones say nothing.
    if agreeing < min(total, MINIMUM_PAIRS + 1):
        raise InputError(
            f"only {agreeing} of {total} point pairs agree with one homography to {threshold_px:g} px; "
            f"at least {min(total, MINIMUM_PAIRS + 1)} must: mend the pairs, or allow a larger threshold"
        )
    if _all_but_one_on_a_line(image[inliers]):
        raise InputError("the point pairs that agree lie on one line but for at most one: add pairs off that line")


def _noise(residuals_px: Float[np.ndarray, " n"]) -> float:
    """Return the standard deviation of the image points, from the residuals; NaN for four pairs, which always fit."""
    freedom = 2 * len(residuals_px) - 8
    return float(np.sqrt(np.sum(residuals_px**2) / freedom)) if freedom > 0 else float("nan")


def _covariance(
    to_image: Float[np.ndarray, "3 3"], rink: Float[np.ndarray, "n 2"], noise: float
) -> Float[np.ndarray, "9 9"]:
    """Return the covariance of the entries of the inverse of `to_image`, fitted to points with that much noise."""
    jacobian = matrix_jacobian(rink, to_image).reshape(-1, 9)
    of_map = noise**2 * np.linalg.pinv(jacobian.T @ jacobian, rcond=1e-13, hermitian=True)
    inverse = np.linalg.inv(to_image)
    by_map = np.kron(-inverse, inverse.T)  # d(M^-1) = -M^-1 dM M^-1, entries row by row
    return np.asarray(by_map @ of_map @ by_map.T)
