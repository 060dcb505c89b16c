"""Reading a file's entries without its graph: the same as the onnx package reads; no other file passes for one."""

from pathlib import Path

import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plucc.runtime.metadata import read_metadata
from plucc.types import ModelError


def test_reads_what_onnx_reads(small_model: Path) -> None:
    model = onnx.load(small_model)
    assert read_metadata(small_model) == {entry.key: entry.value for entry in model.metadata_props}


@given(entries=st.dictionaries(st.text(min_size=1), st.text(max_size=400), max_size=5))
def test_any_entries_round_trip(tmp_path_factory: pytest.TempPathFactory, entries: dict[str, str]) -> None:
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", [], [])
    model = onnx.helper.make_model(graph, producer_name="somebody")
    onnx.helper.set_model_props(model, entries)
    path = tmp_path_factory.mktemp("entries") / "model.onnx"
    path.write_bytes(model.SerializeToString())
    assert read_metadata(path) == entries


@pytest.mark.parametrize("share", [0.1, 0.5, 0.999])
def test_file_that_was_cut_off_is_refused(small_model: Path, tmp_path: Path, share: float) -> None:
    content = small_model.read_bytes()
    (tmp_path / "cut.onnx").write_bytes(content[: int(share * len(content))])
    with pytest.raises(ModelError, match=r"cut.onnx is not an ONNX model"):
        read_metadata(tmp_path / "cut.onnx")


@pytest.mark.parametrize("content", [b"not a model", b"\x00" * 20, b"\xff" * 40, b"PK\x03\x04" + b"\x00" * 60])
def test_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other.onnx").write_bytes(content)
    with pytest.raises(ModelError, match=r"other.onnx is not an ONNX model"):
        read_metadata(tmp_path / "other.onnx")


def test_missing_file_and_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none.onnx does not exist"):
        read_metadata(tmp_path / "none.onnx")
    with pytest.raises(ModelError, match="is not an ONNX model"):
        read_metadata(tmp_path)
