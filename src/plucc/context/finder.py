"""What it takes to find players: the protocol of every way, and the paper's way as a composition of two parts."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from plucc.context.masks import body, box_coverage, ellipse_mask, union
from plucc.data.schema import Player
from plucc.types import Box, ImageArray, InputError, MaskArray, Size

MISSED_SHARE = 0.15  # a player less covered than this was not found


class PlayerFinder(Protocol):
    """Says where the players, goalkeepers and referees on the ice are in an RGB frame: the union of their masks.

    `version` names the method and its weights: masks of different versions are never mixed up. `players` is what labels
    say of this frame, where there are any: a finder that is prompted by boxes takes theirs and does not detect.
    """

    version: str

    def __call__(self, frame: ImageArray, players: Sequence[Player] | None = None) -> MaskArray: ...


class BoxDetector(Protocol):
    """Finds people in an RGB frame."""

    version: str

    def __call__(self, frame: ImageArray) -> list[Box]: ...


class BoxSegmenter(Protocol):
    """Draws the person in each of the boxes: masks of the frame's size, in the boxes' order."""

    version: str

    def __call__(self, frame: ImageArray, boxes: Sequence[Box]) -> list[MaskArray]: ...


class PromptedFinder:
    """The paper's way: boxes first, then a segmenter prompted by them; sticks are taken off each body."""

    def __init__(self, segmenter: BoxSegmenter, detector: BoxDetector | None = None) -> None:
        self._segmenter, self._detector = segmenter, detector
        self.version = f"{'labels' if detector is None else detector.version}+{segmenter.version}"

    def __call__(self, frame: ImageArray, players: Sequence[Player] | None = None) -> MaskArray:
        boxes = self._boxes(frame, players)
        masks = self._segmenter(frame, boxes) if boxes else []
        bodies = (body(mask, box) for mask, box in zip(masks, boxes, strict=True))
        return union(bodies, Size(frame.shape[1], frame.shape[0]))

    def _boxes(self, frame: ImageArray, players: Sequence[Player] | None) -> list[Box]:
        if players is not None:
            return [player.box_px for player in players]
        if self._detector is None:
            raise InputError("this frame has no player boxes to prompt SAM 2 with: name a detector, or label the boxes")
        return self._detector(frame)


class BoxedFinder:
    """Another finder's players, as far as labels confirm them: nothing outside of labelled boxes, something in each.

    Whoever the finder missed stands as an ellipse in his box. With it a network labels masks for its own successor.
    """

    def __init__(self, finder: PlayerFinder) -> None:
        self._finder = finder
        self.version = f"{finder.version}-boxed"

    def __call__(self, frame: ImageArray, players: Sequence[Player] | None = None) -> MaskArray:
        if players is None:
            raise InputError("this frame has no labelled players to keep to: leave the boxes out, or label them")
        size = Size(frame.shape[1], frame.shape[0])
        boxes = [player.box_px for player in players]
        found = self._finder(frame, players)
        mask = union((body(found, box) for box in boxes), size)
        missed = [box for box, share in zip(boxes, box_coverage(mask, boxes), strict=True) if share < MISSED_SHARE]
        return union((ellipse_mask(box, size) for box in missed), size) | mask


def digest_of(files: Iterable[Path]) -> str:
    """Return eight digits that change when any of the files does."""
    digest = hashlib.sha256()
    for path in sorted(files):
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:8]
