"""Checkpoints: what goes in comes out, and nothing else is taken for one."""

import json
from pathlib import Path

import pytest
import torch

from plucc.config import Spec, load_preset
from plucc.network.checkpoint import load_checkpoint, save_checkpoint
from plucc.network.plucc import build_plucc
from plucc.types import ConfigError, ModelError


@pytest.fixture(scope="module")
def spec() -> Spec:
    return load_preset(
        "swift",
        [
            "network.frame={kind: pyramid, stem: {width: 16}, "
            "stages: [{width: 8, depth: 1}, {width: 8, depth: 1}, {width: 8, depth: 1}]}",
            "network.context=null",
            "network.decoder_widths=[8, 8]",
            "train.seed=7",
        ],
    )


@pytest.fixture
def saved(spec: Spec, tmp_path: Path) -> Path:
    path = tmp_path / "swift.ckpt"
    save_checkpoint(path, build_plucc(spec.network), spec, {"step": 3, "calibration": {"temperature": 1.5}})
    return path


def test_round_trip(spec: Spec, tmp_path: Path) -> None:
    network = build_plucc(spec.network)
    path = tmp_path / "deep" / "swift.ckpt"
    save_checkpoint(path, network, spec, {"step": 3})
    loaded = load_checkpoint(path)
    assert (loaded.spec, loaded.heatmap, loaded.meta) == (spec.network, spec.heatmap, {"step": 3})
    assert loaded.experiment["train"]["seed"] == 7
    assert not loaded.network.training
    frame = torch.randn(1, 3, 64, 96)
    assert torch.equal(loaded.network(frame)[0], network.eval()(frame)[0])
    assert list(path.parent.iterdir()) == [path]


def test_expected_spec_is_accepted_whatever_the_first_weights_were(tmp_path: Path) -> None:
    given = load_preset("fcn-resnet152", ["network.frame.name=resnet18", "network.decoder_widths=[8, 8]"])
    path = tmp_path / "fcn.ckpt"
    save_checkpoint(path, build_plucc(given.network), given, {})
    frame = given.network.frame.model_copy(update={"pretrained": True})
    load_checkpoint(path, expected=given.network.model_copy(update={"frame": frame}))


def test_checkpoint_of_another_spec_is_refused(saved: Path) -> None:
    with pytest.raises(ModelError) as caught:
        load_checkpoint(saved, expected=load_preset("swift").network)
    assert (
        "holds another network than asked for (network.frame, network.context, network.decoder_widths differ)"
        in str(caught.value)
    )


def _tampered(path: Path, key: str, value: object) -> Path:
    content = torch.load(path, weights_only=True)
    content[key] = value
    torch.save(content, path)
    return path


def test_unknown_network_setting_is_refused(saved: Path) -> None:
    sections = json.loads(torch.load(saved, weights_only=True)["spec"])
    sections["network"]["gatee"] = "static"
    with pytest.raises(ConfigError, match=r"gatee is not a setting: did you mean gate\?"):
        load_checkpoint(_tampered(saved, "spec", json.dumps(sections)))


def test_training_settings_of_another_version_do_not_matter(saved: Path) -> None:
    sections = json.loads(torch.load(saved, weights_only=True)["spec"])
    sections["train"]["abandoned_setting"] = 1
    load_checkpoint(_tampered(saved, "spec", json.dumps(sections)))


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("spec", "{", "has a damaged spec"),
        ("spec", "{}", "lacks the spec of its network"),
        ("state_dict", {}, "has weights that do not fit its own spec"),
    ],
)
def test_damaged_checkpoint_is_refused(saved: Path, key: str, value: object, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        load_checkpoint(_tampered(saved, key, value))


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    words, tensors, none = tmp_path / "words.ckpt", tmp_path / "tensors.ckpt", tmp_path / "none.ckpt"
    words.write_text("not a checkpoint")
    torch.save({"weight": torch.zeros(2)}, tensors)
    with pytest.raises(ModelError, match=r"words.ckpt is not a checkpoint: give a file that plucc train wrote"):
        load_checkpoint(words)
    with pytest.raises(ModelError, match="is a torch file but no checkpoint of plucc"):
        load_checkpoint(tensors)
    with pytest.raises(ModelError, match="does not exist"):
        load_checkpoint(none)


class _Trap:
    def __reduce__(self) -> tuple:
        return (print, ("code ran",))


def test_code_in_a_checkpoint_never_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trap.ckpt"
    torch.save({"spec": "{}", "state_dict": {}, "meta": _Trap()}, path)
    with pytest.raises(ModelError, match="is not a checkpoint"):
        load_checkpoint(path)
    assert "code ran" not in capsys.readouterr().out
