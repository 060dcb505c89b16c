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
from plucc.data.schema import Player
from plucc.types import FloatArray, ImageArray, MaskArray, ModelError, Size

SHIPPED_WEIGHTS = Path(__file__).parent.parent / "weights" / "players.onnx"
PREFIX = "plucc."  # of metadata keys, as in every file that plucc exports
KIND = "players"
FORMAT = 2
SPECK_SHARE = 0.02
STEPS_PER_LOGIT = 16  # logits are interpolated as 8-bit steps: quicker, and exact enough
AT_CUT = 128
SPECK_STEP = AT_CUT - 3 * STEPS_PER_LOGIT  # how deep below the cut a removed part lies


@dataclass(frozen=True, slots=True)
class PlayerFacts:
    """What an exported player network says about itself, in its metadata.

    `size` is the picture it looks at, and pixels here are of that size. A pixel is a player's above the logit `cut`;
    parts under `least_px` are none; the mask then grows by `margin_px`. The rest is for the reader.
    """

    size: Size
    version: str
    cut: float = 0.0
    margin_px: int = 0
    least_px: int = 0
    spec: str = ""
    data: str = ""

    def to_metadata(self) -> dict[str, str]:
        entries = {
            "kind": KIND,
            "format": str(FORMAT),
            "version": self.version,
            "sizes": json.dumps({"height": self.size.height, "width": self.size.width}),
            "mask": json.dumps({name: getattr(self, name) for name in ("cut", "margin_px", "least_px")}),
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
        steps = spread(self.steps(self.logits(frame)), self.facts.margin_px)
        return outlines(steps, Size(frame.shape[1], frame.shape[0]))

    def bodies(self, frame: ImageArray) -> MaskArray:
        """Return the players' own outlines, without the margin."""
        return outlines(self.steps(self.logits(frame)), Size(frame.shape[1], frame.shape[0]))

    def logits(self, frame: ImageArray) -> FloatArray:
        """Return the network's logits (4, h/2, w/2) for the pixels of its own size, in cells of 2×2."""
        return np.asarray(self._session.run(None, {self._input: shrunk(frame, self.facts.size)[None]})[0][0])

    def steps(self, logits: FloatArray) -> ImageArray:
        """Return the players in the network's own pixels, in steps of which 128 is the cut."""
        return without_specks(pixel_steps(logits, self.facts.cut), self.facts.least_px)


def pixel_steps(cells: FloatArray, cut: float) -> ImageArray:
    """Return logits (4, h, w) of cells of 2×2 pixels as 8-bit steps (2h, 2w), 128 where they are at the cut."""
    _, height, width = cells.shape
    flat = cells.reshape(-1, width)
    steps = cv2.addWeighted(flat, STEPS_PER_LOGIT, flat, 0.0, AT_CUT - STEPS_PER_LOGIT * cut, dtype=cv2.CV_8U).reshape(
        cells.shape
    )
    upper, lower = (cv2.merge((steps[left], steps[left + 1])).reshape(height, -1) for left in (0, 2))
    return np.asarray(np.stack((upper, lower), axis=1).reshape(2 * height, 2 * width), np.uint8)


def without_specks(steps: ImageArray, least_px: int) -> ImageArray:
    """Press whatever is too small for a player below the cut, in place: a puck, a glove, a post.

    Small is less than `least_px`, and less than a fiftieth of the largest part: in a close-up even a puck is large.
    """
    over = cv2.threshold(steps, AT_CUT, 1, cv2.THRESH_BINARY)[1]
    _, parts = cv2.connectedComponents(over, connectivity=4)
    places = np.flatnonzero(over.view(np.bool_))  # few: areas of the whole picture would take three times as long
    owners = parts.ravel()[places]
    areas_px = np.bincount(owners)
    small = areas_px < max(least_px, SPECK_SHARE * areas_px.max(initial=0))
    np.put(steps, places[small[owners]], SPECK_STEP)
    return steps


def spread(steps: ImageArray, margin_px: int) -> ImageArray:
    """Return the steps with every pixel as high as the highest within the margin: what is above the cut grows."""
    reach = np.arange(-margin_px, margin_px + 1)
    disc = reach[:, None] ** 2 + reach**2 <= margin_px**2  # OpenCV's small ellipses are wider than high
    return np.asarray(cv2.dilate(steps, disc.astype(np.uint8)), np.uint8)


def outlines(steps: ImageArray, size: Size) -> MaskArray:
    """Return where steps, interpolated to a frame of that size, are above the cut."""
    full = cv2.resize(steps, (size.width, size.height), interpolation=cv2.INTER_LINEAR)
    return cv2.threshold(full, AT_CUT, 1, cv2.THRESH_BINARY)[1].view(np.bool_)


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
