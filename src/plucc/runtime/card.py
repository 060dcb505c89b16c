"""The card that an exported model carries in its own file: what it is, what it expects, and where it comes from."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from plucc.config import HeatmapSpec, NetworkSpec, SecondLookSpec, Section, parse_section
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
COMPANIONS = ("second_look", "second_opinion")  # entries that a file may lack: other files beside it

Precision: TypeAlias = Literal["fp32", "fp16", "int8"]
FileName: TypeAlias = Annotated[str, Field(pattern=r"^[^/\\]+\.onnx$")]


class ModelCard(Section):
    """Facts about a model. An empty `calibration` means that confidences are raw.

    `data` names what it was trained on, `version` the plucc that exported it. `heatmap` holds frame size and σ of its
    training; other frame sizes run too. `second_look` names the file, in the same folder, of the network that looks
    again at what this one finds, `second_opinion` that of another puck network, which is asked too where those two are
    unsure of a picture; None where there is none.
    """

    spec: NetworkSpec
    heatmap: HeatmapSpec = HeatmapSpec()
    calibration: dict[str, Any] = Field(default_factory=dict)
    data: dict[str, Any] = Field(default_factory=dict)
    version: str
    precision: Precision = "fp32"
    second_look: FileName | None = None
    second_opinion: FileName | None = None

    @property
    def uses_context(self) -> bool:
        return self.spec.context is not None

    def to_metadata(self) -> dict[str, str]:
        """Return the card as the text entries of an ONNX file; what readers look for first has an entry of its own."""
        sizes = {"height": self.heatmap.height, "width": self.heatmap.width, "sigma_px": self.heatmap.sigma_px}
        entries = identity_entries(KIND, FORMAT, self.version, self.spec) | {
            "sizes": json.dumps(sizes),
            "logit_stride": str(self.spec.logit_stride),
            "calibration": json.dumps(self.calibration),
            "data": json.dumps(self.data),
            "precision": self.precision,
        }
        named = {key: getattr(self, key) for key in COMPANIONS}
        entries |= {key: name for key, name in named.items() if name is not None}
        return {PREFIX + key: value for key, value in entries.items()}

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, str], origin: str) -> "ModelCard":
        """Read the card back; `origin` names the file when it is foreign, incomplete, or of another version."""
        found = read_entries(metadata, KEYS, KIND, FORMAT, origin)
        parsed = parse_entries(found, ("spec", "sizes", "calibration", "data"), origin)
        fields = {
            "spec": parsed["spec"],
            "heatmap": parsed["sizes"],
            "calibration": parsed["calibration"],
            "data": parsed["data"],
            "version": found["version"],
            "precision": found["precision"],
        } | {key: metadata.get(PREFIX + key) for key in COMPANIONS}
        return parse_section(cls, fields, origin)


def identity_entries(kind: str, layout: int, version: str, spec: NetworkSpec | SecondLookSpec) -> dict[str, str]:
    """Return the entries that every kind of model file has: what it is, and how pixels enter it."""
    normalisation = {"mean": spec.mean, "std": spec.std, "of": "RGB in 0..1, done inside the graph"}
    return {
        "kind": kind,
        "format": str(layout),
        "version": version,
        "spec": spec.model_dump_json(),
        "normalisation": json.dumps(normalisation),
    }


def read_entries(metadata: Mapping[str, str], keys: Sequence[str], kind: str, form: int, origin: str) -> dict[str, str]:
    """Return the named entries of a model file, without their prefix; a file of another kind or format is refused."""
    told = {key.removeprefix(PREFIX): value for key, value in metadata.items() if key.startswith(PREFIX)}
    for key in ("kind", "format"):
        _check_has(told, key, origin)
    if told["kind"] != kind or told["format"] != str(form):
        raise ModelError(
            f"{origin} is a {told['kind']} model of format {told['format']}, this plucc reads {kind} models of "
            f"format {form}: export it again from its checkpoint"
        )
    for key in keys:
        _check_has(told, key, origin)
    return {key: told[key] for key in keys}


def parse_entries(found: Mapping[str, str], keys: Sequence[str], origin: str) -> dict[str, Any]:
    """Return the values of entries that are written as JSON."""
    try:
        return {key: json.loads(found[key]) for key in keys}
    except json.JSONDecodeError as error:
        raise ModelError(f"{origin} has damaged metadata: export it again from its checkpoint") from error


def _check_has(told: Mapping[str, str], key: str, origin: str) -> None:
    if key not in told:
        raise ModelError(
            f"{origin} does not say what it is ({PREFIX}{key} is missing from its metadata): "
            f"give a model that plucc export wrote"
        )
