"""Datasets of frames: whole, resumable, the same in any number of processes; bad input leaves nothing behind."""

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from plucc.data.manifest import read_dataset
from plucc.data.masks import decode_mask
from plucc.files import whole_file
from plucc.synth import frames as frames_module
from plucc.synth.frames import parse_mix, plan_frames, write_frames
from plucc.types import Category, InputError, Size
from plucc.video import read_image

SMALL = Size(160, 96)
PLAN = plan_frames(5, 3, SMALL, {Category.STANDARD: 1.0, Category.NO_PUCK: 1.0}, frames_per_match=3)


def _bytes(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "set"
    write_frames(folder, PLAN)
    return folder


def test_dataset_reads_back_with_all_truth(dataset):
    read = read_dataset(dataset)
    assert len(read) == 5
    assert {record.match for record in read.records} == {"synth-3-0000", "synth-3-0001"}
    assert len({record.run for record in read.records}) == 5
    for record in read.records:
        image = read_image(read.image_path(record))
        assert image.shape == (SMALL.height, SMALL.width, 3)
        assert record.is_puck_labelled
        assert record.no_puck == (record.category is Category.NO_PUCK)
        assert record.homography is not None
        for player in record.players:
            assert decode_mask(player.mask).shape == (SMALL.height, SMALL.width)
            assert -np.pi <= player.gaze_rad <= np.pi


def test_two_processes_write_the_same_bytes(dataset, tmp_path):
    write_frames(tmp_path / "set", PLAN, processes=2)
    assert _bytes(tmp_path / "set") == _bytes(dataset)


def test_interrupted_run_goes_on_and_ends_the_same(dataset, tmp_path):
    class Killed(BaseException):
        pass

    def dying(items: Iterable, *, total: int | None = None, label: str = "") -> Iterable:
        for number, item in enumerate(items):
            if number == 2:
                raise Killed
            yield item

    out = tmp_path / "set"
    with pytest.raises(Killed):
        write_frames(out, PLAN, progress=dying)
    assert not out.exists()
    work = tmp_path / ".set.unfinished"
    kept = _bytes(work)
    for name in ("frames/.000004-a1b2.jpg", "records/.000004-a1b2.json"):  # as a kill in the middle of a file leaves
        (work / name).write_bytes(b"half")
    with pytest.raises(InputError, match="other settings"):
        write_frames(out, plan_frames(6, 3, SMALL))
    done = write_frames(out, PLAN)
    assert done == 3
    assert sum(name.startswith("records") for name in kept) == 3
    assert _bytes(out) == _bytes(dataset)
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_other_seeds_give_other_pictures(dataset, tmp_path):
    write_frames(tmp_path / "set", plan_frames(1, 4, SMALL, dict(PLAN.mix), frames_per_match=3))
    assert (tmp_path / "set/frames/000000.jpg").read_bytes() != (dataset / "frames/000000.jpg").read_bytes()


def test_mix_is_kept():
    plan = plan_frames(2000, 1, SMALL, {Category.STANDARD: 0.25, Category.OCCLUDED: 0.75})
    drawn = [plan.category(index) for index in range(2000)]
    assert 0.71 < drawn.count(Category.OCCLUDED) / 2000 < 0.79
    assert set(drawn) == {Category.STANDARD, Category.OCCLUDED}


def test_mix_reads_names_and_shares():
    assert parse_mix("standard=0.4, no-puck=0.6") == {Category.STANDARD: 0.4, Category.NO_PUCK: 0.6}
    assert parse_mix("blurry") == {Category.BLURRY: 1.0}


@pytest.mark.parametrize("text", ["foggy=1", "standard=much", "standard=-1", "standard=inf", "standard=nan", ","])
def test_bad_mix_is_refused(text):
    with pytest.raises(InputError):
        parse_mix(text)


@pytest.mark.parametrize(
    ("count", "seed", "size", "mix", "per_match"),
    [
        (0, 0, SMALL, None, 5),
        (1, -1, SMALL, None, 5),
        (1, 0, Size(0, 0), None, 5),
        (1, 0, Size(20, 720), None, 5),
        (1, 0, SMALL, {Category.STANDARD: 0.0}, 5),
        (1, 0, SMALL, None, 0),
    ],
)
def test_impossible_plans_are_refused(count, seed, size, mix, per_match):
    with pytest.raises(InputError):
        plan_frames(count, seed, size, mix, per_match)


def test_existing_output_is_left_alone(tmp_path):
    (tmp_path / "set").mkdir()
    with pytest.raises(InputError, match="exists already"):
        write_frames(tmp_path / "set", PLAN)
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_full_disk_gets_a_sentence_and_leaves_nothing(tmp_path, monkeypatch):
    def full(*_: object) -> bytes:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(frames_module, "encode_jpeg", full)
    with pytest.raises(InputError, match="No space left"):
        write_frames(tmp_path / "set", PLAN)
    assert list(tmp_path.iterdir()) == []


def test_full_disk_before_the_first_byte_leaves_nothing_either(tmp_path, monkeypatch):
    @contextmanager
    def full(path: Path) -> Iterator[Path]:
        if path.suffix == ".jpg":
            raise InputError(f"{path} cannot be written (No space left on device): choose another place")
        with whole_file(path) as temporary:
            yield temporary

    monkeypatch.setattr(frames_module, "whole_file", full)
    with pytest.raises(InputError, match="No space left"):
        write_frames(tmp_path / "set", PLAN)
    assert list(tmp_path.iterdir()) == []


def test_unwritable_place_gets_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError):
        write_frames(tmp_path / "file" / "set", PLAN)
