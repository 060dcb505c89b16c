"""What every importer shares: which labels mean what, and how labelled objects become one valid record.

Boxes that cross the frame's edge are clamped. Of several pucks the smallest box is kept, because the others turn out to
be mislabelled players or sticks. A person wholly outside the frame is dropped; a puck is only if another one is inside.
Each such decision is a finding.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from plucc.data.findings import Action, Fault, Findings, Place
from plucc.data.manifest import explain
from plucc.data.masks import Rle
from plucc.data.schema import Player, Puck, Record
from plucc.types import Box, Category, PlayerRole, Point, Progress, Size, T, silent

Lookup: TypeAlias = Callable[[Path], str | None]
Part = TypeVar("Part", bound=BaseModel)

ROUNDING_PX = 1e-6  # a label that leaves the frame by less than this did so in floating-point arithmetic

_ATTRIBUTES = ("category", "airborne", "visible_fraction", "role", "team", "gaze_rad", "orientation_rad")


@dataclass(frozen=True, slots=True)
class ClassMap:
    """Which source classes are the puck and the people; a class is given by its number or its name in small letters."""

    puck: frozenset[str]
    players: frozenset[str]
    roles: Mapping[str, PlayerRole] = field(default_factory=dict)

    def wants(self, label: "SourceClass") -> bool:
        return not self.puck.isdisjoint(label.keys) or not self.players.isdisjoint(label.keys)

    def role(self, label: "SourceClass") -> PlayerRole | None:
        """Return the role that was told for a class; else the one that it is named after."""
        for key in label.keys:
            if key in self.roles:
                return self.roles[key]
        return next((role for role in PlayerRole if role.value in label.keys), None)


@dataclass(frozen=True, slots=True)
class SourceClass:
    """A class as the source knows it: a number, a name, or both."""

    number: int | None = None
    name: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """How a user may call it."""
        keys = [] if self.number is None else [str(self.number)]
        return (*keys, self.name.lower()) if self.name else tuple(keys)

    def __str__(self) -> str:
        return " ".join(part for part in ("" if self.number is None else str(self.number), self.name) if part)


@dataclass(frozen=True, slots=True)
class LabelledObject:
    """One label of the source in pixels; `details` are further fields of Puck or Player."""

    place: Place
    label: SourceClass
    box_px: Box | None = None
    point_px: Point | None = None
    mask: Rle | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LabelledFrame:
    """One picture of the source and its labels; `details` are further fields of Record."""

    image: Path
    size: Size
    place: Place
    objects: tuple[LabelledObject, ...]
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Intake:
    """Makes records of labelled frames, and remembers what it decided and which classes it met."""

    base: Path  # the dataset's folder, which images are told relative to
    classes: ClassMap
    match: Lookup
    run: Lookup
    empty_means_no_puck: bool = False
    findings: Findings = field(default_factory=Findings)
    progress: Progress = silent
    seen: Counter[SourceClass] = field(default_factory=Counter)
    rounded: int = 0  # boxes that were clamped by no more than floating-point error

    def each(self, items: Sequence[T], read: Callable[[T], LabelledFrame]) -> Iterator[Record]:
        """Yield the record of every item whose labels are sound; the others are faults."""
        images: dict[str, Place] = {}
        for item in self.progress(items, total=len(items), label="importing"):
            try:
                frame = read(item)
                record = self.record(frame)
                if record.image in images:
                    raise Fault(frame.place, f"{record.image} was labelled already in {images[record.image]}")
            except Fault as fault:
                self.findings.fault(fault.place, fault.message)
            else:
                images[record.image] = frame.place
                yield record

    def record(self, frame: LabelledFrame) -> Record:
        """Return the record of one frame, or raise the fault that forbids it."""
        self.seen.update(labelled.label for labelled in frame.objects)
        fields: dict[str, Any] = {
            "image": Path(os.path.relpath(frame.image.resolve(), self.base.resolve())).as_posix(),
            "size": frame.size,
            "players": self._players(frame) if self.classes.players else None,
        }
        puck = self._choose_puck(frame)
        if puck is None:
            fields["no_puck"] = self.empty_means_no_puck
        else:
            box = None if puck.box_px is None else self._clamped(puck, puck.box_px, frame.size)
            fields["puck"] = _build(Puck, puck, {"box_px": box, "point_px": puck.point_px})
            fields["category"] = _category(puck)
        fields |= frame.details
        for key, lookup in (("match", self.match), ("run", self.run)):
            told = lookup(frame.image)
            if told is not None:
                fields[key] = told
        if fields.get("match") is None:
            raise Fault(frame.place, f"no match is known for {frame.image.name}: give --match or --match-from")
        return _validated(Record, fields, frame.place)

    def _choose_puck(self, frame: LabelledFrame) -> LabelledObject | None:
        pucks = [item for item in frame.objects if self.classes.puck.intersection(item.label.keys)]
        if not pucks:
            return None
        inside = [item for item in pucks if _is_inside(item, frame.size)]
        if not inside:
            raise Fault(pucks[0].place, f"the puck lies outside the frame of {frame.size.width}x{frame.size.height} px")
        chosen = min(inside, key=_area_px)
        if len(pucks) > 1:
            others = [_measure(item, frame.size) for item in pucks if item is not chosen]
            told = f"{_measure(chosen, frame.size)}, not {', '.join(others)}"
            message = f"one of {len(pucks)} pucks: kept the smallest box inside the frame, {told}"
            self.findings.note(Action.CHOSEN, chosen.place, message)
        return chosen

    def _players(self, frame: LabelledFrame) -> tuple[Player, ...]:
        players = []
        for item in frame.objects:
            if not self.classes.players.intersection(item.label.keys):
                continue
            if item.box_px is None:
                raise Fault(item.place, "a player without a box or a mask: label one, or leave its class out")
            if not _is_inside(item, frame.size):
                self.findings.note(Action.LEFT_OUT, item.place, "a player wholly outside the frame")
                continue
            fields = {
                "box_px": self._clamped(item, item.box_px, frame.size),
                "mask": item.mask,
                "role": self.classes.role(item.label),
            }
            players.append(_build(Player, item, fields))
        return tuple(players)

    def _clamped(self, item: LabelledObject, box: Box, size: Size) -> Box:
        if box.width <= 0 or box.height <= 0:
            raise Fault(item.place, f"a box of {box.width:g} x {box.height:g} px: both sides must be above zero")
        inside = _intersection(box, size)
        over_px = max(-box.left, -box.top, box.right - size.width, box.bottom - size.height)
        if 0 < over_px <= ROUNDING_PX:
            self.rounded += 1
        elif over_px > 0:
            message = f"the box of class {item.label} crossed the frame's edge by {over_px:.2g} px"
            self.findings.note(Action.CLAMPED, item.place, message)
        return inside


def known_details(attributes: Mapping[str, Any], *, occluded: bool = False) -> dict[str, Any]:
    """Return what free-form attributes of a label say about a puck or a player, by the names of the record's fields."""
    lowered = {key.strip().lower(): value for key, value in attributes.items()}
    details = {key: lowered[key] for key in _ATTRIBUTES if lowered.get(key) not in (None, "")}
    if isinstance(details.get("role"), str):
        details["role"] = details["role"].lower()
    return details | {"occluded": True} if occluded else details


