"""Frames and player masks to train the player network on, at about the size at which it looks at them."""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from plucc.config import AugmentSpec
from plucc.context.maskfile import MaskFile
from plucc.context.masks import blank, ellipse_mask, enlarged, union
from plucc.data.manifest import Dataset
from plucc.data.masks import decode_mask
from plucc.data.schema import Record
from plucc.training.photometry import degrade
from plucc.types import Box, DataError, FloatArray, ImageArray, MaskArray, Progress, Size, silent
from plucc.video import read_image

STORED_SIZE = Size(640, 360)
STORED_QUALITY = 95
ZOOM = (0.6, 1.7)
STRETCH = (0.9, 1.1)  # of the aspect
ROTATION_RAD = 0.07
PUCK_SURROUNDINGS = 0.8  # how much longer both axes are than the puck itself
SHUFFLE = 0.15  # probability that colour channels change places: no team owns a colour
INVERT = 0.05  # probability that light and dark change places
PIXELS = AugmentSpec(
    colour=0.8, blur=0.2, blur_sigma_px=(0.3, 1.2), streak=0.1, rescale=0.15, noise=0.2, recompress=0.25, overlay=0.1
)


@dataclass(frozen=True, slots=True)
class PlayerFrames:
    """Frames with their players' masks, shrunk and compressed: thousands fit into memory."""

    records: tuple[Record, ...]
    pictures: tuple[bytes, ...]
    labels: tuple[bytes, ...]

    def __len__(self) -> int:
        return len(self.records)

    def picture(self, index: int) -> ImageArray:
        """RGB of the stored size."""
        return _decoded(self.pictures[index], cv2.IMREAD_COLOR_RGB)

    def label(self, index: int) -> ImageArray:
        """How much of each pixel players cover, and how much the puck and what is around it: two channels, 0 to 255."""
        return np.ascontiguousarray(_decoded(self.labels[index], cv2.IMREAD_COLOR_BGR)[:, :, :2])


def load_player_frames(
    dataset: Dataset, records: Sequence[Record], masks: MaskFile | None = None, *, progress: Progress = silent
) -> PlayerFrames:
    """Read records with their masks: those of the file, or the records' own; records without any are left out."""
    kept, pictures, labels = [], [], []
    for record in progress(records, total=len(records), label="frames"):
        mask = players_mask(record, masks)
        if mask is None:
            continue
        kept.append(record)
        bgr = np.ascontiguousarray(read_image(dataset.image_path(record))[:, :, ::-1])
        pictures.append(_encoded(".jpg", _stored(bgr), cv2.IMWRITE_JPEG_QUALITY, STORED_QUALITY))
        planes = np.dstack([mask, puck_surroundings(record, mask), np.zeros_like(mask)])
        label = _stored(np.where(planes, np.uint8(255), np.uint8(0)))
        labels.append(_encoded(".png", label, cv2.IMWRITE_PNG_COMPRESSION, 1))
    return PlayerFrames(tuple(kept), tuple(pictures), tuple(labels))


def players_mask(record: Record, masks: MaskFile | None) -> MaskArray | None:
    """Return the union of a frame's players, or None where nobody drew them."""
    if masks is not None:
        return masks.get(record.image)
    if record.players is None or any(player.mask is None for player in record.players):
        return None
    return union((decode_mask(player.mask) for player in record.players if player.mask is not None), record.size)


def puck_surroundings(record: Record, mask: MaskArray) -> MaskArray:
    """Return the puck and what is close around it, as far as no player covers it; nothing where no puck shows."""
    puck = record.puck
    size = Size(mask.shape[1], mask.shape[0])
    if puck is None or puck.box_px is None or puck.visible_fraction == 0:
        return blank(size)
    factor_x, factor_y = size.width / record.size.width, size.height / record.size.height
    around = enlarged(puck.box_px, PUCK_SURROUNDINGS)
    scaled = Box(around.left * factor_x, around.top * factor_y, around.right * factor_x, around.bottom * factor_y)
    return ellipse_mask(scaled, size) & ~mask


def augmented(
    picture: ImageArray, label: ImageArray, size: Size, rng: np.random.Generator
) -> tuple[ImageArray, ImageArray]:
    """Return picture and label, moved together to the network's size, the picture as other cameras might deliver it."""
    matrix = _random_view(Size(picture.shape[1], picture.shape[0]), size, rng)
    moved, moved_label = (
        cv2.warpAffine(image, matrix, (size.width, size.height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
        for image in (picture, label)
    )
    if rng.random() < SHUFFLE:
        moved = moved[:, :, rng.permutation(3)]
    if rng.random() < INVERT:
        moved = 255 - moved
    changed = degrade(np.ascontiguousarray(moved, np.uint8), None, PIXELS, rng)
    return changed, np.asarray(moved_label, np.uint8)


def _random_view(source: Size, target: Size, rng: np.random.Generator) -> FloatArray:
    """Return an affine map in OpenCV's terms (pixel centres at integers): zoom, turn, mirror, shift."""
    zoom = float(np.exp(rng.uniform(*np.log(ZOOM)))) * target.width / source.width
    stretch = rng.uniform(*STRETCH)
    angle = rng.uniform(-ROTATION_RAD, ROTATION_RAD)
    mirror = -1.0 if rng.random() < 0.5 else 1.0
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    linear = turn @ np.diag([mirror * zoom * stretch, zoom / stretch])
    # a magnified frame may be looked at anywhere, a shrunk one stays wholly in view
    room = np.abs([source.width * zoom - target.width, source.height * zoom - target.height]) / 2
    shift = rng.uniform(-room, room)
    middle = np.array([source.width - 1, source.height - 1]) / 2
    goal = np.array([target.width - 1, target.height - 1]) / 2 + shift
    return np.column_stack((linear, goal - linear @ middle))


def _stored(image: ImageArray) -> ImageArray:
    stored = cv2.resize(image, (STORED_SIZE.width, STORED_SIZE.height), interpolation=cv2.INTER_AREA)
    return np.asarray(stored, np.uint8)


def _encoded(suffix: str, image: ImageArray, option: int, value: int) -> bytes:
    done, data = cv2.imencode(suffix, image, [option, value])
    if not done:
        raise DataError(f"a picture of shape {image.shape} cannot be stored as {suffix}: check the dataset's images")
    return data.tobytes()


def _decoded(data: bytes, how: int) -> ImageArray:
    return np.asarray(cv2.imdecode(np.frombuffer(data, np.uint8), how), np.uint8)
