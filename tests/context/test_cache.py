import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from plucc.context.cache import SHARDS, MaskCache, _pack, _unpack
from plucc.data.schema import Player
from plucc.types import Box, InputError, MaskArray


@given(mask=arrays(np.bool_, st.tuples(st.integers(1, 20), st.integers(1, 20))))
def test_packing_loses_nothing(mask: MaskArray) -> None:
    np.testing.assert_array_equal(_unpack(_pack(mask)), mask)


def test_what_is_put_is_got(tmp_path: Path) -> None:
    cache = MaskCache(tmp_path)
    mask = _noise(1)
    key = cache.key(np.zeros((4, 4, 3), np.uint8), "v1")
    assert cache.get(key) is None
    assert key not in cache
    cache.put(key, mask)
    assert key in cache
    got = MaskCache(tmp_path).get(key)
    assert got is not None
    np.testing.assert_array_equal(got, mask)


def test_keys_tell_pixels_shape_version_and_labels_apart() -> None:
    cache = MaskCache(Path("unused"))
    frame = np.zeros((4, 6, 3), np.uint8)
    touched = frame.copy()
    touched[0, 0, 0] = 1
    player = Player(box_px=Box(0, 0, 2, 2))
    keys = {
        cache.key(frame, "v1"),
        cache.key(touched, "v1"),
        cache.key(frame.reshape(6, 4, 3), "v1"),
        cache.key(frame, "v2"),
        cache.key(frame, "v1", [player]),
    }
    assert len(keys) == 5


@pytest.mark.parametrize("damage", [b"", b"not a mask", None])
def test_a_damaged_entry_is_dropped_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: bytes | None
) -> None:
    cache = MaskCache(tmp_path)
    key = "ab" + "0" * 62
    cache.put(key, _noise(2))
    (path,) = tmp_path.rglob("*.mask")
    path.write_bytes(path.read_bytes()[:-7] if damage is None else damage)
    with caplog.at_level(logging.WARNING):
        assert cache.get(key) is None
        assert cache.get(key) is None
    assert len(caplog.records) == 1
    cache.put(key, _noise(2))
    np.testing.assert_array_equal(cache.get(key), _noise(2))


def test_the_folder_stays_within_its_limit_and_drops_what_was_not_used(tmp_path: Path) -> None:
    entry_bytes = len(_pack(_noise(0)))
    cache = MaskCache(tmp_path, limit_bytes=SHARDS * 4 * entry_bytes)  # room for four entries a shard
    keys = [f"00{number:062d}" for number in range(12)]
    for number, key in enumerate(keys):
        cache.put(key, _noise(number))
        assert cache.get(keys[0]) is not None  # the first stays in use
    kept = list(tmp_path.rglob("*.mask"))
    assert sum(path.stat().st_size for path in kept) <= 4 * entry_bytes * 1.1
    assert keys[0] in cache
    assert keys[-1] in cache
    assert keys[1] not in cache


def test_an_entry_larger_than_the_limit_is_kept_until_the_next(tmp_path: Path) -> None:
    cache = MaskCache(tmp_path, limit_bytes=0)
    cache.put("00a", _noise(0))
    assert "00a" in cache
    cache.put("00b", _noise(1))
    assert "00a" not in cache
    assert "00b" in cache


def test_a_negative_limit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="0 or more"):
        MaskCache(tmp_path, limit_bytes=-1)


def test_several_processes_fill_one_cache(tmp_path: Path) -> None:
    # started as programs, because a spawned worker finds this module only where the tests' root is on its path
    processes = [subprocess.Popen([sys.executable, __file__, str(tmp_path)]) for _ in range(3)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name.startswith(".")]


def _put_and_get_many(folder: Path) -> bool:
    cache = MaskCache(folder, limit_bytes=SHARDS * 20_000)
    for number in range(40):
        key = f"00{number % 8:062d}"
        known = cache.get(key)
        if known is not None and not np.array_equal(known, _noise(number % 8)):
            return False
        cache.put(key, _noise(number % 8))
    return True


def _noise(seed: int) -> MaskArray:
    return np.random.default_rng(seed).random((60, 80)) < 0.5


if __name__ == "__main__":
    raise SystemExit(0 if _put_and_get_many(Path(sys.argv[1])) else 1)
