"""Blocks of convolutions that encoders and decoder are made of: (b, c, h, w) to (b, width, ⌈h/s⌉, ⌈w/s⌉)."""

from typing import Literal

from torch import Tensor, nn
from torch.nn.functional import conv2d

BOTTLENECK_EXPANSION = 4
INVERTED_EXPANSION = 4
_NARROW = 16  # channels
BlockKind = Literal["basic", "bottleneck", "inverted", "convnext"]


class ConvBlock(nn.Sequential):
    """Convolution, batch normalisation, ReLU: the paper's ConvBlock when the kernel is 3×3."""

    def __init__(self, channels: int, width: int, kernel: int = 3, stride: int = 1) -> None:
        conv = nn.Conv2d(channels, width, kernel, stride, kernel // 2, bias=False)
        super().__init__(conv, nn.BatchNorm2d(width), nn.ReLU(inplace=True))


class ReducedBlock(nn.Sequential):
    """A 1×1 down to the width, then a ConvBlock there: what a wide concatenation holds, at a fraction of the cost."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__(ConvBlock(channels, width, 1), ConvBlock(width, width))


class SeparableBlock(nn.Sequential):
    """A ConvBlock in two cheap steps: a 3×3 for each channel, then a 1×1 across channels."""

    def __init__(self, channels: int, width: int) -> None:
        across = nn.Conv2d(channels, width, 1, bias=False)
        super().__init__(
            depthwise(channels, 3), nn.BatchNorm2d(channels), across, nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        )


class ResidualBlock(nn.Module):
    """ReLU(shortcut(x) + branch(x)); the shortcut is a strided 1×1 where the shape changes."""

    def __init__(self, branch: nn.Module, channels: int, width: int, stride: int, *, activate: bool = True) -> None:
        super().__init__()
        self.branch = branch
        self.shortcut = nn.Identity() if channels == width and stride == 1 else _projection(channels, width, stride)
        self.activate = activate

    def forward(self, x: Tensor) -> Tensor:
        total: Tensor = self.shortcut(x) + self.branch(x)
        return total.relu() if self.activate else total


class StridedPointwise(nn.Conv2d):
    """A strided 1×1 convolution that first drops the pixels which it skips: the same weights, the same answers.

    With channels last and fewer than 16 input channels, torch 2.15's own writes past its memory in the backward pass
    on CPUs with AVX-512.
    """

    def forward(self, features: Tensor) -> Tensor:
        down, across = self.stride
        return conv2d(features[..., ::down, ::across], self.weight, self.bias)


def residual_block(kind: BlockKind, channels: int, width: int, stride: int) -> ResidualBlock:
    """Build one block of a stage; `width` is what comes out, whatever the block does inside."""
    branch = _BRANCHES[kind](channels, width, stride)
    return ResidualBlock(branch, channels, width, stride, activate=kind in ("basic", "bottleneck"))


def depthwise(channels: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    """Build a convolution of each channel by itself."""
    return nn.Conv2d(channels, channels, kernel, stride, kernel // 2, groups=channels, bias=False)


def initialise(module: nn.Module) -> None:
    """Draw convolution weights so that activations keep their variance through ReLU layers (He initialisation)."""
    for part in module.modules():
        if isinstance(part, nn.Conv2d):
            nn.init.kaiming_normal_(part.weight, mode="fan_out", nonlinearity="relu")
            if part.bias is not None:
                nn.init.zeros_(part.bias)


def _basic(channels: int, width: int, stride: int) -> nn.Module:
    second = nn.Conv2d(width, width, 3, padding=1, bias=False)
    return nn.Sequential(ConvBlock(channels, width, stride=stride), second, nn.BatchNorm2d(width))


def _bottleneck(channels: int, width: int, stride: int) -> nn.Module:
    inner = width // BOTTLENECK_EXPANSION
    last = nn.Conv2d(inner, width, 1, bias=False)
    return nn.Sequential(
        ConvBlock(channels, inner, 1), ConvBlock(inner, inner, stride=stride), last, nn.BatchNorm2d(width)
    )


def _inverted(channels: int, width: int, stride: int) -> nn.Module:
    inner = INVERTED_EXPANSION * channels
    middle = (depthwise(inner, 3, stride), nn.BatchNorm2d(inner), nn.ReLU(inplace=True))
    last = nn.Conv2d(inner, width, 1, bias=False)
    return nn.Sequential(ConvBlock(channels, inner, 1), *middle, last, nn.BatchNorm2d(width))


def _convnext(channels: int, width: int, stride: int) -> nn.Module:
    """Large depthwise kernel, then an inverted bottleneck; batch, not layer normalisation, because it folds away."""
    inner = INVERTED_EXPANSION * channels
    last = nn.Conv2d(inner, width, 1, bias=False)
    return nn.Sequential(
        depthwise(channels, 7, stride),
        nn.BatchNorm2d(channels),
        ConvBlock(channels, inner, 1),
        last,
        nn.BatchNorm2d(width),
    )


def _projection(channels: int, width: int, stride: int) -> nn.Module:
    kind = StridedPointwise if channels < _NARROW and stride > 1 else nn.Conv2d
    return nn.Sequential(kind(channels, width, 1, stride, bias=False), nn.BatchNorm2d(width))


_BRANCHES = {"basic": _basic, "bottleneck": _bottleneck, "inverted": _inverted, "convnext": _convnext}
