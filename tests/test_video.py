"""Index and time of every frame are checked against a number written into the picture itself."""

import logging
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from plucc.types import ImageArray, InputError, Size
from plucc.video import VideoWriter, presentation_times, probe, read_frames, read_image, write_video

BITS = 8
COUNT = 120


def numbered(index: int) -> ImageArray:
    image = np.full((96, 160, 3), 128, np.uint8)
    for bit in range(BITS):
        image[24:72, 16 + 16 * bit : 32 + 16 * bit] = 255 * (index >> bit & 1)
    return image


def number_in(image: ImageArray) -> int:
    return sum(int(image[40:56, 20 + 16 * bit : 28 + 16 * bit].mean() > 127) << bit for bit in range(BITS))


def numbered_frames() -> Iterator[ImageArray]:
    return (numbered(index) for index in range(COUNT))


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("video") / "clip.mp4"
    write_video(path, numbered_frames(), Fraction(30000, 1001))
    return path


@pytest.fixture(scope="module")
def uneven_clip(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[float]]:
    """A variable-frame-rate clip with a keyframe every 12 frames, and its true times."""
    path = tmp_path_factory.mktemp("video") / "uneven.mkv"
    stamps_ms = np.cumsum(np.random.default_rng(5).integers(20, 120, COUNT)).tolist()
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=25, options={"g": "12", "bf": "2"})
        stream.width, stream.height, stream.pix_fmt = 160, 96, "yuv420p"
        stream.time_base = stream.codec_context.time_base = Fraction(1, 1000)
        for index, stamp in enumerate(stamps_ms):
            frame = av.VideoFrame.from_ndarray(numbered(index), format="rgb24")
            frame.pts, frame.time_base = int(stamp), Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path, [stamp / 1000 for stamp in stamps_ms]


def test_every_frame_arrives_once_in_order(clip: Path) -> None:
    frames = [(frame.index, number_in(frame.image)) for frame in read_frames(clip)]
    assert frames == [(index, index) for index in range(COUNT)]


@pytest.mark.parametrize(
    ("start", "stop", "every"), [(0, 5, 1), (7, 40, 3), (59, None, 7), (119, None, 1), (120, None, 1)]
)
def test_a_seek_lands_on_the_frame_asked_for(clip: Path, start: int, stop: int | None, every: int) -> None:
    frames = list(read_frames(clip, start=start, stop=stop, every=every))
    assert [frame.index for frame in frames] == list(range(start, COUNT if stop is None else stop, every))
    assert [number_in(frame.image) for frame in frames] == [frame.index for frame in frames]


@pytest.mark.parametrize("start", [0, 1, 11, 12, 13, 47, 100, 119])
def test_variable_frame_rate_keeps_index_and_time(uneven_clip: tuple[Path, list[float]], start: int) -> None:
    path, times_s = uneven_clip
    frame = next(read_frames(path, start=start))
    assert (frame.index, number_in(frame.image)) == (start, start)
    assert frame.time_s == pytest.approx(times_s[start], abs=1e-3)


def test_presentation_times_without_decoding(uneven_clip: tuple[Path, list[float]]) -> None:
    path, times_s = uneven_clip
    np.testing.assert_allclose(presentation_times(path), times_s, atol=1e-3)


def test_probe_tells_size_rate_and_length(clip: Path) -> None:
    info = probe(clip)
    assert info.size == Size(160, 96)
    assert info.frame_rate == Fraction(30000, 1001)
    assert info.frame_count == COUNT
    assert info.duration_s == pytest.approx(COUNT * 1001 / 30000, abs=0.05)
    assert not info.has_audio


def test_broken_packets_are_passed_over_and_said(clip: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    content = bytearray(clip.read_bytes())
    middle = len(content) // 3
    content[middle : middle + 400] = bytes(400)
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        frames = list(read_frames(broken))
    assert len(frames) > COUNT // 2
    assert [frame.index for frame in frames] == sorted({frame.index for frame in frames})


def test_odd_sizes_lose_their_last_line(tmp_path: Path) -> None:
    path = tmp_path / "odd.mp4"
    with VideoWriter(path, Fraction(25)) as writer:
        writer.write(np.zeros((97, 161, 3), np.uint8))
    assert probe(path).size == Size(160, 96)


@pytest.mark.parametrize("content", [b"", b"not a video"])
def test_not_a_video_is_a_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "game.mp4"
    path.write_bytes(content)
    with pytest.raises(InputError, match="cannot be opened as a video"):
        next(read_frames(path))
    with pytest.raises(InputError, match="is not a file"):
        next(read_frames(tmp_path / "absent.mp4"))


def test_not_a_picture_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "frame.jpg"
    path.write_bytes(b"nothing")
    with pytest.raises(InputError, match="not a picture"):
        read_image(path)
