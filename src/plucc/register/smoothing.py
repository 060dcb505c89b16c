"""A shot's cameras without jitter: each one drawn towards the straight line through its neighbours.

Only within a shot, and only between frames that were found: nothing lags behind a cut, because both sides of every
frame count alike and nothing is taken from beyond the shot's ends.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from plucc.register.registration import Registration
from plucc.register.table import RegisteredFrame
from plucc.rink.pose import parameters, with_parameters
from plucc.types import FloatArray

HALF_WINDOW = 3  # frames on either side
MOVING = [3, 4, 6]  # pan, tilt and focal length; a camera's place is the same in all frames anyway


def smoothed(shot: Sequence[RegisteredFrame]) -> list[RegisteredFrame]:
    """Return the frames of one shot with pan, tilt and zoom smoothed; refused frames and points stay as they are."""
    cameras = [one.registration.camera if one.registration.accepted else None for one in shot]
    values = np.full((len(shot), 9), np.nan)
    for index, camera in enumerate(cameras):
        if camera is not None:
            values[index] = parameters(camera)
    return [
        one if cameras[index] is None else replace(one, registration=_smooth(one.registration, values, index))
        for index, one in enumerate(shot)
    ]


def _smooth(given: Registration, values: FloatArray, index: int) -> Registration:
    """Return the registration with its camera at the middle of a parabola through the unbroken run around it."""
    reach = min(_run(values, index, -1), _run(values, index, 1), HALF_WINDOW)
    if reach < 2 or given.camera is None:
        return given
    window = values[index - reach : index + reach + 1][:, MOVING]
    offsets = np.arange(-reach, reach + 1)
    # a quadratic follows a pan that speeds up; its value in the middle is a fixed weighting of the window
    middle = np.polynomial.polynomial.polyfit(offsets, window, 2)[0]
    moved = parameters(given.camera)
    moved[MOVING] = middle
    return replace(given, camera=with_parameters(given.camera, moved))


def _run(values: FloatArray, index: int, step: int) -> int:
    """Return how many frames in a row have a camera, going one way from a frame."""
    count = 0
    at = index + step
    while 0 <= at < len(values) and not np.isnan(values[at, 0]) and count < HALF_WINDOW:
        count, at = count + 1, at + step
    return count
