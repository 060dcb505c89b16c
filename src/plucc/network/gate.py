"""GateBlock: how much each channel of frame and context counts where they are fused."""

from copy import deepcopy
from typing import Literal, TypeVar

import torch
from torch import Tensor, nn

GateKind = Literal["static", "squeeze-excitation", "channel-attention", "none"]
NetworkT = TypeVar("NetworkT", bound=nn.Module)

REDUCTION = 16
MIN_HIDDEN = 8


class GateBlock(nn.Module):
    """F̂ = F ⊙ σ(γ): static weights for each channel, learned, the same for every input; all one half at the start."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.zeros(1, channels, 1, 1))

    def forward(self, features: Tensor) -> Tensor:
        return features * torch.sigmoid(self.gamma)

    def fold_into(self, conv: nn.Conv2d) -> None:
        """Scale the input channels of the convolution that follows, in place; the gate is then the identity."""
        self._scale_inputs(conv, torch.sigmoid(self.gamma))

    def unfold_from(self, conv: nn.Conv2d) -> None:
        """Take this gate out of a convolution that it was folded into, in place."""
        self._scale_inputs(conv, 1 / torch.sigmoid(self.gamma))

    @staticmethod
    def _scale_inputs(conv: nn.Conv2d, per_channel: Tensor) -> None:
        """Scale what the gate weighs: the first channels; a detail feature that joins behind the gate comes last."""
        weight = conv.weight if conv.groups > 1 else conv.weight.transpose(0, 1)  # input channels first
        with torch.no_grad():
            weight[: per_channel.numel()].mul_(per_channel.view(-1, 1, 1, 1))


class SqueezeExcitation(nn.Module):
    """F̂ = F ⊙ σ(W₂ ReLU(W₁ mean(F))): weights for each channel that depend on the whole picture."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.excite = _excitation(channels)

    def forward(self, features: Tensor) -> Tensor:
        return features * torch.sigmoid(self.excite(features.mean(dim=(2, 3), keepdim=True)))


class ChannelAttention(nn.Module):
    """Squeeze-and-excitation that looks at the strongest response too: one small player may be all the evidence."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.excite = _excitation(channels)

    def forward(self, features: Tensor) -> Tensor:
        average = self.excite(features.mean(dim=(2, 3), keepdim=True))
        strongest = self.excite(features.amax(dim=(2, 3), keepdim=True))
        return features * torch.sigmoid(average + strongest)


def build_gate(kind: GateKind, channels: int) -> nn.Module:
    """Build what weighs the channels of a fused feature."""
    return _GATES[kind](channels)


def fold_gates(network: NetworkT) -> NetworkT:
    """Return a copy whose static gates are part of the convolutions that follow them; its output is the same."""
    folded = deepcopy(network)
    for module in list(folded.modules()):
        gate = getattr(module, "gate", None)
        if isinstance(gate, GateBlock):
            gate.fold_into(_first_convolution(module))
            module.gate = nn.Identity()
    return folded


def unfold_gates(network: nn.Module) -> None:
    """Take every static gate, as it now stands, out of the convolution after it, in place: the reverse of folding."""
    for module in network.modules():
        gate = getattr(module, "gate", None)
        if isinstance(gate, GateBlock):
            gate.unfold_from(_first_convolution(module))


def _first_convolution(stage: nn.Module) -> nn.Conv2d:
    return next(module for module in stage.modules() if isinstance(module, nn.Conv2d))


def _excitation(channels: int) -> nn.Sequential:
    hidden = max(channels // REDUCTION, MIN_HIDDEN)
    return nn.Sequential(nn.Conv2d(channels, hidden, 1), nn.ReLU(inplace=True), nn.Conv2d(hidden, channels, 1))


def _no_gate(channels: int) -> nn.Module:  # noqa: ARG001
    return nn.Identity()


_GATES = {
    "static": GateBlock,
    "squeeze-excitation": SqueezeExcitation,
    "channel-attention": ChannelAttention,
    "none": _no_gate,
}
