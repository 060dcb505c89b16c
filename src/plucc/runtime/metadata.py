"""The text entries of an ONNX file, read without loading its graph.

An ONNX file is one protocol-buffer message. Its entries lie beside the graph, which may hold half a gigabyte of weights
and is skipped over here: https://protobuf.dev/programming-guides/encoding and `ModelProto` in onnx.proto.
"""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, TypeAlias

from plucc.types import ModelError

Field: TypeAlias = tuple[int, bytes]

METADATA_FIELD = 14  # of ModelProto: key (1) and value (2)
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
FIXED_SIZES = {FIXED64: 8, FIXED32: 4}
VARINT_BYTES = 10


def read_metadata(path: Path) -> dict[str, str]:
    """Return the entries of an ONNX file; what is not one, or was cut off, is refused in one sentence."""
    try:
        with path.open("rb") as file:
            entries = [dict(_fields(BytesIO(content))) for _, content in _fields(file, METADATA_FIELD)]
        return {entry[1].decode(): entry[2].decode() for entry in entries}
    except FileNotFoundError as error:
        raise ModelError(f"{path} does not exist: give a model that plucc export wrote") from error
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"{path} is not an ONNX model: give a file that plucc export wrote") from error


def _fields(file: BinaryIO, wanted: int | None = None) -> Iterator[Field]:
    """Yield number and content of the fields that hold bytes, all or the wanted ones, and step over the rest."""
    size = file.seek(0, 2)
    file.seek(0)
    while file.tell() < size:
        key = _varint(file)
        number, kind = key >> 3, key & 7
        if number == 0:  # does not exist, but a file of zeros is full of it
            raise ValueError("not a message")
        if kind == VARINT:
            _varint(file)
            continue
        length = _varint(file) if kind == BYTES else FIXED_SIZES[kind]
        if file.tell() + length > size:
            raise ValueError("cut off")
        if kind == BYTES and wanted in (None, number):
            yield number, file.read(length)
        else:
            file.seek(length, 1)


def _varint(file: BinaryIO) -> int:
    """Read a number in groups of seven bits, lowest first; the top bit of each byte says that more follow."""
    value = 0
    for position in range(VARINT_BYTES):
        byte = file.read(1)
        if not byte:
            raise ValueError("cut off")
        value |= (byte[0] & 0x7F) << (7 * position)
        if byte[0] < 0x80:
            return value
    raise ValueError("no number")
