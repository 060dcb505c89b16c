"""`plucc context` and `plucc players` as a user starts them."""

import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from plucc.context.maskfile import read_masks
from plucc.data.manifest import write_manifest
from plucc.data.masks import encode_mask
from plucc.data.schema import DatasetInfo, LabelClass, Player, Puck, Record
from plucc.types import Box, Size


def run_plucc(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    program = "from plucc.cli.main import run; run()"
    words = [str(argument) for argument in arguments]
    return subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    root = tmp_path / "set"
    root.mkdir()
    records = []
    for number in range(3):
        image = np.full((72, 128, 3), 230, np.uint8)
        image[20:60, 30:50] = (40, 60, 200)
        cv2.imwrite(str(root / f"{number}.png"), image)
        mask = np.zeros((72, 128), bool)
        mask[20:60, 30:50] = True
        player = Player(box_px=Box(30, 20, 50, 60), mask=encode_mask(mask))
        puck = Puck(box_px=Box(80, 50, 84, 53))
        records.append(
            Record(image=f"{number}.png", size=Size(128, 72), match=f"m{number}", players=(player,), puck=puck)
        )
    info = DatasetInfo(name="t", classes=(LabelClass.PLAYER, LabelClass.PUCK), licence="MIT", source="test")
    write_manifest(root, info, records)
    return root


def test_a_dataset_fills_the_cache_and_draws(dataset: Path, tmp_path: Path) -> None:
    done = run_plucc(
        "context", dataset, "--way", "labels", "--cache", tmp_path / "cache", "--pictures", tmp_path / "look"
    )
    assert done.returncode == 0, done.stderr
    assert "players of 3 frames, found by labels-1" in done.stdout
    assert len(list((tmp_path / "cache").rglob("*.mask"))) >= 1
    assert len(list((tmp_path / "look").glob("*-context.png"))) == 3


def test_masks_go_into_one_file(dataset: Path, tmp_path: Path) -> None:
    done = run_plucc("context", dataset, "--way", "boxes", "--masks", tmp_path / "masks.jsonl")
    assert done.returncode == 0, done.stderr
    masks = read_masks(tmp_path / "masks.jsonl")
    assert masks["1.png"].sum() == 40 * 20


def test_a_missing_network_is_named(dataset: Path) -> None:
    done = run_plucc("players", "score", dataset, "--way", "shipped", "--weights", dataset / "absent.onnx")
    assert done.returncode == 2
    assert "absent.onnx is missing" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["context", "no-such.mp4", "--way", "labels"], "no-such.mp4 is not a file"),
        (["context", ".", "--way", "sam2-onnx"], "give the folder that holds the encoder and the decoder"),
        (["context", ".", "--way", "guess"], "guess"),
        (["players", "train", "out.pt", "--data", "a@b"], "a@b is no source"),
        (["players", "export", "absent.pt", "out.onnx"], "absent.pt is missing"),
        (["players", "compare", "no-such-set"], "no-such-set"),
    ],
)
def test_bad_input_ends_in_one_sentence(arguments: list[str], words: str) -> None:
    done = run_plucc(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
