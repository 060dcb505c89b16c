"""Backbone weights from a local file, and what is said when there are none."""

from pathlib import Path

import pytest
import timm
import torch
from safetensors.torch import save_file
from torch import nn

from plucc.config import TimmEncoderSpec
from plucc.network.encoders import build_encoder
from plucc.network.pretrained import create_backbone
from plucc.types import ConfigError, InputError, ModelError

NAME = "mobilenetv3_small_050"  # its feature form renames layers, which loading by hand would miss


@pytest.fixture(scope="module")
def trained() -> nn.Module:
    torch.manual_seed(1)
    return timm.create_model(NAME)


@pytest.mark.parametrize("suffix", [".pth", ".safetensors", ".pt"])
def test_weights_load_from_a_local_file(tmp_path: Path, trained: nn.Module, suffix: str) -> None:
    path = tmp_path / f"backbone{suffix}"
    state = trained.state_dict()
    save_file(state, path) if suffix == ".safetensors" else torch.save(state, path)
    loaded = create_backbone(TimmEncoderSpec(name=NAME, weights_file=path), pretrained=True).eval()
    image = torch.randn(1, 3, 64, 64)
    expected = trained.eval().forward_intermediates(image, intermediates_only=True)
    torch.testing.assert_close(loaded(image)[-1], expected[-1])


def test_a_cut_backbone_takes_its_part_of_the_file(tmp_path: Path, trained: nn.Module) -> None:
    path = tmp_path / "backbone.pth"
    torch.save(trained.state_dict(), path)
    loaded = create_backbone(TimmEncoderSpec(name=NAME, weights_file=path, features=3), pretrained=True).eval()
    image = torch.randn(1, 3, 64, 64)
    expected = trained.eval().forward_intermediates(image, intermediates_only=True)
    features = loaded(image)
    assert len(features) == 3
    torch.testing.assert_close(features[-1], expected[2])


def test_other_weights_may_follow(tmp_path: Path) -> None:
    """A checkpoint is about to be loaded: the file that the spec names need not exist any more."""
    build_encoder(TimmEncoderSpec(name=NAME, weights_file=tmp_path / "gone.pth"), pretrained=False)


def test_fresh_residual_branches_are_awake() -> None:
    backbone = create_backbone(TimmEncoderSpec(name="resnet18"), pretrained=False)
    assert all(module.weight.any() for module in backbone.modules() if isinstance(module, nn.BatchNorm2d))


def test_weights_of_another_backbone_are_refused(tmp_path: Path, trained: nn.Module) -> None:
    path = tmp_path / "other.pth"
    torch.save(trained.state_dict(), path)
    with pytest.raises(ModelError, match=r"does not hold resnet18 \(conv1.weight is missing"):
        create_backbone(TimmEncoderSpec(name="resnet18", weights_file=path), pretrained=True)


def test_foreign_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.pth"
    path.write_text("not weights")
    with pytest.raises(ModelError, match="is no weights file: expected"):
        create_backbone(TimmEncoderSpec(name=NAME, weights_file=path), pretrained=True)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist: set weights_file"):
        create_backbone(TimmEncoderSpec(name=NAME, weights_file=tmp_path / "none.pth"), pretrained=True)


def test_unknown_backbone_is_refused() -> None:
    with pytest.raises(ConfigError, match="timm has no backbone resnet1520"):
        create_backbone(TimmEncoderSpec(name="resnet1520"), pretrained=False)


def test_more_features_than_there_are_are_refused() -> None:
    with pytest.raises(ConfigError, match="has fewer than 9 features"):
        create_backbone(TimmEncoderSpec(name=NAME, features=9), pretrained=False)


def test_failed_download_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*args: object, **kwargs: object) -> nn.Module:
        raise OSError("no route to host")

    monkeypatch.setattr(timm, "create_model", unreachable)
    with pytest.raises(InputError, match="could not be downloaded: set weights_file to a copy"):
        create_backbone(TimmEncoderSpec(name=NAME, pretrained=True), pretrained=True)
