"""A camera as a vector of parameters: how its pictures move with them, and how its errors reach the ice."""

from dataclasses import replace
from math import cos, sin

import numpy as np
from jaxtyping import Float

from plucc.rink.camera import Camera

PARAMETERS = ("x_m", "y_m", "z_m", "pan_rad", "tilt_rad", "roll_rad", "focal_px", "k1", "k2")


def parameters(camera: Camera) -> Float[np.ndarray, " 9"]:
    """Return the camera's free parameters in the order of PARAMETERS; picture and principal point stay as they are."""
    angles = (camera.pan_rad, camera.tilt_rad, camera.roll_rad)
    return np.array([*camera.position_m, *angles, camera.focal_px, camera.k1, camera.k2])


def with_parameters(camera: Camera, values: Float[np.ndarray, " 9"]) -> Camera:
    """Return the camera with other parameters, in the order of PARAMETERS."""
    x, y, z, pan, tilt, roll, focal, k1, k2 = (float(value) for value in values)
    return replace(
        camera, position_m=(x, y, z), pan_rad=pan, tilt_rad=tilt, roll_rad=roll, focal_px=focal, k1=k1, k2=k2
    )


def projection_jacobians(
    camera: Camera, points_m: Float[np.ndarray, "n 3"]
) -> tuple[Float[np.ndarray, "n 2 3"], Float[np.ndarray, "n 2 9"]]:
    """Return how projected pixels move with the points and with the camera's parameters; NaN where `project` has it."""
    rotation = camera.rotation
    rays = (points_m - np.array(camera.position_m)) @ rotation.T
    rays = np.where(np.isnan(camera.project(points_m)).any(axis=1, keepdims=True), np.nan, rays)
    by_ray, by_lens = _lens_jacobians(camera, rays)
    by_point = by_ray @ rotation
    by_angles = by_ray @ _turning(camera, rays)
    return by_point, np.concatenate((-by_point, by_angles, by_lens), axis=2)


def _turning(camera: Camera, rays: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3 3"]:
    """Return how rays (right, down, forward) move with pan, tilt and roll, one column each."""
    right, down, forward = rays.T
    sin_roll, cos_roll = sin(camera.roll_rad), cos(camera.roll_rad)
    # Panning turns the world about the vertical, which in camera axes is the third column of the rotation.
    by_pan = np.cross(camera.rotation[:, 2], rays)
    by_tilt = np.column_stack((sin_roll * forward, cos_roll * forward, -sin_roll * right - cos_roll * down))
    by_roll = np.column_stack((down, -right, np.zeros_like(right)))
    return np.stack((by_pan, by_tilt, by_roll), axis=2)


def _lens_jacobians(
    camera: Camera, rays: Float[np.ndarray, "n 3"]
) -> tuple[Float[np.ndarray, "n 2 3"], Float[np.ndarray, "n 2 3"]]:
    """Return how pixels move with rays in camera axes, and with focal length, k1 and k2."""
    focals = np.array([camera.focal_px, camera.focal_px * camera.pixel_aspect])
    flat = rays[:, :2] / rays[:, 2:]
    square = np.sum(flat**2, axis=1)
    factor = 1 + square * (camera.k1 + square * camera.k2)
    factor_slope = camera.k1 + 2 * camera.k2 * square  # by the squared radius
    by_flat = factor[:, None, None] * np.eye(2) + 2 * factor_slope[:, None, None] * flat[:, :, None] * flat[:, None, :]
    flat_by_ray = np.concatenate((np.tile(np.eye(2), (len(rays), 1, 1)), -flat[:, :, None]), axis=2)
    by_ray = focals[:, None] * (by_flat @ (flat_by_ray / rays[:, 2, None, None]))
    landed = flat * factor[:, None]
    by_focal = landed * focals / camera.focal_px
    by_k1 = flat * square[:, None] * focals
    by_k2 = by_k1 * square[:, None]
    return by_ray, np.stack((by_focal, by_k1, by_k2), axis=2)


def ground_covariance(
    camera: Camera,
    points_px: Float[np.ndarray, "n 2"],
    point_covariance: Float[np.ndarray, "n 2 2"] | Float[np.ndarray, "2 2"],
    *,
    pose_covariance: Float[np.ndarray, "9 9"] | None = None,
    height_m: float = 0.0,
    height_sigma_m: float = 0.0,
) -> Float[np.ndarray, "n 2 2"]:
    """Return the covariance in square metres of pixels carried back to the plane at a height, to first order.

    Three independent sources add up: the pixel's own, the camera's parameters' (in the order of PARAMETERS), and not
    knowing the height exactly. NaN for pixels that do not look at the plane.
    """
    ground_m = camera.back_project(points_px, height_m)
    by_point, by_parameter = projection_jacobians(camera, np.column_stack((ground_m, np.full(len(ground_m), height_m))))
    # The ground point q of a pixel p solves project(q, camera) = p, so dq = (d project / dq)^-1 (dp - d project).
    by_pixel = _inverses(by_point[:, :, :2])
    covariance = by_pixel @ point_covariance @ by_pixel.transpose(0, 2, 1)
    by_height = by_pixel @ by_point[:, :, 2:]
    covariance = covariance + height_sigma_m**2 * by_height @ by_height.transpose(0, 2, 1)
    if pose_covariance is not None:
        by_pose = by_pixel @ by_parameter
        covariance = covariance + by_pose @ pose_covariance @ by_pose.transpose(0, 2, 1)
    return np.asarray(covariance)


def _inverses(matrices: Float[np.ndarray, "n 2 2"]) -> Float[np.ndarray, "n 2 2"]:
    """Return the inverses of 2x2 matrices, NaN for those that hold NaN."""
    (a, b), (c, d) = matrices.transpose(1, 2, 0)
    return np.asarray((np.array([[d, -b], [-c, a]]) / (a * d - b * c)).transpose(2, 0, 1))
