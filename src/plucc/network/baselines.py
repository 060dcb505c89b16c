"""The paper's baselines behind the same interface as PLUCC: an FCN on the frame, and the same FCN on the context."""

from torch import Tensor, nn

from plucc.network.decoder import GatedDecoder
from plucc.network.heads import Head, Output
from plucc.network.images import check_context, check_frame


class FrameOnly(nn.Module):
    """FCN: pyramid, decoder and logits of the frame alone; a context image is accepted and not looked at."""

    def __init__(self, encoder: nn.Module, detail_encoder: nn.Module | None, decoder: GatedDecoder, head: Head) -> None:
        super().__init__()
        self.frame_encoder = encoder
        self.detail_encoder = detail_encoder
        self.decoder = decoder
        self.head = head

    def forward(self, frame: Tensor, context: Tensor | None = None) -> Output:  # noqa: ARG002
        check_frame(frame)
        details = () if self.detail_encoder is None else self.detail_encoder(frame)
        output: Output = self.head(self.decoder(self.frame_encoder(frame), details=details), frame)
        return output


class ContextOnly(nn.Module):
    """The same FCN fed context images: the players alone must tell. Of the frame only its size is used."""

    def __init__(self, encoder: nn.Module, decoder: GatedDecoder, head: Head) -> None:
        super().__init__()
        self.context_encoder = encoder
        self.decoder = decoder
        self.head = head

    def forward(self, frame: Tensor, context: Tensor | None = None) -> Output:
        check_frame(frame)
        context = check_context(context, frame)
        output: Output = self.head(self.decoder(self.context_encoder(context)), frame)
        return output
