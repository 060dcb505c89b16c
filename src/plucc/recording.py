"""The video again with what was found drawn in, made piece by piece and joined, its sound kept.

Each piece is a file of its own until all are there: work that was interrupted goes on after the last whole piece.
"""

import heapq
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import av

from plucc.files import whole_file
from plucc.types import InputError

CLOCK = Fraction(1, 90_000)  # fine enough for every frame rate, and the same in every piece
SUFFIXES = (".mp4", ".mkv", ".mov")

log = logging.getLogger(__name__)

Timed: TypeAlias = tuple[float, int, Any]  # a packet, its time in seconds, and which stream goes first


def check_recording(path: Path) -> None:
    """Refuse a name that no video with sound can be written to."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path} has no known video format: name it {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}")


def join_pieces(pieces: Sequence[tuple[Path, float]], source: Path, path: Path) -> None:
    """Join pieces, each with the time of its first frame, into one video, with the sound of the source beside it."""
    check_recording(path)
    with whole_file(path) as temporary, ExitStack() as stack:
        options = {"video_track_timescale": str(CLOCK.denominator)} if path.suffix.lower() != ".mkv" else {}
        out = stack.enter_context(av.open(str(temporary), "w", options=options))
        first = stack.enter_context(av.open(str(pieces[0][0])))
        pictures = out.add_stream_from_template(first.streams.video[0])
        begin_s = pieces[0][1]
        streams = [_video_packets(pieces, pictures, begin_s)]
        sound = _open_sound(source, out, stack)
        if sound is not None:
            streams.append(_sound_packets(*sound, begin_s, _end_s(pieces)))
        for _, _, packet in heapq.merge(*streams, key=lambda each: each[:2]):
            out.mux(packet)


def _video_packets(pieces: Iterable[tuple[Path, float]], stream: Any, begin_s: float) -> Iterator[Timed]:
    for file, first_s in pieces:
        offset = round((first_s - begin_s) / CLOCK)
        with av.open(str(file)) as container:
            for packet in container.demux(video=0):
                if packet.size == 0 or packet.pts is None:
                    continue
                at = offset + round(packet.pts * packet.time_base / CLOCK)
                packet.time_base, packet.pts, packet.dts, packet.stream = CLOCK, at, at, stream
                yield float(at * CLOCK), 0, packet


def _open_sound(source: Path, out: Any, stack: ExitStack) -> tuple[Any, Any] | None:
    """Add a stream for the source's sound as it is; None where it has none, or none that this container takes."""
    container = stack.enter_context(av.open(str(source)))
    if not container.streams.audio:
        return None
    stream = container.streams.audio[0]
    if stream.codec_context.name not in out.supported_codecs:
        log.warning(
            "%s: its sound (%s) does not fit this kind of file and is left out; .mkv takes it", source, stream.name
        )
        return None
    return container, out.add_stream_from_template(stream)


def _sound_packets(container: Any, target: Any, begin_s: float, end_s: float) -> Iterator[Timed]:
    stream = container.streams.audio[0]
    shift = round(Fraction(begin_s) / stream.time_base)
    for packet in container.demux(stream):
        if packet.size == 0 or packet.pts is None:
            continue
        time_s = float(packet.pts * stream.time_base)
        if time_s >= end_s:
            return
        if time_s >= begin_s:
            packet.pts, packet.dts = packet.pts - shift, packet.pts - shift
            packet.stream = target
            yield time_s - begin_s, 1, packet


def _end_s(pieces: Sequence[tuple[Path, float]]) -> float:
    """Return when the last piece ends."""
    path, first_s = pieces[-1]
    with av.open(str(path)) as container:
        return first_s + float((container.duration or 0) / av.time_base)
