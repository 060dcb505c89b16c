"""How the camera moved between two pictures of one shot, from the picture alone."""

import cv2
import numpy as np

from plucc.types import FloatArray, ImageArray, MaskArray

WORKING_WIDTH_PX = 480
_CORNERS = 300
_FEWEST_MATCHES = 12
_WEAKEST = 0.002  # of the strongest corner: one sharp edge must not silence the rest of the picture
_GRID = 4  # cells each way, of which matches must lie in so many:
_FEWEST_CELLS = 4


def small_grey(image: ImageArray) -> ImageArray:
    """Return the reduced grey picture that motion is measured on."""
    height, width = image.shape[:2]
    size = (WORKING_WIDTH_PX, max(16, round(height * WORKING_WIDTH_PX / width)))
    return np.asarray(cv2.cvtColor(cv2.resize(image, size, interpolation=cv2.INTER_AREA), cv2.COLOR_RGB2GRAY), np.uint8)


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
        allowed = np.where(cv2.resize(players.astype(np.uint8), shape, interpolation=cv2.INTER_NEAREST), 0, 255)
    found_corners = cv2.goodFeaturesToTrack(
        before, _CORNERS, _WEAKEST, 5, mask=None if allowed is None else allowed.astype(np.uint8)
    )
    if found_corners is None or len(found_corners) < _FEWEST_MATCHES:
        return None
    corners = np.asarray(found_corners, np.float32)
    moved, found = _follow(before, after, corners)
    returned, found_back = _follow(after, before, moved)
    there_and_back = np.linalg.norm((returned - corners).reshape(-1, 2), axis=1)
    good = found & found_back & (there_and_back < 0.7)
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


def _follow(before: ImageArray, after: ImageArray, corners: FloatArray) -> tuple[FloatArray, MaskArray]:
    start = np.asarray(corners, np.float32)
    moved, found, _ = cv2.calcOpticalFlowPyrLK(before, after, start, np.empty_like(start), winSize=(15, 15), maxLevel=3)
    return np.asarray(moved, np.float32), np.asarray(found).ravel() == 1


def _to_full_size(motion: FloatArray, scale: float) -> FloatArray:
    """Carry a motion between OpenCV's pixel indices of the small picture to continuous pixels of the full one."""
    to_index = np.array([[1 / scale, 0, -0.5], [0, 1 / scale, -0.5], [0, 0, 1.0]])
    return np.asarray(np.linalg.inv(to_index) @ motion @ to_index)
