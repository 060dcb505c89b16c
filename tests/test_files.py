from pathlib import Path

import pytest

from plucc.files import whole_file, whole_folder
from plucc.types import InputError


def test_file_appears_only_when_done(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "rows.csv"
    with whole_file(target) as temporary:
        temporary.write_text("a,b\n")
        assert temporary.suffix == ".csv"
        assert not target.exists()
    assert target.read_text() == "a,b\n"


def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "rows.csv"
    target.write_text("old")
    with pytest.raises(RuntimeError), whole_file(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]
    assert target.read_text() == "old"


def test_folder_appears_only_when_done(tmp_path: Path) -> None:
    target = tmp_path / "dataset"
    with pytest.raises(RuntimeError), whole_folder(target) as temporary:
        (temporary / "half").touch()
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    with whole_folder(target) as temporary:
        (temporary / "records.jsonl").touch()
    assert [path.name for path in target.iterdir()] == ["records.jsonl"]


def test_full_folder_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(InputError, match="exists already"), whole_folder(tmp_path):
        pass


@pytest.mark.parametrize("writer", [whole_file, whole_folder])
def test_unwritable_place_is_a_sentence(writer, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"), writer(tmp_path / "file" / "below"):
        pass
