"""From a model file to whatever runs it best here."""

from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeAlias

from plucc.runtime.base import Graph, Runtime
from plucc.runtime.onnx import OnnxGraph, OnnxRuntime
from plucc.runtime.openvino import OpenVinoGraph, OpenVinoRuntime
from plucc.types import InputError

Backend: TypeAlias = Literal["auto", "onnx", "openvino"]

_LOADERS: dict[str, type[OnnxRuntime] | type[OpenVinoRuntime]] = {"onnx": OnnxRuntime, "openvino": OpenVinoRuntime}
_GRAPHS: dict[str, type[OnnxGraph] | type[OpenVinoGraph]] = {"onnx": OnnxGraph, "openvino": OpenVinoGraph}


def load_runtime(path: Path, *, backend: Backend = "auto", threads: int | None = None, device: str = "cpu") -> Runtime:
    """Load an exported model; `auto` takes OpenVINO where it is installed, because it is the faster one on a CPU.

    Checkpoints run through `plucc.export.load_eager`, which knows the networks.
    """
    if path.suffix != ".onnx":
        raise InputError(f"{path} is not an exported model: run plucc export on it first, or give an .onnx file")
    return _LOADERS[_chosen(backend, device)](path, threads=threads, device=device)


def load_graph(path: Path, *, backend: Backend = "auto", threads: int | None = None, device: str = "cpu") -> Graph:
    """Load a model file of another kind than a puck model's, chosen alike; its card is the caller's to read."""
    return _GRAPHS[_chosen(backend, device)](path, threads=threads, device=device)


def _chosen(backend: Backend, device: str) -> str:
    if backend != "auto":
        return backend
    return "openvino" if device == "cpu" and find_spec("openvino") else "onnx"
