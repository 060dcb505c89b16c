"""The card of a second look: what it is, how its word is weighed against the first look's, where it comes from."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from plucc.config import SecondLookSpec, Section, parse_section
from plucc.runtime.card import PREFIX, identity_entries, parse_entries, read_entries
from plucc.runtime.metadata import read_metadata
from plucc.types import ModelError

KIND = "second look"
FORMAT = 1
KEYS = ("kind", "format", "version", "spec", "normalisation", "weighing", "data")
_WEIGHED = frozenset({"first", "second", "presence", "none"})


class SecondLookCard(Section):
    """Facts about a second look. An empty `weighing` means that it was never fitted to labelled frames.

    `data` names what it was trained on, `version` the plucc that exported it.
    """

    spec: SecondLookSpec
    weighing: dict[str, float] = Field(default_factory=dict)
    data: dict[str, Any] = Field(default_factory=dict)
    version: str

    def to_metadata(self) -> dict[str, str]:
        """Return the card as the text entries of an ONNX file."""
        entries = identity_entries(KIND, FORMAT, self.version, self.spec) | {
            "weighing": json.dumps(self.weighing),
            "data": json.dumps(self.data),
        }
        return {PREFIX + key: value for key, value in entries.items()}

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, str], origin: str) -> "SecondLookCard":
        """Read the card back; `origin` names the file when it is foreign, incomplete, or of another version."""
        found = read_entries(metadata, KEYS, KIND, FORMAT, origin)
        fields = parse_entries(found, ("spec", "weighing", "data"), origin) | {"version": found["version"]}
        card = parse_section(cls, fields, origin)
        if card.weighing and set(card.weighing) != _WEIGHED:
            raise ModelError(f"{origin} has damaged metadata: export it again from its checkpoint")
        return card


def read_second_card(path: Path) -> SecondLookCard:
    """Return what a second look's file says of itself."""
    return SecondLookCard.from_metadata(read_metadata(path), str(path))
