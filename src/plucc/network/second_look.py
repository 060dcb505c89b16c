"""The network of the second look: one backbone on a few windows around a place, and one logit for the place."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from plucc.config import SecondLookSpec, parse_section
from plucc.network.pretrained import create_classifier, read_backbone
from plucc.types import ModelError

BYTE = 255.0
DROPOUT = 0.2
_AFTER_FEATURES = ("conv_head", "norm_head", "bn2", "act2")  # they widen what is pooled, and cost as much as the rest


class SecondLookNet(nn.Module):
    """Tells a puck from what looks like one, by patches (b, windows, side, side, 3) of 8-bit RGB around each place.

    The features of every window are averaged twice, over all of it and over the cells at its middle, where the place
    is; two layers make one logit (b,) of them all.
    """

    scale: Tensor
    shift: Tensor

    def __init__(self, spec: SecondLookSpec, *, pretrained: bool = False) -> None:
        super().__init__()
        self.spec = spec
        self._frozen: tuple[nn.Module, ...] = ()
        self.body = create_classifier(spec.backbone, pretrained=pretrained)
        info: Any = self.body.feature_info
        for name in _AFTER_FEATURES:
            if hasattr(self.body, name):
                setattr(self.body, name, nn.Identity())
        pooled = len(spec.windows_px) * 2 * int(info[-1]["num_chs"])
        self.head = nn.Sequential(
            nn.Linear(pooled, spec.hidden), nn.ReLU(), nn.Dropout(DROPOUT), nn.Linear(spec.hidden, 1)
        )
        mean, std = torch.tensor(spec.mean), torch.tensor(spec.std)
        # no part of what is trained, so they are not stored with it
        self.register_buffer("scale", (1 / (BYTE * std)).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("shift", (-mean / std).view(1, 3, 1, 1), persistent=False)

    def forward(self, patches: Tensor) -> Tensor:
        pictures = patches.flatten(0, 1).permute(0, 3, 1, 2).float() * self.scale + self.shift
        features = self._features(pictures.contiguous(memory_format=torch.channels_last))
        pooled = torch.cat([_middle(features).mean((2, 3)), features.mean((2, 3))], dim=1)
        logits: Tensor = self.head(pooled.view(-1, len(self.spec.windows_px) * pooled.shape[1]))[:, 0]
        return logits

    def freeze(self, stages: int) -> None:
        """Keep the backbone's stem and its first stages as they are, in training too; 0 keeps nothing."""
        body: Any = self.body
        self._frozen = (body.conv_stem, body.bn1, *body.blocks[:stages]) if stages else ()
        for part in self._frozen:
            part.requires_grad_(False)

    def train(self, mode: bool = True) -> "SecondLookNet":
        super().train(mode)
        for part in self._frozen:
            part.eval()
        return self

    def start_from(self, path: Path) -> None:
        """Take the backbone's weights from a file of them, or all that a trained second look knows."""
        trained = _trained(path)
        if trained is not None:
            self._start_from_net(trained, path)
            return
        weights = read_backbone(self.spec.backbone, path)
        wanted = self.body.state_dict()
        self.body.load_state_dict({key: value for key, value in weights.items() if key in wanted})

    def _start_from_net(self, trained: "SecondLookNet", path: Path) -> None:
        """Take another network's weights; of what its head reads, the windows that both have."""
        ours, theirs = self.spec, trained.spec
        if (ours.backbone, ours.hidden) != (theirs.backbone, theirs.hidden):
            raise ModelError(f"{path} is a second look on {theirs.backbone}: start one on the same backbone from it")
        weights = trained.state_dict()
        read = self.state_dict()["head.0.weight"].clone().unflatten(1, (len(ours.windows_px), -1))
        known = weights["head.0.weight"].unflatten(1, (len(theirs.windows_px), -1))
        for index, window_px in enumerate(ours.windows_px):
            if window_px in theirs.windows_px:
                read[:, index] = known[:, theirs.windows_px.index(window_px)]
        self.load_state_dict(weights | {"head.0.weight": read.flatten(1)})

    def _features(self, pictures: Tensor) -> Tensor:
        body: Any = self.body
        features: Tensor = body.blocks(body.bn1(body.conv_stem(pictures)))
        return features


def _middle(features: Tensor) -> Tensor:
    """Return the cell at the middle; of an even number of rows or columns, the two at the middle."""
    height, width = features.shape[-2:]
    return features[:, :, (height - 1) // 2 : height // 2 + 1, (width - 1) // 2 : width // 2 + 1]


def load_second_look(path: Path, spec: SecondLookSpec | None = None) -> tuple[SecondLookNet, dict[str, Any]]:
    """Return a trained network, ready to run, and what its file says of its training.

    `spec` says what the network is where the file, made elsewhere, holds the weights under `model` and no spec.
    """
    content = read_weights(path)
    told = content.get("spec")
    if told is None and spec is None:
        raise ModelError(f"{path} does not say what network it holds: name its backbone, windows and side")
    net = SecondLookNet(
        parse_section(SecondLookSpec, told, str(path)) if told is not None else spec or SecondLookSpec()
    )
    try:
        net.load_state_dict(content["model"])
    except RuntimeError as error:
        raise ModelError(
            f"{path} holds other layers than a second look on {net.spec.backbone} with {len(net.spec.windows_px)} "
            f"windows: name the backbone and windows that it was trained with"
        ) from error
    return net.eval(), dict(content.get("data", {}))


def _trained(path: Path) -> SecondLookNet | None:
    """Return the second look of a checkpoint; None for any other file."""
    try:
        return load_second_look(path)[0]
    except ModelError:
        return None


def read_weights(path: Path) -> dict[str, Any]:
    """Return the content of a checkpoint of a second look; anything else is refused."""
    if not path.is_file():
        raise ModelError(f"{path} is missing: train it with plucc second-look train")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds for a foreign file
        raise ModelError(f"{path} is no checkpoint: train one with plucc second-look train") from error
    if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
        raise ModelError(f"{path} is no checkpoint of a second look: train one with plucc second-look train")
    return content
