"""Heads: what shuffled logits mean, and what presence may look at."""

import torch

from plucc.config import NetworkSpec
from plucc.network.heads import LogitHead
from plucc.network.plucc import build_plucc


def test_shuffled_cells_lie_where_their_square_lies() -> None:
    """Sub-cell (r, c) of feature cell (i, j) is logit (2i + r, 2j + c): the decoder may rely on strides alone."""
    spec = NetworkSpec(
        frame={"kind": "timm", "name": "resnet18"}, decoder_widths=(1,), logit_stride=2, logit_upsampling="shuffle"
    )
    head = LogitHead(spec, channels=1, stride=4)
    torch.nn.init.constant_(head.project.weight, 0.0)
    head.project.weight.data[2] = 1.0  # row 1, column 0 of each square
    feature = torch.arange(6.0).view(1, 1, 2, 3) + 1
    logits = head(feature, torch.zeros(1, 3, 7, 11))
    assert logits.shape == (1, 1, 4, 6)
    assert torch.equal(logits[0, 0, 1::2, 0::2], feature[0, 0])
    assert logits.count_nonzero() == 6


def test_presence_cannot_bend_the_heatmap() -> None:
    spec = NetworkSpec(frame={"kind": "timm", "name": "resnet18"}, decoder_widths=(8, 8), presence=True)
    network = build_plucc(spec)
    presence = network(torch.randn(2, 3, 64, 96))[1]
    presence.sum().backward()
    assert network.head.logits.project.weight.grad is None


def test_presence_rises_with_the_peak() -> None:
    """The peak's height reaches the judge: with all other evidence shut out, a sharper map changes the answer."""
    spec = NetworkSpec(frame={"kind": "timm", "name": "resnet18"}, decoder_widths=(8, 8), presence=True)
    head = build_plucc(spec).head
    fused = [torch.zeros(1, 8, 2, 3), torch.zeros(1, 8, 4, 6)]
    flat, sharp = torch.zeros(1, 1, 4, 6), torch.zeros(1, 1, 4, 6)
    sharp[..., 2, 2] = 12.0
    assert not torch.equal(head.presence(fused, flat), head.presence(fused, sharp))
