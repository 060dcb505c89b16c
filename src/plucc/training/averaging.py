"""A slow copy of the network that follows the trained one: the exponential moving average of its weights."""

from copy import deepcopy
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

NetworkT = TypeVar("NetworkT", bound=nn.Module)


class WeightAverage(Generic[NetworkT]):
    """Holds the averaged network, in evaluation mode.

    The decay grows with the number of updates up to its final value, so that the first random weights are forgotten
    early in a short run: min(decay, (1 + n) / (10 + n)). Batch-norm statistics are averaged alike; counters are copied.
    """

    def __init__(self, network: NetworkT, decay: float) -> None:
        self.network: NetworkT = deepcopy(network).eval().requires_grad_(False)
        self._decay = decay
        self._updates = 0

    @torch.no_grad()
    def update(self, network: nn.Module) -> None:
        self._updates += 1
        decay = min(self._decay, (1 + self._updates) / (10 + self._updates))
        slow, fast = _floats(self.network), _floats(network)
        torch._foreach_lerp_(slow, fast, 1 - decay)
        for ours, theirs in zip(_counters(self.network), _counters(network), strict=True):
            ours.copy_(theirs)

    def state_dict(self) -> dict[str, object]:
        return {"updates": self._updates, "weights": self.network.state_dict()}

    def load_state_dict(self, state: dict[str, object]) -> None:
        updates, weights = state["updates"], state["weights"]
        if not isinstance(updates, int) or not isinstance(weights, dict):
            raise TypeError("the averaged weights of this checkpoint are damaged")
        self._updates = updates
        self.network.load_state_dict(weights)


def _floats(network: nn.Module) -> list[Tensor]:
    return [value for value in network.state_dict().values() if value.is_floating_point()]


def _counters(network: nn.Module) -> list[Tensor]:
    return [value for value in network.state_dict().values() if not value.is_floating_point()]
