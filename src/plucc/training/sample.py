"""One training example and the affine map that moves all of it together."""

from dataclasses import dataclass, replace

import cv2
import numpy as np

from plucc.config import CONTEXT_STRIDE
from plucc.context.image import players_on_black
from plucc.types import FloatArray, ImageArray, Point, Size


@dataclass(frozen=True, slots=True)
class Sample:
    """A frame or a crop of one, with everything that must follow when it is moved.

    `players` says how much of each pixel of half the image's size is player, 0 to 255. `point_px` is the centre
    of the puck in this image, None where there is none; `is_visible` tells a puck that shows from one that is hidden.
    `extent_px` is the puck's box, width and height. `homography` maps this image's pixels to the ice in metres.
    """

    image: ImageArray
    players: ImageArray
    point_px: Point | None
    extent_px: tuple[float, float] = (12.0, 9.0)
    is_visible: bool = True
    homography: FloatArray | None = None

    @property
    def size(self) -> Size:
        return Size(self.image.shape[1], self.image.shape[0])

    @property
    def holds_puck(self) -> bool:
        """Whether the puck, hidden or not, lies within this image."""
        return self.point_px is not None and contains(self.size, self.point_px)

    def context(self, lines: int) -> ImageArray:
        """Return the players' colours on black at half resolution, cut from this image of a frame with so many lines.

        It is made last, so that blur, compression and colour reach it as they do when a broadcast is read.
        """
        height, width = self.players.shape
        colours = cv2.resize(self.image, (width, height), interpolation=cv2.INTER_AREA)
        return players_on_black(np.asarray(colours, np.uint8), self.players, lines)


def contains(size: Size, point_px: Point) -> bool:
    """Tell whether a point lies in a picture."""
    return 0 <= point_px.x < size.width and 0 <= point_px.y < size.height


def crop_matrix(
    centre_px: Point,
    size: Size,
    *,
    scale: float = 1.0,
    squeeze: float = 1.0,
    rotation_rad: float = 0.0,
    flip: bool = False,
) -> FloatArray:
    """Return the 3×3 map from source pixels to the pixels of a crop of `size` that has `centre_px` in its middle.

    The source is magnified by `scale`, turned about the centre, then its widths are scaled by `squeeze`, and it is
    mirrored left to right last.
    """
    cosine, sine = scale * np.cos(rotation_rad), scale * np.sin(rotation_rad)
    turn = np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])
    mirror = np.diag([-squeeze if flip else squeeze, 1.0, 1.0])
    return np.asarray(_shift(size.width / 2, size.height / 2) @ mirror @ turn @ _shift(-centre_px.x, -centre_px.y))


def move(sample: Sample, matrix: FloatArray, size: Size, border: tuple[int, int, int]) -> Sample:
    """Return the sample seen through an affine map into an image of `size`.

    Pixels, players, puck and homography follow the same map: what the homography says of the puck's place on the ice
    does not change. What lies outside of the source takes the colour `border`; mirroring would double a puck there.
    """
    half = np.diag([1 / CONTEXT_STRIDE, 1 / CONTEXT_STRIDE, 1.0])
    half_size = Size(-(-size.width // CONTEXT_STRIDE), -(-size.height // CONTEXT_STRIDE))
    return replace(
        sample,
        image=_warp(sample.image, matrix, size, border),
        players=_warp(sample.players, half @ matrix @ np.linalg.inv(half), half_size, (0, 0, 0)),
        point_px=None if sample.point_px is None else move_point(sample.point_px, matrix),
        extent_px=(sample.extent_px[0] * magnification(matrix), sample.extent_px[1] * magnification(matrix)),
        homography=None if sample.homography is None else sample.homography @ np.linalg.inv(matrix),
    )


def move_point(point: Point, matrix: FloatArray) -> Point:
    """Return where an affine map takes a point."""
    x, y, _ = matrix @ (point.x, point.y, 1.0)
    return Point(float(x), float(y))


def magnification(matrix: FloatArray) -> float:
    """Return the factor by which an affine map scales lengths."""
    return float(np.sqrt(abs(np.linalg.det(matrix[:2, :2]))))


def _shift(x: float, y: float) -> FloatArray:
    return np.array([[1.0, 0.0, x], [0.0, 1.0, y], [0.0, 0.0, 1.0]])


def _warp(image: ImageArray, matrix: FloatArray, size: Size, border: tuple[int, int, int]) -> ImageArray:
    scale = magnification(matrix)
    if scale < 0.9:  # what shrinks is smoothed first: thin streaks must fade, not flicker
        image = _smoothed(image, matrix, size, 0.5 * np.sqrt(1 / scale**2 - 1))
    # OpenCV counts from pixel centres, this program from pixel corners
    indexed = _shift(-0.5, -0.5) @ matrix @ _shift(0.5, 0.5)
    warped = cv2.warpAffine(
        image,
        indexed[:2],
        (size.width, size.height),
        flags=cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_CONSTANT,
        borderValue=border,
    )
    return np.asarray(warped, np.uint8)


def _smoothed(image: ImageArray, matrix: FloatArray, size: Size, sigma_px: float) -> ImageArray:
    """Return a copy that is low-passed where the crop will look; the rest stays as it is."""
    corners = np.array([[0, 0, 1], [size.width, 0, 1], [0, size.height, 1], [size.width, size.height, 1]], float)
    seen = (np.linalg.inv(matrix) @ corners.T)[:2]
    limits = (image.shape[1], image.shape[0])
    left, top = (int(np.clip(np.floor(seen[axis].min()) - 2, 0, limits[axis])) for axis in (0, 1))
    right, bottom = (int(np.clip(np.ceil(seen[axis].max()) + 2, 0, limits[axis])) for axis in (0, 1))
    if right <= left or bottom <= top:
        return image
    smooth = image.copy()
    smooth[top:bottom, left:right] = cv2.GaussianBlur(image[top:bottom, left:right], (0, 0), sigma_px)
    return smooth
