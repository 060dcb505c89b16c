"""What a protocol says: how frames are labelled, which games are for what, what is trained on the rest, how long."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import yaml
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from plucc.config import Probability, SecondLookSpec, Section, Spec, TimmEncoderSpec, load_preset, parse_section
from plucc.types import ConfigError, PlayerRole

BASE = "hockeyai"  # the preset that all networks are trained by
SHIPPED = "hockeyai"


class LabelsSpec(Section):
    """How frames in YOLO's layout are labelled: classes by number or name, and where each frame's match is told."""

    puck: tuple[str, ...] = Field(min_length=1)
    players: tuple[str, ...] = ()
    roles: dict[str, PlayerRole] = Field(default_factory=dict)
    match_from: str
    licence: str = "unknown"
    source: str = "unknown"


class RenderedSpec(Section):
    """Rendered frames, and their share of the training samples."""

    count: PositiveInt
    seed: NonNegativeInt
    frames_per_match: PositiveInt = 4
    share: Probability


class NetworkPlan(Section):
    """One puck network: the preset whose network it is, how long it is trained, and what differs from the others."""

    name: str
    hours: PositiveFloat
    overrides: tuple[str, ...] = ()


class SecondLookBudget(Section):
    """The second look on the first network's peaks."""

    network: SecondLookSpec = SecondLookSpec()
    minutes: PositiveFloat
    seed: NonNegativeInt = 0
    real_share: Probability


class ProtocolSpec(Section):
    """The whole of it. Matches of the test are neither trained on nor chosen or fitted by."""

    labels: LabelsSpec
    validation: tuple[str, ...] = Field(min_length=1)
    test: tuple[str, ...] = Field(min_length=1)
    rendered: RenderedSpec
    networks: tuple[NetworkPlan, ...] = Field(min_length=1)
    settings: tuple[str, ...] = ()
    second_look: SecondLookBudget


def load_protocol(source: str) -> ProtocolSpec:
    """Return the protocol of a YAML file, or the shipped one by its name."""
    path = Path(source)
    if not path.exists() and source == SHIPPED:
        text = files("plucc.retrain").joinpath(f"{SHIPPED}.yaml").read_text(encoding="utf-8")
    else:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{source} cannot be read: give a protocol's YAML file, or {SHIPPED}") from error
    try:
        return parse_section(ProtocolSpec, yaml.safe_load(text), source)
    except yaml.YAMLError as error:
        raise ConfigError(f"{source} is not YAML ({' '.join(str(error).split())}): mend that line") from error


def backbones(protocol: ProtocolSpec) -> tuple[str, ...]:
    """Return timm's names of the backbones that start from ImageNet, each once."""
    frames = [load_preset(plan.name).network.frame for plan in protocol.networks]
    names = [frame.name for frame in frames if isinstance(frame, TimmEncoderSpec)]
    return tuple(dict.fromkeys([*names, protocol.second_look.network.backbone]))


def training_spec(
    protocol: ProtocolSpec, plan: NetworkPlan, data: Mapping[str, object], overrides: tuple[str, ...]
) -> Spec:
    """Return what a network is trained by; `data` replaces those settings of the preset that name files."""
    given = load_preset(BASE, [*protocol.settings, f"train.hours={plan.hours}", *plan.overrides, *overrides])
    parts = given.model_dump(mode="json")
    network = load_preset(plan.name).network.model_dump(mode="json")
    games = {"validation_matches": protocol.validation, "test_matches": protocol.test}
    return parse_section(Spec, parts | {"network": network, "data": parts["data"] | games | data}, plan.name)
