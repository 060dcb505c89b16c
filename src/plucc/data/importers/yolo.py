"""YOLO text: a file a picture, an object a line: `class cx cy w h` or `class x y x y ...`, relative to the frame."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from math import isfinite
from pathlib import Path

import numpy as np
import yaml

from plucc.data.findings import Action, Fault, Place
from plucc.data.images import IMAGE_SUFFIXES
from plucc.data.importers.intake import Intake, LabelledFrame, LabelledObject, SourceClass
from plucc.data.importers.pictures import picture_size
from plucc.data.masks import encode_mask, polygon_mask
from plucc.data.schema import Record
from plucc.types import Box, DataError, Size

IMAGE_FOLDERS = ("frames", "images", "JPEGImages")
LABEL_FOLDER = "labels"
NAME_FILES = ("classes.txt", "obj.names")
BOX_NUMBERS = 4
MIN_POLYGON_NUMBERS = 6


def read_yolo(root: Path, intake: Intake) -> Iterator[Record]:
    """Yield a record for every picture below the root.

    Its labels are sought in the folder `labels` beside the pictures' own (frames, images or JPEGImages), at the same
    place below it, and next to the picture. A label file without a picture is a fault.
    """
    if not root.is_dir():
        raise DataError(f"{root} is no folder: expected one with pictures and YOLO label files")
    images = _find_images(root)
    if not images:
        raise DataError(
            f"{root} holds no pictures ({', '.join(sorted(IMAGE_SUFFIXES))}): expected them in frames/ or images/"
        )
    label_of = {image: _label_file(image, root) for image in images}
    for orphan in _orphans(root, set(label_of.values())):
        intake.findings.fault(Place(orphan), "there is no image for these labels: add it, or remove the labels")
    yield from intake.each(images, partial(_read_frame, label_of, _read_names(root), intake))


def _read_frame(
    label_of: dict[Path, Path | None], names: tuple[str, ...] | None, intake: Intake, image: Path
) -> LabelledFrame:
    size = picture_size(image)
    label = label_of[image]
    if label is None:
        intake.findings.note(Action.ASSUMED, Place(image), "no label file: taken as a frame without labels")
        return LabelledFrame(image, size, Place(image), ())
    try:
        lines = label.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise Fault(Place(label), "not a text file: expected YOLO labels") from error
    objects = tuple(
        _parse_line(line, Place(label, number), size, names)
        for number, line in enumerate(lines, start=1)
        if line.strip()
    )
    return LabelledFrame(image, size, Place(label), objects)


def _parse_line(line: str, place: Place, size: Size, names: tuple[str, ...] | None) -> LabelledObject:
    first, *rest = line.split()
    label = _parse_class(first, place, names)
    try:
        numbers = np.array([float(word) for word in rest])
    except ValueError as error:
        raise Fault(place, f"not all of {line.strip()!r:.60} are numbers") from error
    if not all(isfinite(number) for number in numbers):
        raise Fault(place, f"{line.strip()!r:.60} holds a value that is not finite")
    scale = (size.width, size.height)
    if len(numbers) == BOX_NUMBERS:
        x, y, width, height = numbers * (*scale, *scale)
        box = Box(float(x - width / 2), float(y - height / 2), float(x + width / 2), float(y + height / 2))
        return LabelledObject(replace(place, field="box"), label, box)
    if len(numbers) >= MIN_POLYGON_NUMBERS and len(numbers) % 2 == 0:
        polygon = numbers.reshape(-1, 2) * scale
        (left, top), (right, bottom) = polygon.min(axis=0).tolist(), polygon.max(axis=0).tolist()
        mask = encode_mask(polygon_mask([polygon], size))
        return LabelledObject(replace(place, field="polygon"), label, Box(left, top, right, bottom), mask=mask)
    raise Fault(
        place, f"{len(numbers)} numbers after the class: expected 4 (cx cy w h) or a polygon of 3 points or more"
    )


def _parse_class(word: str, place: Place, names: tuple[str, ...] | None) -> SourceClass:
    where = Place(place.file, place.line, "class")
    if not word.isdecimal():
        raise Fault(where, f"class {word!r} is not a whole number")
    number = int(word)
    if names is None:
        return SourceClass(number)
    if number >= len(names):
        raise Fault(where, f"class {number} is unknown: the dataset names {len(names)} classes, from 0")
    return SourceClass(number, names[number])


def _find_images(root: Path) -> list[Path]:
    own = [root / name for name in IMAGE_FOLDERS if (root / name).is_dir()]
    found = {path for folder in own or [root] for path in folder.rglob("*") if path.suffix.lower() in IMAGE_SUFFIXES}
    return sorted(found)


def _label_file(image: Path, root: Path) -> Path | None:
    parts = image.relative_to(root).with_suffix(".txt").parts
    swapped = [LABEL_FOLDER if part in IMAGE_FOLDERS else part for part in parts]
    candidates = (root.joinpath(*swapped), root / LABEL_FOLDER / Path(*parts), image.with_suffix(".txt"))
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _orphans(root: Path, known: set[Path | None]) -> list[Path]:
    """Label files that belong to no picture; other texts beside the pictures are nobody's business."""
    texts = (path for path in root.rglob("*.txt") if LABEL_FOLDER in path.relative_to(root).parts[:-1])
    return sorted(path for path in texts if path not in known and path.name not in NAME_FILES)


def _read_names(root: Path) -> tuple[str, ...] | None:
    """Return the classes' names, where the dataset tells them: `data.yaml`, or a file with one name a line."""
    for path in sorted(root.glob("*.yaml")):
        try:
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise DataError(f"{path} is not valid YAML: mend or remove it") from error
        names = content.get("names") if isinstance(content, dict) else None
        if isinstance(names, dict) and all(isinstance(number, int) for number in names):
            return tuple(str(names.get(number, number)) for number in range(max(names, default=-1) + 1))
        if isinstance(names, list):
            return tuple(str(name) for name in names)
    for path in (folder / name for folder in (root, root / LABEL_FOLDER) for name in NAME_FILES):
        if path.is_file():
            lines = path.read_text(encoding="utf-8").splitlines()
            return tuple(line.strip() for line in lines if line.strip())
    return None
