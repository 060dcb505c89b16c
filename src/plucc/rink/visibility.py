"""What of the rink a camera can see: boards show their faces only, and the near ones hide the ice behind them."""

import numpy as np
from jaxtyping import Bool, Float

from plucc.rink.camera import Camera
from plucc.rink.dimensions import BOARD_HEIGHT_M
from plucc.rink.sheet import Sheet
from plucc.rink.template import Look, Template


def visible(camera: Camera, samples: Template, sheet: Sheet) -> Bool[np.ndarray, " n"]:
    """Tell which samples nothing of the rink hides from a camera; they may still lie outside the picture."""
    return np.asarray(faces(np.array(camera.position_m)[None], samples, sheet)[0])


def faces(positions_m: Float[np.ndarray, "h 3"], samples: Template, sheet: Sheet) -> Bool[np.ndarray, "h n"]:
    """Tell which samples are open to cameras at several places."""
    x, y, z = (positions_m[:, axis, None] for axis in range(3))
    inward = np.column_stack((-samples.tangents[:, 1], samples.tangents[:, 0]))
    before = (x - samples.points_m[:, 0]) * inward[:, 0] + (y - samples.points_m[:, 1]) * inward[:, 1] > 0
    hidden_m = BOARD_HEIGHT_M * (-sheet.width_m / 2 - y) / np.maximum(z - BOARD_HEIGHT_M, 1.0)
    beyond = samples.points_m[:, 1] > -sheet.width_m / 2 + hidden_m
    return np.where(samples.look == Look.KICK_PLATE, before & beyond, beyond)
