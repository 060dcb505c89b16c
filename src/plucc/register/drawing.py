"""The rink drawn over a frame, to judge a registration by eye."""

import cv2
import numpy as np

from plucc.register.registration import How, Registration
from plucc.rink.sheet import Sheet
from plucc.types import FloatArray, ImageArray

LINE_RGB = {"red": (0, 235, 90), "blue": (255, 0, 255), "light blue": (0, 200, 255)}  # stand out from the paint below
BOARDS_RGB = (255, 140, 0)
INK_RGB = {True: (120, 255, 140), False: (255, 120, 110)}
STEP_M = 0.2
FARTHEST = 4.0  # picture widths out: nothing beyond is drawn
_SHIFT = 4  # OpenCV draws at sixteenths of a pixel


def draw_registration(image: ImageArray, given: Registration, sheet: Sheet) -> ImageArray:
    """Return the frame with the registered rink over it, and a line that says how it was found or why it was not."""
    canvas = image.copy()
    if given.accepted:
        for marking in sheet.markings:
            if marking.name != "referee crease":
                _draw(canvas, given, marking.centre_line_m, LINE_RGB.get(marking.colour, BOARDS_RGB))
        _draw(canvas, given, sheet.boards(STEP_M), BOARDS_RGB)
    text = f"{given.how} {given.score:.2f}" if given.accepted else f"{How.REFUSED}: {given.reason}"
    unit = image.shape[0] / 720
    origin = (round(12 * unit), round(image.shape[0] - 14 * unit))
    for colour, thick in (((16, 16, 20), 4), (INK_RGB[given.accepted], 1)):
        cv2.putText(
            canvas, text, origin, cv2.FONT_HERSHEY_SIMPLEX, 0.6 * unit, colour, max(1, round(thick * unit)), cv2.LINE_AA
        )
    return canvas


def _draw(canvas: ImageArray, given: Registration, line_m: FloatArray, colour: tuple[int, int, int]) -> None:
    dense = _dense(line_m)
    if given.camera is not None:
        px = given.camera.project_plane(dense)
    elif given.plane is not None:
        px = given.plane.to_image(dense)
    else:
        return
    shows = np.isfinite(px).all(axis=1) & (np.abs(np.nan_to_num(px)) < FARTHEST * canvas.shape[1]).all(axis=1)
    fixed = np.round((np.nan_to_num(px) - 0.5) * 2**_SHIFT).clip(-(2**30), 2**30).astype(np.int32)
    for run in np.split(np.arange(len(px)), np.flatnonzero(np.diff(shows.astype(np.int8))) + 1):
        if shows[run[0]] and len(run) > 1:
            cv2.polylines(canvas, [fixed[run]], False, colour, max(1, canvas.shape[0] // 720), cv2.LINE_AA, _SHIFT)


def _dense(line_m: FloatArray) -> FloatArray:
    """Return the line with points at most STEP_M apart: the lens bends what is straight on the ice."""
    lengths = np.hypot(*np.diff(line_m, axis=0).T)
    at = np.concatenate(([0.0], np.cumsum(lengths)))
    places = np.union1d(np.arange(0.0, at[-1], STEP_M), at)
    return np.column_stack([np.interp(places, at, line_m[:, axis]) for axis in (0, 1)])
