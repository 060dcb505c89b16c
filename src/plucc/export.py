"""From a checkpoint to a model file that says what it is, kept only when it answers as the checkpoint does."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnx
import torch
from torch import Tensor
from torch.export import Dim

from plucc.config import CONTEXT_STRIDE, EncoderSpec, NetworkSpec, SecondLookSpec, TimmEncoderSpec
from plucc.files import whole_file
from plucc.network.checkpoint import Checkpoint, load_checkpoint
from plucc.network.deploy import Deployable
from plucc.network.plucc import build_plucc
from plucc.network.second_look import load_second_look
from plucc.quantise import Pictures, halve_weights, peak_shifts_px, quantise
from plucc.runtime.base import Heatmaps, Runtime
from plucc.runtime.card import ModelCard, Precision
from plucc.runtime.onnx import OnnxGraph, OnnxRuntime, read_card
from plucc.runtime.second_card import SecondLookCard, read_second_card
from plucc.runtime.torch import TorchRuntime
from plucc.types import FloatArray, ImageArray, InputError, ModelError

OPSET = 18  # the oldest that torch writes without conversion; ONNX Runtime and OpenVINO read it for years already
TOLERANCES = {"fp32": 1e-3, "fp16": 0.1}  # of logits, which in a trained network span tens
INT8_SHIFT_PX, INT8_KEPT = 5.0, 0.9
CHECK_SHAPES = ((2, 96, 160), (1, 139, 203), (1, 361, 643))  # batch, height, width; odd sides are where graphs differ
EXAMPLE_SHAPE = (2, 96, 160)
SECOND_LOOK_BATCH = 3
SIDES: dict[str, tuple[str | None, ...]] = {
    "frames": ("batch", "height", "width", None),
    "contexts": ("batch", "context_height", "context_width", None),
    "logits": ("batch", None, "logit_height", "logit_width"),
    "presence": ("batch",),
}
CHECK_SEED = 20
CLOUD_PX, DOT_RADIUS_PX, DOTS = 24, 4, 6


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far a model file is from its checkpoint, over all check pictures.

    `peak_gap` is how much lower the checkpoint rates the file's peak than its own: zero when both name the same place.
    """

    logit_difference: float
    peak_gap: float
    presence_difference: float

    @property
    def worst(self) -> float:
        return max(self.logit_difference, self.peak_gap, self.presence_difference)


def export_checkpoint(
    checkpoint: Path,
    out: Path,
    *,
    precision: Precision = "fp32",
    logit_stride: int | None = None,
    pictures: Sequence[Pictures] = (),
) -> Agreement:
    """Write a checkpoint as a self-describing ONNX file for any batch and frame size.

    A coarser `logit_stride` than the spec's leaves out the last upsampling; readers scale the peak instead. `pictures`
    are real frames with contexts; int8 takes its ranges from them.
    """
    _check_name(out)
    if precision == "int8" and not pictures:
        raise InputError("int8 takes its ranges from real frames and got none: name a dataset with --calibrate")
    loaded = load_checkpoint(checkpoint)
    if logit_stride is not None:
        loaded = _restrided(loaded, logit_stride)
    return export_network(loaded, out, precision=precision, pictures=pictures)


def export_network(
    loaded: Checkpoint, out: Path, *, precision: Precision = "fp32", pictures: Sequence[Pictures] = ()
) -> Agreement:
    """Write a loaded checkpoint; the file appears only when it agrees with torch on the check pictures."""
    card = card_of(loaded)
    deployable = Deployable(loaded.network, loaded.spec)
    eager = TorchRuntime(deployable, card)
    with whole_file(out) as temporary:
        _write_graph(deployable, card, temporary)
        agreement = _checked(compare(eager, OnnxRuntime(temporary)), TOLERANCES["fp32"])
        if precision == "fp16":
            _rewrite_halved(temporary, card)
            agreement = _checked(compare(eager, OnnxRuntime(temporary)), TOLERANCES["fp16"])
        elif precision == "int8":
            _rewrite_quantised(temporary, card, pictures)
            _check_peaks(peak_shifts_px(eager, OnnxRuntime(temporary), pictures))
            agreement = compare(eager, OnnxRuntime(temporary))
    return agreement


def load_eager(checkpoint: Path, *, threads: int | None = None, device: str = "cpu") -> TorchRuntime:
    """Load a checkpoint to run in torch, without exporting it."""
    loaded = load_checkpoint(checkpoint)
    return TorchRuntime(Deployable(loaded.network, loaded.spec), card_of(loaded), threads=threads, device=device)


