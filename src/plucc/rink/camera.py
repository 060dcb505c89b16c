"""The broadcast camera: it pans, tilts, rolls and zooms about a fixed place, through a lens with radial distortion."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import atan, atan2, cos, hypot, isfinite, nan, pi, sin

import numpy as np
from jaxtyping import Float

from plucc.rink.distortion import distorted_radius, fold_limit, undistorted_radius
from plucc.rink.homography import Homography
from plucc.types import InputError, Point, Size

PICTURE_CENTRE = Point(nan, nan)  # stands for the middle of the picture until the camera knows its size
MIN_DEPTH_M = 1e-9


@dataclass(frozen=True, slots=True)
class Camera:
    """A pan-tilt-zoom camera over the rink.

    Pan 0 looks along +y (across the rink, from the main camera's side), positive pan turns to +x. Tilt 0 is level,
    positive tilt looks up. Positive roll turns the camera clockwise as its operator sees it: the picture turns
    anticlockwise. The radial distortion acts on rays in focal lengths: r becomes r (1 + k1 r^2 + k2 r^4). It must be
    invertible over the picture.
    """

    position_m: tuple[float, float, float]
    pan_rad: float
    tilt_rad: float
    roll_rad: float
    focal_px: float  # along x
    size: Size
    principal_px: Point = PICTURE_CENTRE
    k1: float = 0.0
    k2: float = 0.0
    pixel_aspect: float = 1.0  # focal length along y over that along x; 1 unless the picture was squeezed

    def __post_init__(self) -> None:
        if self.principal_px is PICTURE_CENTRE:
            object.__setattr__(self, "principal_px", Point(self.size.width / 2, self.size.height / 2))
        numbers = (*self.position_m, self.pan_rad, self.tilt_rad, self.roll_rad, self.focal_px, *self.principal_px)
        if not all(isfinite(number) for number in (*numbers, self.k1, self.k2, self.pixel_aspect)):
            raise InputError(f"the camera has values that are not finite: {self}; leave the camera out instead")
        if self.focal_px <= 0 or self.pixel_aspect <= 0 or self.size.width <= 0 or self.size.height <= 0:
            raise InputError(
                f"the camera has focal length {self.focal_px} px, pixel aspect {self.pixel_aspect} and picture "
                f"{self.size.width}x{self.size.height}; all must be positive: check its source"
            )
        if self._corner_radius() > fold_limit(self.k1, self.k2):
            raise InputError(
                f"the distortion k1={self.k1:g}, k2={self.k2:g} folds over inside the picture at focal length "
                f"{self.focal_px:g} px; it must grow all the way to the corners: use weaker coefficients"
            )

    @classmethod
    def look_at(
        cls,
        position_m: tuple[float, float, float],
        target_m: tuple[float, float, float],
        focal_px: float,
        size: Size,
        roll_rad: float = 0.0,
    ) -> "Camera":
        """Return the camera at a place with its axis through a target; add distortion with `dataclasses.replace`."""
        x, y, z = (target - own for target, own in zip(target_m, position_m, strict=True))
        across = hypot(x, y)
        if across == 0.0 and z == 0.0:
            raise InputError(f"the camera stands at its own target {target_m}: choose another place or target")
        return cls(position_m, atan2(x, y), atan2(z, across), roll_rad, focal_px, size)

    @property
    def rotation(self) -> Float[np.ndarray, "3 3"]:
        """The rotation from rink axes to camera axes: its rows are right, down and forward in rink coordinates."""
        sin_pan, cos_pan = sin(self.pan_rad), cos(self.pan_rad)
        sin_tilt, cos_tilt = sin(self.tilt_rad), cos(self.tilt_rad)
        level_right = np.array([cos_pan, -sin_pan, 0.0])
        level_down = np.array([sin_pan * sin_tilt, cos_pan * sin_tilt, -cos_tilt])
        forward = np.array([sin_pan * cos_tilt, cos_pan * cos_tilt, sin_tilt])
        right = cos(self.roll_rad) * level_right + sin(self.roll_rad) * level_down
        down = cos(self.roll_rad) * level_down - sin(self.roll_rad) * level_right
        return np.stack((right, down, forward))

    @property
    def intrinsics(self) -> Float[np.ndarray, "3 3"]:
        """The matrix from camera axes to undistorted pixels."""
        return np.array(
            [
                [self.focal_px, 0.0, self.principal_px.x],
                [0.0, self.focal_px * self.pixel_aspect, self.principal_px.y],
                [0.0, 0.0, 1.0],
            ]
        )

    @property
    def field_of_view_rad(self) -> float:
        """The horizontal angle that the undistorted picture spans."""
        left, right = self.principal_px.x, self.size.width - self.principal_px.x
        return atan(left / self.focal_px) + atan(right / self.focal_px)

    def depth(self, points_m: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, " n"]:
        """Return how far along the optical axis points lie, in metres; negative behind the camera."""
        return np.asarray((points_m - np.array(self.position_m)) @ self.rotation[2])

    def project(self, points_m: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 2"]:
        """Return where points show, in pixels of the distorted picture; NaN behind the camera.

        Points outside the picture are projected too, as far out as the distortion can be followed, and are NaN beyond.
        """
        rays = (points_m - np.array(self.position_m)) @ self.rotation.T
        depth = np.where(rays[:, 2] > MIN_DEPTH_M, rays[:, 2], np.nan)
        return self._to_pixels(_stretch(rays[:, :2] / depth[:, None], self._distort_radius))

    def project_plane(self, points_m: Float[np.ndarray, "n 2"], height_m: float = 0.0) -> Float[np.ndarray, "n 2"]:
        """Return where points at one height above the ice show; as `project`."""
        return self.project(np.column_stack((points_m, np.full(len(points_m), height_m))))

    def back_project(self, points_px: Float[np.ndarray, "n 2"], height_m: float = 0.0) -> Float[np.ndarray, "n 2"]:
        """Return where pixels of the distorted picture meet the plane at a height above the ice, in metres.

        NaN for pixels that look at or above the plane's horizon.
        """
        return self.homography(height_m).to_rink(self.undistort(points_px))

    def homography(self, height_m: float = 0.0) -> Homography:
        """Return the homography from undistorted pixels to the plane at a height above the ice."""
        if abs(self.position_m[2] - height_m) < MIN_DEPTH_M:
            raise InputError(f"the camera stands in the plane {height_m} m above the ice: choose another height")
        return Homography(np.linalg.inv(self.plane_to_image(height_m)))

    def plane_to_image(self, height_m: float = 0.0) -> Float[np.ndarray, "3 3"]:
        """Return the matrix from metres on the plane at a height to undistorted pixels, with the depth third."""
        offset = np.array([0.0, 0.0, height_m]) - np.array(self.position_m)
        axes = np.column_stack((np.eye(3)[:, :2], offset))
        return np.asarray(self.intrinsics @ self.rotation @ axes)

    def distort(self, points_px: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 2"]:
        """Return where undistorted pixels lie in the picture; NaN where the distortion cannot be followed."""
        return self._to_pixels(_stretch(self._to_rays(points_px), self._distort_radius))

    def undistort(self, points_px: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 2"]:
        """Return where pixels of the picture would lie without distortion; NaN where it cannot be undone.

        Everywhere inside the picture it can.
        """
        return self._to_pixels(_stretch(self._to_rays(points_px), self._undistort_radius))

    def resized(self, size: Size) -> "Camera":
        """Return the camera of the same picture at another size; a changed aspect ratio squeezes the picture."""
        across, down = size.width / self.size.width, size.height / self.size.height
        return replace(
            self,
            size=size,
            focal_px=self.focal_px * across,
            pixel_aspect=self.pixel_aspect * down / across,
            principal_px=Point(self.principal_px.x * across, self.principal_px.y * down),
        )

    def mirrored(self) -> "Camera":
        """Return the camera that sees the rink mirrored left to right in the mirrored picture.

        If a point (x, y, z) shows at (u, v), then (-x, y, z) shows in the mirrored camera at (width - u, v).
        """
        x, y, z = self.position_m
        return replace(
            self,
            position_m=(-x, y, z),
            pan_rad=-self.pan_rad,
            roll_rad=-self.roll_rad,
            principal_px=Point(self.size.width - self.principal_px.x, self.principal_px.y),
        )

    def turned_round(self) -> "Camera":
        """Return the same view from the other long side: the camera on a rink turned by half a turn.

        If (x, y, z) shows at (u, v), then (-x, -y, z) shows there in the turned camera.
        """
        x, y, z = self.position_m
        pan_rad = self.pan_rad + pi if self.pan_rad <= 0 else self.pan_rad - pi
        return replace(self, position_m=(-x, -y, z), pan_rad=pan_rad)

    def _distort_radius(self, radius: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        return distorted_radius(radius, self.k1, self.k2)

    def _undistort_radius(self, radius: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        return undistorted_radius(radius, self.k1, self.k2)

    def _to_rays(self, points_px: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 2"]:
        return np.asarray((points_px - self._principal()) / self._focals())

    def _to_pixels(self, rays: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 2"]:
        return np.asarray(rays * self._focals() + self._principal())

    def _principal(self) -> Float[np.ndarray, " 2"]:
        return np.array([self.principal_px.x, self.principal_px.y])

    def _focals(self) -> Float[np.ndarray, " 2"]:
        return np.array([self.focal_px, self.focal_px * self.pixel_aspect])

    def _corner_radius(self) -> float:
        corners = np.array([(x, y) for x in (0.0, self.size.width) for y in (0.0, self.size.height)])
        return float(np.hypot(*self._to_rays(corners).T).max())


def _stretch(
    rays: Float[np.ndarray, "n 2"], change: Callable[[Float[np.ndarray, " n"]], Float[np.ndarray, " n"]]
) -> Float[np.ndarray, "n 2"]:
    """Move rays along their radius, to the radius that `change` gives."""
    radius = np.hypot(rays[:, 0], rays[:, 1])
    off_axis = radius > 0
    factor = np.where(off_axis, change(radius) / np.where(off_axis, radius, 1.0), 1.0)
    return np.asarray(rays * np.where(np.isnan(radius), np.nan, factor)[:, None])
