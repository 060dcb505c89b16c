"""COCO JSON: `annotations.json`, or one file a split; a puck's point is a keypoint, a player's mask its segmentation.

What COCO has no place for goes into the key `plucc` of an image or annotation, from where our importer takes it back.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, TextIO

from plucc.data.exporters.layout import (
    IMAGE_FOLDER,
    Exported,
    ExportReport,
    arrange,
    bring_picture,
    labelled_boxes,
    write_index,
)
from plucc.data.findings import Findings
from plucc.data.manifest import Dataset
from plucc.data.masks import mask_area
from plucc.data.schema import LabelClass, Player, Puck, Record
from plucc.data.splits import Splits
from plucc.files import whole_folder
from plucc.types import Box, Category, Progress, silent

HALF_PX = 0.5  # a keypoint is the index of a pixel, half a pixel before its centre
HIDDEN, VISIBLE = 1, 2


def export_coco(
    dataset: Dataset, out: Path, splits: Splits | None = None, *, link: bool = False, progress: Progress = silent
) -> ExportReport:
    """Write a dataset as COCO files and pictures; return what had to be left out."""
    findings = Findings()
    exported = arrange(dataset, splits, findings)
    with whole_folder(out) as folder:
        for item in progress(exported, total=len(exported), label="exporting"):
            bring_picture(dataset, item, folder, link=link)
        for split in sorted({item.split for item in exported}):
            name = f"annotations_{split}.json" if split else "annotations.json"
            _write(folder / name, dataset, [item for item in exported if item.split == split])
        write_index(folder, exported)
    return ExportReport(len(exported), tuple(findings))


def _write(path: Path, dataset: Dataset, exported: list[Exported]) -> None:
    numbers = {label: number for number, label in enumerate(dataset.info.classes, start=1)}
    about = {"description": dataset.info.name, "url": dataset.info.source}
    with path.open("w", encoding="utf-8") as file:
        file.write(f'{{"info": {json.dumps(about)},\n')
        file.write(f'"licenses": [{{"id": 1, "name": {json.dumps(dataset.info.licence)}, "url": ""}}],\n')
        _write_list(file, "categories", (_category(label, number) for label, number in numbers.items()), end=",\n")
        _write_list(file, "images", (_image(item, number) for number, item in enumerate(exported, 1)), end=",\n")
        _write_list(file, "annotations", _annotations(exported, numbers), end="}\n")


def _write_list(file: TextIO, key: str, entries: Iterable[dict[str, Any]], *, end: str) -> None:
    file.write(f'"{key}": [')
    for index, entry in enumerate(entries):
        file.write((",\n" if index else "\n") + json.dumps(entry, allow_nan=False))
    file.write(f"\n]{end}")


def _category(label: LabelClass, number: int) -> dict[str, Any]:
    if label is LabelClass.PUCK:
        return {"id": number, "name": "puck", "supercategory": "puck", "keypoints": ["centre"], "skeleton": []}
    return {"id": number, "name": str(label), "supercategory": "person"}


def _image(item: Exported, number: int) -> dict[str, Any]:
    record = item.record
    more = record.model_dump(mode="json", exclude={"image", "size", "puck", "players"}, exclude_defaults=True)
    more["category"] = record.category
    if record.players is None:
        more["players"] = None
    return {
        "id": number,
        "file_name": item.picture.relative_to(IMAGE_FOLDER).as_posix(),
        "width": record.size.width,
        "height": record.size.height,
        "license": 1,
        "plucc": more,
    }


def _annotations(exported: list[Exported], numbers: dict[LabelClass, int]) -> Iterator[dict[str, Any]]:
    identities = count(1)
    for image_number, item in enumerate(exported, start=1):
        parts = ([item.record.puck] if item.record.puck else []) + list(item.record.players or ())
        for (label, box), part in zip(labelled_boxes(item.record), parts, strict=True):
            yield {
                "id": next(identities),
                "image_id": image_number,
                "category_id": numbers[label],
                "bbox": [box.left, box.top, box.width, box.height],
                "iscrowd": 0,
                **(_puck(part, item.record, box) if isinstance(part, Puck) else _player(part, box)),
            }


def _puck(puck: Puck, record: Record, box: Box) -> dict[str, Any]:
    more = puck.model_dump(mode="json", exclude={"box_px"}, exclude_defaults=True)
    if puck.box_px is None:
        more["box_px"] = None
    centre = puck.centre_px
    hidden = puck.visible_fraction == 0 or record.category is Category.OCCLUDED
    keypoint = [centre.x - HALF_PX, centre.y - HALF_PX, HIDDEN if hidden else VISIBLE]
    return {"area": box.width * box.height, "keypoints": keypoint, "num_keypoints": 1, "plucc": more | _no_point(puck)}


def _no_point(puck: Puck) -> dict[str, Any]:
    """Say that the keypoint is only the centre of the box, so that an import does not take it for a label."""
    return {"point_px": None} if puck.point_px is None else {}


def _player(player: Player, box: Box) -> dict[str, Any]:
    more = player.model_dump(mode="json", exclude={"box_px", "mask", "role"}, exclude_defaults=True)
    if player.mask is None:
        return {"area": box.width * box.height, "plucc": more}
    segmentation = {"size": list(player.mask.size), "counts": player.mask.counts}
    return {"area": mask_area(player.mask), "segmentation": segmentation, "plucc": more}
