"""What is known of one frame's camera, and how a pixel of that frame comes to the ice."""

from dataclasses import dataclass
from enum import StrEnum
from math import sqrt

import numpy as np

from plucc.register.height import height_sigma_m
from plucc.rink.camera import Camera
from plucc.rink.homography import Homography
from plucc.rink.pose import ground_covariance
from plucc.rink.projective import propagate_covariance
from plucc.types import PUCK_THICKNESS_M, FloatArray, Point

PUCK_HEIGHT_M = PUCK_THICKNESS_M / 2  # a puck's centre over the ice that it lies on


class How(StrEnum):
    """How a frame came by its camera."""

    FOUND = "found"  # by a search from nothing
    FOLLOWED = "followed"  # from the frame before, and confirmed by its own lines
    CARRIED = "carried"  # from the frame before by the picture's motion alone
    POINTS = "points"  # from points that a person clicked
    IMPORTED = "imported"  # from a homography that came with the footage
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, eq=False)
class Registration:
    """A frame's camera in the frame's own pixels, or the reason why there is none.

    `covariance` is over `plucc.rink.pose.PARAMETERS`, calibrated on rendered frames; `score` is the share of the rink's
    visible lines that the picture shows where they should be. A refused frame may still carry the camera that was
    tried; it must not be used. Points and importers may give a homography without a camera, in `plane`: then
    `covariance` is over its entries, row by row.
    """

    accepted: bool
    reason: str  # why not; empty where accepted
    camera: Camera | None = None
    covariance: FloatArray | None = None
    score: float = 0.0
    how: How = How.REFUSED
    plane: Homography | None = None

    @property
    def homography(self) -> Homography | None:
        """The map from undistorted pixels to the ice; None for a refused frame."""
        if not self.accepted:
            return None
        return self.plane if self.camera is None else self.camera.homography()

    def locate(
        self, point_px: Point, pixel_sigma_px: float, speed_m_s: float | None = None
    ) -> tuple[float, float, float] | None:
        """Return where a puck on the ice is that shows at a pixel, in metres, and the one-sigma radius of that.

        None where the frame was refused or the pixel looks past the ice. A puck in the air is nearer than where this
        puts it, by its height times the cotangent of the camera's dip: two to four metres for every metre of height.
        The radius counts how high a puck of that speed may be, as `plucc.register.height` has it, over all pucks: one
        that is known to fly is further off. A homography without a camera knows no height, and leaves this out.
        """
        if not self.accepted:
            return None
        at_px, noise = np.array([[point_px.x, point_px.y]]), np.eye(2) * pixel_sigma_px**2
        if self.camera is not None:
            place = self.camera.back_project(at_px, PUCK_HEIGHT_M)
            spread = ground_covariance(
                self.camera,
                at_px,
                noise,
                pose_covariance=self.covariance,
                height_m=PUCK_HEIGHT_M,
                height_sigma_m=height_sigma_m(speed_m_s),
            )
        elif self.plane is not None:
            place = self.plane.to_rink(at_px)
            spread = propagate_covariance(at_px, noise, self.plane.matrix, self.covariance)
        else:
            return None
        if not (np.isfinite(place).all() and np.isfinite(spread).all()):
            return None
        return float(place[0, 0]), float(place[0, 1]), sqrt(float(np.trace(spread[0])) / 2)


def refused(reason: str, score: float = 0.0) -> Registration:
    """Return the registration of a frame that cannot be trusted."""
    return Registration(False, reason, score=score)