def card_of(loaded: Checkpoint) -> ModelCard:
    """Return the card of a checkpoint's model.

    Of data paths only the folders' names go into a file that travels, and nothing of where a backbone began.
    """
    data = dict(loaded.experiment.get("data", {}))
    data["datasets"] = [Path(entry["path"]).name for entry in data.get("datasets", ())]
    kept = ("datasets", "validation_matches", "test_matches", "crop_px")
    facts = {key: value for key, value in loaded.meta.items() if key != "calibration"}
    return ModelCard(
        spec=_without_origins(loaded.spec),
        heatmap=loaded.heatmap,
        calibration=loaded.meta.get("calibration", {}),
        data={key: data[key] for key in kept if key in data} | {"training": facts},
        version=version("plucc"),
    )


def _without_origins(spec: NetworkSpec) -> NetworkSpec:
    def settled(encoder: EncoderSpec | None) -> EncoderSpec | None:
        if not isinstance(encoder, TimmEncoderSpec):
            return encoder
        return encoder.model_copy(update={"pretrained": False, "weights_file": None})

    return spec.model_copy(update={"frame": settled(spec.frame), "context": settled(spec.context)})


def write_card(path: Path, card: ModelCard | SecondLookCard) -> None:
    """Replace the card of a model file, such as after calibrating it; the graph stays as it is."""
    model = onnx.load(path)
    with whole_file(path) as temporary:
        _save(model, card, temporary)


def export_second_look(checkpoint: Path, out: Path, spec: SecondLookSpec | None = None) -> float:
    """Write a trained second look as a self-describing ONNX file; return by how much its logits differ from torch's.

    `spec` says what the network is where the checkpoint does not.
    """
    _check_name(out)
    net, data = load_second_look(checkpoint, spec)
    card = SecondLookCard(spec=net.spec, data=data, version=version("plucc"))
    patches = _check_patches(net.spec)
    with whole_file(out) as temporary:
        model = _exported(net, {"patches": torch.from_numpy(patches)}, {0: Dim.DYNAMIC}, ["logits"])
        _name_sides(model, {"patches": ("places", None, None, None, None), "logits": ("places",)})
        _save(model, card, temporary)
        with torch.inference_mode():
            expected = net(torch.from_numpy(patches)).numpy()
        difference = float(np.abs(OnnxGraph(temporary)({"patches": patches})[0] - expected).max())
        _checked(Agreement(difference, 0.0, 0.0), TOLERANCES["fp32"])
    return difference


def merge_second_looks(parts: Sequence[Path], out: Path, *, halved: bool = False) -> None:
    """Write one second look that says the mean of what several say; kept only if it does.

    One of them looks through all the windows that any of them does. Its weighing is to be fitted anew. Networks that
    were trained apart err apart. A `halved` file stores weights in 16 bits.
    """
    _check_name(out)
    cards = [read_second_card(part) for part in parts]
    spec = max((card.spec for card in cards), key=lambda spec: len(spec.windows_px))
    alike = all(card.spec.side_px == spec.side_px and {*card.spec.windows_px} <= {*spec.windows_px} for card in cards)
    if len(parts) < 2 or not alike:
        raise InputError(
            "only second looks of one side can be merged, of which one has the windows of all: give two or more of them"
        )
    seen = [[spec.windows_px.index(window) for window in card.spec.windows_px] for card in cards]
    merged = _mean([onnx.load(part) for part in parts], seen)
    if halved:
        halve_weights(merged)
    card = SecondLookCard(spec=spec, data={"mean_of": [card.data for card in cards]}, version=version("plucc"))
    patches = _check_patches(spec)
    with whole_file(out) as temporary:
        _save(merged, card, temporary)
        apart = [OnnxGraph(part)({"patches": patches[:, rows]})[0] for part, rows in zip(parts, seen, strict=True)]
        difference = float(np.abs(OnnxGraph(temporary)({"patches": patches})[0] - np.mean(apart, axis=0)).max())
        _checked(Agreement(difference, 0.0, 0.0), TOLERANCES["fp16" if halved else "fp32"])


