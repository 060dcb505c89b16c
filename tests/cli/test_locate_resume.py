"""`plucc locate` on the rink, with the shipped networks, killed at random moments: it must end as if it never was."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from plucc.synth.arena import build_stage
from plucc.synth.clip import plan_clip, render_clip
from plucc.synth.match import sample_match
from plucc.types import ImageArray, Size
from plucc.video import VideoReader, write_video

SIZE = Size(1280, 720)
SHOTS, LENGTH, KILLS = 3, 7, 3
PROGRAM = "from plucc.cli.main import run; run()"


def pans() -> Iterator[ImageArray]:
    """Shots of three matches; each pans a little over one rendered frame, so that hardly any need to be rendered."""
    for shot in range(SHOTS):
        stage = build_stage(sample_match(60 + shot, 0))
        image = next(render_clip(stage, plan_clip(0.04, 60 + shot, SIZE))).rendered.image
        wide = np.pad(image, ((0, 0), (0, 4 * LENGTH), (0, 0)), mode="edge")
        for step in range(LENGTH):
            yield np.ascontiguousarray(wide[:, 4 * step : 4 * step + SIZE.width])


def start(clip: Path, folder: Path) -> subprocess.Popen[bytes]:
    outputs = ["--out", str(folder / "rows.csv"), "--overlay", str(folder / "o.mp4"), "--rink", "nhl", "--resume"]
    command = [sys.executable, "-c", PROGRAM, "locate", str(clip), *outputs]
    return subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL)


@pytest.mark.slow
def test_killed_at_random_moments_and_resumed_is_the_same_as_never_killed(tmp_path: Path) -> None:
    clip = tmp_path / "game.mp4"
    write_video(clip, pans(), Fraction(25))
    begun = time.monotonic()
    assert start(clip, tmp_path / "whole").wait() == 0
    whole_s = time.monotonic() - begun
    rng = np.random.default_rng(11)
    folder = tmp_path / "killed"
    for _ in range(KILLS):
        process = start(clip, folder)
        time.sleep(float(rng.uniform(0.1, 0.9)) * whole_s)
        process.kill()
        process.wait()
    assert start(clip, folder).wait() == 0
    rows = (folder / "rows.csv").read_bytes()
    assert rows == (tmp_path / "whole" / "rows.csv").read_bytes()
    assert len(rows.splitlines()) == 1 + SHOTS * LENGTH
    pictures = (VideoReader(where / "o.mp4").frames() for where in (folder, tmp_path / "whole"))
    for one, two in zip(*pictures, strict=True):
        assert (one.image == two.image).all()
    assert sorted(path.name for path in folder.iterdir()) == ["o.mp4", "rows.csv"]
