"""Frames in with exact index and time, frames out; streams, never holds a video."""

import logging
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import av
import av.filter
import cv2
import numpy as np
from numpy.typing import NDArray

from plucc.types import ImageArray, InputError, Size

IMAGE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff"})
_TURNS = {90: cv2.ROTATE_90_COUNTERCLOCKWISE, 180: cv2.ROTATE_180, 270: cv2.ROTATE_90_CLOCKWISE}
_WARM_UP = 3  # frames decoded before the first that is wanted: a deinterlacer looks back
_REORDERING = 64  # packets: no codec shows a picture later than this after it was sent
_WELL_BEFORE_S = 10  # aiming at the first frame itself may miss it
_CUT_SHORT_S = 1.0  # a video that ends earlier than its header says by more than this was cut off

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


@dataclass(frozen=True, slots=True)
class Span:
    """Which part of a video is wanted: from `start_s` to before `end_s` on its own clock, every n-th frame of it."""

    start_s: float | None = None
    end_s: float | None = None
    every: int = 1

    def __post_init__(self) -> None:
        if self.every < 1:
            raise InputError(f"every {self.every} frames: the step must be 1 or more")
        if self.start_s is not None and self.end_s is not None and self.end_s <= self.start_s:
            raise InputError(f"an end at {self.end_s:g} s is not after the start at {self.start_s:g} s: move one")


