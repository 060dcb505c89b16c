"""The ice as a camera sees it: every pixel looked up in the texture through the exact lens."""

from dataclasses import dataclass

import cv2
import numpy as np

from plucc.rink.camera import Camera
from plucc.synth.noise import SCRATCH_TILE_M, SCRATCH_TILE_PX
from plucc.synth.rink_texture import LEVELS, PX_PER_M, IceTexture
from plucc.types import FloatArray, ImageArray

CELL_PX = 16  # the lens is sampled this coarsely; within a cell its bend is far below a thousandth of a pixel
BAND_PX = 48  # rows that are looked up at one size of the texture
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


def paint_ice(canvas: ImageArray, ice_map: IceMap, texture: IceTexture, px_per_m: float) -> None:
    """Paint the ice on the rows that the map covers, in place; beyond the texture its edge goes on.

    `px_per_m` is the scale of the picture, which decides how finely scratches show.
    """
    tile_scale = SCRATCH_TILE_PX / SCRATCH_TILE_M
    level = int(np.clip(np.round(np.log2(max(tile_scale / (0.7 * px_per_m), 1.0))), 0, len(texture.scratches) - 1))
    for start in range(0, len(ice_map.x_m), BAND_PX):
        rows = slice(start, start + BAND_PX)
        band = IceMap(ice_map.first_row + start, ice_map.x_m[rows], ice_map.y_m[rows])
        painted = canvas[band.first_row : band.first_row + len(band.x_m)]
        _look_up(painted, band, texture)
        grey = _scratches(band, texture.scratches[level])
        cv2.addWeighted(painted, 1.0, cv2.merge([grey, grey, grey]), 1.0, -128.0, dst=painted)


def _look_up(painted: ImageArray, band: IceMap, texture: IceTexture) -> None:
    level_x, level_y = _level(band.x_m), _level(band.y_m)
    centre = texture.centre_px(level_x, level_y)
    map_x = band.x_m * np.float32(PX_PER_M / 2**level_x) + np.float32(centre.x)
    map_y = band.y_m * np.float32(PX_PER_M / 2**level_y) + np.float32(centre.y)
    image = texture.levels[level_y][level_x]
    cv2.remap(image, map_x, map_y, cv2.INTER_LINEAR, dst=painted, borderMode=cv2.BORDER_REPLICATE)


def _level(place_m: FloatArray) -> int:
    """Return how often to halve the texture along an axis so that its texels are about as large as pixels."""
    row = len(place_m) // 2
    down = np.abs(place_m[min(row + 1, len(place_m) - 1), :-1] - place_m[row, :-1])
    aside = np.abs(np.diff(place_m[row]))
    texels = float(np.median(down + aside)) * PX_PER_M
    return int(np.clip(np.floor(np.log2(max(texels, 1.0)) + 0.4), 0, LEVELS - 1))


def _scratches(band: IceMap, tile: ImageArray) -> ImageArray:
    """Return the scratches under a band, 128 where there are none; the tile repeats, its side being a power of two."""
    side = len(tile) - 1
    scale = side / SCRATCH_TILE_M
    whole, parts = cv2.convertMaps(band.x_m * np.float32(scale), band.y_m * np.float32(scale), cv2.CV_16SC2)
    wrapped = np.asarray(whole, np.int16) & np.int16(side - 1)
    return np.asarray(cv2.remap(tile, wrapped, parts, cv2.INTER_LINEAR), np.uint8)
