"""Index and time of every frame are checked against a number written into the picture itself.

Videos as they come from cameras, recorders and broken discs are written here: each must read as what was drawn.
"""

import logging
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from plucc.types import ImageArray, InputError, Size
from plucc.video import Span, VideoReader, VideoWriter, presentation_times, probe, read_frames, read_image, write_video

BITS = 8
COUNT = 120
FEWER = 60


def numbered(index: int) -> ImageArray:
    image = np.full((96, 160, 3), 128, np.uint8)
    for bit in range(BITS):
        image[24:72, 16 + 16 * bit : 32 + 16 * bit] = 255 * (index >> bit & 1)
    return image


def number_in(image: ImageArray) -> int:
    return sum(int(image[40:56, 20 + 16 * bit : 28 + 16 * bit].mean() > 127) << bit for bit in range(BITS))


def numbered_frames(count: int = COUNT) -> list[ImageArray]:
    return [numbered(index) for index in range(count)]


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


def encode(
    path: Path, images: list[ImageArray], options: dict[str, str], codec: str = "libx264", pixels: str = "yuv420p"
) -> Path:
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=25, options=options)
        stream.width, stream.height, stream.pix_fmt = images[0].shape[1], images[0].shape[0], pixels
        for image in images:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode(None))
    return path


