"""The network of the second look, and backbone weights by other names."""

from pathlib import Path

import pytest
import timm
import torch

from plucc.config import SecondLookSpec
from plucc.network.pretrained import read_backbone
from plucc.network.second_look import SecondLookNet
from plucc.types import ConfigError, ModelError

NAME = "mobilenetv3_small_050"


@pytest.mark.parametrize(("name", "channels"), [("mobilenetv3_small_100", 576), ("efficientnet_lite0", 320)])
def test_both_backbones_give_one_logit_for_each_place(name: str, channels: int) -> None:
    net = SecondLookNet(SecondLookSpec(backbone=name)).eval()
    assert net.head[0].in_features == 2 * 2 * channels
    patches = torch.randint(0, 256, (3, 2, 96, 96, 3), dtype=torch.uint8)
    with torch.inference_mode():
        logits = net(patches)
        assert logits.shape == (3,)
        torch.testing.assert_close(net(patches[1:2]), logits[1:2], atol=1e-4, rtol=1e-4)
        assert not torch.allclose(net(patches.flip(1)), logits)  # windows have their places


def test_stored_layers_are_body_and_head_alone() -> None:
    names = {key.split(".")[0] for key in SecondLookNet(SecondLookSpec(backbone=NAME)).state_dict()}
    assert names == {"body", "head"}


def test_backbone_weights_come_by_timm_s_names_or_in_order(tmp_path: Path) -> None:
    torch.manual_seed(4)
    trained = timm.create_model(NAME)
    torch.save(trained.state_dict(), tmp_path / "timm.pth")
    renamed = {f"_layer{index}": value for index, value in enumerate(trained.state_dict().values())}
    torch.save(renamed, tmp_path / "other.pth")
    for file in ("timm.pth", "other.pth"):
        net = SecondLookNet(SecondLookSpec(backbone=NAME))
        net.start_from(tmp_path / file)
        expected = trained.state_dict()
        for key, value in net.body.state_dict().items():
            torch.testing.assert_close(value, expected[key])


def test_a_trained_second_look_is_taken_whole_and_learns_further_windows(tmp_path: Path) -> None:
    """What a new window shows does not count until the head has learnt to read it."""
    torch.manual_seed(6)
    spec = SecondLookSpec(backbone=NAME, windows_px=(64.0, 192.0), hidden=16)
    trained = SecondLookNet(spec).eval()
    torch.save({"spec": spec.model_dump(mode="json"), "model": trained.state_dict()}, tmp_path / "trained.pt")
    wider = SecondLookNet(spec.model_copy(update={"windows_px": (64.0, 448.0, 192.0)})).eval()
    wider.start_from(tmp_path / "trained.pt")
    with torch.no_grad():
        wider.head[0].weight.unflatten(1, (3, -1))[:, 1] = 0
    patches = torch.randint(0, 256, (3, 3, 96, 96, 3), dtype=torch.uint8)
    with torch.inference_mode():
        torch.testing.assert_close(wider(patches), trained(patches[:, [0, 2]]), atol=1e-4, rtol=1e-4)
    with pytest.raises(ModelError, match=f"is a second look on {NAME}: start one on the same backbone"):
        SecondLookNet(SecondLookSpec(hidden=16)).start_from(tmp_path / "trained.pt")


def test_weights_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    torch.save(timm.create_model("mobilenetv3_small_075").state_dict(), tmp_path / "wider.pth")
    with pytest.raises(ModelError, match=f"does not hold {NAME}"):
        read_backbone(NAME, tmp_path / "wider.pth")
    torch.save({"a": torch.zeros(3)}, tmp_path / "little.pth")
    with pytest.raises(ModelError, match=r"conv_stem.weight is missing or of another size"):
        read_backbone(NAME, tmp_path / "little.pth")


def test_unknown_backbones_are_refused() -> None:
    with pytest.raises(ConfigError, match="timm has no backbone resnet1"):
        SecondLookNet(SecondLookSpec(backbone="resnet1"))
