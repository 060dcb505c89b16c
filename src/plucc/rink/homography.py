"""Homographies of the ice: undistorted image pixels to metres on the ice, and back.

The plain functions work on matrices; `Homography` is the value that travels with a frame.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from plucc.rink.fitting import estimate_matrix
from plucc.rink.projective import check_matrix, compose, project, propagate_covariance, visible_mask
from plucc.types import FloatArray, Point, Size

__all__ = [
    "PAPER_RINK_M",
    "PAPER_TEMPLATE",
    "Homography",
    "HomographyFit",
    "compose",
    "fit_homography",
    "from_paper_template",
    "project",
    "propagate_covariance",
    "to_paper_template",
    "visible_mask",
]

PAPER_TEMPLATE = Size(width=1280, height=720)
PAPER_RINK_M = (61.0, 25.9)  # the paper's length and width of an NHL rink


@dataclass(frozen=True, slots=True, eq=False)
class Homography:
    """A map from undistorted image pixels to metres on a plane: the ice, or one above it.

    The sign of the matrix means something: pixels whose third coordinate comes out positive show the plane, the
    others look above the horizon. Use `from_matrix` for a matrix of unknown sign.
    """

    matrix: Float[np.ndarray, "3 3"]

    def __post_init__(self) -> None:
        matrix = check_matrix(self.matrix).copy()
        matrix.setflags(write=False)
        object.__setattr__(self, "matrix", matrix)

    @classmethod
    def from_matrix(cls, matrix: FloatArray, visible_px: Point | None = None) -> "Homography":
        """Take a matrix whose sign carries no meaning, as most tools write it.

        `visible_px` is an image point known to show the ice. Without one, the picture is taken to be an unmirrored
        view from above: image y runs down and rink y away, so the right sign is the one with a negative determinant.
        """
        checked = check_matrix(matrix)
        if visible_px is None:
            return cls(-checked if np.linalg.det(checked) > 0 else checked)
        return cls(-checked if checked[2] @ (visible_px.x, visible_px.y, 1.0) < 0 else checked)

    @property
    def inverse(self) -> Float[np.ndarray, "3 3"]:
        """The matrix from metres on the plane to image pixels."""
        inverse: Float[np.ndarray, "3 3"] = np.linalg.inv(self.matrix)
        return inverse

    @property
    def horizon(self) -> Float[np.ndarray, " 3"]:
        """The image line (a, b, c) with a x + b y + c = 0 on the plane's horizon and > 0 on its visible side."""
        horizon: Float[np.ndarray, " 3"] = self.matrix[2]
        return horizon

    def to_rink(self, points_px: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 2"]:
        """Return where on the plane the pixels look, in metres; NaN at or above the horizon."""
        return project(points_px, self.matrix)

    def to_image(self, points_m: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 2"]:
        """Return where points of the plane show, in undistorted pixels; NaN for those behind the camera."""
        return project(points_m, self.inverse)

    def sees_plane(self, points_px: Float[np.ndarray, "n 2"]) -> Bool[np.ndarray, " n"]:
        """Tell which pixels look at the plane, and not at or above its horizon."""
        return visible_mask(points_px, self.matrix)

    def in_front(self, points_m: Float[np.ndarray, "n 2"]) -> Bool[np.ndarray, " n"]:
        """Tell which points of the plane lie before the camera."""
        return visible_mask(points_m, self.inverse)

    def after(self, picture_change: Float[np.ndarray, "3 3"]) -> "Homography":
        """Return the homography of the picture after its pixels were moved by a matrix: a crop, a resize, a warp."""
        return Homography(compose(np.linalg.inv(picture_change), self.matrix))

    def resized(self, old: Size, new: Size) -> "Homography":
        """Return the homography of the picture resized from `old` to `new`."""
        return self.after(np.diag([new.width / old.width, new.height / old.height, 1.0]))

    def mirrored(self, width_px: float) -> "Homography":
        """Return the homography of the left-right mirrored picture, on a rink mirrored with it.

        Sheets are symmetric, so the mirrored picture is as good a view of the same sheet, with left and right
        exchanged.
        """
        flip_picture = np.array([[-1.0, 0.0, width_px], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
        return Homography(compose(flip_picture, self.matrix, np.diag([-1.0, 1.0, 1.0])))


@dataclass(frozen=True, slots=True, eq=False)
class HomographyFit:
    """A homography estimated from point pairs, and how far to trust it."""

    homography: Homography
    inliers: Bool[np.ndarray, " n"]
    residuals_px: Float[np.ndarray, " n"]  # image distance of each point from its partner; NaN behind the camera
    rms_px: float  # over the inliers
    covariance: Float[np.ndarray, "9 9"]  # of the matrix entries, row by row; for propagate_covariance


def fit_homography(
    image_px: FloatArray,
    rink_m: FloatArray,
    *,
    threshold_px: float = 4.0,
    noise_px: float | None = None,
    rng: np.random.Generator | None = None,
) -> HomographyFit:
    """Estimate the homography that takes image points (n x 2) to their partners on the rink, in spite of wrong pairs.

    Random minimal samples vote (RANSAC, truncated squared error); then all agreeing pairs are refined to the least
    sum of squared distances in the image, because the rink points are exact and the image points are what was
    measured. `noise_px` is the known standard deviation of the image points, for the covariance; by default it is
    read off the residuals. Refuses fewer than four pairs, pairs on one line, and pairs of which no more than any four
    agree.
    """
    estimate = estimate_matrix(image_px, rink_m, threshold_px=threshold_px, noise_px=noise_px, rng=rng)
    return HomographyFit(
        homography=Homography(estimate.matrix),
        inliers=estimate.inliers,
        residuals_px=estimate.residuals_px,
        rms_px=estimate.rms_px,
        covariance=estimate.covariance,
    )


def _paper_template_to_rink() -> Float[np.ndarray, "3 3"]:
    length_m, width_m = PAPER_RINK_M
    return np.array(
        [
            [length_m / PAPER_TEMPLATE.width, 0.0, -length_m / 2],
            [0.0, -width_m / PAPER_TEMPLATE.height, width_m / 2],
            [0.0, 0.0, 1.0],
        ]
    )


def from_paper_template(matrix: FloatArray, visible_px: Point | None = None) -> Homography:
    """Take a homography onto the paper's 1280x720 top-down template to metres on our rink.

    The paper scales x / 1280 by 61 m and y / 720 by 25.9 m. Here the origin also moves to centre ice and y turns from
    down the template to away from the camera; neither changes a distance, so RSLE is the paper's. The sign is settled
    as in `Homography.from_matrix`.
    """
    return Homography.from_matrix(compose(check_matrix(matrix), _paper_template_to_rink()), visible_px)


def to_paper_template(homography: Homography) -> Float[np.ndarray, "3 3"]:
    """Return the matrix from image pixels to the paper's template pixels: `from_paper_template` undone."""
    return compose(homography.matrix, np.linalg.inv(_paper_template_to_rink()))
