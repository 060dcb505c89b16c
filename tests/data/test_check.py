import shutil

import numpy as np
import pytest

from plucc.data.check import check_dataset
from plucc.data.masks import Rle, encode_mask
from plucc.data.schema import Player
from plucc.data.splits import Splits, write_splits
from plucc.types import Box, Size


def test_a_sound_dataset_has_no_faults(make_dataset, make_record):
    mask = np.zeros((90, 160), dtype=bool)
    mask[10:60, 20:40] = True
    player = Player(box_px=Box(20, 10, 40, 60), role="skater", mask=encode_mask(mask))
    report = check_dataset(make_dataset(make_record(0), make_record(1, players=(player,))))
    assert (report.sound, report.repeated, report.findings) == (2, 0, ())


def test_every_fault_is_listed_with_line_and_field(make_dataset, make_record, draw_frame):
    bad_mask = Player(box_px=Box(20, 10, 40, 60), role="skater", mask=Rle((90, 160), "05"))
    image = {"image": "images/003.jpg"}
    records = [make_record(number) for number in range(3)]
    root = make_dataset(*records, make_record(3, **image), make_record(4, players=(bad_mask,)), make_record(5))
    (root / "images/001.png").unlink()
    draw_frame(root / "images/002.png", 2, Size(80, 45))
    jpeg = root / "images/003.jpg"
    jpeg.write_bytes(jpeg.read_bytes()[:-300])
    shutil.copy(root / "images/000.png", root / "images/005.png")
    with (root / "records.jsonl").open("a") as file:
        file.write('{"image": "x.png"}\n')
    report = check_dataset(root)
    assert report.sound == 1
    assert [(finding.place.line, finding.place.field) for finding in report.findings] == [
        (2, "image"),
        (3, "size"),
        (4, "image"),
        (5, "players.0.mask"),
        (6, "image"),
        (7, "size"),
    ]
    messages = [finding.message for finding in report.findings]
    assert "is missing" in messages[0]
    assert "80x45 px, not 160x90" in messages[1]
    assert "truncated" in messages[2]
    assert "same picture as that of line 1" in messages[4]
    assert {finding.place.file for finding in report.findings} == {root / "records.jsonl"}


def test_without_pictures_only_the_text_is_read(make_dataset, make_record):
    root = make_dataset(make_record(0))
    (root / "images/000.png").unlink()
    assert check_dataset(root, pictures=False).findings == ()


@pytest.mark.parametrize(("run", "is_fault"), [("r", False), (None, True)])
def test_a_repeated_picture_is_a_fault_outside_its_run(make_dataset, make_record, run, is_fault):
    root = make_dataset(make_record(0, run=run), make_record(1, run=run))
    shutil.copy(root / "images/000.png", root / "images/001.png")
    report = check_dataset(root)
    assert (report.sound, report.repeated, len(report.findings)) == ((1, 0, 1) if is_fault else (2, 1, 0))


def test_a_leak_between_splits_is_a_fault(make_dataset, make_record):
    root = make_dataset(make_record(0, "a", "r"), make_record(1, "b", "r"))
    write_splits(root, Splits(train=("a",), test=("b",)))
    (finding,) = check_dataset(root).findings
    assert finding.place.file == root / "splits.yaml"
    assert "run r" in finding.message
