"""What cameras, encoders and broadcasters do to the pixels; nothing here moves the puck."""

from collections.abc import Callable
from typing import TypeAlias

import cv2
import numpy as np

from plucc.config import AugmentSpec
from plucc.types import ImageArray, Point

Range: TypeAlias = tuple[float, float]

GAIN: Range = (0.65, 1.35)
GAMMA: Range = (0.7, 1.4)
LIFT: Range = (-20.0, 25.0)
BALANCE: Range = (0.9, 1.1)
SATURATION: Range = (0.4, 1.5)
COLOURLESS = 0.25  # of the pictures whose hues change
HALO_PX: Range = (0.7, 2.0)
HALO: Range = (0.3, 1.5)
STREAK_PX: Range = (3.0, 11.0)
COMB_PX: Range = (1.0, 6.0)
RESCALE: Range = (0.4, 0.9)
QUALITY: tuple[int, int] = (20, 75)


def degrade(image: ImageArray, keep_clear_px: Point | None, spec: AugmentSpec, rng: np.random.Generator) -> ImageArray:
    """Return the picture as another camera, encoder and channel might have delivered it.

    The order is that of a broadcast: optics and sensor first, graphics next, compression last. Graphics stay away from
    `keep_clear_px`, where the puck is.
    """
    steps: tuple[tuple[float, Callable[[ImageArray], ImageArray]], ...] = (
        (spec.hue, lambda picture: turn_hues(picture, rng)),
        (spec.colour, lambda picture: recolour(picture, rng)),
        (spec.blur, lambda picture: blur(picture, rng.uniform(*spec.blur_sigma_px))),
        (spec.streak, lambda picture: streak(picture, rng.uniform(*STREAK_PX), rng.uniform(0, np.pi))),
        (spec.noise, lambda picture: add_noise(picture, 255 * spec.noise_std * rng.uniform(0.2, 1.0), rng)),
        (spec.interlace, lambda picture: interlace(picture, rng)),
        (spec.sharpen, lambda picture: sharpen(picture, rng.uniform(*HALO_PX), rng.uniform(*HALO))),
        (spec.rescale, lambda picture: rescale(picture, rng.uniform(*RESCALE))),
        (spec.overlay, lambda picture: overlay(picture, keep_clear_px, rng)),
        (spec.recompress, lambda picture: recompress(picture, int(rng.integers(*QUALITY, endpoint=True)))),
    )
    for probability, step in steps:
        if rng.random() < probability:
            image = step(image)
    return image


def recolour(image: ImageArray, rng: np.random.Generator) -> ImageArray:
    """Change exposure, contrast, gamma, white balance and saturation, each by a random amount."""
    if rng.random() < 0.5:
        image = _saturated(image, rng.uniform(*SATURATION))
    level = np.arange(256, dtype=np.float32)[:, None] / 255
    balance = rng.uniform(*BALANCE, size=3).astype(np.float32)
    curve = 255 * level ** rng.uniform(*GAMMA) * rng.uniform(*GAIN) * balance + rng.uniform(*LIFT)
    table = np.clip(np.rint(curve), 0, 255).astype(np.uint8)
    return np.asarray(cv2.LUT(image, table[None]), np.uint8)


def turn_hues(image: ImageArray, rng: np.random.Generator) -> ImageArray:
    """Turn all colours about the grey axis by one random angle, or take them away; what is grey stays as it is."""
    if rng.random() < COLOURLESS:
        return _saturated(image, 0.0)
    turn, _ = cv2.Rodrigues(np.full(3, rng.uniform(0, 2 * np.pi) / np.sqrt(3)))
    return np.asarray(cv2.transform(image, turn), np.uint8)


def sharpen(image: ImageArray, sigma_px: float, amount: float) -> ImageArray:
    """Raise edges by what a blur takes from them, halos and all."""
    smooth = cv2.GaussianBlur(image, (0, 0), sigma_px)
    return np.asarray(cv2.addWeighted(image, 1 + amount, smooth, -amount, 0), np.uint8)


def blur(image: ImageArray, sigma_px: float) -> ImageArray:
    """Defocus."""
    return np.asarray(cv2.GaussianBlur(image, (0, 0), sigma_px), np.uint8)


def streak(image: ImageArray, length_px: float, angle_rad: float) -> ImageArray:
    """Blur along a line, as a panning camera does."""
    return np.asarray(cv2.filter2D(image, -1, line_kernel(length_px, angle_rad)), np.uint8)