class VideoReader:
    """A video with an index of its frames, made from the packets alone, so that any part of it can be read exactly.

    A frame's index is its place in presentation order among all frames that were sent: it does not depend on where
    reading starts, and a packet that is broken loses its own frames and leaves the numbers of the others alone.
    Interlaced pictures are deinterlaced, turned ones are turned upright.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with _open(path) as container:
            self.info = _facts(container)
            self._index = _index_packets(container, path)

    def __len__(self) -> int:
        return len(self._index.stamps) or self.info.frame_count or 0

    @property
    def breaks_off(self) -> bool:
        """Whether the file ends before its own header says, or reading it fails on the way."""
        return self._index.breaks_off

    @property
    def times_s(self) -> NDArray[np.float64]:
        """Presentation times of all frames, in order; empty where the packets carry none."""
        return np.asarray(self._index.stamps * float(self._index.unit_s), np.float64)

    def part(self, span: Span) -> range:
        """Return the indices of the frames in a span; where packets carry no times, a constant rate is assumed."""
        times_s = self.times_s
        if not len(times_s):
            times_s = np.arange(len(self)) / float(self.info.frame_rate)
        start = 0 if span.start_s is None else int(np.searchsorted(times_s, span.start_s - 1e-6))
        stop = len(times_s) if span.end_s is None else int(np.searchsorted(times_s, span.end_s - 1e-6))
        return range(start, max(start, stop), span.every)

    def frames(self, start: int = 0, stop: int | None = None, every: int = 1) -> Iterator[Frame]:
        """Yield frames start, start + every, … before stop."""
        if start < 0 or every < 1:
            raise InputError(f"frames from {start} by steps of {every}: start at 0 or later, step by 1 or more")
        with _open(self.path) as container:
            first = self._index.seek(container, max(0, start - _WARM_UP))
            for index, frame in self._numbered(container, first):
                if stop is not None and index >= stop:
                    return
                if index >= start and (index - start) % every == 0:
                    yield Frame(index, float("nan") if frame.time is None else float(frame.time), _to_rgb(frame))

    def _numbered(self, container: Any, first: int) -> Iterator[tuple[int, Any]]:
        """Yield decoded frames with their index; what precedes the keyframe it started from is passed over.

        After a seek into an open group of pictures, those are frames that lean on pictures before the keyframe.
        """
        index = first - 1
        for frame in _decode(container, self.path):
            place = self._index.place(frame.pts * frame.time_base) if frame.pts is not None else None
            if place is not None and place < first:
                continue
            index = index + 1 if place is None else max(place, index + 1)
            yield index, frame


@dataclass(frozen=True, slots=True)
class _PacketIndex:
    """Presentation stamps of all pictures in order, and which are keyframes; no stamps where they cannot be trusted."""

    stamps: NDArray[np.int64]
    is_key: NDArray[np.bool_]
    unit_s: Fraction
    breaks_off: bool

    def place(self, time_s: Fraction) -> int | None:
        """Return the index of the frame with this time; None where no packet had it."""
        stamp = round(time_s / self.unit_s)
        place = int(np.searchsorted(self.stamps, stamp))
        return place if place < len(self.stamps) and self.stamps[place] == stamp else None

    def seek(self, container: Any, index: int) -> int:
        """Go to the last keyframe at or before a frame and return that keyframe's own index.

        Some containers land too late; the landing is looked at, and an earlier keyframe is taken where that happened.
        """
        stream = _pictures(container)
        keys = [key for key in np.flatnonzero(self.is_key[: index + 1])[::-1].tolist() if key > 0]
        for key in keys:
            stamp = int(self.stamps[key])
            container.seek(stamp, stream=stream, backward=True)
            landed = next((packet.pts for packet in container.demux(stream) if packet.pts is not None), None)
            if landed is not None and landed <= stamp:
                container.seek(stamp, stream=stream, backward=True)
                return int(key)
        if keys:
            container.seek(int(self.stamps[0] - _WELL_BEFORE_S / self.unit_s), stream=stream, backward=True)
        return 0


def probe(path: Path) -> VideoInfo:
    """Read the facts of a video without decoding it."""
    with _open(path) as container:
        return _facts(container)


def read_frames(path: Path, *, start: int = 0, stop: int | None = None, every: int = 1) -> Iterator[Frame]:
    """Yield frames start, start + every, … before stop of a video, with their exact index and time."""
    yield from VideoReader(path).frames(start, stop, every)


def presentation_times(path: Path) -> list[float]:
    """Return the presentation time in seconds of every frame, in order, from the packets alone (nothing is decoded)."""
    return [float(time_s) for time_s in VideoReader(path).times_s]


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
    """Writes RGB frames as H.264; the size is fixed by the first frame, odd sides lose their last line.

    Frames follow one another at a constant rate. With a `clock`, the unit of all stamps, they keep times of their own
    instead, the first at 0; no picture leans on a later one then and one thread encodes, so that such files can be
    joined and the same frames give the same bytes.
    """

    def __init__(self, path: Path, frame_rate: Fraction, *, clock: Fraction | None = None, quality: int = 20) -> None:
        options = {} if clock is None else {"video_track_timescale": str(clock.denominator)}
        self._container = av.open(str(path), "w", options=options)
        self._rate = frame_rate.limit_denominator(60_000)
        self._clock = clock
        self._quality = quality
        self._stream: Any = None
        self._first_s = 0.0
        self._last = -1

    def __enter__(self) -> Self:
        return self

    def write(self, image: ImageArray, time_s: float | None = None) -> None:
        """Write the next frame; `time_s` is for a writer with a clock, and must not be before that of the last."""
        height, width = image.shape[0] // 2 * 2, image.shape[1] // 2 * 2
        if self._stream is None:
            self._begin(width, height)
            self._first_s = time_s or 0.0
        picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(image[:height, :width]), format="rgb24")
        if self._clock is not None and time_s is not None:
            self._last = max(self._last + 1, round((time_s - self._first_s) / self._clock))
            picture.pts, picture.time_base = self._last, self._clock
        self._container.mux(self._stream.encode(picture))

    def _begin(self, width: int, height: int) -> None:
        options = {"crf": str(self._quality)}
        if self._clock is not None:
            options |= {"preset": "veryfast", "bf": "0"}
        self._stream = self._container.add_stream("libx264", rate=self._rate, options=options)
        self._stream.width, self._stream.height, self._stream.pix_fmt = width, height, "yuv420p"
        if self._clock is not None:
            self._stream.time_base = self._stream.codec_context.time_base = self._clock
            self._stream.codec_context.thread_count = 1  # more threads cut the picture otherwise

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
    _pictures(container).thread_type = "AUTO"
    return container


def _pictures(container: Any) -> Any:
    """Return the video stream; a cover picture beside it is none."""
    return container.streams.best("video") or container.streams.video[0]


def _facts(container: Any) -> VideoInfo:
    stream = _pictures(container)
    rate = Fraction(stream.average_rate or stream.guessed_rate or 25)
    duration_s = float(container.duration / av.time_base) if container.duration else None
    count = stream.frames or (round(duration_s * rate) if duration_s else None)
    size = Size(stream.codec_context.width, stream.codec_context.height)
    return VideoInfo(size, rate, duration_s, count, bool(container.streams.audio))


def _index_packets(container: Any, path: Path) -> _PacketIndex:
    """Read through all packets once; a file that cannot be read to its end is indexed as far as it goes."""
    stream, stamps, keys = _pictures(container), array("q"), array("b")
    sent, is_stamped, failed = 0, True, False
    try:
        for packet in container.demux(stream):
            if packet.size == 0:  # the flush at the end
                continue
            sent += 1
            if packet.is_discard:  # decoded for the sake of others, never shown
                continue
            is_stamped = is_stamped and packet.pts is not None
            if is_stamped:
                stamps.append(packet.pts)
                keys.append(packet.is_keyframe)
    except av.error.FFmpegError as error:
        log.warning("%s breaks off: %s", path, error)
        failed = True
    in_order = np.frombuffer(stamps, np.int64) if is_stamped and len(stamps) else np.zeros(0, np.int64)
    order = np.argsort(in_order, kind="stable")
    if len(order) and np.abs(order - np.arange(len(order))).max() > _REORDERING:  # the clock was set back on the way
        in_order = order = np.zeros(0, np.int64)
    is_key = np.frombuffer(keys, np.bool_)[order] if len(order) else np.zeros(0, np.bool_)
    unit_s = Fraction(stream.time_base)
    breaks_off = failed or _is_cut_short(container, sent, float(in_order.max() * unit_s) if len(in_order) else None)
    return _PacketIndex(in_order[order], is_key, unit_s, breaks_off)


def _is_cut_short(container: Any, sent: int, last_s: float | None) -> bool:
    """Tell a file that ends before its header says: fewer pictures than counted there, or less time."""
    stream = _pictures(container)
    if stream.frames:
        return bool(sent < stream.frames)
    end_s = _promised_end_s(container)
    return last_s is not None and end_s is not None and last_s + _CUT_SHORT_S < end_s


def _promised_end_s(container: Any) -> float | None:
    """Return when the pictures end as the header has it; None where it only knows of all streams together."""
    stream = _pictures(container)
    if stream.duration:
        return float(((stream.start_time or 0) + stream.duration) * stream.time_base)
    if "DURATION" in stream.metadata:  # Matroska keeps it as a tag
        hours, minutes, seconds = stream.metadata["DURATION"].split(":")
        return 3600 * int(hours) + 60 * int(minutes) + float(seconds)
    if len(container.streams) == 1 and container.duration:
        return float(container.duration / av.time_base)
    return None


def _decode(container: Any, path: Path) -> Iterator[Any]:
    """Yield all pictures that decode; from the first interlaced one on, through a deinterlacer."""
    graph: Any = None
    for frame in _decoded(container, path):
        if graph is None and frame.interlaced_frame:
            graph = _deinterlacer(frame)
        if graph is None:
            yield frame
        else:
            graph.push(frame)
            yield from _pulled(graph)
    if graph is not None:
        graph.push(None)
        yield from _pulled(graph)


def _decoded(container: Any, path: Path) -> Iterator[Any]:
    packets = container.demux(_pictures(container))
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


def _deinterlacer(frame: Any) -> Any:
    """Return a filter that turns interlaced frames into whole ones, one for one, and lets the others through."""
    graph = av.filter.Graph()
    source = graph.add_buffer(
        width=frame.width, height=frame.height, format=frame.format.name, time_base=frame.time_base
    )
    graph.link_nodes(
        source, graph.add("bwdif", "mode=send_frame:parity=auto:deint=interlaced"), graph.add("buffersink")
    ).configure()
    return graph


def _pulled(graph: Any) -> Iterator[Any]:
    while True:
        try:
            yield graph.pull()
        except (av.error.BlockingIOError, av.error.EOFError):
            return


def _to_rgb(frame: Any) -> ImageArray:
    image = frame.to_ndarray(format="rgb24")
    turn = _TURNS.get(round(frame.rotation) % 360)
    return np.asarray(image if turn is None else cv2.rotate(image, turn), np.uint8)
