"""The shipped protocol keeps its games apart, and what it trains are the shipped presets."""

from pathlib import Path

import pytest
import yaml

from plucc.config import load_preset
from plucc.retrain.protocol import ProtocolSpec, load_protocol, training_spec
from plucc.types import ConfigError


@pytest.fixture(scope="module")
def shipped() -> ProtocolSpec:
    return load_protocol("hockeyai")


def test_test_and_validation_are_those_of_the_weights(shipped: ProtocolSpec) -> None:
    data = load_preset("hockeyai").data
    assert shipped.test == data.test_matches == ("g4", "g9")
    assert shipped.validation == data.validation_matches == ("g0",)


def test_networks_are_the_presets_with_the_protocols_games(shipped: ProtocolSpec) -> None:
    assert [plan.name for plan in shipped.networks] == ["swift", "swift-l"]
    for plan in shipped.networks:
        spec = training_spec(shipped, plan, {"datasets": ["somewhere"]}, ("train.seed=5",))
        assert spec.network == load_preset(plan.name).network
        assert (spec.data.validation_matches, spec.data.test_matches) == (("g0",), ("g4", "g9"))
        assert [entry.path for entry in spec.data.datasets] == [Path("somewhere")]
        assert spec.train.hours == plan.hours
        assert spec.train.seed == 5  # what the user sets comes last
        assert spec.augment.hue == 0.2


def test_a_file_of_ones_own_is_read_and_a_typo_in_it_named(tmp_path: Path, shipped: ProtocolSpec) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(shipped.model_dump(mode="json")))
    assert load_protocol(str(file)) == shipped
    file.write_text(file.read_text().replace("rendered:", "renderd:"))
    with pytest.raises(ConfigError, match="renderd"):
        load_protocol(str(file))


@pytest.mark.parametrize("source", ["hockeyia", "no/such.yaml"])
def test_an_unknown_protocol_is_named(source: str) -> None:
    with pytest.raises(ConfigError, match="cannot be read: give a protocol's YAML file"):
        load_protocol(source)
