"""Finding the right runtime for a file, and refusing files that are no model."""

import sys
from pathlib import Path

import onnx
import pytest

from plucc.runtime.base import CGROUP_LIMIT, fitting_threads
from plucc.runtime.load import Backend, load_runtime
from plucc.runtime.onnx import OnnxRuntime, read_card
from plucc.runtime.openvino import OpenVinoRuntime
from plucc.runtime.torch import TorchRuntime
from plucc.types import InputError, MissingExtraError, ModelError

BACKENDS: list[Backend] = ["onnx", "openvino"]


def test_auto_prefers_openvino_where_it_is_installed(small_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openvino")
    assert isinstance(load_runtime(small_model), OpenVinoRuntime)
    monkeypatch.setattr("plucc.runtime.load.find_spec", lambda name: None)
    assert isinstance(load_runtime(small_model), OnnxRuntime)


@pytest.mark.parametrize("backend", BACKENDS)
def test_file_without_a_card_is_refused(small_model: Path, tmp_path: Path, backend: Backend) -> None:
    model = onnx.load(small_model)
    del model.metadata_props[:]
    onnx.save(model, tmp_path / "bare.onnx")
    with pytest.raises(ModelError, match=r"bare.onnx does not say what it is \(plucc.kind is missing"):
        load_runtime(tmp_path / "bare.onnx", backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_foreign_and_missing_files_are_refused(tmp_path: Path, backend: Backend) -> None:
    words = tmp_path / "words.onnx"
    words.write_text("not a model")
    with pytest.raises(ModelError, match=r"words.onnx is not an ONNX model: give a file"):
        load_runtime(words, backend=backend)
    with pytest.raises(ModelError, match=r"none.onnx does not exist"):
        load_runtime(tmp_path / "none.onnx", backend=backend)


def test_checkpoint_is_sent_to_export(small_checkpoint: Path) -> None:
    with pytest.raises(InputError, match="is not an exported model: run plucc export on it first"):
        load_runtime(small_checkpoint)


@pytest.mark.parametrize(("backend", "device"), [("onnx", "abacus"), ("openvino", "abacus")])
def test_unknown_device_is_refused(small_model: Path, backend: Backend, device: str) -> None:
    pytest.importorskip("openvino")
    with pytest.raises(InputError, match="has no device abacus here"):
        load_runtime(small_model, backend=backend, device=device)


def test_missing_openvino_names_the_extra(small_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(MissingExtraError, match=r"openvino is missing: pip install 'plucc\[openvino\]'"):
        load_runtime(small_model, backend="openvino")


def test_missing_torch_names_the_extra(small_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"torch is missing: pip install 'plucc\[train\]'"):
        TorchRuntime(lambda: None, read_card(small_model))


@pytest.mark.parametrize(("quota", "expected"), [("max 100000", 8), ("250000 100000", 2), ("50000 100000", 1)])
def test_threads_fit_cores_and_quota(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str, expected: int
) -> None:
    limit = tmp_path / CGROUP_LIMIT.name
    limit.write_text(quota + "\n")
    monkeypatch.setattr("plucc.runtime.base.CGROUP_LIMIT", limit)
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(8)), raising=False)
    assert fitting_threads() == expected
