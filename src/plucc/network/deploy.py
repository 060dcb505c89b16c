"""A network as it is used rather than trained: pictures in, gates folded away."""

import torch
from torch import Tensor, nn

from plucc.config import NetworkSpec
from plucc.network.gate import fold_gates
from plucc.network.heads import Output
from plucc.network.plucc import PuckNetwork

BYTE = 255.0


class Deployable(nn.Module):
    """Takes 8-bit RGB pictures (b, h, w, 3), normalises them as in training, and runs the network to evaluate."""

    scale: Tensor
    shift: Tensor

    def __init__(self, network: PuckNetwork, spec: NetworkSpec) -> None:
        super().__init__()
        self.network = fold_gates(network).eval()
        mean, std = torch.tensor(spec.mean), torch.tensor(spec.std)
        self.register_buffer("scale", (1 / (BYTE * std)).view(1, 3, 1, 1))
        self.register_buffer("shift", (-mean / std).view(1, 3, 1, 1))

    def forward(self, frames: Tensor, contexts: Tensor | None = None) -> Output:
        context = None if contexts is None else self._normalised(contexts)
        output: Output = self.network(self._normalised(frames), context)
        return output

    def _normalised(self, pictures: Tensor) -> Tensor:
        return pictures.permute(0, 3, 1, 2).float() * self.scale + self.shift
