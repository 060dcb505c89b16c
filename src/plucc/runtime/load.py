"""From a model file to whatever runs it best here."""

from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeAlias

from plucc.runtime.base import Graph, Runtime
from plucc.runtime.card import ModelCard
from plucc.runtime.onnx import OnnxGraph, OnnxRuntime, read_card
from plucc.runtime.openvino import OpenVinoGraph, OpenVinoRuntime
from plucc.types import InputError

Backend: TypeAlias = Literal["auto", "onnx", "openvino"]

_LOADERS: dict[str, type[OnnxRuntime] | type[OpenVinoRuntime]] = {"onnx": OnnxRuntime, "openvino": OpenVinoRuntime}
_GRAPHS: dict[str, type[OnnxGraph] | type[OpenVinoGraph]] = {"onnx": OnnxGraph, "openvino": OpenVinoGraph}


def load_runtime(
    path: Path, *, backend: Backend = "auto", threads: int | None = None, at_once: int = 1, device: str = "cpu"
) -> Runtime:
    """Load an exported model; `auto` takes OpenVINO where it is installed, because it is the faster one on a CPU.

    `threads` are shared by up to `at_once` calls at the same time: one at a time answers soonest, as many as there are
    threads get most done. Checkpoints run through `plucc.export.load_eager`, which knows the networks.
    """
    _check_exported(path)
    return _LOADERS[_chosen(backend, device)](path, threads=threads, at_once=at_once, device=device)


def read_model_card(path: Path) -> ModelCard:
    """Return what an exported model says of itself, refusing what `load_runtime` would; quick."""
    _check_exported(path)
    return read_card(path)


def load_graph(
    path: Path, *, backend: Backend = "auto", threads: int | None = None, at_once: int = 1, device: str = "cpu"
) -> Graph:
    """Load a model file of another kind than a puck model's, chosen alike; its card is the caller's to read."""
    return _GRAPHS[_chosen(backend, device)](path, threads=threads, at_once=at_once, device=device)


def _check_exported(path: Path) -> None:
    if path.suffix != ".onnx":
        raise InputError(f"{path} is not an exported model: run plucc export on it first, or give an .onnx file")


def _chosen(backend: Backend, device: str) -> str:
    if backend != "auto":
        return backend
    return "openvino" if device == "cpu" and find_spec("openvino") else "onnx"
