"""The whole protocol on a few rendered frames: killed on the way, it goes on; its models find each other."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

import timm
import torch
from typer.testing import CliRunner

from plucc.cli.main import app
from plucc.data.exporters.yolo import export_yolo
from plucc.data.manifest import read_dataset
from plucc.puck_finder import Locator
from plucc.retrain.protocol import ProtocolSpec, backbones, load_protocol
from plucc.retrain.run import DONE_FILE, Wish, retrain
from plucc.runtime.onnx import read_card
from plucc.runtime.second_card import read_second_card
from plucc.synth.frames import plan_frames, write_frames
from plucc.types import ConfigError, InputError, Size
from plucc.video import read_image

STEPS = [
    "import frames",
    "find players",
    "render frames",
    "train swift",
    "train swift-l",
    "train the second look",
    "attach it",
    "fit confidence",
    "evaluate",
]
SHORT = ("train.steps=2", "train.batch=2", "train.epoch_samples=4", "data.crop_px=96", "data.workers=0")


class KilledError(Exception):
    """Stands for a machine that was switched off."""


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return labelled frames in YOLO's layout, of four matches."""
    folder = tmp_path_factory.mktemp("labelled")
    write_frames(folder / "own", plan_frames(12, 7, Size(320, 180), frames_per_match=3))
    export_yolo(read_dataset(folder / "own"), folder / "yolo", None)
    return folder / "yolo"


@pytest.fixture(scope="module")
def protocol(frames: Path) -> ProtocolSpec:
    matches = sorted({line.split(",")[1] for line in (frames / "index.csv").read_text().splitlines()[1:]})
    labels = {"puck": ["puck"], "players": ["skater", "goaltender", "referee"], "match_from": "index.csv:match"}
    games = {"validation": matches[:1], "test": matches[1:2], "labels": labels}
    return ProtocolSpec.model_validate(load_protocol("hockeyai").model_dump(mode="json") | games)


@pytest.fixture(scope="module")
def files(protocol: ProtocolSpec, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("weights")
    names = backbones(protocol)
    for name in names:
        torch.save(timm.create_model(name).state_dict(), folder / f"{name}.pth")
    return {name: folder / f"{name}.pth" for name in names}


@pytest.fixture(scope="module")
def wish(
    frames: Path, protocol: ProtocolSpec, files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Wish:
    out = tmp_path_factory.mktemp("retrain") / "out"
    return Wish(frames, out, protocol, files, scale=1e-4, overrides=SHORT, processes=1)


@pytest.mark.parametrize("given", ["resnet18", "=file.pth", "resnet18="])
def test_a_backbone_is_given_by_name_and_file(tmp_path: Path, given: str) -> None:
    result = CliRunner().invoke(app, ["retrain", str(tmp_path), "--out", str(tmp_path / "out"), "--backbone", given])
    assert isinstance(result.exception, InputError)
    assert "write it as NAME=FILE" in str(result.exception)


@pytest.mark.slow
def test_stopped_run_goes_on_and_ends_with_models_and_a_report(wish: Wish) -> None:
    def dying(line: str) -> None:
        if line.startswith("train swift-l"):
            raise KilledError

    with pytest.raises(KilledError):
        retrain(wish, say=dying)
    assert json.loads((wish.out / DONE_FILE).read_text()) == STEPS[:4]
    before = (wish.out / "swift.onnx").stat().st_mtime_ns
    weights = (wish.out / "runs" / "swift" / "final.ckpt").stat().st_mtime_ns

    heard: list[str] = []
    report = retrain(wish, say=heard.append)
    assert heard[:4] == [f"{name}: done before" for name in STEPS[:4]]
    assert json.loads((wish.out / DONE_FILE).read_text()) == STEPS
    assert (wish.out / "runs" / "swift" / "final.ckpt").stat().st_mtime_ns == weights
    assert (wish.out / "swift.onnx").stat().st_mtime_ns > before  # its card names its companions now
    assert {"report.html", "report.md", "rows.csv"} <= {file.name for file in report.iterdir()}
    assert f"matches {wish.protocol.test[0]}" in (report / "report.md").read_text()

    cards = {name: read_card(wish.out / f"{name}.onnx") for name in ("swift", "swift-l")}
    assert {card.second_look for card in cards.values()} == {"swift-second.onnx"}
    assert [card.second_opinion for card in cards.values()] == ["swift-l.onnx", "swift.onnx"]
    assert all(card.data["test_matches"] == list(wish.protocol.test) for card in cards.values())
    games = {*wish.protocol.validation, *wish.protocol.test}
    assert games <= set(read_second_card(wish.out / "swift-second.onnx").data["held_out"])
    image = read_image(next(iter(sorted((wish.out / "data" / "rendered" / "frames").iterdir()))))
    assert Locator(wish.out / "swift.onnx", threads=1).frame(image).candidates


def test_another_plan_is_not_mixed_in(wish: Wish, tmp_path: Path) -> None:
    def dying(line: str) -> None:
        raise KilledError(line)

    begun = replace(wish, out=tmp_path)
    for _ in range(2):  # the same plan goes on
        with pytest.raises(KilledError, match="import frames"):
            retrain(begun, say=dying)
    for other in (replace(begun, scale=0.5), replace(begun, overrides=()), replace(begun, backbones={}, scratch=True)):
        with pytest.raises(InputError, match="holds weights of another plan"):
            retrain(other, say=dying)


def test_a_mistyped_setting_is_named_before_anything_is_done(wish: Wish, tmp_path: Path) -> None:
    mistyped = replace(wish, out=tmp_path / "out", overrides=("train.epohs=3",))
    with pytest.raises(ConfigError, match="epohs"):
        retrain(mistyped, say=lambda _: None)
    assert not mistyped.out.exists()


def test_missing_frames_or_weights_are_named(wish: Wish, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no folder: give the one with frames/"):
        retrain(Wish(tmp_path / "none", tmp_path / "a", wish.protocol), say=lambda _: None)
    with pytest.raises(InputError, match="does not exist: give the weights of mobilenetv3_small_100"):
        retrain(
            replace(wish, out=tmp_path / "b", backbones=dict.fromkeys(wish.backbones, tmp_path / "none.pth")),
            say=lambda _: None,
        )
    with pytest.raises(InputError, match="resnet19 is no backbone of this protocol: it has mobilenetv3_small_100"):
        retrain(replace(wish, out=tmp_path / "b", backbones={"resnet19": wish.source}), say=lambda _: None)
    with pytest.raises(InputError, match="leave out --scratch or --backbone"):
        retrain(replace(wish, out=tmp_path / "c", scratch=True), say=lambda _: None)
    assert not any((tmp_path / name).exists() for name in "abc")
