"""One small model on every runtime."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from plucc.export import load_eager
from plucc.runtime.base import Runtime
from plucc.runtime.load import load_runtime


@pytest.fixture(params=["onnx", "openvino", "torch"])
def runtime(request: pytest.FixtureRequest, small_checkpoint: Path, small_model: Path) -> Iterator[Runtime]:
    threads = torch.get_num_threads()
    if request.param == "torch":
        yield load_eager(small_checkpoint, threads=1)
    else:
        pytest.importorskip({"onnx": "onnxruntime"}.get(request.param, request.param))
        yield load_runtime(small_model, backend=request.param, threads=1)
    torch.set_num_threads(threads)
