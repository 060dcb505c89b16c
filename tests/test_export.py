"""Export: what the file says, that it agrees with torch, and that a wrong one never appears."""

import json
from dataclasses import replace
from pathlib import Path
from shutil import copyfile
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from plucc import export
from plucc.config import Spec, TimmEncoderSpec, load_preset
from plucc.export import card_of, check_pictures, compare, export_checkpoint, load_eager, write_card
from plucc.network.checkpoint import load_checkpoint, save_checkpoint
from plucc.network.plucc import build_plucc
from plucc.quantise import Pictures
from plucc.runtime.load import load_runtime
from plucc.runtime.onnx import OnnxRuntime, read_card
from plucc.types import InputError, ModelError

SMALL_FRAME = [
    "network.frame={kind: pyramid, stem: {width: 8}, stages: [{width: 8, depth: 1}, {width: 16, depth: 1}]}",
    "network.decoder_widths=[16, 8, 8]",
    "network.fused_strides=[8]",
    "network.fold_finer=false",
]
SMALL_CONTEXT = ["network.context={kind: pyramid, stem: {width: 8}, stages: [{width: 8, depth: 1}]}"]


def trained(path: Path, preset: str, overrides: list[str], meta: dict[str, Any] | None = None) -> Spec:
    """Save a network with settled normalisation statistics."""
    torch.manual_seed(5)
    spec = load_preset(preset, overrides)
    network = build_plucc(spec.network).train()
    with torch.no_grad():
        for _ in range(15):
            network(torch.randn(2, 3, 96, 128), torch.randn(2, 3, 48, 64))
    save_checkpoint(path, network, spec, meta or {})
    return spec


