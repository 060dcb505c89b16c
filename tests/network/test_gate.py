"""GateBlock and what can stand in its place."""

import pytest
import torch
from torch import nn

from plucc.config import NetworkSpec, PyramidEncoderSpec, StageSpec, StemSpec
from plucc.network.gate import ChannelAttention, GateBlock, SqueezeExcitation, build_gate, fold_gates
from plucc.network.plucc import build_plucc

DETAIL = PyramidEncoderSpec(stem=StemSpec(width=8), stages=(StageSpec(width=8, depth=1), StageSpec(width=8, depth=1)))


def test_starts_at_one_half_for_each_channel() -> None:
    features = torch.randn(2, 5, 3, 4)
    gate = GateBlock(5)
    assert gate.gamma.shape == (1, 5, 1, 1)
    assert torch.equal(gate(features), features / 2)


def test_weighs_channels_by_the_sigmoid_of_gamma() -> None:
    gate = GateBlock(2)
    nn.init.constant_(gate.gamma[:, 1], torch.tensor(3.0).log().item())  # sigmoid(ln 3) = 3/4
    weighed = gate(torch.ones(1, 2, 1, 1)).flatten()
    torch.testing.assert_close(weighed, torch.tensor([0.5, 0.75]))


@pytest.mark.parametrize("detail", [None, DETAIL], ids=["plain", "detailed"])
@pytest.mark.parametrize("block", ["conv", "reduced", "separable"])
def test_folding_is_exact(plain_spec: NetworkSpec, block: str, detail: PyramidEncoderSpec | None) -> None:
    network = build_plucc(plain_spec.model_copy(update={"decoder_block": block, "detail": detail})).double().eval()
    for module in network.modules():
        if isinstance(module, GateBlock):
            nn.init.normal_(module.gamma, std=2.0)
    batch = torch.randn(1, 3, 80, 96).double(), torch.randn(1, 3, 40, 48).double()
    before = {key: value.clone() for key, value in network.state_dict().items()}
    folded = fold_gates(network)
    assert not any(isinstance(module, GateBlock) for module in folded.modules())
    torch.testing.assert_close(folded(*batch), network(*batch), rtol=1e-12, atol=1e-12)
    assert all(torch.equal(value, before[key]) for key, value in network.state_dict().items())


@pytest.mark.parametrize("kind", ["squeeze-excitation", "channel-attention"])
def test_attention_depends_on_the_picture(kind: str) -> None:
    gate = build_gate(kind, 32)
    weights = [gate(features) / features for features in (torch.rand(1, 32, 4, 4) + 1, torch.rand(1, 32, 4, 4) + 2)]
    assert not torch.allclose(*weights)
    assert all(((weight > 0) & (weight < 1)).all() for weight in weights)


def test_squeeze_excitation_is_blind_to_where() -> None:
    features = torch.rand(1, 16, 6, 6)
    gate = SqueezeExcitation(16)
    torch.testing.assert_close(gate(features.flip(3)).flip(3), gate(features))


def test_channel_attention_hears_one_strong_cell() -> None:
    quiet = torch.zeros(1, 16, 40, 40)
    loud = quiet.clone()
    loud[..., 3, 3] = 100.0
    gate = ChannelAttention(16)
    strongest = gate.excite(loud.amax(dim=(2, 3), keepdim=True))
    average = gate.excite(loud.mean(dim=(2, 3), keepdim=True))
    torch.testing.assert_close(gate(loud), loud * torch.sigmoid(strongest + average))


def test_no_gate_changes_nothing() -> None:
    features = torch.randn(1, 4, 2, 2)
    assert torch.equal(build_gate("none", 4)(features), features)
