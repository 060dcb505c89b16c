"""A model file turned back into a network: it says the same, and its norms know what reaches them."""

import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import onnx
import pytest
import torch
from torch import Tensor, nn

from plucc.cli.main import app
from plucc.config import Spec
from plucc.export import Agreement, compare, export_network, write_card
from plucc.loading import SHIPPED_MODEL
from plucc.network.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from plucc.network.deploy import Deployable
from plucc.network.gate import GateBlock
from plucc.network.plucc import PuckNetwork, build_plucc
from plucc.quantise import HALVED
from plucc.runtime.onnx import OnnxRuntime, read_card
from plucc.runtime.torch import TorchRuntime
from plucc.training.fit import train
from plucc.training.norms import remeasure_norms, settle_norms
from plucc.training.restoring import restore, restore_checkpoint
from plucc.types import ModelError, PluccError

Tiny = Callable[..., Spec]

SAME = 1e-3


@pytest.fixture(scope="module")
def pictures() -> list[tuple[Tensor, Tensor]]:
    torch.manual_seed(3)
    return [(1.5 * torch.randn(4, 3, 96, 128) + 0.3, torch.randn(4, 3, 48, 64)) for _ in range(2)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, drawn: Path, tiny: Tiny) -> Path:
    """Export a network whose norms and gates are far from where they start."""
    torch.manual_seed(4)
    spec = tiny(drawn)
    network = build_plucc(spec.network)
    for part in network.modules():
        if isinstance(part, nn.BatchNorm2d):
            nn.init.uniform_(part.weight, 0.3, 2.0)
            nn.init.normal_(part.bias)
            part.running_mean.normal_()
            part.running_var.uniform_(0.2, 3.0)
        elif isinstance(part, GateBlock):
            nn.init.normal_(part.gamma, std=2.0)
    path = tmp_path_factory.mktemp("restored") / "tiny.onnx"
    export_network(Checkpoint(network.eval(), spec.network, spec.heatmap, {}, {}), path)
    return path


def against(model: Path, network: PuckNetwork) -> Agreement:
    file = OnnxRuntime(model)
    return compare(file, TorchRuntime(Deployable(network, file.card.spec), file.card))


def test_a_restored_network_says_what_the_file_says(model: Path, pictures: list[tuple[Tensor, Tensor]]) -> None:
    network = restore(model).network
    assert against(model, network).worst < SAME
    settle_norms(network, pictures)
    assert against(model, network).worst < SAME


def test_a_file_in_16_bits_comes_back_too(model: Path, tmp_path: Path) -> None:
    half = tmp_path / "half.onnx"
    export_network(restore(model), half, precision="fp16")
    assert any(weight.name.endswith(HALVED) for weight in onnx.load(half).graph.initializer)
    assert against(half, restore(half).network).worst < SAME


def test_settled_norms_have_the_statistics_of_what_reaches_them(
    model: Path, pictures: list[tuple[Tensor, Tensor]]
) -> None:
    """So a first training step, which norms by its own batch, starts from what the file says."""
    whole = torch.cat([frames for frames, _ in pictures]), torch.cat([contexts for _, contexts in pictures])
    loose = restore(model).network
    settled = deepcopy(loose)
    settle_norms(settled, [whole])
    with torch.no_grad():
        expected = settled.eval()(*whole)[0]
        torch.testing.assert_close(settled.train()(*whole)[0], expected, atol=5e-3, rtol=1e-3)
        assert (loose.train()(*whole)[0] - expected).abs().max() > 0.1


def test_norms_that_are_measured_anew_answer_as_in_training(model: Path, pictures: list[tuple[Tensor, Tensor]]) -> None:
    network = restore(model).network
    scale = network.state_dict()["decoder.stages.0.conv.1.weight"].clone()
    remeasure_norms(network, pictures[:1])
    assert not network.training
    with torch.no_grad():
        expected = network(*pictures[0])[0]
        torch.testing.assert_close(network.train()(*pictures[0])[0], expected, atol=5e-3, rtol=1e-3)
    torch.testing.assert_close(network.state_dict()["decoder.stages.0.conv.1.weight"], scale)


