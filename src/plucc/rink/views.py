"""Many camera poses at once: what a search over poses needs, in units of the picture's width.

A pose is a row (x_m, y_m, z_m, pan_rad, tilt_rad, roll_rad, focal, k1), the focal length in picture widths; the picture
spans -0.5 to 0.5 across and is centred on the optical axis.
"""

import numpy as np
from jaxtyping import Float

from plucc.rink.camera import Camera
from plucc.rink.distortion import MIN_SLOPE
from plucc.types import Point, Size

POSE = ("x_m", "y_m", "z_m", "pan_rad", "tilt_rad", "roll_rad", "focal", "k1")
X, Y, Z, PAN, TILT, ROLL, FOCAL, K1 = range(8)
NEAREST_M = 1.0  # nothing of the rink comes closer to a broadcast camera


def pose_of(camera: Camera) -> Float[np.ndarray, " 8"]:
    """Return the pose of a camera; its k2 is lost."""
    angles = (camera.pan_rad, camera.tilt_rad, camera.roll_rad)
    return np.array([*camera.position_m, *angles, camera.focal_px / camera.size.width, camera.k1])


def camera_of(pose: Float[np.ndarray, " 8"], size: Size) -> Camera:
    """Return the camera of a pose for a picture of a size."""
    x, y, z, pan, tilt, roll, focal, k1 = (float(value) for value in pose)
    principal = Point(size.width / 2, size.height / 2)
    return Camera((x, y, z), pan, tilt, roll, focal * size.width, size, principal, k1)


def rotations(poses: Float[np.ndarray, "h 8"]) -> Float[np.ndarray, "h 3 3"]:
    """Return the rotations from rink axes to camera axes, as `Camera.rotation`."""
    pan, tilt, roll = poses[:, PAN], poses[:, TILT], poses[:, ROLL]
    sin_pan, cos_pan, sin_tilt, cos_tilt = np.sin(pan), np.cos(pan), np.sin(tilt), np.cos(tilt)
    right = np.stack((cos_pan, -sin_pan, np.zeros_like(pan)), axis=1)
    down = np.stack((sin_pan * sin_tilt, cos_pan * sin_tilt, -cos_tilt), axis=1)
    forward = np.stack((sin_pan * cos_tilt, cos_pan * cos_tilt, sin_tilt), axis=1)
    cos_roll, sin_roll = np.cos(roll)[:, None], np.sin(roll)[:, None]
    return np.stack((cos_roll * right + sin_roll * down, cos_roll * down - sin_roll * right, forward), axis=1)


def project_all(poses: Float[np.ndarray, "h 8"], points_m: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "h n 2"]:
    """Return where points show in the view of each pose, in picture widths from the picture's centre; NaN behind it."""
    turn = rotations(poses).astype(np.float32)
    offset = -(turn @ poses[:, :3, None].astype(np.float32))
    rays = points_m.astype(np.float32) @ turn.transpose(0, 2, 1) + offset.transpose(0, 2, 1)
    depth = np.where(rays[..., 2] > NEAREST_M, rays[..., 2], np.nan)
    flat = rays[..., :2] / depth[..., None]
    k1 = poses[:, K1, None].astype(np.float32)
    if k1.any():
        square = np.einsum("hnc,hnc->hn", flat, flat)
        # beyond the fold a barrel lens would bring the outside back into the picture
        flat *= np.where(1 + 3 * k1 * square > MIN_SLOPE, 1 + k1 * square, np.nan)[..., None]
    return np.asarray(flat * poses[:, FOCAL, None, None].astype(np.float32))
