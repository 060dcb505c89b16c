import json
import os
import re
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from plucc.cli.main import app
from plucc.data.check import check_dataset
from plucc.data.manifest import read_dataset
from plucc.data.splits import read_splits
from plucc.types import DataError, InputError

HOCKEYAI = Path(__file__).parents[2].parent / "shared" / "data" / "hockeyai"
needs_hockeyai = pytest.mark.skipif(not HOCKEYAI.is_dir(), reason=f"the HockeyAI frames are not at {HOCKEYAI}")


def plucc(*arguments):
    """Run a command in this process; an error is raised as it is."""
    return CliRunner().invoke(app, ["data", *map(str, arguments)], catch_exceptions=False).output


def shell(*arguments):
    """Run a command as a user would."""
    command = [sys.executable, "-c", "from plucc.cli.main import run; run()", "data", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"COLUMNS": "200"})


@pytest.fixture
def source(tmp_path):
    """Nine YOLO frames of three matches; the fourth has two pucks, the sixth a player across the edge."""
    root = tmp_path / "source"
    rows = ["file,game,run"]
    for folder in ("frames", "labels"):
        (root / folder).mkdir(parents=True)
    for number in range(9):
        rng = np.random.default_rng(number)
        image = rng.normal(225, 4, (90, 160, 3)).clip(0, 255).astype(np.uint8)
        x, y = rng.uniform(0.2, 0.8, 2)
        cv2.ellipse(image, (int(x * 160), int(y * 90)), (4, 2), 0, 0, 360, (15, 15, 15), -1)
        cv2.imwrite(str(root / "frames" / f"{number}.jpg"), image)
        lines = [f"5 {x:.6f} {y:.6f} 0.05 0.05", "4 0.3 0.5 0.1 0.4", "3 0.9 0.5 0.05 0.2", "1 0.5 0.5 0.5 0.5"]
        lines += {3: ["5 0.5 0.5 0.6 0.6"], 5: ["4 0.01 0.5 0.1 0.4"]}.get(number, [])
        (root / "labels" / f"{number}.txt").write_text("\n".join(lines))
        rows.append(f"{number}.jpg,g{number // 3},r{number // 2 if number < 8 else 99}")
    (root / "index.csv").write_text("\n".join(rows))
    return root


IMPORT = ("--puck", "5", "--players", "3,4", "--match-from", "index.csv:game")


@pytest.fixture
def dataset(source, tmp_path):
    plucc("import", "yolo", source, *IMPORT, "--roles", "3=goaltender,4=skater", "--out", tmp_path / "dataset")
    return tmp_path / "dataset"


def test_an_import_says_what_it_took_and_decided(source, tmp_path):
    output = plucc(
        "import", "yolo", source, *IMPORT, "--name", "nine", "--licence", "CC0", "--out", tmp_path / "dataset"
    )
    assert "9 records (9 with a puck, 0 without, 0 not labelled for it), 19 players" in output
    assert "classes taken: 3 (9), 4 (10), 5 (10)" in output
    assert "classes left alone: 1 (9)" in output
    assert re.search(r"chosen \(1\):\n  .*3\.txt, line 1, box: one of 2 pucks", output)
    assert re.search(r"clamped \(1\):\n  .*5\.txt, line 5, box: .*edge by 6\.4 px", output)
    assert "pictures stay where they are" in output
    read = read_dataset(tmp_path / "dataset")
    assert (read.info.name, read.info.licence, read.info.classes) == ("nine", "CC0", ("puck", "player"))
    assert {record.run for record in read.records} == {"r0", "r1", "r2", "r3", "r99"}


def test_pictures_are_copied_on_request(source, tmp_path):
    output = plucc("import", "yolo", source, *IMPORT, "--copy", "--out", tmp_path / "dataset")
    assert "pictures were copied" in output
    for picture in (source / "frames").iterdir():
        picture.unlink()
    assert check_dataset(tmp_path / "dataset").sound == 9


