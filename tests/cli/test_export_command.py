"""`plucc export` from the outside."""

from pathlib import Path
from shutil import copyfile

import pytest
from typer.testing import CliRunner

from plucc import export
from plucc.cli.main import app
from plucc.runtime.onnx import read_card
from plucc.types import ModelError


def test_writes_a_model_and_says_so(
    small_checkpoint: Path, small_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "_write_graph", lambda deployable, card, path: copyfile(small_model, path))
    out = tmp_path / "models" / "puck.onnx"
    result = CliRunner().invoke(app, ["export", str(small_checkpoint), str(out), "--precision", "fp16"])
    assert result.exit_code == 0, result.output
    assert "puck.onnx: 0.1 MB, logits within" in result.output
    assert read_card(out).precision == "fp16"


def test_foreign_file_is_refused(tmp_path: Path) -> None:
    foreign = tmp_path / "notes.txt"
    foreign.write_text("no checkpoint")
    result = CliRunner().invoke(app, ["export", str(foreign), str(tmp_path / "puck.onnx")])
    assert isinstance(result.exception, ModelError)
    assert "is not a checkpoint: give a file that plucc train wrote" in str(result.exception)
