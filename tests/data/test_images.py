import cv2
import numpy as np
import pytest

from plucc.data.images import PictureError, decode_size, read_picture, read_size
from plucc.types import Size


def jpeg(seed=0, **options):
    image = np.random.default_rng(seed).integers(0, 255, (90, 160, 3), dtype=np.uint8)
    flags = [
        number for pair in options.items() for number in (getattr(cv2, f"IMWRITE_JPEG_{pair[0].upper()}"), pair[1])
    ]
    return cv2.imencode(".jpg", image, flags)[1].tobytes()


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".bmp", ".webp"])
def test_size_is_read_and_decoded(tmp_path, draw_frame, suffix):
    path = draw_frame(tmp_path / f"a{suffix}")
    assert read_size(path) == Size(160, 90)
    assert decode_size(read_picture(path)) == Size(160, 90)


def test_progressive_jpegs_and_trailing_bytes_are_whole():
    assert decode_size(jpeg(progressive=1)) == Size(160, 90)
    assert decode_size(jpeg() + b"appended by a camera") == Size(160, 90)


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.95])
@pytest.mark.parametrize("mended", [b"", b"\xff\xd9"])
def test_truncated_jpegs_are_found_though_opencv_reads_them(tmp_path, kept, mended):
    whole = jpeg()
    content = whole[: int(len(whole) * kept)] + mended
    (tmp_path / "a.jpg").write_bytes(content)
    assert cv2.imread(str(tmp_path / "a.jpg")) is not None
    with pytest.raises(PictureError):
        decode_size(content)


@pytest.mark.parametrize("lost", [1, 2, 50])
def test_a_jpeg_without_its_end_is_found_from_its_header_already(tmp_path, lost):
    path = tmp_path / "a.jpg"
    path.write_bytes(jpeg()[:-lost])
    with pytest.raises(PictureError, match="truncated"):
        read_size(path)


def test_a_thumbnail_does_not_hide_the_missing_end(tmp_path):
    whole, thumbnail = jpeg(), jpeg(1)[:60_000]
    segment = b"\xff\xe1" + (len(thumbnail) + 2).to_bytes(2, "big") + thumbnail
    path = tmp_path / "a.jpg"
    path.write_bytes(whole[:2] + segment + whole[2:-50])
    with pytest.raises(PictureError, match="truncated"):
        read_size(path)


def test_bytes_lost_in_the_middle_are_found():
    content = bytearray(jpeg())
    content[len(content) // 2 : len(content) // 2 + 400] = bytes(400)
    with pytest.raises(PictureError, match="damaged"):
        decode_size(bytes(content))


@pytest.mark.parametrize("suffix", [".png", ".webp"])
def test_truncated_pictures_of_other_formats_are_found(tmp_path, draw_frame, suffix):
    path = draw_frame(tmp_path / f"a{suffix}")
    content = path.read_bytes()
    with pytest.raises(PictureError):
        decode_size(content[: len(content) // 2])


def test_a_flipped_bit_in_a_png_is_found(tmp_path, draw_frame):
    content = bytearray(draw_frame(tmp_path / "a.png").read_bytes())
    content[len(content) // 2] ^= 0x10
    with pytest.raises(PictureError, match="damaged"):
        decode_size(bytes(content))


@pytest.mark.parametrize(("content", "problem"), [(b"", "empty"), (b"no picture at all", "no known format")])
def test_files_that_are_no_pictures_are_named(tmp_path, content, problem):
    path = tmp_path / "a.jpg"
    path.write_bytes(content)
    with pytest.raises(PictureError, match=problem):
        read_size(path)


def test_a_missing_picture_is_named(tmp_path):
    with pytest.raises(PictureError, match=r"a\.jpg is missing"):
        read_size(tmp_path / "a.jpg")
