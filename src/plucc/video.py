"""Frames in with exact index and time, frames out; streams, never holds a video."""

import logging
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import av
import cv2
import numpy as np

from plucc.types import ImageArray, InputError, Size

IMAGE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff"})
_TURNS = {90: cv2.ROTATE_90_COUNTERCLOCKWISE, 180: cv2.ROTATE_180, 270: cv2.ROTATE_90_CLOCKWISE}

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture of a video: its index from the start, its presentation time, and RGB pixels (height, width, 3)."""

    index: int
    time_s: float
    image: ImageArray

    @property
    def size(self) -> Size:
        return Size(self.image.shape[1], self.image.shape[0])


@dataclass(frozen=True, slots=True)
class VideoInfo:
    """What the container says of a video; `frame_count` is an estimate where the container holds none."""

    size: Size
    frame_rate: Fraction
    duration_s: float | None
    frame_count: int | None
    has_audio: bool


def probe(path: Path) -> VideoInfo:
    """Read the facts of a video without decoding it."""
    with _open(path) as container:
        stream = container.streams.video[0]
        rate = Fraction(stream.average_rate or stream.guessed_rate or 25)
        duration_s = float(container.duration / av.time_base) if container.duration else None
        count = stream.frames or (round(duration_s * rate) if duration_s else None)
        size = Size(stream.codec_context.width, stream.codec_context.height)
        return VideoInfo(size, rate, duration_s, count, bool(container.streams.audio))


def read_frames(path: Path, *, start: int = 0, stop: int | None = None, every: int = 1) -> Iterator[Frame]:
    """Yield frames start, start + every, … before stop, counted over the whole video in presentation order.

    The count is of frames that decode: a broken packet loses its own frames and is logged, the rest keep streaming.
    A seek goes to the keyframe before `start`, found from the packets' own times, so it is exact at any frame rate.
    """
    if start < 0 or every < 1:
        raise InputError(f"frames from {start} by steps of {every}: start at 0 or later, step by 1 or more")
    with _open(path) as container:
        first = _seek(container, start)
        frames = enumerate(_decode(container, path), first)
        for index, frame in islice(frames, start - first, None if stop is None else stop - first, every):
            yield Frame(index, float(frame.time) if frame.time is not None else float("nan"), _to_rgb(frame))


def presentation_times(path: Path) -> list[float]:
    """Return the presentation time in seconds of every frame, in order, from the packets alone (nothing is decoded)."""
    with _open(path) as container:
        stream = container.streams.video[0]
        return [float(pts * stream.time_base) for pts, _ in _packet_index(container)]


def read_image(path: Path) -> ImageArray:
    """Read a picture file as RGB pixels (height, width, 3); greyscale and alpha are converted."""
    try:
        encoded = np.fromfile(path, np.uint8)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check the path") from error
    image = cv2.imdecode(encoded, cv2.IMREAD_COLOR) if encoded.size else None
    if image is None:
        raise InputError(f"{path} is not a picture that can be decoded: expected JPEG, PNG, BMP, WebP or TIFF")
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), np.uint8)


class VideoWriter:
    """Writes RGB frames as H.264; the size is fixed by the first frame, odd sides lose their last line."""

    def __init__(self, path: Path, frame_rate: Fraction, *, quality: int = 20) -> None:
        self._container = av.open(str(path), "w")
        self._rate = frame_rate.limit_denominator(60000)
        self._quality = quality
        self._stream: Any = None

    def __enter__(self) -> Self:
        return self

    def write(self, image: ImageArray) -> None:
        height, width = image.shape[0] // 2 * 2, image.shape[1] // 2 * 2
        if self._stream is None:
            self._stream = self._container.add_stream("libx264", rate=self._rate, options={"crf": str(self._quality)})
            self._stream.width, self._stream.height, self._stream.pix_fmt = width, height, "yuv420p"
        picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(image[:height, :width]), format="rgb24")
        self._container.mux(self._stream.encode(picture))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._stream is not None:
            self._container.mux(self._stream.encode(None))
        self._container.close()


def write_video(path: Path, images: Iterable[ImageArray], frame_rate: Fraction) -> None:
    """Write a whole video from a stream of RGB pictures."""
    with VideoWriter(path, frame_rate) as writer:
        for image in images:
            writer.write(image)


def _open(path: Path) -> Any:
    if not path.is_file():
        raise InputError(f"{path} is not a file: give a video that exists")
    try:
        container = av.open(str(path))
    except (av.error.FFmpegError, OSError) as error:
        raise InputError(f"{path} cannot be opened as a video: give a file that a video player shows") from error
    if not container.streams.video:
        container.close()
        raise InputError(f"{path} holds no picture, only {len(container.streams)} other streams: give a video")
    container.streams.video[0].thread_type = "AUTO"
    return container


def _packet_index(container: Any) -> list[tuple[int, bool]]:
    """Return (presentation stamp, is keyframe) of every picture, in presentation order."""
    packets = container.demux(container.streams.video[0])
    return sorted((packet.pts, packet.is_keyframe) for packet in packets if packet.pts is not None)


def _seek(container: Any, index: int) -> int:
    """Go to the last keyframe at or before frame `index` and return that keyframe's own index."""
    if index == 0:
        return 0
    stamps = _packet_index(container)
    keys = [position for position, (_, is_key) in enumerate(stamps) if is_key]
    first = keys[bisect_right(keys, index) - 1] if keys and keys[0] <= index else 0
    container.seek(stamps[first][0] if stamps else 0, stream=container.streams.video[0], backward=True)
    return first


def _decode(container: Any, path: Path) -> Iterator[Any]:
    stream = container.streams.video[0]
    packets = container.demux(stream)
    while True:
        try:
            packet = next(packets)
        except StopIteration:
            return
        except av.error.FFmpegError as error:
            log.warning("%s breaks off: %s", path, error)
            return
        try:
            yield from packet.decode()
        except av.error.InvalidDataError:
            log.warning("%s: a packet at stamp %s is broken and was passed over", path, packet.pts)


def _to_rgb(frame: Any) -> ImageArray:
    image = frame.to_ndarray(format="rgb24")
    turn = _TURNS.get(round(frame.rotation) % 360)
    return np.asarray(image if turn is None else cv2.rotate(image, turn), np.uint8)
