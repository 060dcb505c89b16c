"""What every exporter shares: where pictures go, what they are called, and which records are left out.

Pictures lie in `images/`, in a folder for each split when the dataset has splits; `index.csv` keeps match and run,
which the formats themselves cannot tell.
"""

import csv
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from plucc.data.findings import Action, Finding, Findings, Place
from plucc.data.manifest import RECORDS_FILE, Dataset
from plucc.data.schema import LabelClass, Record
from plucc.data.splits import Splits
from plucc.types import Box, DataError, Point, Size

IMAGE_FOLDER = "images"
INDEX_FILE = "index.csv"
NOMINAL_PUCK_PX = 12.0  # at 720 lines: a usual puck box, for pucks that were labelled as a point


@dataclass(frozen=True, slots=True)
class Exported:
    """A record and its place in the export: split (empty without splits) and file name, unique in the whole export."""

    record: Record
    split: str
    name: str

    @property
    def picture(self) -> Path:
        return Path(IMAGE_FOLDER, self.split, self.name)


@dataclass(frozen=True, slots=True)
class ExportReport:
    """How many frames were written, and what had to be left out."""

    frames: int
    findings: tuple[Finding, ...]


def arrange(dataset: Dataset, splits: Splits | None, findings: Findings) -> list[Exported]:
    """Name the pictures of all records whose puck is labelled; the others would pass for frames without a puck."""
    taken: set[str] = set()
    exported = []
    needs_puck = LabelClass.PUCK in dataset.info.classes
    for number, record in enumerate(dataset.records, start=1):
        if needs_puck and not record.is_puck_labelled:
            place = Place(dataset.root / RECORDS_FILE, field="puck")
            findings.note(Action.LEFT_OUT, place, f"record {number}, {record.image}: nobody labelled its puck")
            continue
        split = None if splits is None else splits.of(record.match)
        if splits is not None and split is None:
            raise DataError(f"match {record.match} is in no split: run plucc data split again")
        exported.append(Exported(record, split or "", _unique(Path(record.image).name, taken)))
    return exported


def bring_picture(dataset: Dataset, exported: Exported, folder: Path, *, link: bool) -> None:
    """Copy a picture to its place, or link to it."""
    source, target = dataset.image_path(exported.record).resolve(), folder / exported.picture
    if not source.is_file():
        raise DataError(f"image {source} is missing: run plucc data check {dataset.root}")
    target.parent.mkdir(parents=True, exist_ok=True)
    if link:
        target.symlink_to(source)
    else:
        shutil.copyfile(source, target)


def write_index(folder: Path, exported: Iterable[Exported]) -> None:
    """Write the table of match and run."""
    with (folder / INDEX_FILE).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("file", "match", "run"))
        for item in exported:
            writer.writerow((item.picture.as_posix(), item.record.match, item.record.run or ""))


def labelled_boxes(record: Record) -> Iterator[tuple[LabelClass, Box]]:
    """Yield the class and box of everything in a frame; a puck labelled as a point gets a box of the usual size."""
    if record.puck is not None:
        yield LabelClass.PUCK, record.puck.box_px or _nominal_box(record.puck.centre_px, record.size)
    for player in record.players or ():
        yield LabelClass.of_role(player.role), player.box_px


def _nominal_box(centre: Point, size: Size) -> Box:
    half = NOMINAL_PUCK_PX / size.reference_scale / 2
    left, top = max(centre.x - half, 0.0), max(centre.y - half, 0.0)
    return Box(left, top, min(centre.x + half, size.width), min(centre.y + half, size.height))


def _unique(name: str, taken: set[str]) -> str:
    path, candidate, number = Path(name), name, 2
    while Path(candidate).stem in taken:  # label files share the stem, whatever the picture's suffix
        candidate, number = f"{path.stem}-{number}{path.suffix}", number + 1
    taken.add(Path(candidate).stem)
    return candidate
