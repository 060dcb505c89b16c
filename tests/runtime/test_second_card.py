"""The card inside a second look's file, and the name of it in a puck model's."""

import pytest

from plucc.config import SecondLookSpec, load_preset
from plucc.runtime.card import ModelCard
from plucc.runtime.second_card import KEYS, SecondLookCard
from plucc.types import ConfigError, ModelError


@pytest.fixture
def card() -> SecondLookCard:
    weighing = {"first": 1.2, "second": 0.4, "presence": 0.1, "none": -2.0}
    spec = SecondLookSpec(backbone="efficientnet_lite0", windows_px=(48.0, 160.0))
    return SecondLookCard(spec=spec, weighing=weighing, data={"datasets": ["rink"]}, version="0.1.0")


def test_second_card_round_trips_through_text(card: SecondLookCard) -> None:
    metadata = card.to_metadata()
    assert SecondLookCard.from_metadata(metadata, "s.onnx") == card
    assert set(metadata) == {f"plucc.{key}" for key in KEYS}


@pytest.mark.parametrize("key", KEYS)
def test_second_card_that_lacks_anything_is_refused(card: SecondLookCard, key: str) -> None:
    metadata = card.to_metadata()
    del metadata[f"plucc.{key}"]
    with pytest.raises(ModelError, match=rf"s.onnx does not say what it is \(plucc.{key} is missing"):
        SecondLookCard.from_metadata(metadata, "s.onnx")


def test_other_kinds_and_damage_are_refused(card: SecondLookCard) -> None:
    puck = ModelCard(spec=load_preset("swift").network, version="0.1.0")
    with pytest.raises(ModelError, match=r"p.onnx is a puck model of format 1, this plucc reads second look models"):
        SecondLookCard.from_metadata(puck.to_metadata(), "p.onnx")
    with pytest.raises(ModelError, match=r"s.onnx is a second look model of format 1, this plucc reads puck models"):
        ModelCard.from_metadata(card.to_metadata(), "s.onnx")
    with pytest.raises(ModelError, match="damaged"):
        SecondLookCard.from_metadata(card.to_metadata() | {"plucc.spec": "{"}, "s.onnx")
    with pytest.raises(ModelError, match="damaged"):
        SecondLookCard.from_metadata(card.to_metadata() | {"plucc.weighing": '{"frist": 1.0}'}, "s.onnx")


def test_a_puck_model_names_its_second_look_or_none() -> None:
    plain = ModelCard(spec=load_preset("swift").network, version="0.1.0")
    named = plain.model_copy(update={"second_look": "swift-second.onnx"})
    assert ModelCard.from_metadata(plain.to_metadata(), "p.onnx").second_look is None
    assert ModelCard.from_metadata(named.to_metadata(), "p.onnx") == named
    with pytest.raises(ConfigError, match="second_look"):
        ModelCard.from_metadata(named.to_metadata() | {"plucc.second_look": "../other.onnx"}, "p.onnx")
