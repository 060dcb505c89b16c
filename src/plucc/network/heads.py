"""What a network says: a logit for each place, and whether there is a puck to be seen at all."""

from collections.abc import Sequence
from typing import TypeAlias

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate, pixel_shuffle

from plucc.config import NetworkSpec
from plucc.network.decoder import GatedDecoder
from plucc.types import ConfigError

Output: TypeAlias = Tensor | tuple[Tensor, Tensor]

PRESENCE_HIDDEN = 64
NOWHERE_LOGIT = 10.0  # about the logarithm of the number of cells: at the start neither side has an edge


class LogitHead(nn.Module):
    """Z = Up(Conv₁ₓ₁(F̃)): the 1×1 commutes with bilinear upsampling and is 64 times cheaper before it.

    `stride` is that of F̃ in frame pixels. There is no bias: the spatial softmax does not see one.
    """

    def __init__(self, spec: NetworkSpec, channels: int, stride: int) -> None:
        super().__init__()
        if stride % spec.logit_stride:
            raise ConfigError(f"logit_stride {spec.logit_stride} does not divide the decoder's last stride {stride}")
        self.logit_stride = spec.logit_stride
        self.factor = stride // spec.logit_stride
        self.shuffle = spec.logit_upsampling == "shuffle"
        self.project = nn.Conv2d(channels, self.factor**2 if self.shuffle else 1, 1, bias=False)

    def forward(self, feature: Tensor, frame: Tensor) -> Tensor:
        logits: Tensor = self.project(feature)
        if self.factor == 1:
            return logits
        height, width = ((side + self.logit_stride - 1) // self.logit_stride for side in frame.shape[-2:])
        if self.shuffle:
            return pixel_shuffle(logits, self.factor)[..., :height, :width]
        return interpolate(logits, size=(height, width), mode="bilinear", align_corners=False)


class PresenceHead(nn.Module):
    """One logit: is a puck to be seen? A puck anywhere is enough, so features are pooled by their maximum.

    How high the heatmap's peak stands over its map, and the whole map over "nowhere" (a fixed logit that training may
    hold it against), are told as facts (no gradient), so that this term cannot bend the heatmap.
    """

    def __init__(self, decoder: GatedDecoder) -> None:
        super().__init__()
        evidence = decoder.channels + decoder.deepest_channels + 2
        self.judge = nn.Sequential(
            nn.Linear(evidence, PRESENCE_HIDDEN), nn.ReLU(inplace=True), nn.Linear(PRESENCE_HIDDEN, 1)
        )

    def forward(self, fused: Sequence[Tensor], logits: Tensor) -> Tensor:
        flat = logits.detach().flatten(1)
        mass = flat.logsumexp(dim=1, keepdim=True)
        facts = [flat.amax(dim=1, keepdim=True) - mass, mass - NOWHERE_LOGIT]
        pooled = [feature.amax(dim=(2, 3)) for feature in (fused[-1], fused[0])]
        presence: Tensor = self.judge(torch.cat([*pooled, *facts], dim=1)).squeeze(1)
        return presence


class Head(nn.Module):
    """Logits of shape (b, 1, h, w), with the presence logits (b,) where the spec has them."""

    def __init__(self, spec: NetworkSpec, decoder: GatedDecoder, stride: int) -> None:
        super().__init__()
        self.logits = LogitHead(spec, decoder.channels, stride)
        self.presence = PresenceHead(decoder) if spec.presence else None

    def forward(self, fused: Sequence[Tensor], frame: Tensor) -> Output:
        logits = self.logits(fused[-1], frame)
        return logits if self.presence is None else (logits, self.presence(fused, logits))
