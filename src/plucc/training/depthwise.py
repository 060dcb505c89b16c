"""Depthwise convolutions in full precision while the rest trains in bfloat16: there a CPU is slower at most of them.

One with a stride takes 4 to 12 times as long in bfloat16, one of 5×5 without a stride 2 to 3 times. They are a few
percent of a network's arithmetic, and a third of a step's time was lost to them.
"""

import torch
from torch import Tensor, nn


class FullPrecisionConv2d(nn.Conv2d):
    """A convolution that does not follow autocast; its parameters, names and answers are those of any other."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 (the name of the layer that it stands for)
        with torch.autocast(input.device.type, enabled=False):
            return super().forward(input.float())


def keep_depthwise_full(network: nn.Module) -> None:
    """Take a network's depthwise convolutions out of autocast."""
    for part in network.modules():
        if type(part) is nn.Conv2d and part.groups == part.in_channels > 1:
            part.__class__ = FullPrecisionConv2d