@pytest.fixture
def _exported_before(small_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the graph that was exported once instead of exporting the same network again."""
    monkeypatch.setattr(export, "_write_graph", lambda deployable, card, path: copyfile(small_model, path))


@pytest.fixture
def check_batches(small_checkpoint: Path) -> list[Pictures]:
    card = card_of(load_checkpoint(small_checkpoint))
    return [(frames, contexts) for frames, contexts in check_pictures(card) if contexts is not None]


def test_card_forgets_where_a_backbone_came_from(small_checkpoint: Path) -> None:
    loaded = load_checkpoint(small_checkpoint)
    started = {"frame": TimmEncoderSpec(name="resnet18", weights_file=Path("/home/somebody/resnet18.pth"))}
    card = card_of(replace(loaded, spec=loaded.spec.model_copy(update=started)))
    assert card.spec.frame == TimmEncoderSpec(name="resnet18")


def test_card_says_where_the_model_comes_from(small_checkpoint: Path, small_model: Path) -> None:
    card = read_card(small_model)
    assert card == card_of(load_checkpoint(small_checkpoint))
    assert card.calibration == {"temperature": 2.0}
    assert card.data["datasets"] == ["rink-a"]
    assert card.data["test_matches"] == ["g4"]
    assert card.data["training"] == {"mAP": 81.5}


def test_file_tells_nothing_of_the_machine(small_model: Path) -> None:
    content = small_model.read_bytes()
    assert b"somebody" not in content
    assert b"site-packages" not in content
    assert b"stack_trace" not in content


def test_sides_have_names(small_model: Path) -> None:
    graph = onnx.load(small_model).graph
    sides = {
        value.name: [side.dim_param or side.dim_value for side in value.type.tensor_type.shape.dim]
        for value in (*graph.input, *graph.output)
    }
    assert sides == {
        "frames": ["batch", "height", "width", 3],
        "contexts": ["batch", "context_height", "context_width", 3],
        "logits": ["batch", 1, "logit_height", "logit_width"],
        "presence": ["batch"],
    }


def test_gates_and_normalisation_layers_are_folded_away(small_model: Path) -> None:
    graph = onnx.load(small_model).graph
    operations = [node.op_type for node in graph.node]
    assert "BatchNormalization" not in operations
    assert "Sigmoid" not in operations
    assert not any("gamma" in weight.name for weight in graph.initializer)


def test_agrees_at_every_size(small_checkpoint: Path, small_model: Path) -> None:
    agreement = compare(load_eager(small_checkpoint), OnnxRuntime(small_model))
    assert agreement.logit_difference < 1e-3
    assert agreement.peak_gap == 0


def test_check_pictures_are_even_and_odd(small_checkpoint: Path) -> None:
    card = card_of(load_checkpoint(small_checkpoint))
    sides = [side for frames, _ in check_pictures(card) for side in frames.shape[1:3]]
    assert any(side % 2 for side in sides)
    assert any(side % 2 == 0 for side in sides)
    assert all(contexts is not None for _, contexts in check_pictures(card))


def test_wild_export_never_appears(
    small_checkpoint: Path, small_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Break one weight between the graph and the check: the file must not be kept."""

    def broken(deployable: Any, card: Any, path: Path) -> None:
        model = onnx.load(small_model)
        weight = max(model.graph.initializer, key=lambda value: np.prod(value.dims))
        values = onnx.numpy_helper.to_array(weight) * 1.05
        weight.CopyFrom(onnx.numpy_helper.from_array(values.astype(np.float32), weight.name))
        onnx.save(model, path)

    monkeypatch.setattr(export, "_write_graph", broken)
    with pytest.raises(ModelError, match=r"the exported graph differs from the checkpoint by .* 0.001 is allowed"):
        export_checkpoint(small_checkpoint, tmp_path / "broken.onnx")
    assert list(tmp_path.iterdir()) == []


def test_wrong_requests_are_refused(small_checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"does not end in .onnx"):
        export_checkpoint(small_checkpoint, tmp_path / "model.bin")
    with pytest.raises(InputError, match="int8 takes its ranges from real frames and got none"):
        export_checkpoint(small_checkpoint, tmp_path / "model.onnx", precision="int8")


def test_new_calibration_leaves_the_graph_alone(small_model: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.onnx"
    copyfile(small_model, copy)
    card = read_card(copy).model_copy(update={"calibration": {"temperature": 0.9}})
    write_card(copy, card)
    assert read_card(copy) == card
    assert onnx.load(copy).graph == onnx.load(small_model).graph


@pytest.mark.slow
def test_coarser_logits_skip_the_upsampling(tmp_path: Path) -> None:
    trained(tmp_path / "fine.ckpt", "paper", [*SMALL_FRAME, *SMALL_CONTEXT])
    export_checkpoint(tmp_path / "fine.ckpt", tmp_path / "coarse.onnx", logit_stride=2)
    runtime = load_runtime(tmp_path / "coarse.onnx", backend="onnx")
    maps = runtime(np.zeros((1, 91, 130, 3), np.uint8), np.zeros((1, 46, 65, 3), np.uint8))
    assert (maps.stride_px, maps.logits.shape) == (2, (1, 46, 65))


def test_shuffled_logits_have_one_stride_only(small_checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="gives its logits at stride 2 only"):
        export_checkpoint(small_checkpoint, tmp_path / "swift.onnx", logit_stride=4)


@pytest.mark.usefixtures("_exported_before")
def test_half_precision_halves_the_file(small_checkpoint: Path, small_model: Path, tmp_path: Path) -> None:
    agreement = export_checkpoint(small_checkpoint, tmp_path / "half.onnx", precision="fp16")
    assert 0 < agreement.logit_difference < 0.02
    weights = {weight.data_type for weight in onnx.load(tmp_path / "half.onnx").graph.initializer if weight.dims}
    assert onnx.TensorProto.FLOAT16 in weights
    assert (tmp_path / "half.onnx").stat().st_size < 0.75 * small_model.stat().st_size
    assert read_card(tmp_path / "half.onnx").precision == "fp16"
    pytest.importorskip("openvino")
    halved = load_runtime(tmp_path / "half.onnx", backend="openvino")
    assert compare(OnnxRuntime(tmp_path / "half.onnx"), halved).worst < 1e-3


@pytest.mark.usefixtures("_exported_before")
def test_int8_runs_in_8_bits(
    small_checkpoint: Path, check_batches: list[Pictures], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "INT8_SHIFT_PX", 1e4)  # an untrained map has no peak to keep
    out = tmp_path / "int8.onnx"
    export_checkpoint(small_checkpoint, out, precision="int8", pictures=check_batches)
    assert read_card(out).precision == "int8"
    assert "DequantizeLinear" in [node.op_type for node in onnx.load(out).graph.node]
    maps, exact = (runtime(*check_batches[-1]).logits for runtime in (OnnxRuntime(out), load_eager(small_checkpoint)))
    assert 0 < np.abs(maps - exact).mean() < 0.2 * exact.std()


@pytest.mark.usefixtures("_exported_before")
def test_int8_that_moves_peaks_never_appears(
    small_checkpoint: Path, check_batches: list[Pictures], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "INT8_SHIFT_PX", -1.0)
    with pytest.raises(ModelError, match="in 8 bits the peak stays within -1 px on 0% of the frames"):
        export_checkpoint(small_checkpoint, tmp_path / "int8.onnx", precision="int8", pictures=check_batches)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "overrides"),
    [
        ("fcn-resnet152", SMALL_FRAME),
        ("context-only", [override.replace("frame=", "context=") for override in SMALL_FRAME]),
        ("swift", []),
        ("swift", ["network.gate=squeeze-excitation", "network.decoder_block=separable"]),
        ("swift", ["network.gate=channel-attention", "network.decoder_block=conv"]),
        ("paper", []),
    ],
    ids=["frame-only", "context-only", "swift", "squeeze", "attention", "paper"],
)
def test_every_kind_of_network_exports(tmp_path: Path, preset: str, overrides: list[str]) -> None:
    spec = trained(tmp_path / "any.ckpt", preset, overrides)
    agreement = export_checkpoint(tmp_path / "any.ckpt", tmp_path / "any.onnx")
    assert agreement.worst <= 1e-3
    card = read_card(tmp_path / "any.onnx")
    assert json.loads(card.spec.model_dump_json()) == json.loads(spec.network.model_dump_json())
    pytest.importorskip("openvino")
    other = load_runtime(tmp_path / "any.onnx", backend="openvino")
    assert compare(load_eager(tmp_path / "any.ckpt"), other).worst <= 1e-3