def test_bad_frames_stop_an_import_unless_they_are_skipped(source, tmp_path):
    (source / "labels" / "2.txt").write_text("5 nan 0.5 0.1 0.1")
    picture = source / "frames" / "7.jpg"
    picture.write_bytes(picture.read_bytes()[:-100])
    with pytest.raises(DataError, match=r"2\.txt, line 1: .*not finite"):
        plucc("import", "yolo", source, *IMPORT, "--out", tmp_path / "dataset")
    assert not (tmp_path / "dataset").exists()
    output = plucc("import", "yolo", source, *IMPORT, "--skip-bad", "--out", tmp_path / "dataset")
    assert "7 records" in output
    assert "left out (2):" in output
    assert re.search(r"7\.jpg, image: image is truncated", output)


def test_an_import_needs_to_know_the_matches(source, tmp_path):
    with pytest.raises(InputError, match="every frame needs its match: give --match-from"):
        plucc("import", "yolo", source, "--puck", "5", "--out", tmp_path / "dataset")
    plucc("import", "yolo", source, "--puck", "5", "--match", "final", "--out", tmp_path / "dataset")
    assert {record.match for record in read_dataset(tmp_path / "dataset").records} == {"final"}


@pytest.mark.parametrize("roles", ["3", "3=coach", "=goaltender,3="])
def test_roles_that_do_not_exist_are_refused(source, tmp_path, roles):
    with pytest.raises(InputError, match="is not CLASS=ROLE with a role of skater, goaltender, referee"):
        plucc("import", "yolo", source, *IMPORT, "--roles", roles, "--out", tmp_path / "dataset")


def test_check_passes_what_is_sound_and_lists_what_is_not(dataset):
    assert "sound records: 9, faults: 0" in plucc("check", dataset)
    records = dataset / "records.jsonl"
    lines = records.read_text().splitlines()
    broken = json.loads(lines[4])
    broken["puck"]["box_px"]["right"] = 1000
    records.write_text("\n".join([*lines[:4], json.dumps(broken), *lines[5:], lines[0]]) + "\n")
    result = shell("check", dataset)
    assert result.returncode == 2
    assert "line 5, puck.box_px: box " in result.stdout
    assert "line 10, image: " in result.stdout
    assert "sound records: 8, faults: 2" in result.stderr
    assert "Traceback" not in result.stderr
    assert "sound records: 8, faults: 2" in plucc("check", dataset, "--skip-bad")


def test_check_decodes_pictures_unless_told_not_to(dataset, source):
    picture = source / "frames" / "7.jpg"
    picture.write_bytes(picture.read_bytes()[:-100] + b"\xff\xd9")
    with pytest.raises(DataError, match="sound records: 8, faults: 1"):
        plucc("check", dataset)
    assert "sound records: 9" in plucc("check", dataset, "--no-images")


def forget_runs(dataset):
    """Take the runs away, two of which bind the matches together."""
    text = (dataset / "records.jsonl").read_text()
    (dataset / "records.jsonl").write_text(re.sub(r'"run":"r\d+",', "", text))


def test_splits_by_name_are_written(dataset):
    forget_runs(dataset)
    output = plucc("split", dataset, "--test", "g0")
    assert "train: 6 frames (66.7%) of g1, g2" in output
    assert "val: 0 frames (0.0%) of no match" in output
    assert yaml.safe_load((dataset / "splits.yaml").read_text()) == {"train": ["g1", "g2"], "val": [], "test": ["g0"]}


def test_a_leak_is_refused_with_exit_code_2(dataset):
    result = shell("split", dataset, "--val", "g0")
    assert result.returncode == 2
    assert "run r1 of near-duplicate frames would lie in" in result.stderr
    assert not (dataset / "splits.yaml").exists()


def test_shares_are_drawn_by_seed(dataset):
    forget_runs(dataset)
    plucc("split", dataset, "--val", "0.33", "--test", "0.33", "--seed", "4")
    first = read_splits(dataset)
    assert [len(first.train), len(first.val), len(first.test)] == [1, 1, 1]
    plucc("split", dataset, "--val", "0.33", "--test", "0.33", "--seed", "4")
    assert read_splits(dataset) == first


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "nothing to split off"),
        (("--val", "g0", "--test", "0.2"), "mix matches and shares"),
        (("--val", "g9"), "g9"),
    ],
)
def test_impossible_splits_are_refused(dataset, arguments, problem):
    with pytest.raises(InputError, match=problem):
        plucc("split", dataset, *arguments)


