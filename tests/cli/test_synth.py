"""`plucc synth` as a user starts it: bad input ends in one sentence, exit code 2, and nothing left behind."""

import subprocess
import sys

import pytest


def plucc(*arguments):
    command = [sys.executable, "-c", "from plucc.cli.main import run; run()", "synth", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_frames_clip_and_sheet_appear(tmp_path):
    small = ("--size", "128x72", "--seed", "1")
    frames = plucc("frames", tmp_path / "set", "--count", "2", *small, "--mix", "standard=1")
    assert frames.returncode == 0, frames.stderr
    assert "2 frames" in frames.stdout
    assert len(list((tmp_path / "set/frames").iterdir())) == 2
    clip = plucc("clip", tmp_path / "a.mp4", "--seconds", "0.2", *small)
    assert clip.returncode == 0, clip.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mp4", "a.records.jsonl", "set"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["frames", "out", "--size", "0x0"], "0x0"),
        (["frames", "out", "--size", "large"], "1280x720"),
        (["frames", "out", "--mix", "foggy=1"], "standard"),
        (["frames", "out", "--count", "0"], "at least 1"),
        (["frames", "out", "--processes", "0"], "processes"),
        (["clip", "out.mp4", "--seconds", "0"], "more than 0"),
        (["clip", "out.avi"], ".mp4"),
        (["clip", "out.mp4", "--size", "0x0"], "0x0"),
        (["sheet", "out.doc"], ".png"),
    ],
)
def test_bad_input_gets_a_sentence(tmp_path, arguments, words):
    group, name, *rest = arguments
    done = plucc(group, tmp_path / name, *rest)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
