"""PLUCC: a frame and its context image in, a heatmap of the puck out."""

from typing import TypeAlias

from torch import Tensor, nn

from plucc.config import CONTEXT_STRIDE, NetworkSpec
from plucc.network.baselines import ContextOnly, FrameOnly
from plucc.network.decoder import GatedDecoder
from plucc.network.encoders import PyramidEncoder, build_encoder
from plucc.network.heads import Head, Output
from plucc.network.images import check_context, check_frame
from plucc.types import ConfigError


class Plucc(nn.Module):
    """{f} = Pyramid(I_RGB), {c} = Context(C_RGB), F̃ = Decoder({f}, {c}), Z = Up(Conv₁ₓ₁(F̃)).

    With a detail encoder F̃ = Decoder({f}, {c}, {d}), {d} = Detail(I_RGB): the paper has none.

    Frame (b, 3, h, w) and context (b, 3, ⌈h/2⌉, ⌈w/2⌉) are normalised RGB. The logits are (b, 1, ⌈h/s⌉, ⌈w/s⌉), where s
    is the spec's `logit_stride`; with `presence`, the presence logits (b,) come second.
    """

    def __init__(
        self,
        frame_encoder: nn.Module,
        context_encoder: nn.Module,
        detail_encoder: nn.Module | None,
        decoder: GatedDecoder,
        head: Head,
    ) -> None:
        super().__init__()
        self.frame_encoder = frame_encoder
        self.context_encoder = context_encoder
        self.detail_encoder = detail_encoder
        self.decoder = decoder
        self.head = head

    def forward(self, frame: Tensor, context: Tensor | None = None) -> Output:
        check_frame(frame)
        context = check_context(context, frame)
        details = () if self.detail_encoder is None else self.detail_encoder(frame)
        fused = self.decoder(self.frame_encoder(frame), self.context_encoder(context), details)
        output: Output = self.head(fused, frame)
        return output


PuckNetwork: TypeAlias = Plucc | FrameOnly | ContextOnly


def build_plucc(spec: NetworkSpec, *, pretrained: bool = True) -> PuckNetwork:
    """Build the network of a spec: PLUCC, or a baseline where the spec leaves out the context or the frame.

    `pretrained=False` does not fetch the backbone weights that the spec asks for: a checkpoint is about to be loaded.
    """
    frame_encoder = None if spec.frame is None else build_encoder(spec.frame, pretrained=pretrained)
    context_encoder = None if spec.context is None else build_encoder(spec.context, pretrained=pretrained)
    detail_encoder = None if spec.detail is None else PyramidEncoder(spec.detail)
    if frame_encoder is not None and context_encoder is not None:
        decoder = GatedDecoder(spec, frame_encoder, context_encoder, detail_encoder)
        head = Head(spec, decoder, decoder.stride)
        return Plucc(frame_encoder, context_encoder, detail_encoder, decoder, head)
    if frame_encoder is not None:
        decoder = GatedDecoder(spec, frame_encoder, detail=detail_encoder)
        return FrameOnly(frame_encoder, detail_encoder, decoder, Head(spec, decoder, decoder.stride))
    if context_encoder is not None:
        decoder = GatedDecoder(spec, context_encoder)
        return ContextOnly(context_encoder, decoder, Head(spec, decoder, decoder.stride * CONTEXT_STRIDE))
    raise ConfigError("frame and context are both null: give at least one encoder")
