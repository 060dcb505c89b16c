"""CVAT XML 1.1: labelled images, and tracks through the frames of a video."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from plucc.data.findings import Fault, Place
from plucc.data.importers.cvat_shapes import SHAPES, read_shape
from plucc.data.importers.cvat_video import Video
from plucc.data.importers.intake import ClassMap, Intake, LabelledFrame
from plucc.data.importers.pictures import find_picture, folders_around, picture_size
from plucc.data.importers.xml_tree import Node, read_xml
from plucc.data.schema import Record
from plucc.types import DataError, Size

NO_PUCK_TAGS = frozenset({"no-puck", "no_puck", "no puck"})


def read_cvat(path: Path, intake: Intake, images: Path | None = None) -> Iterator[Record]:
    """Yield a record for every labelled image, or for every picture of a labelled video.

    Pictures are sought in `images`, or else around the file. Those of a video end in the number of their frame, counted
    as CVAT does: `frame_000000.jpg` is the first. Where no other origin is told, the match is the task's name.
    """
    tree = read_xml(path)
    if tree.tag != "annotations":
        raise DataError(f"{path} begins with <{tree.tag}>: expected CVAT's <annotations>")
    folders = folders_around(path, images)
    details = _origin(tree)
    if any(tree.all("track")):
        video = Video.of(tree, path, details)
        yield from intake.each(video.pictures(folders, intake.findings), partial(video.read, intake.classes))
    else:
        read = partial(_read_image, path, folders, details, intake.classes)
        yield from intake.each(list(tree.all("image")), read)


def _read_image(
    path: Path, folders: tuple[Path, ...], details: dict[str, object], classes: ClassMap, node: Node
) -> LabelledFrame:
    place = Place(path, node.line, "image")
    image = find_picture(node.attributes.get("name", ""), folders, replace(place, field="image.name"))
    size = picture_size(image, _told_size(node, place), place)
    objects = tuple(read_shape(child, path, size, classes) for child in node.all(*SHAPES))
    tags = {child.attributes.get("label", "").lower() for child in node.all("tag")}
    return LabelledFrame(image, size, place, objects, details | ({"no_puck": True} if tags & NO_PUCK_TAGS else {}))


def _told_size(node: Node, place: Place) -> Size:
    try:
        return Size(int(node.attributes["width"]), int(node.attributes["height"]))
    except (KeyError, ValueError) as error:
        raise Fault(replace(place, field="image.width"), "width and height must be whole numbers") from error


def _origin(tree: Node) -> dict[str, object]:
    meta = tree.find("meta")
    task = None if meta is None else meta.find("task") or meta.find("job")
    name = None if task is None else task.value("name")
    return {} if name is None else {"match": name}