def _mean(parts: Sequence[onnx.ModelProto], seen: Sequence[Sequence[int]]) -> onnx.ModelProto:
    """Return one graph that runs all parts, each on its rows of the windows, and says the mean of their logits."""
    widest = max(parts, key=lambda part: part.graph.input[0].type.tensor_type.shape.dim[1].dim_value)
    (patches,), (logits,) = widest.graph.input, widest.graph.output
    nodes, constants, said = [], [], []
    for number, (part, rows) in enumerate(zip(parts, seen, strict=True)):
        named = onnx.compose.add_prefix(part, f"part{number}.")
        index = onnx.numpy_helper.from_array(np.array(rows, np.int64), f"part{number}.windows")
        nodes.append(onnx.helper.make_node("Gather", [patches.name, index.name], [named.graph.input[0].name], axis=1))
        nodes.extend(named.graph.node)
        constants += [index, *named.graph.initializer]
        said.append(named.graph.output[0].name)
    nodes.append(onnx.helper.make_node("Mean", said, [logits.name]))
    graph = onnx.helper.make_graph(nodes, "mean", [patches], [logits], constants)
    return onnx.helper.make_model(graph, opset_imports=widest.opset_import, ir_version=widest.ir_version)


def _check_patches(spec: SecondLookSpec) -> ImageArray:
    rng = np.random.default_rng(CHECK_SEED)
    windows = [_clouds(rng, spec.side_px, spec.side_px) for _ in range(SECOND_LOOK_BATCH * len(spec.windows_px))]
    return np.stack(windows).reshape(SECOND_LOOK_BATCH, -1, spec.side_px, spec.side_px, 3)


def attach_second_look(model: Path, second: Path, opinion: Path | None = None) -> None:
    """Write into a puck model's card which second look, and which other puck model, go with it, in the same folder."""
    read_second_card(second)
    if opinion is not None:
        read_card(opinion)
    for path in (second, opinion):
        if path is not None and path.resolve().parent != model.resolve().parent:
            raise InputError(f"{path} is not in the folder of {model}: put both side by side, they travel together")
    if opinion is not None and opinion.resolve() == model.resolve():
        raise InputError(f"{model} cannot be its own second opinion: name another puck model")
    named = {"second_look": second.name, "second_opinion": None if opinion is None else opinion.name}
    write_card(model, read_card(model).model_copy(update=named))


def compare(reference: Runtime, candidate: Runtime) -> Agreement:
    """Run two runtimes of the same model on the check pictures and return the largest differences."""
    pairs = [(reference(*pictures), candidate(*pictures)) for pictures in check_pictures(reference.card)]
    return Agreement(
        logit_difference=max(float(np.abs(one.logits - other.logits).max()) for one, other in pairs),
        peak_gap=max(_peak_gap(one, other) for one, other in pairs),
        presence_difference=max(_presence_difference(one, other) for one, other in pairs),
    )


