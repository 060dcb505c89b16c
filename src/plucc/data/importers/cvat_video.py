"""CVAT's videos: tracks through numbered frames.

A track holds from its first key frame on: between two key frames its box or point moves in a straight line, after the
last one it stays, and where it is marked outside there is nothing. A mask is only where it was drawn.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from pathlib import Path

from plucc.data.findings import Action, Fault, Findings, Place
from plucc.data.images import IMAGE_SUFFIXES
from plucc.data.importers.cvat_shapes import SHAPES, read_number, read_shape
from plucc.data.importers.intake import ClassMap, LabelledFrame, LabelledObject
from plucc.data.importers.pictures import picture_size
from plucc.data.importers.xml_tree import Node
from plucc.types import Box, DataError, Point, Size


@dataclass(frozen=True, slots=True)
class Track:
    """One object through time: its shapes in the order of their frames."""

    label: str
    path: Path
    frames: tuple[int, ...]
    shapes: tuple[Node, ...]

    @classmethod
    def of(cls, node: Node, path: Path) -> "Track":
        shapes = {_frame_number(shape, path): shape for shape in node.all(*SHAPES)}
        frames = tuple(sorted(shapes))
        return cls(node.attributes.get("label", ""), path, frames, tuple(shapes[frame] for frame in frames))

    def at(self, frame: int, size: Size, classes: ClassMap) -> LabelledObject | None:
        """Return the object as it is in a frame; None before it appears and while it is outside."""
        index = bisect_right(self.frames, frame) - 1
        if index < 0 or self.shapes[index].attributes.get("outside") == "1":
            return None
        current = read_shape(self.shapes[index], self.path, size, classes, self.label)
        if self.frames[index] == frame:
            return current
        if index + 1 == len(self.frames):
            return replace(current, mask=None)
        following = read_shape(self.shapes[index + 1], self.path, size, classes, self.label)
        share = (frame - self.frames[index]) / (self.frames[index + 1] - self.frames[index])
        return _between(current, following, share)


@dataclass(frozen=True, slots=True)
class Video:
    """The labelled part of a video: its frames, the size that its labels are for, and its tracks."""

    place: Place
    frames: range
    size: Size | None
    tracks: tuple[Track, ...]
    details: dict[str, object]

    @classmethod
    def of(cls, tree: Node, path: Path, details: dict[str, object]) -> "Video":
        meta = tree.find("meta") or Node("meta", {}, tree.line)
        tracks = tuple(Track.of(node, path) for node in tree.all("track"))
        last = max((track.frames[-1] for track in tracks if track.frames), default=0)
        step = re.search(r"step\s*=\s*([1-9]\d*)", meta.value("frame_filter") or "")
        first = min((track.frames[0] for track in tracks if track.frames), default=0)
        frames = range(
            min(_whole(meta.value("start_frame"), 0), first),
            max(_whole(meta.value("stop_frame"), last), last) + 1,
            int(step.group(1)) if step else 1,
        )
        original = meta.find("original_size")
        size = (
            None if original is None else Size(_whole(original.value("width"), 0), _whole(original.value("height"), 0))
        )
        return cls(Place(path, meta.line, "meta"), frames, size, tracks, details)

    def read(self, classes: ClassMap, item: tuple[int, Path]) -> LabelledFrame:
        """Return the labels of one numbered picture."""
        number, image = item
        size = picture_size(image, self.size, self.place)
        objects = (track.at(number, size, classes) for track in self.tracks)
        found = tuple(entry for entry in objects if entry is not None)
        return LabelledFrame(image, size, self.place, found, self.details | {"frame_index": number})

    def pictures(self, folders: tuple[Path, ...], findings: Findings) -> list[tuple[int, Path]]:
        """Return the numbered pictures of the frames; what does not fit together is noted."""
        numbered = next((found for found in map(_numbered, folders) if found), None)
        if numbered is None:
            looked = ", ".join(str(folder) for folder in folders)
            raise DataError(
                f"the frames of the video are missing: looked in {looked} for pictures like frame_000000.jpg; extract "
                f"them (ffmpeg -i VIDEO -start_number 0 frame_%06d.png) and say where with --images"
            )
        first, last = self.frames[0], self.frames[-1]
        if first not in numbered and last + 1 in numbered:
            raise DataError(
                f"{numbered[last + 1]} lies beyond the last frame {last}, and frame {first} is missing: the pictures "
                f"seem to be numbered one too high; count as CVAT does, from {first}"
            )
        missing = sum(number not in numbered for number in self.frames)
        if missing:
            findings.note(Action.LEFT_OUT, self.place, f"{missing} of {len(self.frames)} frames have no picture")
        return [(number, image) for number, image in sorted(numbered.items()) if number in self.frames]


def _numbered(folder: Path) -> dict[int, Path]:
    numbered: dict[int, Path] = {}
    for image in sorted(folder.iterdir()) if folder.is_dir() else ():
        number = re.search(r"(\d+)$", image.stem)
        if number is None or image.suffix.lower() not in IMAGE_SUFFIXES:
            continue
        other = numbered.setdefault(int(number.group(1)), image)
        if other != image:
            raise DataError(
                f"{other} and {image} have the same frame number: keep the pictures of one video in a folder"
            )
    return numbered


def _frame_number(shape: Node, path: Path) -> int:
    place = Place(path, shape.line, shape.tag)
    try:
        number = read_number(shape, "frame", place)
    except Fault as fault:
        raise DataError(str(fault)) from fault
    return int(number)


def _whole(word: str | None, default: int) -> int:
    return int(word) if word is not None and word.isdecimal() else default


def _between(before: LabelledObject, after: LabelledObject, share: float) -> LabelledObject:
    def mix(start: float, end: float) -> float:
        return start + (end - start) * share

    box, end, point = before.box_px, after.box_px, before.point_px
    if box is not None and end is not None:
        box = Box(
            mix(box.left, end.left), mix(box.top, end.top), mix(box.right, end.right), mix(box.bottom, end.bottom)
        )
    if point is not None and after.point_px is not None:
        point = Point(mix(point.x, after.point_px.x), mix(point.y, after.point_px.y))
    return replace(before, box_px=box, point_px=point, mask=None)
