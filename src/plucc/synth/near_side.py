"""What stands between the camera and the ice: the near boards with their glass, and the heads of the front rows."""

import cv2
import numpy as np

from plucc.rink.camera import Camera
from plucc.synth.arena import Stage, draw_glass, faces_camera, rails
from plucc.synth.layer import Layer
from plucc.synth.palette import Colour
from plucc.synth.strip import SeenStrip, Strip, fill_strip, paint_strip, see
from plucc.types import FloatArray

DROP_M = 60.0  # how far down the outer face is drawn: past the lower edge of any picture
ROWS_M = (1.6, 16.0)  # the first rows: metres behind the boards
ROWS_FOOT_M, ROWS_SLOPE = 0.5, 0.38


def near_layers(stage: Stage, camera: Camera) -> list[Layer]:
    """Return what hides the ice from this side: outer face of the boards, rail, front rows. Empty when out of view."""
    near = ~faces_camera(stage, camera)
    if not near.any():
        return []
    height = stage.match.arena.board_height_m
    face = see(camera, rails(stage, (0.12, -DROP_M), (0.12, height)), near)
    if _is_out_of_sight(face, camera):
        return []
    layers = [_flat(camera, face, (44, 41, 40))]
    rail = see(camera, rails(stage, (0.14, height), (0.0, height)), near)
    if not _is_out_of_sight(rail, camera):
        layers.append(_flat(camera, rail, stage.match.arena.rail))
    rows = rails(stage, (ROWS_M[0], ROWS_FOOT_M), (ROWS_M[1], ROWS_FOOT_M + (ROWS_M[1] - ROWS_M[0]) * ROWS_SLOPE))
    seen = see(camera, rows, near)
    if not _is_out_of_sight(seen, camera):
        layers.append(_crowd(stage, camera, rows, seen))
    return layers


def _is_out_of_sight(seen: SeenStrip, camera: Camera) -> bool:
    rows = seen.rows(camera.size.height)
    return bool(rows.start >= rows.stop)


def _crowd(stage: Stage, camera: Camera, rows: Strip, seen: SeenStrip) -> Layer:
    """Return the front rows, seen from above and behind."""
    colours = np.zeros((camera.size.height, camera.size.width, 3), np.uint8)
    paint_strip(colours, rows, seen, stage.crowd)
    mask = np.zeros(colours.shape[:2], np.uint8)
    fill_strip(mask, seen, 255)
    top = int(np.argmax(mask.any(axis=1)))
    coverage = mask[top:].astype(np.float32) / 255
    return Layer(0, top, colours[top:].astype(np.float32) * (0.85 * coverage[..., None]), coverage)


def draw_near_glass(stage: Stage, camera: Camera, canvas: FloatArray) -> None:
    """Lay the near glass over the picture: haze, joints, upper edge."""
    draw_glass(stage, camera, ~faces_camera(stage, camera), canvas, near=True)


def _flat(camera: Camera, seen: SeenStrip, colour: Colour) -> Layer:
    rows = seen.rows(camera.size.height)
    count = rows.stop - rows.start
    fine = np.zeros((count * 2, camera.size.width), np.uint8)
    shift, stretch = np.array([0.0, rows.start]), np.array([1.0, 2.0])
    doubled = SeenStrip((seen.lower_px - shift) * stretch, (seen.upper_px - shift) * stretch, seen.segments)
    fill_strip(fine, doubled, 255)
    coverage = cv2.resize(fine, (camera.size.width, count), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
    return Layer(0, rows.start, coverage[..., None] * np.asarray(colour, np.float32), coverage)
