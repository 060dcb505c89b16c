"""The card inside a model file."""

import pytest

from plucc.config import load_preset
from plucc.runtime.card import KEYS, PREFIX, ModelCard
from plucc.types import ConfigError, ModelError


@pytest.fixture
def card() -> ModelCard:
    swift = load_preset("swift")
    return ModelCard(
        spec=swift.network,
        heatmap=swift.heatmap,
        calibration={"temperature": 1.7},
        data={"datasets": ["rink"]},
        version="0.1.0",
        precision="int8",
    )


def test_round_trips_through_text(card: ModelCard) -> None:
    metadata = card.to_metadata()
    assert all(isinstance(value, str) for value in metadata.values())
    assert ModelCard.from_metadata(metadata, "model.onnx") == card


def test_names_the_files_that_go_with_it(card: ModelCard) -> None:
    named = card.model_copy(update={"second_look": "again.onnx", "second_opinion": "other.onnx"})
    metadata = named.to_metadata()
    assert metadata["plucc.second_opinion"] == "other.onnx"
    assert ModelCard.from_metadata(metadata, "model.onnx") == named
    with pytest.raises(ConfigError, match="second_opinion"):
        ModelCard.from_metadata(metadata | {"plucc.second_opinion": "elsewhere/other.onnx"}, "model.onnx")


def test_tells_readers_of_the_file_what_they_need(card: ModelCard) -> None:
    metadata = card.to_metadata()
    assert set(metadata) == {PREFIX + key for key in KEYS}
    assert metadata["plucc.logit_stride"] == "2"
    assert "0.485" in metadata["plucc.normalisation"]
    assert "720" in metadata["plucc.sizes"]


@pytest.mark.parametrize("key", KEYS)
def test_refuses_a_card_that_lacks_anything(card: ModelCard, key: str) -> None:
    metadata = card.to_metadata()
    del metadata[PREFIX + key]
    with pytest.raises(
        ModelError, match=rf"m.onnx does not say what it is \(plucc.{key} is missing from its metadata\)"
    ):
        ModelCard.from_metadata(metadata, "m.onnx")


@pytest.mark.parametrize(("key", "value"), [("kind", "players"), ("format", "2")])
def test_refuses_another_kind_or_format(card: ModelCard, key: str, value: str) -> None:
    with pytest.raises(ModelError, match=r"this plucc reads puck models of format 1: export it again"):
        ModelCard.from_metadata(card.to_metadata() | {PREFIX + key: value}, "m.onnx")


def test_refuses_damaged_values(card: ModelCard) -> None:
    with pytest.raises(ModelError, match="has damaged metadata"):
        ModelCard.from_metadata(card.to_metadata() | {"plucc.spec": "{"}, "m.onnx")
    with pytest.raises(ConfigError, match=r"m.onnx: precision: input should be 'fp32', 'fp16' or 'int8'"):
        ModelCard.from_metadata(card.to_metadata() | {"plucc.precision": "fp4"}, "m.onnx")
