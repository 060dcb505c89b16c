"""YOLO text: pictures, a label file for each, and `data.yaml` with the classes' names.

Boxes only: masks, points, categories and cameras have no place in it.
"""

from pathlib import Path

import yaml

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
from plucc.data.schema import LabelClass
from plucc.data.splits import Split, Splits
from plucc.files import whole_folder
from plucc.types import Progress, silent

LABEL_FOLDER = "labels"


def export_yolo(
    dataset: Dataset, out: Path, splits: Splits | None = None, *, link: bool = False, progress: Progress = silent
) -> ExportReport:
    """Write a dataset in YOLO's layout; return what had to be left out."""
    findings = Findings()
    exported = arrange(dataset, splits, findings)
    with whole_folder(out) as folder:
        for item in progress(exported, total=len(exported), label="exporting"):
            bring_picture(dataset, item, folder, link=link)
            label = folder / LABEL_FOLDER / item.split / f"{Path(item.name).stem}.txt"
            label.parent.mkdir(parents=True, exist_ok=True)
            label.write_text(_lines(item, dataset.info.classes), encoding="utf-8")
        write_index(folder, exported)
        _write_data_file(folder, dataset.info.classes, splits)
    return ExportReport(len(exported), tuple(findings))


def _lines(item: Exported, classes: tuple[LabelClass, ...]) -> str:
    width, height = item.record.size.width, item.record.size.height
    lines = []
    for label, box in labelled_boxes(item.record):
        numbers = (box.centre.x / width, box.centre.y / height, box.width / width, box.height / height)
        lines.append(f"{classes.index(label)} " + " ".join(f"{number:.8f}" for number in numbers) + "\n")
    return "".join(lines)


def _write_data_file(folder: Path, classes: tuple[LabelClass, ...], splits: Splits | None) -> None:
    places: dict[str, str] = {"train": IMAGE_FOLDER, "val": IMAGE_FOLDER}
    if splits is not None:
        places = {split.value: f"{IMAGE_FOLDER}/{split}" for split in Split if splits.matches(split)}
    content = {"path": ".", **places, "names": {number: str(label) for number, label in enumerate(classes)}}
    (folder / "data.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
