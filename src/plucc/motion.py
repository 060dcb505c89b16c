"""How the camera moved between two pictures of one shot, from the picture alone."""

from typing import Any

import cv2
import numpy as np

from plucc.types import FloatArray, ImageArray, MaskArray

WORKING_WIDTH_PX = 480
_CORNERS = 250
_APART_PX = 7
_WINDOW_PX = 11
_LEVELS = 3  # of halved pictures: a corner is found up to some 60 px away
_PRECISE = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 10, 0.03)  # px: far below what the fit averages out
_FURTHEST_BACK_PX = 0.7
_FEWEST_MATCHES = 12
_WEAKEST = 0.002  # of the strongest corner: one sharp edge must not silence the rest of the picture
_GRID = 4  # cells each way, of which matches must lie in so many:
_FEWEST_CELLS = 4


def small_grey(image: ImageArray) -> ImageArray:
    """Return the reduced grey picture that motion is measured on.

    Whole pixels are averaged first and the rest is interpolated: averaging to an odd ratio takes six times as long.
    """
    height, width = image.shape[:2]
    size = (WORKING_WIDTH_PX, max(16, round(height * WORKING_WIDTH_PX / width)))
    factor = max(1, width // WORKING_WIDTH_PX)
    averaged = cv2.resize(image, (width // factor, max(1, height // factor)), interpolation=cv2.INTER_AREA)
    grey = cv2.cvtColor(averaged, cv2.COLOR_RGB2GRAY)
    return np.asarray(cv2.resize(grey, size, interpolation=cv2.INTER_LINEAR), np.uint8)


def camera_motion(
    before: ImageArray, after: ImageArray, width_px: int, players: MaskArray | None = None
) -> FloatArray | None:
    """Return the homography from pixels of the picture before to pixels of the one after; None where no motion fits.

    Takes reduced grey pictures (`small_grey`) of a frame that is `width_px` wide. A pan or zoom of a camera that stands
    still moves the whole picture by one homography; a shift, turn and scaling is enough of it from frame to frame and
    far steadier. Corners on players move on their own: they are left out where a mask is given, and outvoted where not.
    """
    allowed = None
    if players is not None:
        shape = (before.shape[1], before.shape[0])
        allowed = 1 - cv2.resize(players.astype(np.uint8), shape, interpolation=cv2.INTER_NEAREST)
    found_corners = cv2.goodFeaturesToTrack(before, _CORNERS, _WEAKEST, _APART_PX, mask=allowed)
    if found_corners is None or len(found_corners) < _FEWEST_MATCHES:
        return None
    corners = np.asarray(found_corners, np.float32)
    moved, good = _matched(before, after, corners)
    if good.sum() < _FEWEST_MATCHES:
        return None
    matrix, inliers = cv2.estimateAffinePartial2D(
        corners[good], moved[good], method=cv2.RANSAC, ransacReprojThreshold=1.0, confidence=0.999
    )
    if matrix is None or inliers.sum() < max(_FEWEST_MATCHES, 0.3 * good.sum()):
        return None
    if not _is_spread(corners[good].reshape(-1, 2)[inliers.ravel() == 1], before.shape):
        return None
    return _to_full_size(np.vstack([matrix, [0.0, 0.0, 1.0]]), width_px / before.shape[1])


def _is_spread(points: FloatArray, shape: tuple[int, ...]) -> bool:
    """Tell whether matches lie all over the picture: a scoreboard alone stays where it is, whatever the camera does."""
    cells = np.floor(points / (shape[1], shape[0]) * _GRID).clip(0, _GRID - 1) @ (1, _GRID)
    return len(np.unique(cells)) >= _FEWEST_CELLS


def _matched(before: ImageArray, after: ImageArray, corners: FloatArray) -> tuple[FloatArray, MaskArray]:
    """Return where corners have gone to, and for which of them that can be trusted: those that also lead back."""
    how: dict[str, Any] = {"winSize": (_WINDOW_PX, _WINDOW_PX), "criteria": _PRECISE}
    start = np.asarray(corners, np.float32)
    moved, found, _ = cv2.calcOpticalFlowPyrLK(before, after, start, np.empty_like(start), maxLevel=_LEVELS, **how)
    # the way back starts where it should end: a true match stays there, and the coarse search is saved
    returned, found_back, _ = cv2.calcOpticalFlowPyrLK(
        after, before, moved, start.copy(), maxLevel=0, flags=cv2.OPTFLOW_USE_INITIAL_FLOW, **how
    )
    apart_px = np.linalg.norm((np.asarray(returned) - start).reshape(-1, 2), axis=1)
    is_good = (np.asarray(found).ravel() == 1) & (np.asarray(found_back).ravel() == 1) & (apart_px < _FURTHEST_BACK_PX)
    return np.asarray(moved, np.float32), np.asarray(is_good)


def _to_full_size(motion: FloatArray, scale: float) -> FloatArray:
    """Carry a motion between OpenCV's pixel indices of the small picture to continuous pixels of the full one."""
    to_index = np.array([[1 / scale, 0, -0.5], [0, 1 / scale, -0.5], [0, 0, 1.0]])
    return np.asarray(np.linalg.inv(to_index) @ motion @ to_index)
