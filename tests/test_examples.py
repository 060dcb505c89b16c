"""The examples run as they stand in the repository."""

import runpy
import sys
from pathlib import Path

import pytest

from plucc.draw import write_picture
from plucc.synth.clip import plan_clip, write_clip
from plucc.types import Size
from plucc.video import read_frames

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_pixels_to_rink(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "pixels_to_rink.py"), run_name="__main__")
    assert "zone: neutral" in capsys.readouterr().out


def test_score_predictions(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "score_predictions.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["AP5", "AP10", "AP25", "AP50"]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("examples") / "game.mp4"
    write_clip(path, plan_clip(2 / 25, 7, Size(640, 360)))
    return path


def run_example(name: str, *arguments: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")


def test_locate_video(clip: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run_example("locate_video.py", str(clip), monkeypatch=monkeypatch)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["0.000", "0.040"]


def test_locate_picture(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "frame.png"
    write_picture(next(read_frames(clip)).image, picture)
    run_example("locate_picture.py", str(picture), monkeypatch=monkeypatch)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("a puck shows with probability")
    assert 2 <= len(lines) <= 6


def test_locate_part(clip: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run_example("locate_part.py", str(clip), monkeypatch=monkeypatch)
    assert capsys.readouterr().out.startswith("shot 0: puck in ")
