"""The shipped way: one small network on ONNX Runtime, a frame in, the players' mask out, in a few milliseconds."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import cv2
import numpy as np
import onnxruntime as ort

from plucc.context.finder import digest_of
from plucc.context.masks import grown
from plucc.data.schema import Player
from plucc.types import FloatArray, ImageArray, MaskArray, ModelError, Size

SHIPPED_WEIGHTS = Path(__file__).parent.parent / "weights" / "players.onnx"
PREFIX = "plucc."  # of metadata keys, as in every file that plucc exports
KIND = "players"
FORMAT = 1
SPECK_SHARE = 0.02
SPECK_DEPTH = 3.0  # how far below the cut a removed part lies


@dataclass(frozen=True, slots=True)
class PlayerFacts:
    """What an exported player network says about itself, in its metadata.

    `size` is the picture it looks at; a pixel is a player's above the logit `cut`; parts under `least_px` (of its own
    pixels) are none; the mask then grows by `margin_px` (of a 720-line frame). The rest is for the reader.
    """

    size: Size
    version: str
    cut: float = 0.0
    margin_px: float = 0.0
    least_px: int = 0
    spec: str = ""
    data: str = ""

    def to_metadata(self) -> dict[str, str]:
        entries = {
            "kind": KIND,
            "format": str(FORMAT),
            "version": self.version,
            "sizes": json.dumps({"height": self.size.height, "width": self.size.width}),
            "mask": json.dumps({"cut": self.cut, "margin_px": self.margin_px, "least_px": self.least_px}),
            "spec": self.spec,
            "data": self.data,
        }
        return {PREFIX + key: value for key, value in entries.items()}

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, str], path: Path) -> Self:
        """Read the facts; a file that says nothing, or that it is something else, is refused."""
        facts = {key.removeprefix(PREFIX): value for key, value in metadata.items()}
        if facts.get("kind") != KIND:
            raise ModelError(f"{path} is not a player network exported by plucc: export one with plucc players export")
        if facts.get("format") != str(FORMAT):
            raise ModelError(f"{path} has format {facts.get('format')}, expected {FORMAT}: export it with this version")
        try:
            size, mask = Size(**json.loads(facts["sizes"])), json.loads(facts["mask"])
            return cls(size, facts["version"], **mask, spec=facts["spec"], data=facts["data"])
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise ModelError(f"{path} has damaged metadata: export it again from its checkpoint") from error


class ShippedFinder:
    """Runs an exported player network; `players` is not looked at, labels or not.

    What it returns is a little wider than the bodies, by the margin that the file names: a context image may show some
    ice around a player, but not cut his skates and gloves off.
    """

    def __init__(self, path: Path = SHIPPED_WEIGHTS, *, threads: int | None = None) -> None:
        if not path.is_file():
            raise ModelError(f"{path} is missing: install plucc again, or point to an exported player network")
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads or 0
        options.log_severity_level = 3
        try:
            self._session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime's own classes share no public base
            raise ModelError(f"{path} cannot be opened as an ONNX model: export it again") from error
        self.facts = PlayerFacts.from_metadata(self._session.get_modelmeta().custom_metadata_map, path)
        self._input = self._session.get_inputs()[0].name
        self.version = f"players-{self.facts.version}-{digest_of([path])}"

    def __call__(self, frame: ImageArray, players: Sequence[Player] | None = None) -> MaskArray:  # noqa: ARG002
        scale = Size(frame.shape[1], frame.shape[0]).reference_scale
        return grown(self.bodies(frame), round(self.facts.margin_px / scale))

    def bodies(self, frame: ImageArray) -> MaskArray:
        """Return the players' own outlines, without the margin."""
        return self.outlines(self.logits(frame), Size(frame.shape[1], frame.shape[0]))

    def outlines(self, logits: FloatArray, size: Size) -> MaskArray:
        """Return what the network's logits say of a frame of that size."""
        clean = without_specks(logits, self.facts.cut, self.facts.least_px)
        full = cv2.resize(clean, (size.width, size.height), interpolation=cv2.INTER_LINEAR)
        return np.asarray(full > self.facts.cut, np.bool_)

    def logits(self, frame: ImageArray) -> FloatArray:
        """Return one logit for each pixel of the network's own size."""
        return np.asarray(
            self._session.run(None, {self._input: shrunk(frame, self.facts.size)[None]})[0][0], np.float32
        )


def without_specks(logits: FloatArray, cut: float, least_px: int) -> FloatArray:
    """Return the logits with whatever is too small for a player pressed below the cut: a puck, a glove, a post.

    Small is less than `least_px`, and less than a fiftieth of the largest part: in a close-up even a puck is large.
    """
    over = (logits > cut).astype(np.uint8)
    _, parts, facts, _ = cv2.connectedComponentsWithStats(over, connectivity=4)
    areas_px = facts[1:, cv2.CC_STAT_AREA]  # without the background
    small = np.concatenate(([False], areas_px < max(least_px, SPECK_SHARE * areas_px.max(initial=0))))
    if not small.any():
        return logits
    return np.where(small[parts], np.float32(cut - SPECK_DEPTH), logits)


def shrunk(frame: ImageArray, size: Size) -> ImageArray:
    """Return the frame at the network's size, averaged over whole pixels first and interpolated then.

    Averaging straight to an odd ratio takes eight times as long; interpolating alone drops three pixels in four.
    """
    height, width = frame.shape[:2]
    factor = min(width // size.width, height // size.height)
    if factor > 1:
        frame = frame[: height - height % factor, : width - width % factor]
        frame = np.asarray(
            cv2.resize(frame, (width // factor, height // factor), interpolation=cv2.INTER_AREA), np.uint8
        )
    if frame.shape[:2] == (size.height, size.width):
        return frame
    return np.asarray(cv2.resize(frame, (size.width, size.height), interpolation=cv2.INTER_LINEAR), np.uint8)
