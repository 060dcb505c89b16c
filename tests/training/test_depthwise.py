"""Depthwise layers leave autocast; nothing else about the network changes."""

from copy import deepcopy
from pathlib import Path

import pytest
import torch
from torch import nn

from plucc.config import load_preset
from plucc.network.plucc import build_plucc
from plucc.training.depthwise import FullPrecisionConv2d, keep_depthwise_full
from plucc.training.module import PuckModule


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 8, 1), nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Conv2d(8, 4, 1))


def test_only_depthwise_layers_are_taken_out() -> None:
    net = network()
    keep_depthwise_full(net)
    assert [type(part) for part in net] == [nn.Conv2d, FullPrecisionConv2d, nn.Conv2d]


def test_their_answers_are_exact_in_the_midst_of_bfloat16() -> None:
    net, features = network(), torch.randn(2, 8, 9, 9)
    exact = net[1](features)
    keep_depthwise_full(net)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(net[1](features), exact)
        assert net[2](net[1](features)).dtype is torch.bfloat16
        assert net[1](features.bfloat16()).dtype is torch.float32


def test_gradients_reach_layers_on_both_sides() -> None:
    net = network()
    keep_depthwise_full(net)
    with torch.autocast("cpu", torch.bfloat16):
        loss = net(torch.randn(2, 3, 9, 9)).float().square().mean()
    loss.backward()
    assert all(value.grad is not None and value.grad.dtype is torch.float32 for value in net.parameters())


def test_weights_fit_into_an_ordinary_network_and_copies_have_their_own() -> None:
    net = network()
    keep_depthwise_full(net)
    network().load_state_dict(net.state_dict())
    copy = deepcopy(net)
    copy[1].weight.data.zero_()
    assert net[1].weight.abs().sum() > 0
    assert copy[1](torch.ones(1, 8, 3, 3)).sum() == copy[1].bias.sum() * 9


@pytest.mark.parametrize(("precision", "count"), [("32", 0), ("bf16-mixed", 11)])
def test_training_takes_them_out_in_bfloat16_only(precision: str, count: int, tmp_path: Path) -> None:
    """MobileNetV3-small has eleven."""
    spec = load_preset("swift", [f"train.precision={precision!r}"])
    module = PuckModule(build_plucc(spec.network, pretrained=False), spec, tmp_path)
    module.on_train_start()
    assert sum(isinstance(part, FullPrecisionConv2d) for part in module.network.modules()) == count
