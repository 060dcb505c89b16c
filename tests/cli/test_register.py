"""`plucc register` and `plucc calibrate` as a user starts them."""

import json
import subprocess
import sys

import cv2
import numpy as np
import pytest

from plucc.rink.camera import Camera
from plucc.types import Size

CAMERA = Camera.look_at((1.0, -36.0, 13.0), (4.0, 1.0, 0.0), 1500.0, Size(1280, 720))


def plucc(*arguments):
    command = [sys.executable, "-c", "from plucc.cli.main import run; run()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "frames"
    folder.mkdir()
    for name in ("a.png", "b.png"):
        cv2.imwrite(str(folder / name), np.zeros((720, 1280, 3), np.uint8))
    return folder


def test_given_homographies_are_taken_and_black_pictures_refused(tmp_path, pictures):
    (tmp_path / "h.json").write_text(json.dumps({"a.png": CAMERA.homography().matrix.tolist()}))
    table, overlay = tmp_path / "out.jsonl", tmp_path / "drawn"
    options = ("--rink", "nhl", "--homographies", tmp_path / "h.json", "--overlay", overlay)
    done = plucc("register", pictures, "--out", table, *options)
    assert done.returncode == 0, done.stderr
    assert "1 of 2 frames registered on the nhl sheet" in done.stdout
    first, second = (json.loads(line) for line in table.read_text().splitlines())
    assert (first["accepted"], first["how"]) == (True, "imported")
    assert (second["accepted"], second.get("homography")) == (False, None)
    assert "no ice" in second["reason"]
    drawn = cv2.imread(str(overlay / "a.png"))
    assert (drawn > 100).any(axis=2).sum() > 1000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("register", "nowhere.mp4"), "does not exist"),
        (("register", "FRAMES", "--rink", "pond"), "no sheet called"),
        (("register", "FRAMES", "--rink", "nhl", "--camera", "nowhere.json"), "plucc calibrate"),
        (("register", "FRAMES", "--rink", "nhl", "--points", "nowhere.json"), "cannot be read"),
        (("calibrate", "FRAMES", "--rink", "nhl"), "0 of 0 frames agree"),
    ],
)
def test_bad_input_gets_a_sentence(tmp_path, pictures, arguments, words):
    named = [pictures if part == "FRAMES" else part for part in arguments]
    done = plucc(*named, *(() if arguments[0] == "calibrate" else ("--out", tmp_path / "out.jsonl")))
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out.jsonl").exists()
