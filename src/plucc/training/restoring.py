"""From a model file back to a network that can be trained on: what exporting folded together comes apart again.

An exported graph has its static gates and batch norms folded into the convolutions beside them. The gates come back as
they start, all one half. The norms' statistics are not in the file; they are measured anew on training samples, and
scale and shift chosen so that the network says what the file says.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
import onnx
import torch
from torch import Tensor, nn

from plucc.config import Spec
from plucc.network.checkpoint import Checkpoint, save_checkpoint
from plucc.network.gate import GateBlock, unfold_gates
from plucc.network.plucc import build_plucc
from plucc.network.second_look import SecondLookNet
from plucc.quantise import full_weights
from plucc.runtime.onnx import read_card
from plucc.runtime.second_card import read_second_card
from plucc.training.norms import batch_norms, first_batches, settle_norms, statistics
from plucc.types import ModelError

Stored: TypeAlias = Mapping[str, Tensor]  # a file's weights by name

FOLDED = ".weight_bias"  # how the exporter calls the bias that a norm left in the convolution before it
PREFIX = "network."
SECOND_STEM = "body.conv_stem.weight"  # what every second look begins with


def restore_checkpoint(model: Path, spec: Spec, out: Path) -> None:
    """Write the network of a model file as a checkpoint; its norms know the training samples of `spec`."""
    restored = restore(model)
    spec = spec.model_copy(update={"network": restored.spec, "heatmap": restored.heatmap})
    settle_norms(restored.network, first_batches(spec))
    save_checkpoint(out, restored.network, spec, {})


def restore(model: Path) -> Checkpoint:
    """Read the network of a model file; its norms do nothing but shift until they are settled."""
    card = read_card(model)
    if card.precision == "int8":
        raise ModelError(f"{model} holds 8-bit weights, which cannot be trained on: give the file in fp32")
    network = build_plucc(card.spec, pretrained=False).eval()
    _take(network, _stored(model), PREFIX, model)
    unfold_gates(network)
    return Checkpoint(network, card.spec, card.heatmap, {}, {})


def restore_second_look(model: Path, network: SecondLookNet) -> None:
    """Give a network the weights of an exported second look, or of the one on its backbone in a mean of several.

    Its norms do nothing but shift until they are settled.
    """
    read_second_card(model)
    stored = _stored(model)
    shapes = {name: network.get_parameter(name).shape for name in _kept_as_they_are(network)}
    for prefix in (name.removesuffix(SECOND_STEM) for name in stored if name.endswith(SECOND_STEM)):
        if all(stored[prefix + name].shape == shape for name, shape in shapes.items() if prefix + name in stored):
            _take(network.eval(), stored, prefix, model)
            return
    raise ModelError(
        f"{model} holds no second look on {network.spec.backbone} with {len(network.spec.windows_px)} windows: "
        f"name the backbone and windows of one that it holds"
    )


def _stored(model: Path) -> Stored:
    return {name: torch.from_numpy(np.array(values)) for name, values in full_weights(onnx.load(model)).items()}


def _take(network: nn.Module, stored: Stored, prefix: str, model: Path) -> None:
    """Load what exporting left of a network; its norms pass on what reaches them, shifted."""
    state = network.state_dict()
    for name in _kept_as_they_are(network):
        state[name] = _found(stored, f"{prefix}{name}", model).to(state[name].dtype)
    for convolution, norm in _pairs(network):
        state[f"{norm}.bias"] = _found(stored, f"{prefix}{convolution}{FOLDED}", model)
    network.load_state_dict(state)
    for part in batch_norms(network):
        statistics(part)[1].fill_(1 - part.eps)


def _pairs(network: nn.Module) -> Iterator[tuple[str, str]]:
    """Yield the names of each convolution and of the norm right after it."""
    convolution = ""
    for name, part in network.named_modules():
        if isinstance(part, nn.Conv2d) and part.bias is None:
            convolution = name
        elif isinstance(part, nn.BatchNorm2d):
            yield convolution, name


def _kept_as_they_are(network: nn.Module) -> Iterator[str]:
    """Yield the names of all weights but those of norms and static gates, which exporting folds away."""
    for prefix, part in network.named_modules():
        if not isinstance(part, nn.BatchNorm2d | GateBlock):
            yield from (f"{prefix}.{name}" for name, _ in part.named_parameters(recurse=False))


def _found(stored: Stored, name: str, model: Path) -> Tensor:
    if name not in stored:
        raise ModelError(f"{model} lacks {name}: it was exported by another version; train on from its checkpoint")
    return stored[name]