def _build(kind: type[Part], item: LabelledObject, fields: dict[str, Any]) -> Part:
    own = {key: value for key, value in item.details.items() if key in kind.model_fields}
    return _validated(kind, fields | own, item.place)


def _validated(kind: type[Part], fields: dict[str, Any], place: Place) -> Part:
    try:
        return kind(**fields)
    except ValidationError as error:
        finding = explain(error, place.file, place.line)
        parts = (place.field, finding.place.field)
        raise Fault(replace(place, field=".".join(part for part in parts if part)), finding.message) from error


def _category(puck: LabelledObject) -> str | None:
    told = puck.details.get("category")
    if told is not None:
        return str(told).strip().lower().replace("_", "-").replace(" ", "-")
    return Category.OCCLUDED.value if puck.details.get("occluded") else None


def _intersection(box: Box, size: Size) -> Box:
    return Box(max(box.left, 0.0), max(box.top, 0.0), min(box.right, size.width), min(box.bottom, size.height))


def _is_inside(item: LabelledObject, size: Size) -> bool:
    """Whether any part of the object shows; a box of no size is not outside but wrong, which clamping finds."""
    if item.box_px is None:
        point = item.point_px
        return point is not None and 0 <= point.x <= size.width and 0 <= point.y <= size.height
    shown = _intersection(item.box_px, size)
    return (shown.width > 0 and shown.height > 0) or shown == item.box_px


def _area_px(item: LabelledObject) -> float:
    return 0.0 if item.box_px is None else item.box_px.width * item.box_px.height


def _measure(item: LabelledObject, size: Size) -> str:
    measure = "a point" if item.box_px is None else f"{item.box_px.width:.1f} x {item.box_px.height:.1f} px"
    return measure if _is_inside(item, size) else f"{measure} outside"
