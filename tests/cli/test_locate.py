"""`plucc locate` with the shipped network, on a few rendered frames; and what it says to inputs that cannot be."""

import json
import sys
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
import onnx
import pytest

from plucc.cli.main import run
from plucc.data.rows import read_rows
from plucc.loading import SHIPPED_MODEL
from plucc.synth.clip import plan_clip, write_clip
from plucc.types import Size
from plucc.video import VideoReader, write_video

FRAMES = 4


def plucc(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["plucc", "locate", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        run()
    return int(ended.value.code or 0)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clips") / "game.mp4"
    write_clip(path, plan_clip(FRAMES / 25, 7, Size(640, 360)))
    return path


def test_everything_at_once(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = ["--out", tmp_path / "rows.csv", "--overlay", tmp_path / "o.mp4", "--summary", tmp_path / "s.png"]
    heatmaps = ["--heatmaps", tmp_path / "heat", "--heatmap-frames", "1,99"]
    assert plucc(monkeypatch, clip, *outputs, *heatmaps, "--profile") == 0
    rows = list(read_rows(tmp_path / "rows.csv"))
    assert [row.frame for row in rows] == list(range(FRAMES))
    assert all(0 <= row.confidence <= 1 for row in rows)
    assert all(row.x_px is None or 0 <= row.x_px <= 640 for row in rows)
    assert len(VideoReader(tmp_path / "o.mp4")) == FRAMES
    assert cv2.imread(str(tmp_path / "s.png")).shape[1] == 1280
    assert [path.name for path in (tmp_path / "heat").iterdir()] == ["game-000001.png"]
    printed = capsys.readouterr().out
    assert f"rows.csv: {FRAMES} rows" in printed
    for stage in ("decode", "players", "network", "overlay", "end to end"):
        assert stage in printed


def test_rows_stream_as_lines(clip: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert plucc(monkeypatch, clip, "--live", "--delay", 1, "--follow", "--out", "-", "--end", "0.1") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["frame"] for row in rows] == [0, 1, 2]
    assert all(row["file"] == "game.mp4" for row in rows)


def test_of_many_a_bad_one_shows_in_the_exit_code(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.mp4"
    bad.write_bytes(b"no video")
    names = tmp_path / "names.txt"
    names.write_text(f"{bad}\n{clip}\n")
    with names.open() as listed:
        monkeypatch.setattr(sys, "stdin", listed)
        assert plucc(monkeypatch, "-", "--out", tmp_path / "out", "--every", 3, "--jobs", 2) == 1
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["game.csv"]
    assert [row.frame for row in read_rows(tmp_path / "out" / "game.csv")] == [0, 3]
    printed = capsys.readouterr()
    assert "bad.mp4 cannot be opened as a video" in printed.err
    assert "1 of 2 inputs" in printed.err


def test_a_file_that_breaks_off_warns_and_exits_with_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cut.mp4"
    noise = np.random.default_rng(0).integers(0, 255, (8, 96, 128, 3)).astype(np.uint8)
    with av.open(str(path), "w", options={"movflags": "+faststart"}) as container:
        stream = container.add_stream("libx264", rate=25, options={"bf": "0"})
        stream.width, stream.height, stream.pix_fmt = 128, 96, "yuv420p"
        for image in noise:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode(None))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert plucc(monkeypatch, path, "--out", tmp_path / "rows.csv", "--every", 2) == 1
    assert 1 <= len(list(read_rows(tmp_path / "rows.csv"))) <= 3
    assert "breaks off" in capsys.readouterr().err


def tiny(path: Path) -> Path:
    write_video(path, [np.zeros((16, 16, 3), np.uint8)] * 2, Fraction(25))
    return path


def later(path: Path) -> None:
    """Write the shipped model as a plucc to come might."""
    model = onnx.load(SHIPPED_MODEL)
    (entry,) = (entry for entry in model.metadata_props if entry.key == "plucc.format")
    entry.value = "99"
    onnx.save(model, path)


@pytest.mark.slow
def test_an_8k_picture_is_located_in_its_own_pixels(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = next(VideoReader(clip).frames()).image
    rows = []
    for name, size in (("small.png", (1280, 720)), ("large.png", (7680, 4320))):
        cv2.imwrite(str(tmp_path / name), cv2.cvtColor(cv2.resize(image, size), cv2.COLOR_RGB2BGR))
        assert plucc(monkeypatch, tmp_path / name, "--out", tmp_path / "rows.csv", "--absent-below", 0) == 0
        rows += list(read_rows(tmp_path / "rows.csv"))
    small, large = rows
    assert (large.x_px, large.y_px) == pytest.approx((6 * small.x_px, 6 * small.y_px), abs=12)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["absent.mp4"], "is not a file"),
        (["*.mov"], "nothing matches"),
        (["text.mp4"], "cannot be opened as a video"),
        (["tiny.mp4"], "at least 64"),
        (["tiny.mp4", "--start", "soon"], "is not a time"),
        (["tiny.mp4", "--start", "9"], "no frame in that span"),
        (["tiny.mp4", "--start", "2", "--end", "1"], "not after the start"),
        (["tiny.mp4", "--out", "rows.xls"], "no known table format"),
        (["tiny.mp4", "--out", "text.mp4/rows.csv"], "cannot be written"),
        (["tiny.mp4", "--overlay", "o.gif"], "no known video format"),
        (["tiny.mp4", "--rink", "pond"], "no sheet called"),
        (["tiny.mp4", "--model", "absent.onnx"], "does not exist"),
        (["tiny.mp4", "--model", "text.mp4"], "is not an exported model"),
        (["tiny.mp4", "--model", "later.onnx"], "of format 99, this plucc reads"),
        (["tiny.mp4", "tiny.mp4", "--out", "rows.csv"], "name a folder"),
        (["tiny.mp4", "--out", "-", "--resume"], "leave those out"),
        (["picture.png", "--overlay", "o.mp4"], "for videos"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_sentence(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny(tmp_path / "tiny.mp4")
    (tmp_path / "text.mp4").write_text("words, not pictures")
    cv2.imwrite("picture.png", np.zeros((96, 128, 3), np.uint8))
    later(tmp_path / "later.onnx")
    before = {path.name for path in tmp_path.iterdir()}
    assert plucc(monkeypatch, *arguments) == 2
    message = capsys.readouterr().err.strip()
    assert words in message
    assert len(message.splitlines()) == 1
    assert {path.name for path in tmp_path.iterdir()} == before
