"""Runs as real processes: killed at any moment, and two at a time."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import yaml

from plucc.config import Spec
from plucc.network.checkpoint import load_checkpoint

pytestmark = pytest.mark.slow

Tiny = Callable[..., Spec]
PATIENCE_S = 240


@pytest.fixture
def launch(tmp_path: Path) -> Callable[..., "subprocess.Popen[bytes]"]:
    """Return what starts `plucc train` in a process of its own, from a file as an installed command is."""
    script = tmp_path / "plucc_command.py"
    script.write_text("from plucc.cli.main import run\nif __name__ == '__main__':\n    run()\n")

    def start(spec: Spec, run: Path, *options: str, **settings: bool) -> "subprocess.Popen[bytes]":
        config = tmp_path / f"{run.name}.yaml"
        config.write_text(yaml.safe_dump(spec.model_dump(mode="json")))
        command = [sys.executable, str(script), "train", str(config), "--run", str(run), *options]
        return subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE, **settings)

    return start


def finished(process: "subprocess.Popen[bytes]") -> None:
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, errors.decode()[-2000:]


def test_killed_run_ends_with_the_weights_of_one_that_was_not(
    drawn: Path, tiny: Tiny, tmp_path: Path, launch: Callable[..., "subprocess.Popen[bytes]"]
) -> None:
    spec = tiny(drawn, train={"epochs": 8, "checkpoint_steps": 2}, data={"workers": 1})
    finished(launch(spec, tmp_path / "whole"))
    process = launch(spec, tmp_path / "broken")
    deadline = time.monotonic() + PATIENCE_S
    while not (tmp_path / "broken" / "resume.ckpt").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE_S)
    assert not (tmp_path / "broken" / "final.ckpt").exists(), "it finished before it was killed"
    finished(launch(spec, tmp_path / "broken", "--resume"))
    ours, theirs = (load_checkpoint(tmp_path / run / "final.ckpt").network.state_dict() for run in ("broken", "whole"))
    assert all(torch.equal(ours[key], theirs[key]) for key in theirs)


@pytest.mark.parametrize("whole_group", [True, False], ids=["all", "first"])
def test_a_signal_ends_all_processes_of_a_run(
    drawn: Path, tiny: Tiny, tmp_path: Path, launch: Callable[..., "subprocess.Popen[bytes]"], whole_group: bool
) -> None:
    spec = tiny(drawn, train={"epochs": 10_000, "devices": 2}, data={"workers": 1})
    process = launch(spec, tmp_path / "run", start_new_session=True)
    deadline = time.monotonic() + PATIENCE_S
    while not (tmp_path / "run" / "resume.ckpt").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    (os.killpg if whole_group else os.kill)(process.pid, signal.SIGTERM)
    process.communicate(timeout=PATIENCE_S)  # their errors are one stream: it ends when the last of them does
    assert process.returncode == -signal.SIGTERM
    assert not (tmp_path / "run" / "final.ckpt").exists()


def test_two_processes_have_the_gradient_of_one_with_twice_the_batch(
    drawn: Path, tiny: Tiny, tmp_path: Path, launch: Callable[..., "subprocess.Popen[bytes]"]
) -> None:
    """Adam's first moment after one step is the gradient, up to a factor."""
    settings = {"freeze_batch_norm": True, "steps": 1, "clip_norm": None}
    finished(launch(tiny(drawn, train=settings | {"batch": 8}), tmp_path / "one"))
    finished(launch(tiny(drawn, train=settings | {"batch": 4, "devices": 2}), tmp_path / "two"))
    states = [
        torch.load(tmp_path / run / "resume.ckpt", weights_only=False)["optimizer_states"][0]["state"]
        for run in ("one", "two")
    ]
    assert len(states[0]) == len(states[1]) > 20
    for key, one in states[0].items():
        torch.testing.assert_close(states[1][key]["exp_avg"], one["exp_avg"], rtol=1e-4, atol=1e-7)
    assert any(one["exp_avg"].abs().max() > 1e-4 for one in states[0].values())
