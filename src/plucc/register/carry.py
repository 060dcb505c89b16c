"""A camera moved along with the picture: what optical flow says it did between two frames."""

from dataclasses import replace

import numpy as np

from plucc.rink.alignment import Alignment
from plucc.rink.camera import Camera
from plucc.types import FloatArray

DRIFT_PX = 0.5  # at the working size, one sigma a frame


def carried(before: Alignment, motion: FloatArray) -> Alignment:
    """Return the alignment after the picture moved by a homography of working-size pixels.

    A camera that stands still only turns and zooms: the point that was in the middle moved, and distances grew.
    """
    camera = before.camera
    middle = np.array([camera.principal_px.x, camera.principal_px.y, 1.0])
    # what is now in the middle was there before: turn the camera to look at it
    source = np.linalg.inv(motion) @ middle
    zoom = float(np.sqrt(abs(np.linalg.det(motion[:2, :2]))))
    across = (source[0] / source[2] - camera.principal_px.x) / camera.focal_px
    down = (source[1] / source[2] - camera.principal_px.y) / camera.focal_px
    ray = np.array([across, down, 1.0]) @ camera.rotation
    pan = float(np.arctan2(ray[0], ray[1]))
    tilt = float(np.arctan2(ray[2], np.hypot(ray[0], ray[1])))
    moved = replace(camera, pan_rad=pan, tilt_rad=tilt, focal_px=camera.focal_px * zoom)
    return replace(before, camera=moved, covariance=before.covariance + _drift(moved))


def _drift(camera: Camera) -> FloatArray:
    """Return what carrying over one frame adds to the covariance: pan, tilt, roll and zoom are only known so well."""
    turn = DRIFT_PX / camera.focal_px
    edge = camera.size.width / 2
    sigma = np.array([0.0, 0.0, 0.0, turn, turn, DRIFT_PX / edge, DRIFT_PX / edge * camera.focal_px, 0.0, 0.0])
    return np.diag(sigma**2)
