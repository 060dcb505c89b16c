"""Pictures on disk: their size without decoding, and whether they are whole.

OpenCV fills the missing part of a truncated JPEG with grey and says nothing, so wholeness is asked of the file itself
and of a decoder that stops at the first error.
"""

from io import BytesIO
from pathlib import Path

import av
from av.error import FFmpegError

from plucc.types import Size

IMAGE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".webp"})

_JPEG_START = b"\xff\xd8"
_JPEG_SCAN = b"\xff\xda"
_JPEG_END = b"\xff\xd9"  # cannot occur inside a scan: there 0xff is always followed by zero or a restart marker
_PNG_START = b"\x89PNG"
_PNG_END = b"IEND"


class PictureError(Exception):
    """A picture that is missing, truncated or undecodable; the message says which."""


def read_size(path: Path) -> Size:
    """Return a picture's size from its header; a missing, foreign or visibly truncated file is a PictureError."""
    content = read_picture(path)
    try:
        with av.open(BytesIO(content), mode="r") as container:
            stream = container.streams.video[0]
            size = Size(stream.width, stream.height)
    except (FFmpegError, IndexError) as error:
        raise PictureError(_undecodable(content)) from error
    if size.width < 1 or size.height < 1:
        raise PictureError(_undecodable(content))
    _check_end(content)
    return size


def decode_size(content: bytes) -> Size:
    """Decode a picture to its last pixel and return its size; any decoding error is a PictureError."""
    _check_end(content)
    try:
        with av.open(BytesIO(content), mode="r") as container:
            stream = container.streams.video[0]
            stream.codec_context.thread_count = 1
            stream.codec_context.options = {"err_detect": "+crccheck+bitstream+buffer+explode"}
            frame = next(container.decode(stream))
            return Size(frame.width, frame.height)
    except (FFmpegError, IndexError, StopIteration) as error:
        raise PictureError(_undecodable(content)) from error


def read_picture(path: Path) -> bytes:
    """Return a picture file's content; one that cannot be read is a PictureError."""
    try:
        return path.read_bytes()
    except OSError as error:
        reason = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        raise PictureError(f"image {path} {reason}") from error


def _check_end(content: bytes) -> None:
    truncated_jpeg = content.startswith(_JPEG_START) and content.rfind(_JPEG_END) <= content.rfind(_JPEG_SCAN)
    truncated_png = content.startswith(_PNG_START) and _PNG_END not in content[-4096:]
    if truncated_jpeg or truncated_png:
        raise PictureError("image is truncated: its end marker is missing; fetch the file again")


def _undecodable(content: bytes) -> str:
    if not content:
        return "image is empty; fetch the file again"
    return "image is damaged or of no known format: it cannot be decoded to the end; fetch the file again"
