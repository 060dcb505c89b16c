"""Smaller and faster model files: weights in 16 bits, or the whole computation in 8."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import numpy as np
import onnx
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from plucc.context.finder import PlayerFinder
from plucc.context.image import ContextMaker
from plucc.context.labels import LabelFinder
from plucc.context.shipped import SHIPPED_WEIGHTS, ShippedFinder
from plucc.data.manifest import read_dataset
from plucc.runtime.base import Runtime, named_inputs
from plucc.runtime.card import ModelCard
from plucc.types import FloatArray, ImageArray, InputError
from plucc.video import read_image

Pictures: TypeAlias = tuple[ImageArray, ImageArray]  # frames and their contexts, a batch of each

SMALLEST_HALVED = 256  # values; below, halving saves nothing worth a node
HALVED = ".half"  # behind the name of a weight that is stored in 16 bits
QUANTISED = ["Conv"]  # nearly all of the time; concatenations and scalings only lose when squeezed into 8 bits


def halve_weights(model: onnx.ModelProto) -> None:
    """Store large weights in 16 bits, in place; runtimes widen them again when they load the file."""
    kept, casts = [], []
    for weight in model.graph.initializer:
        if weight.data_type != onnx.TensorProto.FLOAT or np.prod(weight.dims) < SMALLEST_HALVED:
            kept.append(weight)
            continue
        name = f"{weight.name}{HALVED}"
        kept.append(numpy_helper.from_array(numpy_helper.to_array(weight).astype(np.float16), name))
        casts.append(onnx.helper.make_node("Cast", [name], [weight.name], to=onnx.TensorProto.FLOAT))
    nodes = [*casts, *model.graph.node]
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.initializer.extend(kept)
    model.graph.node.extend(nodes)


def full_weights(model: onnx.ModelProto) -> dict[str, FloatArray]:
    """Return a model's weights by name in the precision that runtimes compute in, those stored in 16 bits widened."""
    stored = {weight.name: numpy_helper.to_array(weight) for weight in model.graph.initializer}
    return {
        name.removesuffix(HALVED): values.astype(np.float32) if name.endswith(HALVED) else values
        for name, values in stored.items()
    }


def quantise(source: Path, out: Path, card: ModelCard, pictures: Sequence[Pictures]) -> None:
    """Write a model whose convolutions run in 8 bits, with ranges taken from the pictures; the logits stay in 32.

    Weights use seven of the eight bits: processors without VNNI add products in 16 bits, which would overflow.
    """
    model = onnx.load(source)
    with _quiet():
        quantize_static(
            source,
            out,
            _Reader(card, pictures),
            quant_format=QuantFormat.QDQ,
            op_types_to_quantize=QUANTISED,
            nodes_to_exclude=[_logit_convolution(model)],
            per_channel=True,
            reduce_range=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
        )


def peak_shifts_px(reference: Runtime, candidate: Runtime, pictures: Sequence[Pictures]) -> FloatArray:
    """Return for every frame how far the candidate's highest cell lies from the reference's, in frame pixels."""
    shifts = []
    for frames, contexts in pictures:
        first, second = (_peaks_px(runtime, frames, contexts) for runtime in (reference, candidate))
        shifts.append(np.hypot(*(first - second).T))
    return np.concatenate(shifts)


def calibration_pictures(root: Path, count: int) -> list[Pictures]:
    """Return evenly spread frames of a dataset with their context images, made as in use where possible."""
    dataset = read_dataset(root)
    finder: PlayerFinder = ShippedFinder() if SHIPPED_WEIGHTS.is_file() else LabelFinder()
    make_context = ContextMaker(finder)
    pictures = []
    for index in np.unique(np.linspace(0, len(dataset) - 1, count).astype(int)) if len(dataset) else ():
        record = dataset.records[index]
        frame = read_image(dataset.image_path(record))
        pictures.append((frame[None], make_context(frame, record.players or ())[None]))
    if not pictures:
        raise InputError(f"{root} has no frames: 8-bit ranges are measured on real ones, give a dataset with some")
    return pictures


class _Reader(CalibrationDataReader):  # type: ignore[misc]
    """Hands the pictures to ONNX Runtime one batch at a time."""

    def __init__(self, card: ModelCard, pictures: Sequence[Pictures]) -> None:
        self._inputs = (named_inputs(card, frames, contexts) for frames, contexts in pictures)

    def get_next(self) -> dict[str, ImageArray] | None:
        return next(self._inputs, None)


def _peaks_px(runtime: Runtime, frames: ImageArray, contexts: ImageArray) -> FloatArray:
    maps = runtime(frames, contexts)
    cells = maps.logits.reshape(len(frames), -1).argmax(axis=1)
    rows, columns = np.unravel_index(cells, maps.logits.shape[1:])
    return np.stack((columns, rows), axis=1) * float(maps.stride_px)


def _logit_convolution(model: onnx.ModelProto) -> str:
    """Return the name of the last convolution on the way to the logits."""
    makers = {output: node for node in model.graph.node for output in node.output}
    node = makers["logits"]
    while node.op_type != "Conv":
        node = makers[node.input[0]]
    return str(node.name)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the quantiser's advice from the user: it recommends a step that these graphs do not need."""
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)
    try:
        yield
    finally:
        root.setLevel(level)