def test_the_shipped_network_is_restored() -> None:
    assert against(SHIPPED_MODEL, restore(SHIPPED_MODEL).network).worst < SAME


def test_training_goes_on_from_a_restored_checkpoint(model: Path, drawn: Path, tiny: Tiny, tmp_path: Path) -> None:
    start = tmp_path / "start.ckpt"
    spec: Spec = tiny(drawn, train={"steps": 1, "lr": 1e-9, "ema_decay": None, "initial_weights": start})
    restore_checkpoint(model, spec, start)
    final = train(spec, tmp_path / "run", say=lambda _: None).final
    before, after = (load_checkpoint(path).network.state_dict() for path in (start, final))
    key = "head.logits.project.weight"
    torch.testing.assert_close(after[key], before[key])


def test_files_that_cannot_be_trained_on_are_refused(model: Path, tmp_path: Path) -> None:
    coarse, unnamed = tmp_path / "coarse.onnx", tmp_path / "unnamed.onnx"
    coarse.write_bytes(model.read_bytes())
    write_card(coarse, read_card(model).model_copy(update={"precision": "int8"}))
    with pytest.raises(ModelError, match="8-bit"):
        restore(coarse)
    for ending in (".weight_bias", "project.weight"):
        graph = onnx.load(model)
        lost = next(entry for entry in graph.graph.initializer if entry.name.endswith(ending))
        for node in graph.graph.node:
            node.input[:] = ["other" if name == lost.name else name for name in node.input]
        expected = re.escape(f"unnamed.onnx lacks {lost.name}")
        lost.name = "other"
        onnx.save(graph, unnamed)
        with pytest.raises(ModelError, match=expected):
            restore(unnamed)


def test_the_commands_restore_and_average(model: Path, drawn: Path, tiny: Tiny, tmp_path: Path) -> None:
    config, start, other, mean = (tmp_path / name for name in ("spec.yaml", "start.ckpt", "other.ckpt", "mean.ckpt"))
    spec = tiny(drawn)
    config.write_text(spec.model_dump_json())  # JSON is YAML
    _call("restore", config, "--model", model, "--out", start)
    assert against(model, load_checkpoint(start).network).worst < SAME
    torch.manual_seed(6)
    save_checkpoint(other, build_plucc(spec.network), spec, {})
    _call("average", mean, start, start, other)
    one, two, both = (load_checkpoint(path).network.state_dict() for path in (start, other, mean))
    key = "head.logits.project.weight"
    torch.testing.assert_close(both[key], (2 * one[key] + two[key]) / 3)
    _call("average", mean, start, other, "--config", config)
    settled = load_checkpoint(mean).network.state_dict()
    torch.testing.assert_close(settled[key], (one[key] + two[key]) / 2)
    statistic = "frame_encoder.stem.1.running_mean"
    assert not torch.allclose(settled[statistic], (one[statistic] + two[statistic]) / 2, atol=1e-2)
    with pytest.raises(PluccError):
        _call("average", tmp_path / "none.ckpt", start, other, "--config", "swift")  # which names no data
    assert not (tmp_path / "none.ckpt").exists()


def test_networks_of_another_shape_have_no_mean(model: Path, drawn: Path, tiny: Tiny, tmp_path: Path) -> None:
    for name, widths in (("one", [16, 16, 8]), ("wider", [16, 16, 12])):
        spec = tiny(drawn, network={"decoder_widths": widths})
        save_checkpoint(tmp_path / f"{name}.ckpt", build_plucc(spec.network), spec, {})
    with pytest.raises(ModelError, match=r"wider\.ckpt holds another network"):
        _call("average", tmp_path / "mean.ckpt", tmp_path / "one.ckpt", tmp_path / "wider.ckpt")
    assert not (tmp_path / "mean.ckpt").exists()


def _call(*arguments: str | Path) -> None:
    app(args=[str(each) for each in arguments], prog_name="plucc", standalone_mode=False)
