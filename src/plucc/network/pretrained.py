"""timm backbones as feature pyramids: fresh, pretrained by name, or from a local file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import timm
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from plucc.config import TimmEncoderSpec
from plucc.types import ConfigError, InputError, ModelError

SAFETENSORS = ".safetensors"


def create_backbone(spec: TimmEncoderSpec, *, pretrained: bool) -> nn.Module:
    """Return the timm model in `features_only` form; all its features are published, finest first."""
    wanted = pretrained and (spec.pretrained or spec.weights_file is not None)
    if wanted and spec.weights_file is not None:
        _check_fits(spec.name, spec.weights_file)
    overlay = {"file": str(spec.weights_file)} if wanted and spec.weights_file else None
    try:
        backbone = timm.create_model(
            spec.name, features_only=True, pretrained=wanted, pretrained_cfg_overlay=overlay, **_cut(spec)
        )
    except RuntimeError as error:
        if spec.name.split(".")[0] in timm.list_models():
            raise ModelError(f"{spec.weights_file or spec.name}: {error}") from error
        raise ConfigError(f"timm has no backbone {spec.name}: see timm.list_models() for the names") from error
    except IndexError as error:
        raise ConfigError(f"{spec.name} has fewer than {spec.features} features: ask for fewer") from error
    except OSError as error:
        raise InputError(
            f"the weights of {spec.name} could not be downloaded: set weights_file to a copy of them on this machine"
        ) from error
    if not wanted:
        _wake_residual_branches(backbone)
    return backbone


def create_classifier(name: str, *, pretrained: bool) -> nn.Module:
    """Return a timm classifier without its classes, of a family whose features are a stem and `blocks`."""
    try:
        model: nn.Module = timm.create_model(name, num_classes=0, pretrained=pretrained)
    except RuntimeError as error:
        raise ConfigError(f"timm has no backbone {name}: see timm.list_models() for the names") from error
    except OSError as error:
        raise InputError(
            f"the weights of {name} could not be downloaded: name a file with a copy of them on this machine"
        ) from error
    if not all(hasattr(model, part) for part in ("conv_stem", "bn1", "blocks")):
        raise ConfigError(
            f"{name} is not built as MobileNetV3 or EfficientNet are: choose a backbone of those families"
        )
    return model


def read_backbone(name: str, path: Path) -> dict[str, Tensor]:
    """Return a backbone's weights from a file, by timm's names.

    A file by other names is taken where it holds the same layers in the same order, as other EfficientNets do; layers
    after the last one that is needed, such as its classes, are left out.
    """
    found, wanted = _read_weights(path), timm.create_model(name, num_classes=0).state_dict()
    missing = _missing(found, wanted)
    if missing is None:
        return {key: value for key, value in found.items() if key in wanted}
    in_order = dict(zip(wanted, found.values(), strict=False))
    if not set(found) & set(wanted) and _missing(in_order, wanted) is None:
        return in_order
    raise ModelError(f"{path} does not hold {name} ({missing} is missing or of another size): give its weights")


def published(backbone: nn.Module) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return channels and strides of the backbone's features, finest first."""
    info: Any = backbone.feature_info
    return tuple(info.channels()), tuple(info.reduction())


def _cut(spec: TimmEncoderSpec) -> dict[str, Any]:
    return {} if spec.features is None else {"out_indices": tuple(range(spec.features))}


def _check_fits(name: str, path: Path) -> None:
    """Refuse a file that does not hold the backbone; timm itself would skip what does not match and say nothing."""
    missing = _missing(_read_weights(path), timm.create_model(name, num_classes=0).state_dict())
    if missing is not None:
        raise ModelError(f"{path} does not hold {name} ({missing} is missing or of another size): give its weights")


def _missing(found: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> str | None:
    """Return the first layer that is not there, or of another size; counters do not matter."""
    for key, value in wanted.items():
        fits = key in found and (found[key].shape == value.shape or value.dim() == 0)
        if not fits and not key.endswith("num_batches_tracked"):
            return key
    return None


def _read_weights(path: Path) -> dict[str, Tensor]:
    try:
        if path.suffix == SAFETENSORS:
            return load_file(path)
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist: set weights_file to the downloaded weights") from error
    except Exception as error:  # torch and safetensors raise many kinds for a foreign file
        raise ModelError(f"{path} is no weights file: expected .pth, .pt or .safetensors of the backbone") from error
    weights = content.get("state_dict", content) if isinstance(content, dict) else {}
    return {key.removeprefix("module."): value for key, value in weights.items() if isinstance(value, Tensor)}


def _wake_residual_branches(backbone: nn.Module) -> None:
    """Set the normalisation weights that timm starts at zero to one, as torchvision's FCN has them.

    With zero the branch of every residual block is silent, and no gradient reaches its convolutions in the first step.
    """
    for module in backbone.modules():
        if isinstance(module, nn.BatchNorm2d) and not module.weight.any():
            nn.init.ones_(module.weight)
