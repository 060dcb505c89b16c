"""Encoders: an image in, a pyramid of features out, finest first."""

from typing import Protocol

from torch import Tensor, nn
from torch.nn.functional import pad, pixel_unshuffle

from plucc.config import EncoderSpec, PyramidEncoderSpec, StemSpec, TimmEncoderSpec
from plucc.network.blocks import ConvBlock, initialise, residual_block
from plucc.network.pretrained import create_backbone, published

IMAGE_CHANNELS = 3


class FeatureEncoder(Protocol):
    """What the decoder knows of an encoder: features finest first, their sides rounded up."""

    channels: tuple[int, ...]
    strides: tuple[int, ...]

    def __call__(self, image: Tensor) -> list[Tensor]: ...


class SpaceToDepth(nn.Module):
    """Fold each square of pixels into channels; the right and bottom edge are zero-padded to whole squares."""

    def __init__(self, side_px: int) -> None:
        super().__init__()
        self.side_px = side_px

    def forward(self, image: Tensor) -> Tensor:
        bottom, right = (-side % self.side_px for side in image.shape[-2:])
        return pixel_unshuffle(pad(image, (0, right, 0, bottom)), self.side_px)


class PyramidEncoder(nn.Module):
    """A stem and residual stages; publishes the stem's feature and each stage's."""

    def __init__(self, spec: PyramidEncoderSpec) -> None:
        super().__init__()
        self.stem = _build_stem(spec.stem)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1) if spec.stem.pool else nn.Identity()
        channels, strides, stages = [spec.stem.width], [spec.stem.stride], []
        stride = spec.stem.stride * (2 if spec.stem.pool else 1)
        for stage in spec.stages:
            first = residual_block(stage.block, channels[-1], stage.width, stage.stride)
            rest = (residual_block(stage.block, stage.width, stage.width, 1) for _ in range(stage.depth - 1))
            stages.append(nn.Sequential(first, *rest))
            stride *= stage.stride
            channels.append(stage.width)
            strides.append(stride)
        self.stages = nn.ModuleList(stages)
        self.channels, self.strides = tuple(channels), tuple(strides)
        initialise(self)

    def forward(self, image: Tensor) -> list[Tensor]:
        features = [self.stem(image)]
        deeper = self.pool(features[0])
        for stage in self.stages:
            deeper = stage(deeper)
            features.append(deeper)
        return features


class TimmEncoder(nn.Module):
    """A timm backbone's feature pyramid; with a neck, the paper's f5 = ConvBlock(f4) stands in place of f4."""

    def __init__(self, spec: TimmEncoderSpec, *, pretrained: bool) -> None:
        super().__init__()
        self.backbone = create_backbone(spec, pretrained=pretrained)
        channels, self.strides = published(self.backbone)
        self.neck = nn.Identity() if spec.neck is None else ConvBlock(channels[-1], spec.neck)
        self.channels = channels if spec.neck is None else (*channels[:-1], spec.neck)
        initialise(self.neck)

    def forward(self, image: Tensor) -> list[Tensor]:
        *skips, deepest = self.backbone(image)
        return [*skips, self.neck(deepest)]


def build_encoder(spec: EncoderSpec, *, pretrained: bool = True) -> PyramidEncoder | TimmEncoder:
    """Build an encoder; `pretrained=False` leaves out the weights that its spec asks for: others will be loaded."""
    if isinstance(spec, PyramidEncoderSpec):
        return PyramidEncoder(spec)
    return TimmEncoder(spec, pretrained=pretrained)


def _build_stem(spec: StemSpec) -> nn.Module:
    if spec.kind == "space-to-depth":
        folded = IMAGE_CHANNELS * spec.stride**2
        return nn.Sequential(SpaceToDepth(spec.stride), ConvBlock(folded, spec.width, spec.kernel))
    return ConvBlock(IMAGE_CHANNELS, spec.width, spec.kernel, spec.stride)
