"""What stands between the camera and the ice: the near boards with their glass, and the heads of the front rows."""

import cv2
import numpy as np

from plucc.rink.camera import Camera
from plucc.synth.arena import Stage, draw_glass, faces_camera, rails
from plucc.synth.layer import Layer, veil
from plucc.synth.palette import Colour
from plucc.synth.strip import SeenStrip, Strip, fill_strip, paint_strip, see
from plucc.types import ImageArray

DROP_M = 60.0  # how far down the outer face is drawn: past the lower edge of any picture
ROWS_M = (1.6, 16.0)  # the first rows: metres behind the boards
ROWS_FOOT_M, ROWS_SLOPE = 0.5, 0.38
NET_REACH_M, NET_HEIGHT_M, NET_MESH_M = 8.0, 9.0, 0.045
NET_LEVEL = 105.0  # grey of its cords


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


def draw_near_glass(stage: Stage, camera: Camera, canvas: ImageArray) -> None:
    """Lay the near glass over the picture: haze, joints, upper edge."""
    draw_glass(stage, camera, ~faces_camera(stage, camera), canvas, near=True)


def draw_near_net(stage: Stage, camera: Camera, canvas: ImageArray) -> None:
    """Lay the spectators' safety net over the picture where a camera at the side looks through it into a corner."""
    arena, sheet = stage.match.arena, stage.match.sheet
    if arena.net_density == 0 or abs(camera.position_m[1]) < sheet.width_m / 2:
        return
    at_ends = np.abs(stage.posts_m[:-1, 0]) > sheet.length_m / 2 - NET_REACH_M
    foot = arena.board_height_m + arena.glass_height_m
    strip = rails(stage, (0.05, foot), (0.05, foot + NET_HEIGHT_M))
    seen = see(camera, strip, ~faces_camera(stage, camera) & at_ends)
    rows = seen.rows(camera.size.height)
    if rows.start >= rows.stop:
        return
    mask = np.zeros((rows.stop - rows.start, camera.size.width), np.uint8)
    fill_strip(mask, seen.moved(-rows.start), 255)
    depth = float(np.median(camera.depth(strip.lower_m[seen.segments])))
    cords = _mesh(mask.shape, int(np.clip(round(NET_MESH_M * camera.focal_px / depth), 3, 16)), arena.net_density)
    veil(canvas[rows], np.minimum(mask, cords), NET_LEVEL)


def _mesh(shape: tuple[int, ...], cell_px: int, density: float) -> ImageArray:
    """Return crossed cords all over a picture: how much of 255 they hide, and the haze of those too fine to show."""
    row, column = np.indices((cell_px, cell_px))
    on_cord = ((row + column) % cell_px == 0) | ((row - column) % cell_px == 0)
    cell = np.where(on_cord, 255 * min(2.2 * density, 1.0), 255 * 0.4 * density).astype(np.uint8)
    return np.tile(cell, (-(-shape[0] // cell_px), -(-shape[1] // cell_px)))[: shape[0], : shape[1]]


def _flat(camera: Camera, seen: SeenStrip, colour: Colour) -> Layer:
    rows = seen.rows(camera.size.height)
    count = rows.stop - rows.start
    fine = np.zeros((count * 2, camera.size.width), np.uint8)
    fill_strip(fine, seen.moved(-rows.start).stretched(2), 255)
    coverage = cv2.resize(fine, (camera.size.width, count), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
    colours = cv2.merge([coverage * np.float32(channel) for channel in colour])
    return Layer(0, rows.start, np.asarray(colours, np.float32), coverage)
