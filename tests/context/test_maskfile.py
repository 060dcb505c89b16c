from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
import pytest

from plucc.context.maskfile import read_masks, write_dataset_masks
from plucc.data.manifest import write_manifest
from plucc.data.schema import DatasetInfo, LabelClass, Player, Record
from plucc.types import DataError, ImageArray, MaskArray, Size


class BrightFinder:
    """Takes bright pixels for players."""

    def __init__(self, version: str = "bright-1") -> None:
        self.version = version
        self.calls = 0

    def __call__(self, frame: ImageArray, players: Sequence[Player] | None = None) -> MaskArray:
        self.calls += 1
        return np.asarray(frame[:, :, 0] > 127, np.bool_)


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    root = tmp_path / "set"
    (root / "frames").mkdir(parents=True)
    records = []
    for number in range(4):
        image = np.zeros((30, 40, 3), np.uint8)
        image[5 : 10 + number, 5:20] = 255
        cv2.imwrite(str(root / f"frames/{number}.png"), image)
        records.append(Record(image=f"frames/{number}.png", size=Size(40, 30), match="m"))
    write_manifest(root, DatasetInfo(name="t", classes=(LabelClass.PLAYER,), licence="MIT", source="test"), records)
    return root


def test_every_image_gets_its_mask(dataset: Path, tmp_path: Path) -> None:
    path = tmp_path / "masks.jsonl"
    assert write_dataset_masks(dataset, BrightFinder(), path) == 4
    masks = read_masks(path)
    assert len(masks) == 4
    for number in range(4):
        expected = np.zeros((30, 40), bool)
        expected[5 : 10 + number, 5:20] = True
        np.testing.assert_array_equal(masks[f"frames/{number}.png"], expected)
    assert masks.get("frames/9.png") is None
    with pytest.raises(DataError, match=r"no mask of frames/9\.png"):
        masks["frames/9.png"]


def test_a_killed_run_goes_on_and_ends_with_the_same_file(dataset: Path, tmp_path: Path) -> None:
    path = tmp_path / "masks.jsonl"
    write_dataset_masks(dataset, BrightFinder(), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 3 // 5])
    assert len(read_masks(path)) == 2
    finder = BrightFinder()
    assert write_dataset_masks(dataset, finder, path) == finder.calls == 2
    assert path.read_bytes() == whole


def test_masks_of_another_finder_are_not_mixed_in(dataset: Path, tmp_path: Path) -> None:
    path = tmp_path / "masks.jsonl"
    write_dataset_masks(dataset, BrightFinder(), path)
    with pytest.raises(DataError, match=r"masks of bright-1, not of bright-2: choose another file"):
        write_dataset_masks(dataset, BrightFinder("bright-2"), path)


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "masks.jsonl"
    path.write_text('{"image": "a.png"}\n')
    with pytest.raises(DataError, match=r"masks\.jsonl:1 is not a mask line"):
        read_masks(path)
    with pytest.raises(DataError, match=r"absent\.jsonl is missing"):
        read_masks(tmp_path / "absent.jsonl")


def test_several_masks_of_an_image_are_joined(tmp_path: Path) -> None:
    path = tmp_path / "masks.jsonl"
    # two columns of three: the first is "3 zeros none, 3 ones, 3 zeros", the second the other way round
    path.write_text(
        '{"image": "a.png", "masks": [{"size": [3, 2], "counts": "033"}, {"size": [3, 2], "counts": "33"}]}\n'
    )
    assert read_masks(path)["a.png"].all()
