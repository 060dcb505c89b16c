"""The ice as a camera sees it: every pixel looked up in the texture through the exact lens."""

from dataclasses import dataclass

import cv2
import numpy as np

from plucc.rink.camera import Camera
from plucc.synth.noise import SCRATCH_TILE_M, SCRATCH_TILE_PX
from plucc.synth.rink_texture import IceTexture
from plucc.types import FloatArray, ImageArray

CELL_PX = 16  # the lens is sampled this coarsely; within a cell its bend is far below a thousandth of a pixel
NOWHERE = -1.0e5


@dataclass(frozen=True, slots=True)
class IceMap:
    """Where on the ice each pixel of some picture rows looks, in metres; far off the rink above the horizon."""

    first_row: int
    x_m: FloatArray
    y_m: FloatArray


def map_ice(camera: Camera, first_row: int) -> IceMap:
    """Return the rink position under every pixel from a row down.

    Homogeneous rink coordinates are linear in undistorted pixels, so they survive interpolation between coarse samples;
    only the division is done for every pixel.
    """
    first = first_row // CELL_PX * CELL_PX
    rows, columns = camera.size.height - first, camera.size.width
    cells = (-(-rows // CELL_PX) + 2, -(-columns // CELL_PX) + 2)
    y, x = np.meshgrid(
        first + (np.arange(cells[0]) - 0.5) * CELL_PX, (np.arange(cells[1]) - 0.5) * CELL_PX, indexing="ij"
    )
    straight = camera.undistort(np.stack([x.ravel(), y.ravel()], axis=1))
    matrix = np.linalg.inv(camera.plane_to_image())
    matrix = matrix * np.sign(_weight_below(camera, matrix))
    homogeneous = np.concatenate([straight, np.ones((len(straight), 1))], axis=1) @ matrix.T
    grid = np.nan_to_num(homogeneous.reshape(*cells, 3), nan=0.0)
    whole = (cells[1] * CELL_PX, cells[0] * CELL_PX)
    planes = []
    for channel in range(3):
        plane = np.ascontiguousarray(grid[..., channel] / np.abs(grid[..., 2]).max(), dtype=np.float32)
        large = cv2.resize(plane, whole, interpolation=cv2.INTER_LINEAR)
        planes.append(large[CELL_PX : CELL_PX + rows, CELL_PX : CELL_PX + columns])
    weight = planes[2]
    beyond = weight <= 1e-6
    x_m, y_m = cv2.divide(planes[0], weight), cv2.divide(planes[1], weight)
    if beyond[0].any() or beyond[-1].any():
        x_m[beyond] = NOWHERE
        y_m[beyond] = NOWHERE
    return IceMap(first, np.asarray(x_m, np.float32), np.asarray(y_m, np.float32))


def _weight_below(camera: Camera, matrix: FloatArray) -> float:
    """Return the homogeneous weight of a point that certainly lies before the camera: the picture's lowest middle."""
    bottom = np.array([[camera.size.width / 2, camera.size.height - 1.0]])
    point = camera.undistort(bottom)[0]
    return float(matrix[2] @ np.array([point[0], point[1], 1.0]))


def paint_ice(canvas: ImageArray, ice_map: IceMap, texture: IceTexture) -> None:
    """Paint the ice on the rows that the map covers, in place; beyond the texture its edge goes on."""
    matrix = texture.to_texture()
    map_x = ice_map.x_m * np.float32(matrix[0, 0]) + np.float32(matrix[0, 2])
    map_y = ice_map.y_m * np.float32(matrix[1, 1]) + np.float32(matrix[1, 2])
    cv2.remap(
        texture.image,
        map_x,
        map_y,
        cv2.INTER_LINEAR,
        dst=canvas[ice_map.first_row :],
        borderMode=cv2.BORDER_REPLICATE,
    )


def scratches_seen(ice_map: IceMap, texture: IceTexture, px_per_m: float, every: int) -> FloatArray:
    """Return the scratches under every n-th row of the map, about zero; `px_per_m` is the scale of the picture."""
    tile_scale = SCRATCH_TILE_PX / SCRATCH_TILE_M
    level = int(np.clip(np.round(np.log2(max(tile_scale / (0.7 * px_per_m), 1.0))), 0, len(texture.scratches) - 1))
    tile = texture.scratches[level]
    scale = np.float32(tile.shape[0] / SCRATCH_TILE_M)
    x, y = ice_map.x_m[::every] * scale, ice_map.y_m[::every] * scale
    return np.asarray(cv2.remap(tile, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP), np.float32) - 128