def test_stats_count_and_draw(dataset):
    output = plucc("stats", dataset)
    for words in ("g0", "goaltender", "160x90", "puck box (720p)", "puck_positions.png"):
        assert words in output
    image = cv2.imread(str(dataset / "puck_positions.png"))
    assert image.shape[1] > 1000
    plucc("stats", dataset, "--map", dataset / "elsewhere.jpg")
    assert cv2.imread(str(dataset / "elsewhere.jpg")) is not None


def test_skipped_records_are_listed_by_every_reader(dataset, tmp_path):
    with (dataset / "records.jsonl").open("a") as file:
        file.write('{"image": "x"}\n')
    for arguments in (
        ("stats", dataset),
        ("split", dataset, "--val", "g2"),
        ("export", "coco", dataset, "--out", tmp_path / "c"),
    ):
        with pytest.raises(DataError, match=r"line 10, size: field required"):
            plucc(*arguments)
        assert "line 10, size: field required" in plucc_with_errors(*arguments, "--skip-bad")


def plucc_with_errors(*arguments):
    result = CliRunner().invoke(app, ["data", *map(str, arguments)])
    return result.output + result.stderr


@pytest.mark.parametrize("form", ["yolo", "coco"])
def test_exports_follow_the_splits(dataset, tmp_path, form):
    forget_runs(dataset)
    plucc("split", dataset, "--val", "g1")
    assert "9 frames" in plucc("export", form, dataset, "--out", tmp_path / "out")
    assert len(list((tmp_path / "out" / "images" / "val").iterdir())) == 3
    plucc("export", form, dataset, "--no-splits", "--link", "--out", tmp_path / "all")
    assert len(list((tmp_path / "all" / "images").iterdir())) == 9


def test_coco_and_cvat_are_imported_by_name(dataset, tmp_path):
    plucc("export", "coco", dataset, "--out", tmp_path / "coco")
    output = plucc("import", "coco", tmp_path / "coco" / "annotations.json", "--out", tmp_path / "again")
    assert "9 records" in output
    assert [record.match for record in read_dataset(tmp_path / "again").records] == [
        record.match for record in read_dataset(dataset).records
    ]
    (tmp_path / "a.xml").write_text(
        '<annotations><image id="0" name="0.jpg" width="160" height="90">'
        '<points label="puck" points="50,40"/></image></annotations>'
    )
    images = tmp_path / "source" / "frames"
    plucc("import", "cvat", tmp_path / "a.xml", "--images", images, "--match", "m", "--out", tmp_path / "cvat")
    assert read_dataset(tmp_path / "cvat").records[0].puck.point_px.x == 50


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "nowhere"),
        ("stats", "nowhere"),
        ("split", "nowhere", "--val", "a"),
        ("export", "yolo", "nowhere", "--out", "b"),
        ("import", "yolo", "nowhere", "--puck", "5", "--match", "m", "--out", "c"),
        ("import", "coco", "nowhere.json", "--out", "c"),
        ("import", "cvat", "nowhere.xml", "--out", "c"),
    ],
)
def test_what_is_missing_is_named(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="nowhere"):
        plucc(*arguments)
    assert list(tmp_path.iterdir()) == []


def test_bad_input_is_one_line_and_exit_code_2(tmp_path):
    result = shell("stats", tmp_path)
    assert result.returncode == 2
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1


@needs_hockeyai
def test_hockeyai_is_imported_whole(tmp_path):
    arguments = ("--puck", "5", "--players", "3,4,6", "--match-from", "index.csv:game")
    output = plucc("import", "yolo", HOCKEYAI, *arguments, "--out", tmp_path / "dataset")
    assert "1571 records (1571 with a puck" in output
    assert "chosen (2):" in output
    assert "left out (3):" in output
    dataset = read_dataset(tmp_path / "dataset")
    assert len(dataset) == 1571
    assert len({record.run for record in dataset.records}) == 515
    assert dataset.image_path(dataset.records[0]).is_file()
    plucc("split", tmp_path / "dataset", "--val", "g6", "--test", "g4,g9")
    assert "1,571" in plucc("stats", tmp_path / "dataset")
