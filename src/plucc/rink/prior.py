"""What is known about a camera before a frame is looked at: where it may stand, and how far it may turn and zoom."""

from dataclasses import dataclass, replace
from math import sin

import numpy as np
from jaxtyping import Float

from plucc.rink.camera import Camera
from plucc.rink.pose import parameters
from plucc.rink.views import K1, ROLL

LEAST_DIP = 0.05  # sine of the tilt below the horizon; a camera that looks flatter does not aim at the ice
WITHIN_SHOT_M = (0.1, 0.1, 0.1)  # what a first frame got wrong, and the next ones may mend
WITHIN_SHOT_RAD = 0.002
WITHIN_SHOT_K1 = 0.01
HELD_SHARE = 0.2  # of the prior's own sigmas


@dataclass(frozen=True, slots=True)
class CameraPrior:
    """Independent normal priors of what a game keeps: place, roll, distortion; and bounds on what a view spans.

    `span_m` bounds the width of the view at the point aimed at, the least first; it is what stops a fit from zooming
    into a single line.
    """

    position_m: tuple[float, float, float]
    position_sigma_m: tuple[float, float, float]
    roll_rad: float
    roll_sigma_rad: float
    k1: float
    k1_sigma: float
    span_m: tuple[float, float] = (10.0, 48.0)

    def log_density(self, poses: Float[np.ndarray, "h 8"]) -> Float[np.ndarray, " h"]:
        """Return the log density of poses up to a constant."""
        off = (poses[:, :3] - np.array(self.position_m)) / np.array(self.position_sigma_m)
        roll = (poses[:, ROLL] - self.roll_rad) / self.roll_sigma_rad
        bend = (poses[:, K1] - self.k1) / self.k1_sigma
        return np.asarray(-0.5 * ((off**2).sum(axis=1) + roll**2 + bend**2))

    def distance(self, camera: Camera) -> float:
        """Return how many sigmas the camera's place is from where it should be, in its worst coordinate."""
        off = (np.array(camera.position_m) - np.array(self.position_m)) / np.array(self.position_sigma_m)
        return float(np.abs(off).max())

    def information(self, camera: Camera) -> tuple[Float[np.ndarray, "8 8"], Float[np.ndarray, " 8"]]:
        """Return the prior's information matrix over x, y, z, pan, tilt, roll, focal, k1, and its pull on a camera."""
        middle = np.array([*self.position_m, 0.0, 0.0, self.roll_rad, 0.0, self.k1])
        sigma = np.array([*self.position_sigma_m, np.inf, np.inf, self.roll_sigma_rad, np.inf, self.k1_sigma])
        information = np.diag(sigma**-2.0)
        return information, np.asarray(information @ (middle - parameters(camera)[:8]))

    def around(self, camera: Camera) -> "CameraPrior":
        """Return the prior within a shot, whose camera is known from the frame before: it does not move at all."""
        return self._about(camera, WITHIN_SHOT_M, WITHIN_SHOT_RAD, WITHIN_SHOT_K1)

    def holding(self, camera: Camera) -> "CameraPrior":
        """Return a prior that holds the camera about where it is, so that a rough fit turns and zooms it only."""
        x, y, z = (HELD_SHARE * sigma for sigma in self.position_sigma_m)
        return self._about(camera, (x, y, z), HELD_SHARE * self.roll_sigma_rad, HELD_SHARE * self.k1_sigma)

    def _about(self, camera: Camera, position: tuple[float, float, float], roll: float, k1: float) -> "CameraPrior":
        return replace(
            self,
            position_m=camera.position_m,
            position_sigma_m=position,
            roll_rad=camera.roll_rad,
            roll_sigma_rad=roll,
            k1=camera.k1,
            k1_sigma=k1,
        )

    def bounded(self, camera: Camera) -> Camera:
        """Return the camera with its zoom held within what a view may span."""
        reach_m = camera.position_m[2] / max(-sin(camera.tilt_rad), LEAST_DIP)
        shortest, longest = (camera.size.width * reach_m / span for span in reversed(self.span_m))
        return replace(camera, focal_px=min(max(camera.focal_px, shortest), longest))

    def places(self) -> Float[np.ndarray, "p 3"]:
        """Return camera places that a search starts from, spread over the prior."""
        middle, sigma = np.array(self.position_m), np.array(self.position_sigma_m)
        across = np.array([0.0]) if sigma[0] < 2 else np.array([-1.5, -0.7, 0.0, 0.7, 1.5])
        # stands rise away from the ice: cameras that stand further back stand higher
        standing = np.zeros((1, 2)) if sigma[1] < 2 else np.array([(1.2, -1.1), (0.0, -0.2), (-0.5, 0.8)])
        offsets = np.array([(x, y, z) for x in across for y, z in standing])
        return np.asarray(middle + offsets * sigma)

    def step(self) -> Float[np.ndarray, " 8"]:
        """Return how far a random search moves in each coordinate at first; pan and tilt in picture widths."""
        x, y, z = (0.4 * sigma for sigma in self.position_sigma_m)
        return np.array([x, y, z, 0.05, 0.03, 0.5 * self.roll_sigma_rad, 0.10, 0.5 * self.k1_sigma])


BROADCAST = CameraPrior(
    position_m=(0.0, -34.0, 12.5),
    position_sigma_m=(7.0, 6.0, 3.5),
    roll_rad=0.0,
    roll_sigma_rad=0.012,
    k1=0.02,
    k1_sigma=0.1,
)
