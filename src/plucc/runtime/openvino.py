"""Models on OpenVINO (extra `openvino`): the fastest on Intel and AMD processors, most of all with 8-bit weights."""

from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from plucc.runtime.base import Heatmaps, fitting_threads, named_inputs, to_heatmaps
from plucc.runtime.onnx import read_card
from plucc.types import FloatArray, ImageArray, InputError, ModelError, require

Shape: TypeAlias = tuple[int, ...]

COMPILED_KEPT = 4  # a graph of fixed size runs faster than one of any size; following uses a few sizes in turn


class OpenVinoGraph:
    """A model file on OpenVINO, whatever it computes; compiled anew for inputs of a new size, which takes a second."""

    def __init__(self, path: Path, *, threads: int | None = None, device: str = "cpu") -> None:
        openvino = require("openvino", "openvino")
        self._core = openvino.Core()
        if not any(name.split(".")[0] == device.upper() for name in self._core.available_devices):
            found = ", ".join(name.lower() for name in self._core.available_devices)
            raise InputError(f"OpenVINO has no device {device} here: choose one of {found}")
        self._path, self._device = path, device
        self._options: dict[str, Any] = {"PERFORMANCE_HINT": "LATENCY"}
        if device == "cpu":
            self._options["INFERENCE_NUM_THREADS"] = threads or fitting_threads()
            self._options["INFERENCE_PRECISION_HINT"] = "f32"  # some processors would choose bfloat16 by themselves
        self._compiled: OrderedDict[tuple[Shape, ...], Any] = OrderedDict()

    def __call__(self, inputs: Mapping[str, ImageArray]) -> list[FloatArray]:
        results = self._compiled_for(inputs)(dict(inputs), share_inputs=True)
        return [np.asarray(value) for value in results.values()]

    def _compiled_for(self, inputs: Mapping[str, ImageArray]) -> Any:
        shapes = {name: value.shape for name, value in inputs.items()}
        key = tuple(shapes.values())
        if key not in self._compiled:
            self._compiled[key] = self._compile(shapes)
            if len(self._compiled) > COMPILED_KEPT:
                self._compiled.popitem(last=False)
        self._compiled.move_to_end(key)
        return self._compiled[key]

    def _compile(self, shapes: dict[str, Shape]) -> Any:
        try:
            model = self._core.read_model(str(self._path))
            model.reshape(shapes)
            return self._core.compile_model(model, self._device.upper(), self._options)
        except RuntimeError as error:
            raise ModelError(f"OpenVINO cannot run {self._path}: use another runtime, or export it again") from error


class OpenVinoRuntime:
    """An exported puck model on OpenVINO."""

    def __init__(self, path: Path, *, threads: int | None = None, device: str = "cpu") -> None:
        self._graph = OpenVinoGraph(path, threads=threads, device=device)
        self.card = read_card(path)
        self.device = device

    def __call__(self, frames: ImageArray, contexts: ImageArray | None = None) -> Heatmaps:
        return to_heatmaps(self.card, self._graph(named_inputs(self.card, frames, contexts)))
