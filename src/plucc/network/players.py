"""The player-mask network: a small frame in, one logit a pixel out.

Whether a man in a jersey skates or sits in row 12 is told by what surrounds him, so most of the depth sits at strides
16 and 32, where a few layers see the whole picture and cost little. Outlines come from the fine, narrow levels.
"""

from dataclasses import dataclass
from itertools import pairwise

import torch.nn.functional as F
from torch import Tensor, nn

from plucc.network.blocks import ConvBlock, depthwise, initialise, residual_block
from plucc.types import Size

MEAN = 110.0  # of 8-bit broadcast pixels, near enough in all three channels
SPREAD = 58.0
CONTEXT_KERNEL = 5
INPUT_SIZE = Size(512, 288)


@dataclass(frozen=True, slots=True)
class PlayerNetSpec:
    """Widths and depths by level, finest (stride 2) first; every level halves the one before."""

    size: Size = INPUT_SIZE
    widths: tuple[int, ...] = (12, 24, 48, 96, 160)
    dense_blocks: tuple[int, ...] = (0, 0, 1, 0, 0)
    separable_blocks: tuple[int, ...] = (0, 0, 0, 3, 3)
    decoder_widths: tuple[int, ...] = (12, 24, 48, 64, 96)

    @property
    def stride(self) -> int:
        """Both sides of the input must be multiples of this."""
        return int(2 ** len(self.widths))


class ContextBlock(nn.Module):
    """x + branch(x): a wide kernel for each channel, then two 1×1 across channels."""

    def __init__(self, width: int) -> None:
        super().__init__()
        last = nn.Conv2d(2 * width, width, 1, bias=False)
        self.branch = nn.Sequential(
            depthwise(width, CONTEXT_KERNEL),
            nn.BatchNorm2d(width),
            ConvBlock(width, 2 * width, 1),
            last,
            nn.BatchNorm2d(width),
        )

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x + self.branch(x)
        return out


class Merge(nn.Module):
    """Bring a deeper map up to a finer one, add both, and mix: 3×3 for each channel, then 1×1 across."""

    def __init__(self, deeper: int, skip: int, width: int) -> None:
        super().__init__()
        self.from_deeper = nn.Sequential(nn.Conv2d(deeper, width, 1, bias=False), nn.BatchNorm2d(width))
        self.from_skip = nn.Sequential(nn.Conv2d(skip, width, 1, bias=False), nn.BatchNorm2d(width))
        self.mix = nn.Sequential(
            depthwise(width, 3), nn.BatchNorm2d(width), nn.ReLU(inplace=True), ConvBlock(width, width, 1)
        )

    def forward(self, deeper: Tensor, skip: Tensor) -> Tensor:
        skip = self.from_skip(skip)
        deeper = F.interpolate(self.from_deeper(deeper), size=skip.shape[-2:], mode="bilinear", align_corners=False)
        out: Tensor = self.mix(F.relu(deeper + skip))
        return out


class PlayerNet(nn.Module):
    """8-bit RGB frames (b, h, w, 3) to logits (b, h, w) that a player, goalkeeper or referee covers the pixel.

    The input is as a decoder hands it out, so the exported file needs no preparation but resizing. The finest features
    are at half the input's resolution; each of them predicts its own 2×2 pixels.
    """

    def __init__(self, spec: PlayerNetSpec) -> None:
        super().__init__()
        self.spec = spec
        inputs = (3, *spec.widths[:-1])
        levels = zip(inputs, spec.widths, spec.dense_blocks, spec.separable_blocks, strict=True)
        self.levels = nn.ModuleList(_level(*level) for level in levels)
        self.bottom = nn.Sequential(nn.Conv2d(spec.widths[-1], spec.decoder_widths[-1], 1), nn.ReLU(inplace=True))
        steps = zip(pairwise(spec.decoder_widths), spec.widths, strict=False)
        self.merges = nn.ModuleList(Merge(deeper, skip, width) for (width, deeper), skip in steps)
        self.head = nn.Sequential(nn.Conv2d(spec.decoder_widths[0], 4, 1), nn.PixelShuffle(2))
        initialise(self)

    def forward(self, frames: Tensor) -> Tensor:
        logits: Tensor = self.head(self.features(frames)).squeeze(1)
        return logits

    def cells(self, frames: Tensor) -> Tensor:
        """Return the same logits as (b, 4, h/2, w/2): the pixels of each cell of 2×2, row by row."""
        cells: Tensor = self.head[0](self.features(frames))
        return cells

    def features(self, frames: Tensor) -> Tensor:
        """Return what the decoder makes of the frames at half their resolution."""
        x: Tensor = (frames.permute(0, 3, 1, 2).float() - MEAN) / SPREAD
        features = []
        for level in self.levels:
            x = level(x)
            features.append(x)
        x = self.bottom(features.pop())
        for merge, skip in zip(reversed(self.merges), reversed(features), strict=True):
            x = merge(x, skip)
        return x


def _level(channels: int, width: int, dense: int, separable: int) -> nn.Sequential:
    blocks = [residual_block("basic", width, width, 1) for _ in range(dense)]
    return nn.Sequential(
        ConvBlock(channels, width, stride=2), *blocks, *(ContextBlock(width) for _ in range(separable))
    )