def line_kernel(length_px: float, angle_rad: float) -> np.ndarray:
    """Return a smooth kernel of sum 1 that spreads a point along a line through it."""
    half = int(np.ceil(length_px / 2))
    y, x = np.mgrid[-half : half + 1, -half : half + 1].astype(np.float32)
    along = x * np.cos(angle_rad) + y * np.sin(angle_rad)
    across = -x * np.sin(angle_rad) + y * np.cos(angle_rad)
    kernel = np.clip(length_px / 2 + 0.5 - np.abs(along), 0, 1) * np.clip(1 - np.abs(across), 0, 1)
    return np.asarray(kernel / kernel.sum(), np.float32)


def add_noise(image: ImageArray, std: float, rng: np.random.Generator) -> ImageArray:
    """Add sensor noise, half of the time the same in all three channels."""
    channels = 1 if rng.random() < 0.5 else 3
    noise = rng.standard_normal((*image.shape[:2], channels), dtype=np.float32)
    return np.clip(image + std * noise, 0, 255).astype(np.uint8)


def interlace(image: ImageArray, rng: np.random.Generator) -> ImageArray:
    """Show one field of the two with its lines doubled, or both with a moving camera's way between them."""
    if rng.random() < 0.5:
        height, width = image.shape[:2]
        field = np.ascontiguousarray(image[rng.integers(2) :: 2])
        return np.asarray(cv2.resize(field, (width, height), interpolation=cv2.INTER_LINEAR), np.uint8)
    half_px = rng.uniform(*COMB_PX) / 2
    fields = []
    for way in (-half_px, half_px):
        shift = np.array([[1.0, 0.0, way], [0.0, 1.0, 0.0]])
        fields.append(cv2.warpAffine(image, shift, image.shape[1::-1], borderMode=cv2.BORDER_REPLICATE))
    woven = np.asarray(fields[0], np.uint8)
    woven[1::2] = fields[1][1::2]
    return woven


def rescale(image: ImageArray, factor: float) -> ImageArray:
    """Lose resolution: down by `factor` and up again."""
    height, width = image.shape[:2]
    small = cv2.resize(image, (round(width * factor), round(height * factor)), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_LINEAR), np.uint8)


def recompress(image: ImageArray, quality: int) -> ImageArray:
    """Send the picture through JPEG: blocks, ringing and halved colour resolution."""
    _, encoded = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality])
    return np.asarray(cv2.imdecode(encoded, cv2.IMREAD_COLOR_RGB), np.uint8)


def overlay(image: ImageArray, keep_clear_px: Point | None, rng: np.random.Generator) -> ImageArray:
    """Draw a score panel: a box, opaque or translucent, with letters; none where it would cover the puck."""
    height, width = image.shape[:2]
    box_width, box_height = int(rng.uniform(0.15, 0.6) * width), int(rng.uniform(0.04, 0.14) * height)
    left, top = int(rng.integers(0, width - box_width + 1)), int(rng.integers(0, height - box_height + 1))
    if keep_clear_px is not None:
        clear_x = left - 16 <= keep_clear_px.x <= left + box_width + 16
        clear_y = top - 16 <= keep_clear_px.y <= top + box_height + 16
        if clear_x and clear_y:
            return image
    drawn = image.copy()
    panel = drawn[top : top + box_height, left : left + box_width]
    fill = np.broadcast_to(rng.integers(0, 256, 3).astype(np.uint8), panel.shape)
    opacity = rng.uniform(0.5, 1.0)
    panel[:] = cv2.addWeighted(np.ascontiguousarray(fill), opacity, panel, 1 - opacity, 0)
    text = "".join(rng.choice(list("ABCDEFGHIKLMNOPRSTUV0123456789:- ."), size=rng.integers(3, 14)))
    ink = tuple(int(value) for value in rng.integers(0, 256, 3))
    scale = box_height / 34
    cv2.putText(
        drawn, text, (left + 4, top + int(0.75 * box_height)), cv2.FONT_HERSHEY_SIMPLEX, scale, ink, 1, cv2.LINE_AA
    )
    return drawn


def _saturated(image: ImageArray, factor: float) -> ImageArray:
    grey = np.full((3, 1), 1.0) @ np.array([[0.299, 0.587, 0.114]])
    return np.asarray(cv2.transform(image, factor * np.eye(3) + (1 - factor) * grey), np.uint8)
