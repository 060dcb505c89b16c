"""Checkpoints: the weights of a network with the spec that built it, in one file that holds data and no code."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from plucc.config import HeatmapSpec, NetworkSpec, Spec, parse_section
from plucc.files import whole_file
from plucc.network.plucc import PuckNetwork, build_plucc
from plucc.types import ModelError

KEYS = ("spec", "state_dict", "meta")
WEIGHT_SOURCES = {"pretrained", "weights_file"}  # where the first weights came from does not change what a network is


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A trained network and where it comes from.

    `experiment` is the whole spec that it was trained by, as plain values; `meta` holds scores and steps, and under
    `calibration` what turns its confidences into probabilities.
    """

    network: PuckNetwork
    spec: NetworkSpec
    heatmap: HeatmapSpec
    experiment: Mapping[str, Any]
    meta: Mapping[str, Any]


def save_checkpoint(path: Path, network: nn.Module, spec: Spec, meta: Mapping[str, Any]) -> None:
    """Write weights, spec and meta (plain values only); the file appears whole or not at all."""
    content = {
        "spec": spec.model_dump_json(),
        "state_dict": {key: value.detach().cpu() for key, value in network.state_dict().items()},
        "meta": dict(meta),
    }
    with whole_file(path) as temporary:
        torch.save(content, temporary)


def load_checkpoint(path: Path, expected: NetworkSpec | None = None) -> Checkpoint:
    """Read a checkpoint, with its network in evaluation mode on the CPU; refuse one of another spec than `expected`."""
    content, sections = read_checkpoint(path)
    if sections.get("detector") is not None:
        kind = sections["detector"].get("kind", "foreign")
        raise ModelError(f"{path} holds a {kind} detector, not a heatmap network: plucc evaluate scores it as it is")
    spec = parse_section(NetworkSpec, sections["network"], str(path))
    heatmap = parse_section(HeatmapSpec, sections["heatmap"], str(path))
    if expected is not None:
        _refuse_other(path, spec, expected)
    network = build_plucc(spec, pretrained=False)
    load_weights(path, network, content["state_dict"])
    return Checkpoint(network.eval(), spec, heatmap, sections, content["meta"])


def average_checkpoints(parts: Sequence[Path], out: Path) -> None:
    """Write the mean of the weights of several checkpoints of one network, with the spec of the first.

    A checkpoint that is named twice counts twice. The parts should be trained from the same start: weights that never
    were the same have no meaningful mean.
    """
    content, _ = read_checkpoint(parts[0])
    expected = load_checkpoint(parts[0]).spec
    states = [load_checkpoint(path, expected).network.state_dict() for path in parts]
    content["state_dict"] = {key: mean_weights([state[key] for state in states]) for key in states[0]}
    content["meta"] = {"mean_of": len(parts)}
    with whole_file(out) as temporary:
        torch.save(content, temporary)


def mean_weights(parts: Sequence[Tensor]) -> Tensor:
    """Return the mean of the same layer of several networks; counters are rounded down."""
    return torch.stack([part.double() for part in parts]).mean(dim=0).to(parts[0].dtype)


def read_checkpoint(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read what a checkpoint of any kind holds: weights and meta, and its whole spec as plain values."""
    content = _read(path)
    return content, _sections(path, content["spec"])


def _read(path: Path) -> dict[str, Any]:
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise ModelError(f"{path} does not exist: give a checkpoint that plucc train wrote") from error
    except Exception as error:  # torch raises many kinds for a file that is not its own
        raise ModelError(f"{path} is not a checkpoint: give a file that plucc train wrote") from error
    if not isinstance(content, dict) or any(key not in content for key in KEYS):
        raise ModelError(f"{path} is a torch file but no checkpoint of plucc: give a file that plucc train wrote")
    return content


def _sections(path: Path, text: str) -> dict[str, Any]:
    """Return the stored spec as plain values; only what builds and feeds the network must still be understood."""
    try:
        sections = json.loads(text)
    except (TypeError, json.JSONDecodeError) as error:
        raise ModelError(f"{path} has a damaged spec: train or copy it anew") from error
    if not isinstance(sections, dict) or not {"network", "heatmap"} <= set(sections):
        raise ModelError(f"{path} lacks the spec of its network: give a file that plucc train wrote")
    return sections


def _refuse_other(path: Path, found: NetworkSpec, expected: NetworkSpec) -> None:
    differing = _differences(_architecture(found), _architecture(expected))
    if differing:
        raise ModelError(
            f"{path} holds another network than asked for ({', '.join(differing)} differ): "
            f"use the config that it was trained with"
        )


def _architecture(spec: NetworkSpec) -> dict[str, Any]:
    return spec.model_dump(mode="json", exclude={"frame": WEIGHT_SOURCES, "context": WEIGHT_SOURCES})


def _differences(found: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    return [f"network.{key}" for key in expected if found.get(key) != expected[key]]


def load_weights(path: Path, network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Put the weights of a checkpoint into the network of its own spec."""
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise ModelError(
            f"{path} has weights that do not fit its own spec: it is damaged, train or copy it anew"
        ) from error