def check_pictures(card: ModelCard) -> Iterator[tuple[ImageArray, ImageArray | None]]:
    """Yield seeded batches of soft clouds with dark dots on them, of several even and odd sizes, with contexts."""
    rng = np.random.default_rng(CHECK_SEED)
    for batch, height, width in CHECK_SHAPES:
        frames = np.stack([_clouds(rng, height, width) for _ in range(batch)])
        contexts = np.stack(
            [_clouds(rng, -(-height // CONTEXT_STRIDE), -(-width // CONTEXT_STRIDE)) for _ in range(batch)]
        )
        yield frames, contexts if card.uses_context else None


def _checked(agreement: Agreement, tolerance: float) -> Agreement:
    if not agreement.worst <= tolerance:  # a NaN is no agreement either
        raise ModelError(
            f"the exported graph differs from the checkpoint by {agreement.worst:.2g} in a logit, {tolerance} is "
            f"allowed: check that the network was trained, its statistics may be wild"
        )
    return agreement


def _check_peaks(shifts_px: FloatArray) -> None:
    kept = float((shifts_px <= INT8_SHIFT_PX).mean())
    if kept < INT8_KEPT:
        raise ModelError(
            f"in 8 bits the peak stays within {INT8_SHIFT_PX:g} px on {kept:.0%} of the frames, {INT8_KEPT:.0%} are "
            f"needed: export in fp16, or calibrate on more frames"
        )


def _rewrite_halved(path: Path, card: ModelCard) -> None:
    model = onnx.load(path)
    halve_weights(model)
    _save(model, card.model_copy(update={"precision": "fp16"}), path)


def _rewrite_quantised(path: Path, card: ModelCard, pictures: Sequence[Pictures]) -> None:
    quantise(path, path, card, pictures)
    _save(onnx.load(path), card.model_copy(update={"precision": "int8"}), path)


def _check_name(out: Path) -> None:
    if out.suffix != ".onnx":
        raise InputError(f"{out} does not end in .onnx: give the model file such a name")


def _save(model: onnx.ModelProto, card: ModelCard | SecondLookCard, path: Path) -> None:
    onnx.helper.set_model_props(model, card.to_metadata())
    onnx.checker.check_model(model)
    onnx.save(model, path)


def _write_graph(deployable: Deployable, card: ModelCard, path: Path) -> None:
    batch, height, width = EXAMPLE_SHAPE
    example = {"frames": torch.zeros(batch, height, width, 3, dtype=torch.uint8)}
    if card.uses_context:
        half = (-(-height // CONTEXT_STRIDE), -(-width // CONTEXT_STRIDE))
        example["contexts"] = torch.zeros(batch, *half, 3, dtype=torch.uint8)
    any_size = {0: Dim.DYNAMIC, 1: Dim.DYNAMIC, 2: Dim.DYNAMIC}
    outputs = ["logits", "presence"] if card.spec.presence else ["logits"]
    model = _exported(deployable, example, any_size, outputs)
    _name_sides(model, SIDES)
    _save(model, card, path)


def _exported(
    network: torch.nn.Module, example: dict[str, Tensor], free: dict[int, Any], outputs: Sequence[str]
) -> onnx.ModelProto:
    """Return a network as a graph whose inputs are free in some of their sides."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's advice on its own internals
        program = torch.onnx.export(
            network.eval(),
            kwargs=example,
            dynamo=True,
            verbose=False,
            opset_version=OPSET,
            input_names=list(example),
            output_names=list(outputs),
            dynamic_shapes=dict.fromkeys(example, free),
        )
    if program is None:
        raise ModelError("torch exported nothing: report this with the versions that plucc doctor prints")
    model = program.model_proto
    _strip_traces(model)
    return model


def _strip_traces(model: onnx.ModelProto) -> None:
    """Drop the exporter's diary: source lines of the machine that exported have no place in a shipped file."""
    del model.graph.metadata_props[:]
    for part in (*model.graph.node, *model.graph.input, *model.graph.output, *model.graph.initializer):
        part.doc_string = ""
        del part.metadata_props[:]
    del model.graph.value_info[:]


def _name_sides(model: onnx.ModelProto, names: dict[str, tuple[str | None, ...]]) -> None:
    """Call the free sides of inputs and outputs by what they are."""
    for value in (*model.graph.input, *model.graph.output):
        for side, name in zip(value.type.tensor_type.shape.dim, names[value.name], strict=True):
            if name is not None:
                side.dim_param = name


def _restrided(loaded: Checkpoint, logit_stride: int) -> Checkpoint:
    """Return the same weights with coarser logits, which is possible where logits are upsampled and not shuffled."""
    spec = loaded.spec.model_copy(update={"logit_stride": logit_stride})
    if loaded.spec.logit_upsampling == "shuffle" and logit_stride != loaded.spec.logit_stride:
        raise InputError(
            f"this network gives its logits at stride {loaded.spec.logit_stride} only: leave the stride out"
        )
    network = build_plucc(spec, pretrained=False)
    network.load_state_dict(loaded.network.state_dict())
    return replace(loaded, network=network.eval(), spec=spec)


def _peak_gap(reference: Heatmaps, candidate: Heatmaps) -> float:
    own, others = (maps.logits.reshape(len(maps.logits), -1) for maps in (reference, candidate))
    rated = np.take_along_axis(own, others.argmax(axis=1)[:, None], axis=1)[:, 0]
    return float((own.max(axis=1) - rated).max())


def _presence_difference(reference: Heatmaps, candidate: Heatmaps) -> float:
    if reference.presence_logits is None or candidate.presence_logits is None:
        return 0.0
    return float(np.abs(reference.presence_logits - candidate.presence_logits).max())


def _clouds(rng: np.random.Generator, height: int, width: int) -> ImageArray:
    coarse = rng.integers(60, 256, (height // CLOUD_PX + 2, width // CLOUD_PX + 2, 3), dtype=np.uint8)
    picture = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    for x, y in rng.integers(0, (width, height), (DOTS, 2)):
        cv2.circle(picture, (int(x), int(y)), DOT_RADIUS_PX, (20, 20, 20), thickness=-1)
    return np.asarray(picture, np.uint8)
