from pathlib import Path

import pytest

from plucc.data.findings import Fault
from plucc.data.importers.origins import find_origins
from plucc.types import DataError, InputError


@pytest.fixture
def root(tmp_path):
    (tmp_path / "index.csv").write_text("file,game,run\na.jpg,g1,7\nframes/b.jpg,g2,\nc,g3,8\n")
    return tmp_path


def test_a_table_tells_match_and_run(root):
    match, run = find_origins(root, None, "index.csv:game", None)
    images = [root / "frames" / name for name in ("a.jpg", "b.jpg", "c.jpg")]
    assert [match(image) for image in images] == ["g1", "g2", "g3"]
    assert [run(image) for image in images] == ["7", None, "8"]


def test_the_run_may_come_from_elsewhere(root):
    _, run = find_origins(root, None, "index.csv:game", r"name:^([a-z]+)")
    assert run(Path("shift_0001.jpg")) == "shift"
    (root / "runs.csv").write_text("image,group\na.jpg,x\n")
    _, run = find_origins(root, None, "index.csv:game", f"{root / 'runs.csv'}:group")
    assert run(root / "a.jpg") == "x"


def test_one_match_for_all(root):
    match, run = find_origins(root, "final", None, None)
    assert match(root / "a.jpg") == "final"
    assert run(root / "a.jpg") is None


def test_folder_and_name_tell_the_match(root):
    match, _ = find_origins(root, None, "folder", None)
    assert match(root / "g7" / "a.jpg") == "g7"
    match, _ = find_origins(root, None, r"name:^(\w+?)_\d+", None)
    assert match(Path("home_away_0012.jpg")) == "home_away"
    with pytest.raises(Fault, match="does not match"):
        match(Path("12.jpg"))


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ("index.csv:match", "no column 'match'; it has file, game, run"),
        ("missing.csv:game", "missing.csv is missing"),
        ("index.csv", "expected FILE.csv:COLUMN"),
        ("name:abc", "has no group"),
        ("name:(", "not a regular expression"),
    ],
)
def test_a_bad_option_is_explained(root, option, problem):
    with pytest.raises(InputError) as caught:
        find_origins(root, None, option, None)
    assert problem in str(caught.value)


def test_two_origins_exclude_each_other(root):
    with pytest.raises(InputError, match="exclude each other"):
        find_origins(root, "final", "folder", None)


def test_gaps_in_the_table_are_named(root):
    match, _ = find_origins(root, None, "index.csv:game", None)
    with pytest.raises(Fault, match=r"index\.csv, game: no row for d\.jpg"):
        match(root / "d.jpg")
    match, _ = find_origins(root, None, "index.csv:run", None)
    with pytest.raises(Fault, match=r"index\.csv, line 3, run: empty"):
        match(root / "frames" / "b.jpg")


def test_a_contradiction_in_the_table_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("file,game\na.jpg,g1\na.jpg,g1\na.jpg,g2\n")
    with pytest.raises(DataError, match=r"t\.csv, line 4, file: a\.jpg is in line 2 already"):
        find_origins(tmp_path, None, "t.csv:game", None)


def test_a_table_must_say_which_picture(tmp_path):
    (tmp_path / "t.csv").write_text("game,run\ng1,1\n")
    with pytest.raises(DataError, match="no column says which picture"):
        find_origins(tmp_path, None, "t.csv:game", None)
    (tmp_path / "t.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="UTF-8"):
        find_origins(tmp_path, None, "t.csv:game", None)
