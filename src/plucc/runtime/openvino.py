"""Models on OpenVINO (extra `openvino`): the fastest on Intel and AMD processors, most of all with 8-bit weights."""

from collections import OrderedDict, deque
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import numpy as np

from plucc.runtime.base import Heatmaps, fitting_threads, named_inputs, to_heatmaps
from plucc.runtime.onnx import read_card
from plucc.types import FloatArray, ImageArray, InputError, ModelError, require

Shape: TypeAlias = tuple[int, ...]

COMPILED_KEPT = 4  # a graph of fixed size runs faster than one of any size; following uses a few sizes in turn


class OpenVinoGraph:
    """A model file on OpenVINO, whatever it computes; compiled anew for inputs of a new size, which takes a second.

    `threads` defaults to what the machine has; where up to `at_once` calls run at the same time, they share them.
    """

    def __init__(self, path: Path, *, threads: int | None = None, at_once: int = 1, device: str = "cpu") -> None:
        openvino = require("openvino", "openvino")
        self._core = openvino.Core()
        if not any(name.split(".")[0] == device.upper() for name in self._core.available_devices):
            found = ", ".join(name.lower() for name in self._core.available_devices)
            raise InputError(f"OpenVINO has no device {device} here: choose one of {found}")
        self._path, self._device = path, device
        self._options: dict[str, Any] = {"PERFORMANCE_HINT": "LATENCY"}
        if device == "cpu":
            self._options["INFERENCE_NUM_THREADS"] = threads or fitting_threads()
            self._options["NUM_STREAMS"] = at_once
            # bound to cores, two processes would both run on the first ones, and a thread could not move out of the way
            self._options["ENABLE_CPU_PINNING"] = False
            self._options["INFERENCE_PRECISION_HINT"] = "f32"  # some processors would choose bfloat16 by themselves
        self._compiled: OrderedDict[tuple[Shape, ...], _Compiled] = OrderedDict()
        self._compiling = Lock()

    def __call__(self, inputs: Mapping[str, ImageArray]) -> list[FloatArray]:
        return self._compiled_for(inputs)(inputs)

    def _compiled_for(self, inputs: Mapping[str, ImageArray]) -> "_Compiled":
        shapes = {name: value.shape for name, value in inputs.items()}
        key = tuple(shapes.values())
        with self._compiling:
            if key not in self._compiled:
                self._compiled[key] = self._compile(shapes)
                if len(self._compiled) > COMPILED_KEPT:
                    self._compiled.popitem(last=False)
            self._compiled.move_to_end(key)
            return self._compiled[key]

    def _compile(self, shapes: dict[str, Shape]) -> "_Compiled":
        try:
            model = self._core.read_model(str(self._path))
            model.reshape(shapes)
            _fold_squares(model)
            return _Compiled(self._core.compile_model(model, self._device.upper(), self._options))
        except RuntimeError as error:
            raise ModelError(f"OpenVINO cannot run {self._path}: use another runtime, or export it again") from error


class _Compiled:
    """A graph for inputs of one size. A request serves one call at a time, so each call takes an idle one."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._idle: deque[Any] = deque()  # taking and giving back are atomic

    def __call__(self, inputs: Mapping[str, ImageArray]) -> list[FloatArray]:
        try:
            request = self._idle.pop()
        except IndexError:
            request = self._model.create_infer_request()
        results = request.infer(dict(inputs), share_inputs=True, share_outputs=False)
        self._idle.append(request)
        return [np.asarray(value) for value in results.values()]


def _fold_squares(model: Any) -> None:
    """Turn squares of pixels that become channels, written as reshape, transpose and reshape, into the one operation.

    OpenVINO folds the opposite way by itself, but not this one, and spends a sixth of the shipped network's time on it.
    """
    operations = require("openvino.opset8", "openvino")
    for transpose in model.get_ordered_ops():
        if transpose.get_type_name() != "Transpose":
            continue
        before, order = (transpose.input_value(index).get_node() for index in (0, 1))
        readers = [reader.get_node() for reader in transpose.output(0).get_target_inputs()]
        chain = (before.get_type_name(), *(reader.get_type_name() for reader in readers))
        if chain != ("Reshape", "Reshape") or order.get_type_name() != "Constant":
            continue
        wide, cells, narrow = (
            tuple(value.get_shape()) for value in (before.input_value(0), before.output(0), readers[0].output(0))
        )
        side_px = _square(wide, cells, narrow)
        if side_px is not None and order.data.tolist() == [0, 1, 3, 5, 2, 4]:
            folded = operations.space_to_depth(before.input_value(0), "depth_first", side_px)
            readers[0].output(0).replace(folded.output(0))
    model.validate_nodes_and_infer_types()


def _square(wide: Shape, cells: Shape, narrow: Shape) -> int | None:
    """Return the side of the squares that three shapes are about; None where they are about something else."""
    if len(wide) != 4 or len(cells) != 6:
        return None
    batch, channels, rows, side_px, columns, _ = cells
    is_same = cells == (batch, channels, rows, side_px, columns, side_px)
    is_from = wide == (batch, channels, rows * side_px, columns * side_px)
    is_to = narrow == (batch, channels * side_px**2, rows, columns)
    return side_px if is_same and is_from and is_to else None


class OpenVinoRuntime:
    """An exported puck model on OpenVINO."""

    def __init__(self, path: Path, *, threads: int | None = None, at_once: int = 1, device: str = "cpu") -> None:
        self._graph = OpenVinoGraph(path, threads=threads, at_once=at_once, device=device)
        self.card = read_card(path)
        self.device = device

    def __call__(self, frames: ImageArray, contexts: ImageArray | None = None) -> Heatmaps:
        return to_heatmaps(self.card, self._graph(named_inputs(self.card, frames, contexts)), frames)
