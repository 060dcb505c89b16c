"""Models on ONNX Runtime, which the core install brings along."""

from pathlib import Path
from typing import Any

import onnxruntime as ort

from plucc.runtime.base import Heatmaps, fitting_threads, named_inputs, to_heatmaps
from plucc.runtime.card import ModelCard
from plucc.types import ImageArray, InputError, ModelError

PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
ERRORS_ONLY = 3


class OnnxRuntime:
    """An exported model on ONNX Runtime; `threads` defaults to what the machine has."""

    def __init__(self, path: Path, *, threads: int | None = None, device: str = "cpu") -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads or fitting_threads()
        options.inter_op_num_threads = 1
        self._session = open_session(path, options, device)
        self.card = ModelCard.from_metadata(self._session.get_modelmeta().custom_metadata_map, str(path))
        self.device = device

    def __call__(self, frames: ImageArray, contexts: ImageArray | None = None) -> Heatmaps:
        outputs = self._session.run(None, named_inputs(self.card, frames, contexts))
        return to_heatmaps(self.card, outputs)


def read_card(path: Path) -> ModelCard:
    """Return what a model file says of itself, without preparing to run it."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = open_session(path, options)
    return ModelCard.from_metadata(session.get_modelmeta().custom_metadata_map, str(path))


def open_session(path: Path, options: ort.SessionOptions, device: str = "cpu") -> Any:
    """Open an ONNX file on a device, or say in one sentence why not."""
    if not path.is_file():
        raise ModelError(f"{path} does not exist: give a model that plucc export wrote")
    provider = PROVIDERS.get(device)
    if provider not in ort.get_available_providers():
        raise InputError(f"ONNX Runtime has no device {device} here: use cpu, or install onnxruntime-gpu for cuda")
    options.log_severity_level = ERRORS_ONLY
    try:
        return ort.InferenceSession(str(path), options, providers=[provider])
    except Exception as error:  # ONNX Runtime's own classes share no public base
        raise ModelError(f"{path} is not an ONNX model that runs here: give a file that plucc export wrote") from error