H264_OPEN = {"x264-params": "open-gop=1:keyint=12:min-keyint=12:bframes=3:scenecut=0"}
H265_OPEN = {"x265-params": "open-gop=1:keyint=12:min-keyint=12:bframes=3:log-level=0"}
FORMATS = {
    "h264-open-gop.mp4": ("libx264", H264_OPEN, "yuv420p"),
    "h264-open-gop.mkv": ("libx264", H264_OPEN, "yuv420p"),
    "h264.ts": ("libx264", {"g": "12", "bf": "2"}, "yuv420p"),
    "h265-open-gop.mp4": ("libx265", H265_OPEN, "yuv420p"),
    "vp9.webm": ("libvpx-vp9", {"g": "12", "deadline": "realtime", "cpu-used": "8"}, "yuv420p"),
    "h264-10bit-444.mp4": ("libx264", {"g": "12"}, "yuv444p10le"),
    "mpeg4.avi": ("mpeg4", {"g": "12", "bf": "2"}, "yuv420p"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_seek_into_any_format_lands_on_the_frame_asked_for(name: str, tmp_path: Path) -> None:
    codec, options, pixels = FORMATS[name]
    path = encode(tmp_path / name, numbered_frames(FEWER), options, codec, pixels)
    reader = VideoReader(path)
    streamed = {frame.index: frame for frame in reader.frames()}
    assert list(streamed) == list(range(FEWER))
    assert [number_in(frame.image) for frame in streamed.values()] == list(range(FEWER))
    for start in (1, 9, 10, 11, 12, 13, 14, 23, 24, 35, 59):
        frame = next(reader.frames(start))
        assert (frame.index, number_in(frame.image)) == (start, start)
        assert frame.time_s == streamed[start].time_s
        assert (frame.image == streamed[start].image).all()


def test_interlaced_fields_become_whole_pictures(tmp_path: Path) -> None:
    """A bar moves 6 px from field to field; woven together its edges are combs."""

    def field_bar(time: int) -> ImageArray:
        image = np.full((96, 160, 3), 40, np.uint8)
        image[:, 10 + 3 * time : 34 + 3 * time] = 220
        return image

    woven = []
    for index in range(20):
        image = field_bar(2 * index)
        image[1::2] = field_bar(2 * index + 1)[1::2]
        woven.append(image)
    path = encode(tmp_path / "i.mp4", woven, {"flags": "+ildct+ilme", "x264-params": "tff=1", "crf": "10"})

    def combing(image: ImageArray) -> float:
        grey = image[..., 1].astype(float)
        return float(np.abs(grey[1:-1] - (grey[:-2] + grey[2:]) / 2).mean())

    frames = list(read_frames(path))
    assert [frame.index for frame in frames] == list(range(20))
    np.testing.assert_allclose([frame.time_s for frame in frames], np.arange(20) / 25, atol=1e-6)
    assert np.mean([combing(image) for image in woven]) > 3
    assert np.mean([combing(frame.image) for frame in frames]) < 0.8
    again = next(read_frames(path, start=11))
    assert again.index == 11
    assert (again.image == frames[11].image).all()


def test_a_turned_phone_video_is_upright(tmp_path: Path) -> None:
    upright = np.zeros((160, 96, 3), np.uint8)
    upright[:40] = 255  # white at the top
    path = tmp_path / "turned.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 160, 96, "yuv420p"
        for _ in range(3):
            lying = np.ascontiguousarray(np.rot90(upright))
            container.mux(stream.encode(av.VideoFrame.from_ndarray(lying, format="rgb24")))
        container.mux(stream.encode(None))
    turn_in_header(path)
    image = next(read_frames(path)).image
    assert image.shape == (160, 96, 3)
    assert image[:36].mean() > 230
    assert image[44:].mean() < 25


def turn_in_header(path: Path) -> None:
    """Write the matrix of a quarter turn into the track header of an MP4, as a phone does."""
    content = bytearray(path.read_bytes())
    header = content.index(b"tkhd")
    version = content[header + 4]
    at = header + 4 + 4 + (32 if version else 20) + 8 + 8
    fixed = (0, 1 << 16, 0, -(1 << 16), 0, 0, 0, 0, 1 << 30)
    content[at : at + 36] = b"".join(value.to_bytes(4, "big", signed=True) for value in fixed)
    path.write_bytes(content)


def test_broken_packets_leave_the_numbers_of_the_others_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = encode(tmp_path / "a.mkv", numbered_frames(FEWER), {"g": "6", "bf": "0"})
    reader = VideoReader(path)
    content = bytearray(path.read_bytes())
    with av.open(str(path)) as container:
        places = [packet.pos for packet in container.demux(video=0) if packet.size and packet.is_keyframe]
    content[places[4] + 12 : places[4] + 60] = bytes(48)
    path.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        frames = list(VideoReader(path).frames())
    assert not reader.breaks_off
    assert FEWER - 6 <= len(frames) < FEWER or "broken" in caplog.text
    whole = [frame for frame in frames if not 24 <= frame.index < 30]
    assert [number_in(frame.image) for frame in whole] == [frame.index for frame in whole]


@pytest.mark.parametrize("name", ["cut.mp4", "cut.mkv"])
def test_a_file_that_was_cut_off_is_read_up_to_the_break(name: str, tmp_path: Path) -> None:
    noise = np.random.default_rng(0)
    images = [np.asarray(noise.integers(0, 255, (96, 160, 3)), np.uint8) for _ in range(FEWER)]
    options = {"movflags": "+faststart"} if name.endswith("mp4") else {}
    path = tmp_path / name
    with av.open(str(path), "w", options=options) as container:
        stream = container.add_stream("libx264", rate=25, options={"g": "10", "bf": "0"})
        stream.width, stream.height, stream.pix_fmt = 160, 96, "yuv420p"
        for image in images:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode(None))
    assert not VideoReader(path).breaks_off
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 5])
    reader = VideoReader(path)
    assert reader.breaks_off
    frames = list(reader.frames())
    assert 15 <= len(frames) <= 30
    assert [frame.index for frame in frames] == list(range(len(frames)))


def test_a_span_is_by_time_and_step(tmp_path: Path) -> None:
    path = encode(tmp_path / "a.mp4", numbered_frames(FEWER), {"g": "12"})
    reader = VideoReader(path)
    assert reader.part(Span()) == range(FEWER)
    assert reader.part(Span(0.4, 0.8)) == range(10, 20)
    assert reader.part(Span(0.41, None, 7)) == range(11, FEWER, 7)
    assert len(reader.part(Span(100.0))) == 0
    with pytest.raises(InputError, match="not after the start"):
        Span(2.0, 1.0)
    with pytest.raises(InputError, match="step must be 1"):
        Span(every=0)


def test_a_sound_file_is_not_a_video(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=44100)
        for _ in range(3):
            frame = av.AudioFrame.from_ndarray(np.zeros((2, 1024), np.float32), format="fltp", layout="stereo")
            frame.sample_rate = 44100
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with pytest.raises(InputError, match="holds no picture"):
        VideoReader(path)
