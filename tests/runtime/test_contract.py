"""One contract for every runtime."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from plucc.network.checkpoint import load_checkpoint
from plucc.runtime import openvino
from plucc.runtime.base import Runtime
from plucc.runtime.load import Backend, load_runtime
from plucc.types import ImageArray, ShapeError


def pictures(batch: int, height: int, width: int) -> tuple[ImageArray, ImageArray]:
    rng = np.random.default_rng(height)
    frames = rng.integers(0, 256, (batch, height, width, 3), np.uint8)
    return frames, rng.integers(0, 256, (batch, -(-height // 2), -(-width // 2), 3), np.uint8)


def reference(checkpoint: Path, frames: ImageArray, contexts: ImageArray) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what training would have seen: whole cells of 16 px, unfolded gates, normalisation written out."""
    loaded = load_checkpoint(checkpoint)
    mean, std = (torch.tensor(value).view(1, 3, 1, 1) for value in (loaded.spec.mean, loaded.spec.std))
    whole = [-(-side // 16) * 16 for side in frames.shape[1:3]]
    filled = np.empty((len(frames), *whole, 3), np.uint8)
    filled[:] = [round(255 * value) for value in loaded.spec.mean]
    filled[:, : frames.shape[1], : frames.shape[2]] = frames
    players = np.zeros((len(frames), whole[0] // 2, whole[1] // 2, 3), np.uint8)
    players[:, : contexts.shape[1], : contexts.shape[2]] = contexts
    inputs = ((torch.from_numpy(value).permute(0, 3, 1, 2) / 255 - mean) / std for value in (filled, players))
    with torch.inference_mode():
        logits, presence = loaded.network(*inputs)
    return logits[:, :, : -(-frames.shape[1] // 2), : -(-frames.shape[2] // 2)], presence


@pytest.mark.parametrize("shape", [(1, 64, 64), (1, 361, 643), (3, 96, 160), (1, 722, 1282)])
def test_agrees_with_the_network(runtime: Runtime, small_checkpoint: Path, shape: tuple[int, int, int]) -> None:
    frames, contexts = pictures(*shape)
    maps = runtime(frames, contexts)
    logits, presence = reference(small_checkpoint, frames, contexts)
    assert maps.logits.dtype == np.float32
    assert maps.presence_logits is not None
    np.testing.assert_allclose(maps.logits, logits[:, 0], atol=1e-3)
    np.testing.assert_allclose(maps.presence_logits, presence, atol=1e-3)
    assert (maps.logits.reshape(len(frames), -1).argmax(1) == logits.flatten(1).argmax(1).numpy()).all()


def test_says_what_it_runs(runtime: Runtime) -> None:
    assert runtime.device == "cpu"
    assert runtime.card.spec.logit_stride == 2
    assert runtime.card.uses_context
    frames, contexts = pictures(1, 65, 99)
    maps = runtime(frames, contexts)
    assert (maps.stride_px, maps.logits.shape) == (2, (1, 33, 50))


def test_answers_are_the_callers_own(runtime: Runtime) -> None:
    """A second call must not overwrite what the first one gave."""
    first, second = pictures(1, 64, 96), pictures(1, 64, 96)
    second[0][:] = 0
    kept = runtime(*first).logits
    before = kept.copy()
    runtime(*second)
    np.testing.assert_array_equal(kept, before)


def test_pictures_may_be_views(runtime: Runtime) -> None:
    frames, contexts = pictures(1, 64, 96)
    np.testing.assert_array_equal(
        runtime(frames[:, :, ::-1], contexts[..., ::-1]).logits,
        runtime(frames[:, :, ::-1].copy(), contexts[..., ::-1].copy()).logits,
    )


@pytest.mark.parametrize(
    ("frame", "context", "words"),
    [
        ((1, 64, 96, 4), (1, 32, 48, 3), "frames have shape (1, 64, 96, 4) and type uint8: expected 8-bit RGB as"),
        ((64, 96, 3), (1, 32, 48, 3), "frames have shape (64, 96, 3)"),
        ((0, 64, 96, 3), (0, 32, 48, 3), "frames have shape (0, 64, 96, 3)"),
        ((1, 63, 96, 3), (1, 32, 48, 3), "frame is 63x96; both sides must be at least 64 px"),
        ((1, 64, 96, 3), (1, 64, 96, 3), "expected (1, 32, 48, 3)"),
        ((2, 64, 96, 3), (1, 32, 48, 3), "expected (2, 32, 48, 3)"),
        ((1, 64, 96, 3), None, "reads context images and got none"),
    ],
)
def test_wrong_pictures_are_refused(
    runtime: Runtime, frame: tuple[int, ...], context: tuple[int, ...] | None, words: str
) -> None:
    with pytest.raises(ShapeError) as caught:
        runtime(np.zeros(frame, np.uint8), None if context is None else np.zeros(context, np.uint8))
    assert words in str(caught.value)


def test_numbers_that_are_not_bytes_are_refused(runtime: Runtime) -> None:
    with pytest.raises(ShapeError, match="type float32"):
        runtime(np.zeros((1, 64, 96, 3), np.float32), np.zeros((1, 32, 48, 3), np.uint8))  # type: ignore[arg-type]


def test_many_threads_may_call_it_at_once(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes change all the time, so that graphs for one size come and go while others are at work."""
    monkeypatch.setattr(openvino, "COMPILED_KEPT", 1)
    inputs = [pictures(1, 64 + 32 * (index % 2), 96) for index in range(2)]
    expected = [runtime(*each).logits for each in inputs]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda index: runtime(*inputs[index % 2]).logits, range(8)))
    for index, logits in enumerate(found):
        np.testing.assert_array_equal(logits, expected[index % 2])


@pytest.mark.parametrize("backend", ["onnx", "openvino"])
def test_calls_at_once_say_what_one_call_says(backend: Backend, small_model: Path) -> None:
    pytest.importorskip({"onnx": "onnxruntime"}.get(backend, backend))
    alone = load_runtime(small_model, backend=backend, threads=1)
    shared = load_runtime(small_model, backend=backend, threads=3, at_once=3)
    inputs = [pictures(1, 96, 128 + 32 * (index % 2)) for index in range(12)]
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda each: shared(*each), inputs))
    for one, each in zip(found, inputs, strict=True):
        np.testing.assert_array_equal(one.logits, alone(*each).logits)
        np.testing.assert_array_equal(one.presence_logits, alone(*each).presence_logits)


def test_what_was_answered_stays_as_it_was(runtime: Runtime) -> None:
    first, second = pictures(1, 64, 96), pictures(1, 64, 96)
    second[0][:] = 255 - second[0]
    kept = runtime(*first).logits
    copy = kept.copy()
    assert not np.array_equal(runtime(*second).logits, copy)
    np.testing.assert_array_equal(kept, copy)
