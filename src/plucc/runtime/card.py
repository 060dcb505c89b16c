"""The card that an exported model carries in its own file: what it is, what it expects, and where it comes from."""

import json
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from pydantic import Field

from plucc.config import HeatmapSpec, NetworkSpec, Section, parse_section
from plucc.types import ModelError

KIND = "puck"
FORMAT = 1
PREFIX = "plucc."
KEYS = (
    "kind",
    "format",
    "version",
    "spec",
    "normalisation",
    "sizes",
    "logit_stride",
    "calibration",
    "data",
    "precision",
)

Precision: TypeAlias = Literal["fp32", "fp16", "int8"]


class ModelCard(Section):
    """Facts about a model. An empty `calibration` means that confidences are raw.

    `data` names what it was trained on, `version` the plucc that exported it. `heatmap` holds frame size and σ of its
    training; other frame sizes run too.
    """

    spec: NetworkSpec
    heatmap: HeatmapSpec = HeatmapSpec()
    calibration: dict[str, Any] = Field(default_factory=dict)
    data: dict[str, Any] = Field(default_factory=dict)
    version: str
    precision: Precision = "fp32"

    @property
    def uses_context(self) -> bool:
        return self.spec.context is not None

    def to_metadata(self) -> dict[str, str]:
        """Return the card as the text entries of an ONNX file; what readers look for first has an entry of its own."""
        sizes = {"height": self.heatmap.height, "width": self.heatmap.width, "sigma_px": self.heatmap.sigma_px}
        normalisation = {"mean": self.spec.mean, "std": self.spec.std, "of": "RGB in 0..1, done inside the graph"}
        entries = {
            "kind": KIND,
            "format": str(FORMAT),
            "version": self.version,
            "spec": self.spec.model_dump_json(),
            "normalisation": json.dumps(normalisation),
            "sizes": json.dumps(sizes),
            "logit_stride": str(self.spec.logit_stride),
            "calibration": json.dumps(self.calibration),
            "data": json.dumps(self.data),
            "precision": self.precision,
        }
        return {PREFIX + key: value for key, value in entries.items()}

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, str], origin: str) -> "ModelCard":
        """Read the card back; `origin` names the file when it is foreign, incomplete, or of another version."""
        missing = [key for key in KEYS if PREFIX + key not in metadata]
        if missing:
            raise ModelError(
                f"{origin} does not say what it is ({PREFIX}{missing[0]} is missing from its metadata): "
                f"give a model that plucc export wrote"
            )
        found = {key: metadata[PREFIX + key] for key in KEYS}
        if found["kind"] != KIND or found["format"] != str(FORMAT):
            raise ModelError(
                f"{origin} is a {found['kind']} model of format {found['format']}, this plucc reads {KIND} models of "
                f"format {FORMAT}: export it again from its checkpoint"
            )
        return cls._from_entries(found, origin)

    @classmethod
    def _from_entries(cls, found: Mapping[str, str], origin: str) -> "ModelCard":
        try:
            parsed = {key: json.loads(found[key]) for key in ("spec", "sizes", "calibration", "data")}
        except json.JSONDecodeError as error:
            raise ModelError(f"{origin} has damaged metadata: export it again from its checkpoint") from error
        fields = {
            "spec": parsed["spec"],
            "heatmap": parsed["sizes"],
            "calibration": parsed["calibration"],
            "data": parsed["data"],
            "version": found["version"],
            "precision": found["precision"],
        }
        return parse_section(cls, fields, origin)
