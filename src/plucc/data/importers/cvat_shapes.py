"""CVAT's shapes: boxes (maybe turned), ellipses, points, polygons and masks, all in continuous pixels of the frame."""

from dataclasses import replace
from math import cos, isfinite, radians, sin
from pathlib import Path

import numpy as np

from plucc.data.findings import Fault, Place
from plucc.data.importers.intake import ClassMap, LabelledObject, SourceClass, known_details
from plucc.data.importers.xml_tree import Node
from plucc.data.masks import encode_mask, polygon_mask
from plucc.types import Box, FloatArray, Point, Size


def read_shape(node: Node, path: Path, size: Size, classes: ClassMap, label: str = "") -> LabelledObject:
    """Return one label; inside a track the label's name is the track's. One of no wanted class is only counted."""
    place = Place(path, node.line, node.tag)
    name = node.attributes.get("label") or label
    if not name:
        raise Fault(place, "the label has no name")
    if not classes.wants(SourceClass(name=name)):
        return LabelledObject(place, SourceClass(name=name))
    attributes = {child.attributes.get("name", ""): child.text.strip() for child in node.all("attribute")}
    details = known_details(attributes, occluded=node.attributes.get("occluded") == "1")
    drawn = LabelledObject(place, SourceClass(name=name), details=details)
    return _READERS[node.tag](drawn, node, size)


def read_number(node: Node, key: str, place: Place, default: float | None = None) -> float:
    """Return a finite number that an element must have as an attribute, unless there is a default."""
    word = node.attributes.get(key)
    if word is None and default is not None:
        return default
    try:
        number = float(word or "")
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise Fault(Place(place.file, place.line, f"{node.tag}.{key}"), f"{word!r} is not a finite number")
    return number


def _read_box(drawn: LabelledObject, node: Node, size: Size) -> LabelledObject:  # noqa: ARG001
    left, top, right, bottom = (read_number(node, key, drawn.place) for key in ("xtl", "ytl", "xbr", "ybr"))
    return replace(
        drawn, box_px=_turned(Box(left, top, right, bottom), read_number(node, "rotation", drawn.place, 0.0))
    )


def _read_ellipse(drawn: LabelledObject, node: Node, size: Size) -> LabelledObject:  # noqa: ARG001
    x, y, rx, ry = (read_number(node, key, drawn.place) for key in ("cx", "cy", "rx", "ry"))
    turn = radians(read_number(node, "rotation", drawn.place, 0.0))
    half_width = float(np.hypot(rx * cos(turn), ry * sin(turn)))
    half_height = float(np.hypot(rx * sin(turn), ry * cos(turn)))
    return replace(drawn, box_px=Box(x - half_width, y - half_height, x + half_width, y + half_height))


def _read_points(drawn: LabelledObject, node: Node, size: Size) -> LabelledObject:  # noqa: ARG001
    points = _coordinates(node, drawn.place)
    if len(points) != 1:
        message = f"{len(points)} points: expected one, where the puck's centre is"
        raise Fault(Place(drawn.place.file, node.line, "points.points"), message)
    return replace(drawn, point_px=Point(*points[0].tolist()))


def _read_polygon(drawn: LabelledObject, node: Node, size: Size) -> LabelledObject:
    points = _coordinates(node, drawn.place)
    (left, top), (right, bottom) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    mask = encode_mask(polygon_mask([points], size))
    return replace(drawn, box_px=Box(left, top, right, bottom), mask=mask)


def _read_mask(drawn: LabelledObject, node: Node, size: Size) -> LabelledObject:
    left, top, width, height = (int(read_number(node, key, drawn.place)) for key in ("left", "top", "width", "height"))
    words = node.attributes.get("rle", "").replace(",", " ").split()
    counts = np.array([int(word) if word.isdecimal() else -1 for word in words], dtype=np.int64)
    fits = left >= 0 and top >= 0 and left + width <= size.width and top + height <= size.height
    if not fits or width < 1 or height < 1 or (counts < 0).any() or counts.sum() != width * height:
        message = f"the runs do not fill a part of {width}x{height} px inside the frame of {size.width}x{size.height}"
        raise Fault(Place(drawn.place.file, node.line, "mask.rle"), message)
    mask = np.zeros((size.height, size.width), dtype=bool)
    part = np.repeat(np.arange(len(counts)) % 2 == 1, counts).reshape(height, width)  # CVAT counts along the rows
    mask[top : top + height, left : left + width] = part
    return replace(drawn, box_px=Box(left, top, left + width, top + height), mask=encode_mask(mask))


def _coordinates(node: Node, place: Place) -> FloatArray:
    pairs = [pair.split(",") for pair in node.attributes.get("points", "").split(";")]
    try:
        points = np.array([[float(x), float(y)] for x, y in pairs])
    except ValueError:
        points = np.full((1, 2), np.nan)
    if not np.isfinite(points).all():
        where = Place(place.file, node.line, f"{node.tag}.points")
        raise Fault(where, "not a list of finite numbers: expected x,y;x,y;...")
    return points


def _turned(box: Box, degrees: float) -> Box:
    """Return the upright box around a box that is turned about its centre."""
    if degrees == 0:
        return box
    centre, turn = box.centre, radians(degrees)
    half_width = (abs(cos(turn)) * box.width + abs(sin(turn)) * box.height) / 2
    half_height = (abs(sin(turn)) * box.width + abs(cos(turn)) * box.height) / 2
    return Box(centre.x - half_width, centre.y - half_height, centre.x + half_width, centre.y + half_height)


_READERS = {
    "box": _read_box,
    "ellipse": _read_ellipse,
    "points": _read_points,
    "polygon": _read_polygon,
    "mask": _read_mask,
}
SHAPES = tuple(_READERS)
