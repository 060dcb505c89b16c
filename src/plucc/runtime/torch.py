"""Models in torch itself (extra `train`): a checkpoint as it is, on any device that torch knows."""

from collections.abc import Callable
from typing import Any

from plucc.runtime.base import Heatmaps, fitting_threads, named_inputs, to_heatmaps
from plucc.runtime.card import ModelCard
from plucc.types import FloatArray, ImageArray, InputError, require


class TorchRuntime:
    """A torch module that takes pictures as they are: 8-bit RGB in, logits (and presence) out.

    Whoever knows the network hands it in; `plucc.export.load_eager` does so for a checkpoint. `threads` holds for the
    whole process, because torch has no other way.
    """

    def __init__(
        self, network: Callable[..., Any], card: ModelCard, *, threads: int | None = None, device: str = "cpu"
    ) -> None:
        self._torch = require("torch", "train")
        self.card = card
        self.device = device
        if device == "cpu":
            self._torch.set_num_threads(threads or fitting_threads())
        try:
            self._network = network.to(device, memory_format=self._torch.channels_last).eval()  # type: ignore[attr-defined]
        except (RuntimeError, AssertionError) as error:  # torch asserts where it was built without CUDA
            raise InputError(
                f"torch has no device {device} here: use cpu, cuda or mps as the machine has it"
            ) from error

    def __call__(self, frames: ImageArray, contexts: ImageArray | None = None) -> Heatmaps:
        inputs = named_inputs(self.card, frames, contexts)
        with self._torch.inference_mode():
            output = self._network(*(self._torch.from_numpy(value).to(self.device) for value in inputs.values()))
        parts = output if isinstance(output, tuple) else (output,)
        arrays: list[FloatArray] = [part.float().cpu().numpy() for part in parts]
        return to_heatmaps(self.card, arrays, frames)
