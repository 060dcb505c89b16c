"""The examples run as they stand in the repository."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_pixels_to_rink(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "pixels_to_rink.py"), run_name="__main__")
    assert "zone: neutral" in capsys.readouterr().out


def test_score_predictions(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "score_predictions.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["AP5", "AP10", "AP25", "AP50"]
