"""Encoders publish what they give."""

from math import ceil

import pytest
import torch
from torch import nn

from plucc.config import PyramidEncoderSpec, StageSpec, StemSpec, TimmEncoderSpec
from plucc.network.blocks import StridedPointwise, residual_block
from plucc.network.encoders import SpaceToDepth, build_encoder

STEMS = [
    StemSpec(width=8, kernel=7, stride=1, pool=True),
    StemSpec(width=8, kernel=5, stride=2),
    StemSpec(kind="space-to-depth", width=8, stride=4),
]
BLOCKS = ["basic", "bottleneck", "inverted", "convnext"]


@pytest.mark.parametrize("size", [(64, 96), (65, 99), (91, 127)])
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("stem", STEMS, ids=lambda stem: f"{stem.kind}-{stem.stride}")
def test_pyramid_publishes_its_shapes(stem: StemSpec, block: str, size: tuple[int, int]) -> None:
    stages = (StageSpec(width=16, depth=2, stride=1, block=block), StageSpec(width=24, depth=1, block=block))
    encoder = build_encoder(PyramidEncoderSpec(stem=stem, stages=stages)).eval()
    features = encoder(torch.randn(1, 3, *size))
    expected = [
        (channels, *(ceil(side / stride) for side in size))
        for channels, stride in zip(encoder.channels, encoder.strides, strict=True)
    ]
    assert [tuple(feature.shape[1:]) for feature in features] == expected


@pytest.mark.parametrize(
    ("name", "strides"), [("resnet18", (2, 4, 8, 16, 32)), ("mobilenetv3_small_050", (2, 4, 8, 16, 32))]
)
def test_timm_publishes_its_shapes(name: str, strides: tuple[int, ...]) -> None:
    encoder = build_encoder(TimmEncoderSpec(name=name, neck=20)).eval()
    features = encoder(torch.randn(1, 3, 64, 96))
    assert encoder.strides == strides
    assert encoder.channels[-1] == 20
    assert [feature.shape[1] for feature in features] == list(encoder.channels)
    assert [feature.shape[2] for feature in features] == [64 // stride for stride in strides]


def test_a_cut_backbone_ends_with_its_last_feature() -> None:
    whole, cut = (build_encoder(TimmEncoderSpec(name="resnet18", features=count)).eval() for count in (None, 3))
    assert (cut.channels, cut.strides) == (whole.channels[:3], whole.strides[:3])
    kept = {name: value for name, value in whole.state_dict().items() if not name.startswith("backbone.layer3")}
    assert set(cut.state_dict()) == {name for name in kept if not name.startswith("backbone.layer4")}
    cut.load_state_dict({name: kept[name] for name in cut.state_dict()})
    image = torch.randn(1, 3, 64, 96)
    for ours, theirs in zip(cut(image), whole(image), strict=False):
        torch.testing.assert_close(ours, theirs)


def test_space_to_depth_keeps_every_pixel() -> None:
    image = torch.arange(3 * 5 * 6, dtype=torch.float32).view(1, 3, 5, 6)
    folded = SpaceToDepth(4)(image)
    assert folded.shape == (1, 48, 2, 2)
    assert torch.equal(folded.flatten().sort().values[-90:], image.flatten())
    assert folded[0, 0, 1, 1] == image[0, 0, 4, 4]


@pytest.mark.parametrize("side", [11, 12])
def test_a_pointwise_convolution_that_drops_pixels_first_is_the_same(side: int) -> None:
    torch.manual_seed(1)
    usual = nn.Conv2d(8, 12, 1, 2, bias=False)
    sparing = StridedPointwise(8, 12, 1, 2, bias=False)
    sparing.load_state_dict(usual.state_dict())
    features = torch.randn(2, 8, side, side)
    torch.testing.assert_close(sparing(features), usual(features))


def test_narrow_shortcuts_train_with_channels_last() -> None:
    """Torch's own strided 1×1 convolution of few channels destroys memory here on some CPUs."""
    block = residual_block("basic", 8, 8, 2).to(memory_format=torch.channels_last)
    for _ in range(8):
        features = torch.randn(2, 8, 48, 48).to(memory_format=torch.channels_last).requires_grad_()
        block(features).sum().backward()
    assert isinstance(block.shortcut[0], StridedPointwise)
