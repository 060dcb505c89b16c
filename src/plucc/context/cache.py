"""Player masks on disk, by what was looked at and who looked.

One small file an entry: written whole, so several processes may fill one cache; checked on reading, so a damaged entry
is found out, thrown away, and made again. The folder is kept within its size by dropping what was used longest ago.
"""

import hashlib
import logging
import os
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from plucc.data.schema import Player
from plucc.files import whole_file
from plucc.types import ImageArray, InputError, MaskArray

log = logging.getLogger(__name__)

DEFAULT_LIMIT_BYTES = 2 * 10**9
CACHE_VARIABLE = "PLUCC_CACHE"
SHARDS = 256  # folders by the first two digits of the key; each keeps to its own part of the limit
_HEADER = struct.Struct("<II")  # height, width
_SUFFIX = ".mask"


def default_cache_folder() -> Path:
    """Return where masks are kept when nobody says otherwise."""
    chosen = os.environ.get(CACHE_VARIABLE)
    base = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "plucc"
    return base / "players"


class MaskCache:
    """Masks by key; reading an entry marks it as used."""

    def __init__(self, folder: Path, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        if limit_bytes < 0:
            raise InputError(f"a cache of {limit_bytes} bytes: the limit must be 0 or more")
        self._folder = folder
        self._shard_limit_bytes = limit_bytes // SHARDS

    def key(self, frame: ImageArray, version: str, players: Sequence[Player] | None = None) -> str:
        """Return the name of what this finder sees in exactly these pixels, prompted by these labels."""
        digest = hashlib.sha256(f"{version} {frame.shape}".encode())
        digest.update(np.ascontiguousarray(frame).data)
        for player in players or ():
            digest.update(player.model_dump_json().encode())
        return digest.hexdigest()

    def __contains__(self, key: str) -> bool:
        return self._path(key).is_file()

    def get(self, key: str) -> MaskArray | None:
        """Return the mask, or None where there is none or it is damaged."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            mask = _unpack(data)
        except (zlib.error, struct.error, ValueError):
            log.warning("%s was damaged; it is made again", path)
            path.unlink(missing_ok=True)
            return None
        _mark_as_used(path)
        return mask

    def put(self, key: str, mask: MaskArray) -> None:
        path = self._path(key)
        with whole_file(path) as temporary:
            temporary.write_bytes(_pack(mask))
        self._make_room(path)

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key[2:]}{_SUFFIX}"

    def _make_room(self, newest: Path) -> None:
        """Drop the entries of this shard that were used longest ago; the one just written stays."""
        entries = []
        for path in newest.parent.glob(f"[!.]*{_SUFFIX}"):
            try:
                status = path.stat()
            except FileNotFoundError:  # another process made room first
                continue
            entries.append((status.st_mtime_ns, status.st_size, path))
        excess_bytes = sum(size for _, size, _ in entries) - self._shard_limit_bytes
        for _, size, path in sorted(entries):
            if excess_bytes <= 0:
                return
            if path != newest:
                path.unlink(missing_ok=True)
                excess_bytes -= size


def _mark_as_used(path: Path) -> None:
    try:
        os.utime(path)
    except OSError:  # dropped meanwhile, or a cache that may only be read
        return


def _pack(mask: MaskArray) -> bytes:
    # zlib carries a checksum of the whole content, so any damage shows when it is unpacked
    return zlib.compress(_HEADER.pack(*mask.shape) + np.packbits(mask).tobytes(), level=1)


def _unpack(data: bytes) -> MaskArray:
    content = zlib.decompress(data)
    height, width = _HEADER.unpack_from(content)
    bits = np.unpackbits(np.frombuffer(content, np.uint8, offset=_HEADER.size), count=height * width)
    return bits.reshape(height, width).astype(bool)
