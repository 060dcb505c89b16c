"""The contact sheet has a row for every category and refuses bad names."""

import cv2
import pytest

from plucc.synth import contact_sheet
from plucc.synth.contact_sheet import HEADER_PX, TILE, write_sheet
from plucc.types import Category, InputError, Size


def test_sheet_has_a_row_a_category(tmp_path, monkeypatch):
    monkeypatch.setattr(contact_sheet, "COLUMNS", 1)
    out = tmp_path / "sheet.png"
    write_sheet(out, 1, Size(160, 90))
    picture = cv2.imread(str(out))
    assert picture.shape[0] == len(Category) * (TILE.height + HEADER_PX)
    assert [path.name for path in tmp_path.iterdir()] == ["sheet.png"]
    with pytest.raises(InputError, match="exists"):
        write_sheet(out, 1, Size(160, 90))


def test_foreign_names_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"\.png"):
        write_sheet(tmp_path / "sheet.doc", 1, Size(160, 90))
    assert list(tmp_path.iterdir()) == []
