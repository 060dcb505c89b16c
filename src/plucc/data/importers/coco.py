"""COCO JSON: boxes, keypoints, and masks as polygons or run lengths, compressed or not.

A box is in continuous pixels. A keypoint is the index of a pixel, whose centre lies half a pixel further. What COCO has
no place for is read from the key `plucc`, where our own exporter puts it.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, PositiveInt, ValidationError

from plucc.data.findings import Action, Fault, Findings, Place
from plucc.data.importers.intake import Intake, LabelledFrame, LabelledObject, SourceClass, known_details
from plucc.data.importers.pictures import find_picture, folders_around, picture_size
from plucc.data.manifest import explain
from plucc.data.masks import Rle, decode_mask, encode_mask, mask_box, mask_from_runs, polygon_mask
from plucc.data.schema import Record
from plucc.types import Box, DataError, MaskArray, Point, Size

KEYPOINT_HIDDEN = 1  # COCO's visibility: 0 not labelled, 1 labelled but hidden, 2 visible
OWN_FIELDS = frozenset({"image", "size", "puck"})  # COCO tells these itself
HALF_PX = 0.5  # from the index of a pixel to its centre


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, allow_inf_nan=False)


class CocoCategory(_Entry):
    """A class."""

    id: int
    name: str


class CocoImage(_Entry):
    """A picture."""

    id: int | str
    file_name: str
    width: PositiveInt
    height: PositiveInt
    plucc: dict[str, Any] = {}

    @property
    def size(self) -> Size:
        return Size(self.width, self.height)


class CocoRle(_Entry):
    """A mask as run lengths."""

    size: tuple[int, int]
    counts: list[int] | str


class CocoAnnotation(_Entry):
    """A label."""

    image_id: int | str
    category_id: int
    bbox: tuple[float, float, float, float] | None = None
    segmentation: CocoRle | list[list[float]] | None = None
    keypoints: tuple[float, ...] = ()
    iscrowd: bool = False
    attributes: dict[str, Any] = {}
    plucc: dict[str, Any] = {}


Entry = TypeVar("Entry", bound=_Entry)


@dataclass(frozen=True, slots=True)
class _Source:
    categories: dict[int, CocoCategory]
    annotations: dict[int | str, list[tuple[Place, CocoAnnotation]]]  # by image
    folders: tuple[Path, ...]


def read_coco(path: Path, intake: Intake, images: Path | None = None) -> Iterator[Record]:
    """Yield a record for every picture of a COCO file; pictures are sought in `images`, or else around the file."""
    content = _load(path)
    pictures = list(_entries(content, "images", CocoImage, Findings(), path))
    categories = {entry.id: entry for _, entry in _entries(content, "categories", CocoCategory, Findings(), path)}
    known = {picture.id for _, picture in pictures}
    annotations: dict[int | str, list[tuple[Place, CocoAnnotation]]] = defaultdict(list)
    for place, entry in _entries(content, "annotations", CocoAnnotation, intake.findings, path):
        if entry.image_id in known:
            annotations[entry.image_id].append((place, entry))
        else:
            where = replace(place, field=f"{place.field}.image_id")
            intake.findings.fault(where, f"no image has the id {entry.image_id}: add it, or remove the label")
    source = _Source(categories, annotations, folders_around(path, images))
    yield from intake.each(pictures, partial(_read_frame, source, intake))


def _load(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise DataError(f"{path} is missing: expected a COCO JSON file")
    try:
        content = json.loads(path.read_bytes())
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}: not valid JSON ({error.msg}); mend the file") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not a text file: expected COCO JSON") from error
    if not isinstance(content, dict) or not isinstance(content.get("images"), list):
        raise DataError(f"{path} has no list of images: expected a COCO JSON file")
    return content


def _entries(
    content: dict[str, Any], key: str, kind: type[Entry], findings: Findings, path: Path
) -> Iterator[tuple[Place, Entry]]:
    for index, raw in enumerate(content.get(key) or ()):
        place = Place(path, field=f"{key}.{index}")
        try:
            yield place, kind.model_validate(raw)
        except ValidationError as error:
            finding = explain(error, path)
            findings.fault(replace(place, field=f"{place.field}.{finding.place.field}"), finding.message)


def _read_frame(source: _Source, intake: Intake, item: tuple[Place, CocoImage]) -> LabelledFrame:
    place, picture = item
    image = find_picture(picture.file_name, source.folders, replace(place, field=f"{place.field}.file_name"))
    size = picture_size(image, picture.size, place)
    objects = (_read_object(*entry, source, picture.size, intake) for entry in source.annotations[picture.id])
    details = {key: value for key, value in picture.plucc.items() if key not in OWN_FIELDS}
    return LabelledFrame(image, size, place, tuple(entry for entry in objects if entry is not None), details)


def _read_object(
    place: Place, entry: CocoAnnotation, source: _Source, size: Size, intake: Intake
) -> LabelledObject | None:
    category = source.categories.get(entry.category_id)
    if category is None:
        raise Fault(replace(place, field=f"{place.field}.category_id"), f"no category has the id {entry.category_id}")
    label = SourceClass(category.id, category.name)
    if entry.iscrowd:
        intake.findings.note(Action.LEFT_OUT, place, f"a crowd of class {label}: one mask for several people")
        return None
    mask = _read_mask(place, entry, size) if intake.classes.players.intersection(label.keys) else None
    box = None if entry.bbox is None else _read_box(entry.bbox)
    if box is None and mask is not None:
        box = mask_box(mask)
    point, hidden = _read_keypoint(entry.keypoints)
    if box is not None and point is not None and (box.width <= 0 or box.height <= 0):
        box = None  # some tools give a keypoint a box of no size
    details = known_details(entry.attributes, occluded=hidden or _is_true(entry.attributes.get("occluded")))
    rle: Rle | None = None if mask is None else encode_mask(mask)
    return LabelledObject(place, label, box, point, rle, details | entry.plucc)


def _read_box(bbox: tuple[float, float, float, float]) -> Box:
    left, top, width, height = bbox
    return Box(left, top, left + width, top + height)


def _read_keypoint(keypoints: tuple[float, ...]) -> tuple[Point | None, bool]:
    """Return the first labelled keypoint, and whether it is hidden."""
    for x, y, visibility in zip(keypoints[::3], keypoints[1::3], keypoints[2::3], strict=False):
        if visibility > 0:
            return Point(x + HALF_PX, y + HALF_PX), visibility == KEYPOINT_HIDDEN
    return None, False


def _read_mask(place: Place, entry: CocoAnnotation, size: Size) -> MaskArray | None:
    segmentation = entry.segmentation
    if not segmentation:
        return None
    where = replace(place, field=f"{place.field}.segmentation")
    if isinstance(segmentation, list):
        if any(len(polygon) < 6 or len(polygon) % 2 for polygon in segmentation):
            raise Fault(where, "a polygon needs x and y of three points or more")
        return polygon_mask([np.array(polygon).reshape(-1, 2) for polygon in segmentation], size)
    if segmentation.size != (size.height, size.width):
        raise Fault(where, f"the mask is {segmentation.size}, the picture's height and width {size.height, size.width}")
    try:
        if isinstance(segmentation.counts, str):
            return decode_mask(Rle(segmentation.size, segmentation.counts))
        return mask_from_runs(np.array(segmentation.counts, dtype=np.int64), segmentation.size)
    except DataError as error:
        raise Fault(where, str(error)) from error


def _is_true(value: Any) -> bool:
    return value is True or str(value).lower() in ("true", "1", "yes")
