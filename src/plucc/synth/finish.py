"""From light to broadcast: lens, grading, grain, and the real codecs that a picture passes on its way."""

from fractions import Fraction
from typing import Any

import av
import cv2
import numpy as np

from plucc.synth.match import Grading
from plucc.types import REFERENCE_HEIGHT_PX, FloatArray, ImageArray

GRAIN_TILE_PX = 512
# what costs time and does not show in one or two pictures
LEAN = {"x264-params": "cabac=0:weightp=0:scenecut=0:subme=0"}
UNIFORM_DEVIATION = 73.9  # of whole numbers from 0 to 255


def develop(canvas: ImageArray, grading: Grading, rng: np.random.Generator) -> ImageArray:
    """Return the picture after lens, sharpening, grading and grain, in the eight bits that a broadcast has."""
    lines = canvas.shape[0] / REFERENCE_HEIGHT_PX
    soft = (max(grading.softness_px * lines, 0.3), max(grading.line_softness_px * lines, 0.3))
    picture = cv2.GaussianBlur(canvas, (0, 0), soft[0], sigmaY=soft[1])
    if grading.sharpening:
        wide = cv2.GaussianBlur(picture, (0, 0), 1.6 * max(lines, 0.4))
        picture = cv2.addWeighted(picture, 1 + grading.sharpening, wide, -grading.sharpening, 0)
    picture = cv2.transform(picture, _saturation(grading.saturation))
    if grading.vignette:
        picture = cv2.multiply(picture, _vignette(picture.shape[0], picture.shape[1], grading.vignette), scale=1 / 255)
    graded = np.asarray(cv2.LUT(picture, _curves(grading)), np.uint8)
    return _add_grain(graded, grading.grain, rng)


def _saturation(factor: float) -> FloatArray:
    """Return the matrix that moves BGR colours away from, or towards, their own grey."""
    grey = np.array([0.114, 0.587, 0.299])
    return np.asarray(factor * np.eye(3) + (1 - factor) * grey[None, :], np.float32)


def _curves(grading: Grading) -> ImageArray:
    """Return the tone curve of each channel, (1, 256, 3); it pivots near the level of the ice."""
    steps = np.arange(256) / 255
    curve = np.clip((steps**grading.gamma - 0.8) * grading.contrast + 0.8, 0, 1)
    curve = grading.lift + curve * (255 - grading.lift)
    return to_bytes(curve[:, None] * np.asarray(grading.gain_bgr)[None, :])[None]


def _vignette(height: int, width: int, strength: float) -> ImageArray:
    """Return the light that reaches each pixel, 255 in the middle, on three channels."""
    y = np.linspace(-1, 1, max(height // 8, 2), dtype=np.float32)[:, None]
    x = np.linspace(-1, 1, max(width // 8, 2), dtype=np.float32)[None, :]
    light = 255 * (1 - np.float32(strength) * (0.6 * x * x + 0.4 * y * y))
    plane = cv2.resize(to_bytes(light), (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(cv2.merge([plane, plane, plane]), np.uint8)


def _add_grain(picture: ImageArray, grain: float, rng: np.random.Generator) -> ImageArray:
    """Add sensor noise: a tile made anew for every picture and laid out with its mirror images."""
    tile = rng.integers(0, 256, (GRAIN_TILE_PX, GRAIN_TILE_PX), dtype=np.uint8).astype(np.float32)
    tile = cv2.GaussianBlur(tile, (0, 0), 0.6) - np.float32(127.5)
    tile *= np.float32(1.9 * grain / UNIFORM_DEVIATION)
    lifted = cv2.add(picture, _laid_out(np.maximum(tile, 0), picture.shape))
    return np.asarray(cv2.subtract(lifted, _laid_out(np.minimum(tile, 0), picture.shape)), np.uint8)


def _laid_out(tile: FloatArray, shape: tuple[int, ...]) -> ImageArray:
    """Return the size of the tile's values all over a picture, on three channels."""
    plane = cv2.convertScaleAbs(tile)
    edge = (0, max(shape[0] - len(tile), 0), 0, max(shape[1] - len(tile), 0))
    sheet = cv2.copyMakeBorder(cv2.merge([plane, plane, plane]), *edge, cv2.BORDER_REFLECT)
    return np.asarray(sheet[: shape[0], : shape[1]], np.uint8)


def weave(first: ImageArray, second: ImageArray) -> ImageArray:
    """Return an interlaced picture: even lines from the first moment, odd lines from the second."""
    woven = first.copy()
    woven[1::2] = second[1::2]
    return woven


def to_bytes(picture: FloatArray) -> ImageArray:
    """Return the picture rounded to 8 bits."""
    return np.asarray(np.clip(picture + np.float32(0.5), 0, 255), np.uint8)


def through_h264(pictures: list[ImageArray], crf: int) -> ImageArray:
    """Return the last picture (BGR) after encoding the sequence with x264 and decoding it again.

    With more than one picture the last is predicted from the others, with the smears that this leaves. Odd sides lose
    their last line on the way and get it back by repetition.
    """
    height, width = pictures[0].shape[:2]
    even = (height // 2 * 2, width // 2 * 2)
    if min(even) < 16:
        return pictures[-1]
    encoder = av.CodecContext.create("libx264", "w")
    encoder.width, encoder.height, encoder.pix_fmt = even[1], even[0], "yuv420p"
    encoder.time_base, encoder.framerate = Fraction(1, 25), Fraction(25)
    encoder.thread_count = 1
    encoder.options = {"crf": str(crf), "preset": "superfast", "tune": "zerolatency", "threads": "1"} | LEAN
    packets: list[Any] = []
    for index, picture in enumerate(pictures):
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture[: even[0], : even[1]]), format="bgr24")
        frame.pts = index
        packets += encoder.encode(frame)
    packets += encoder.encode(None)
    decoder = av.CodecContext.create("h264", "r")
    decoder.thread_count = 1
    frames = [frame for packet in packets for frame in decoder.decode(packet)]
    frames += decoder.decode(None)
    decoded = np.asarray(frames[-1].to_ndarray(format="bgr24"), np.uint8)
    if even != (height, width):
        edge = (0, height - even[0], 0, width - even[1], cv2.BORDER_REPLICATE)
        decoded = np.asarray(cv2.copyMakeBorder(decoded, *edge), np.uint8)
    return decoded


def encode_jpeg(picture: ImageArray, quality: int) -> bytes:
    """Return the picture (RGB) as a JPEG file."""
    done, buffer = cv2.imencode(".jpg", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not done:
        raise RuntimeError("OpenCV could not encode a JPEG")
    return bytes(buffer)
