"""The gated decoder: from the deepest feature back up, fusing frame and context features stage by stage."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from plucc.config import CONTEXT_STRIDE, NetworkSpec
from plucc.network.blocks import ConvBlock, ReducedBlock, SeparableBlock, initialise
from plucc.network.encoders import FeatureEncoder, SpaceToDepth
from plucc.network.gate import build_gate
from plucc.types import ConfigError

FOLD = 2  # cells a side: neighbouring features of a pyramid differ by this in stride

_BLOCKS = {"conv": ConvBlock, "reduced": ReducedBlock, "separable": SeparableBlock}


class FusionStage(nn.Module):
    """F̃ = ConvBlock(GateBlock(Up(F̃_prev) ⊕ f ⊕ c)); without a context feature the gate is the identity.

    A feature of a detail encoder, which the paper does not have, joins behind the gate.
    """

    def __init__(self, gate: nn.Module, conv: nn.Module) -> None:
        super().__init__()
        self.gate = gate
        self.conv = conv

    def forward(self, deeper: Tensor | None, skip: Tensor, cue: Tensor | None, detail: Tensor | None) -> Tensor:
        streams = [skip] if deeper is None else [upsample_to(deeper, skip), skip]
        if cue is not None:
            streams.append(match_size(cue, skip))
        gated = self.gate(torch.cat(streams, dim=1))
        fused: Tensor = self.conv(gated if detail is None else torch.cat([gated, detail], dim=1))
        return fused


class GatedDecoder(nn.Module):
    """One fusion stage for each of the deepest features, as many as there are decoder widths.

    Features of `context` join where their stride, in pixels of the frame, is among the fused ones. With `fold_finer`
    the last stage also reads the frame feature of twice its resolution, four neighbours as channels side by side: its
    detail for the price of a 1×1 convolution. Features of `detail`, an encoder of the frame for small things alone,
    join where a decoded feature has their stride. `stride` and `channels` describe the last fused feature,
    `deepest_channels` the first.
    """

    def __init__(
        self,
        spec: NetworkSpec,
        encoder: FeatureEncoder,
        context: FeatureEncoder | None = None,
        detail: FeatureEncoder | None = None,
    ) -> None:
        super().__init__()
        widths, count = spec.decoder_widths, len(spec.decoder_widths)
        if count > len(encoder.strides):
            raise ConfigError(f"decoder_widths has {count} entries for {len(encoder.strides)} features: leave some out")
        if spec.fold_finer and count == len(encoder.strides):
            raise ConfigError("fold_finer needs a frame feature finer than those decoded: shorten decoder_widths")
        self.fold = SpaceToDepth(FOLD) if spec.fold_finer else None
        self.cue_indices = (None,) * count if context is None else _cue_indices(spec, encoder, context)
        self.detail_indices = (None,) * count if detail is None else _detail_indices(encoder.strides[-count:], detail)
        skips = list(encoder.channels[-count:])
        if spec.fold_finer:
            skips[0] += encoder.channels[-count - 1] * FOLD**2
        stages, deeper = [], 0
        joining = zip(widths, reversed(skips), self.cue_indices, self.detail_indices, strict=True)
        for width, skip, cue, fine in joining:
            channels = deeper + skip + _channels(context, cue)
            gate = nn.Identity() if cue is None else build_gate(spec.gate, channels)
            stages.append(FusionStage(gate, _BLOCKS[spec.decoder_block](channels + _channels(detail, fine), width)))
            deeper = width
        self.stages = nn.ModuleList(stages)
        self.stride = encoder.strides[-count]
        self.channels, self.deepest_channels = widths[-1], widths[0]
        initialise(self)

    def forward(
        self, features: Sequence[Tensor], cues: Sequence[Tensor] = (), details: Sequence[Tensor] = ()
    ) -> list[Tensor]:
        """Return the fused features, deepest first."""
        skips = list(features[-len(self.stages) :])
        if self.fold is not None:
            skips[0] = torch.cat([skips[0], self.fold(features[-len(self.stages) - 1])], dim=1)
        fused: list[Tensor] = []
        joining = zip(self.stages, reversed(skips), self.cue_indices, self.detail_indices, strict=True)
        for stage, skip, cue, fine in joining:
            fused.append(stage(fused[-1] if fused else None, skip, _at(cues, cue), _at(details, fine)))
        return fused


def upsample_to(deeper: Tensor, skip: Tensor) -> Tensor:
    """Scale a feature bilinearly to the exact size of another: 720 lines are not divisible by 32."""
    return interpolate(deeper, size=skip.shape[-2:], mode="bilinear", align_corners=False)


def match_size(cue: Tensor, skip: Tensor) -> Tensor:
    """Bring a context feature to the frame feature's size; they differ by a line where half an odd side was cut.

    A graph for any frame size cannot know, so there the scaling always stays in; runtimes skip it when nothing changes.
    """
    if not torch.compiler.is_exporting() and cue.shape[-2:] == skip.shape[-2:]:
        return cue
    return upsample_to(cue, skip)


def _cue_indices(spec: NetworkSpec, encoder: FeatureEncoder, context: FeatureEncoder) -> tuple[int | None, ...]:
    """Return for each decoder stage, deepest first, which context feature joins there."""
    by_stride = {stride * CONTEXT_STRIDE: index for index, stride in enumerate(context.strides)}
    decoded = encoder.strides[-len(spec.decoder_widths) :]
    for stride in spec.fused_strides:
        if stride not in by_stride or stride not in decoded:
            raise ConfigError(
                f"fused_strides has {stride}, but context features lie at {sorted(by_stride)} and frame features at "
                f"{list(decoded)}: name strides that both have"
            )
    return tuple(by_stride[stride] if stride in spec.fused_strides else None for stride in reversed(decoded))


def _detail_indices(decoded: tuple[int, ...], detail: FeatureEncoder) -> tuple[int | None, ...]:
    """Return for each decoder stage, deepest first, which detail feature joins there."""
    if detail.strides[-1] not in decoded:
        raise ConfigError(f"detail ends at stride {detail.strides[-1]}, the decoder has {list(decoded)}: end at one")
    by_stride = {stride: index for index, stride in enumerate(detail.strides)}
    return tuple(by_stride.get(stride) for stride in reversed(decoded))


def _channels(encoder: FeatureEncoder | None, index: int | None) -> int:
    return 0 if encoder is None or index is None else encoder.channels[index]


def _at(features: Sequence[Tensor], index: int | None) -> Tensor | None:
    return None if index is None else features[index]
