"""Models on ONNX Runtime, which the core install brings along."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnxruntime as ort

from plucc.runtime.base import Heatmaps, fitting_threads, named_inputs, to_heatmaps
from plucc.runtime.card import ModelCard
from plucc.runtime.metadata import read_metadata
from plucc.types import FloatArray, ImageArray, InputError, ModelError

PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
ERRORS_ONLY = 3


class OnnxGraph:
    """A model file on ONNX Runtime, whatever it computes.

    `threads` defaults to what the machine has; where up to `at_once` calls run at the same time, they share them.
    """

    def __init__(self, path: Path, *, threads: int | None = None, at_once: int = 1, device: str = "cpu") -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = max(1, (threads or fitting_threads()) // at_once)
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # a plan of memory for each size takes a third more of it and saves no time
        options.log_severity_level = ERRORS_ONLY
        self._session = _open_session(path, options, device)

    def __call__(self, inputs: Mapping[str, ImageArray]) -> list[FloatArray]:
        outputs: list[FloatArray] = self._session.run(None, dict(inputs))
        return outputs


class OnnxRuntime:
    """An exported puck model on ONNX Runtime."""

    def __init__(self, path: Path, *, threads: int | None = None, at_once: int = 1, device: str = "cpu") -> None:
        self.card = read_card(path)
        self.device = device
        self._graph = OnnxGraph(path, threads=threads, at_once=at_once, device=device)

    def __call__(self, frames: ImageArray, contexts: ImageArray | None = None) -> Heatmaps:
        return to_heatmaps(self.card, self._graph(named_inputs(self.card, frames, contexts)), frames)


def read_card(path: Path) -> ModelCard:
    """Return what a model file says of itself; quick, because its graph is not loaded."""
    return ModelCard.from_metadata(read_metadata(path), str(path))


def _open_session(path: Path, options: ort.SessionOptions, device: str) -> Any:
    provider = PROVIDERS.get(device)
    if provider not in ort.get_available_providers():
        raise InputError(f"ONNX Runtime has no device {device} here: use cpu, or install onnxruntime-gpu for cuda")
    try:
        return ort.InferenceSession(str(path), options, providers=[provider])
    except Exception as error:  # ONNX Runtime's own classes share no public base
        raise ModelError(
            f"{path} is not a model that ONNX Runtime runs: export it again from its checkpoint"
        ) from error
