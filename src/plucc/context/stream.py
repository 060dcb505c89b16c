"""Players in a video: looked for every few frames, carried along with the camera in between."""

from collections.abc import Callable, Iterable, Iterator

import cv2
import numpy as np

from plucc.motion import camera_motion, small_grey
from plucc.types import FloatArray, ImageArray, InputError, MaskArray
from plucc.video import Frame


def player_masks(
    frames: Iterable[Frame], find: Callable[[ImageArray], MaskArray], *, every: int = 1
) -> Iterator[tuple[Frame, MaskArray]]:
    """Yield each frame with its players, found anew in every n-th frame and moved with the picture otherwise.

    Camera motion is measured against the frame in which the players were found, so small errors do not add up. Where
    no motion fits (a cut, a whip pan, a blank picture) the players are found anew, and the count starts again.
    """
    if every < 1:
        raise InputError(f"players every {every} frames: the step must be 1 or more")
    if every == 1:
        for frame in frames:
            yield frame, find(frame.image)
        return
    found = np.zeros((0, 0), bool)
    grey = np.zeros((0, 0), np.uint8)
    age = every
    for frame in frames:
        now = small_grey(frame.image)
        motion = None
        if age < every and found.shape == frame.image.shape[:2]:
            motion = camera_motion(grey, now, frame.size.width, found)
        if motion is None:
            found, grey, age = find(frame.image), now, 0
            yield frame, found
        else:
            yield frame, moved(found, motion)
        age += 1


def moved(mask: MaskArray, motion: FloatArray) -> MaskArray:
    """Return the mask under a homography of continuous pixels; what comes into view is empty."""
    height, width = mask.shape
    half = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    indexed = np.linalg.inv(half) @ motion @ half  # OpenCV counts from pixel centres
    picture = np.where(mask, np.uint8(255), np.uint8(0))
    return np.asarray(cv2.warpPerspective(picture, indexed, (width, height), flags=cv2.INTER_LINEAR) > 127, np.bool_)
