"""From a model file to whatever runs it best here."""

from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeAlias

from plucc.runtime.base import Runtime
from plucc.runtime.onnx import OnnxRuntime
from plucc.runtime.openvino import OpenVinoRuntime
from plucc.types import InputError

Backend: TypeAlias = Literal["auto", "onnx", "openvino"]

_LOADERS: dict[str, type[OnnxRuntime] | type[OpenVinoRuntime]] = {"onnx": OnnxRuntime, "openvino": OpenVinoRuntime}


def load_runtime(path: Path, *, backend: Backend = "auto", threads: int | None = None, device: str = "cpu") -> Runtime:
    """Load an exported model; `auto` takes OpenVINO where it is installed, because it is the faster one on a CPU.

    Checkpoints run through `plucc.export.load_eager`, which knows the networks.
    """
    if path.suffix != ".onnx":
        raise InputError(f"{path} is not an exported model: run plucc export on it first, or give an .onnx file")
    if backend == "auto":
        backend = "openvino" if device == "cpu" and find_spec("openvino") else "onnx"
    return _LOADERS[backend](path, threads=threads, device=device)
