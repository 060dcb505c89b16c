"""Keeps what an importer yields: the manifest, the notes, and on request the pictures."""

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from plucc.data.findings import Findings
from plucc.data.importers.intake import Intake
from plucc.data.manifest import write_info, write_records
from plucc.data.schema import DatasetInfo, LabelClass, Record
from plucc.files import whole_folder
from plucc.types import DataError, PlayerRole

NOTES_FILE = "notes.txt"
IMAGE_FOLDER = "images"


@dataclass(frozen=True, slots=True)
class About:
    """What the source does not say about itself."""

    name: str
    licence: str
    source: str


@dataclass
class Tally:
    """How many records went by, and what they label."""

    records: int = 0
    pucks: int = 0
    without_puck: int = 0
    players: int = 0
    roles: set[PlayerRole | None] = field(default_factory=set)

    def counted(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            players = record.players or ()
            self.records += 1
            self.pucks += record.puck is not None
            self.without_puck += record.no_puck
            self.players += len(players)
            self.roles.update(player.role for player in players)
            yield record


def store(records: Iterable[Record], intake: Intake, about: About, *, copy_below: Path | None = None) -> Tally:
    """Write a new dataset at the intake's base; with `copy_below`, its pictures too, placed as they lay below there.

    Otherwise records point to the pictures where they are, relative to the dataset's folder.
    """
    tally = Tally()
    with whole_folder(intake.base) as folder:
        if copy_below is not None:
            records = _copied(records, intake.base, folder, copy_below)
        write_records(folder, tally.counted(records))
        _check_classes(intake, tally)
        people = [LabelClass.of_role(role) for role in (None, *PlayerRole) if role in tally.roles]
        classes = ((LabelClass.PUCK,) if intake.classes.puck else ()) + tuple(people)
        write_info(folder, DatasetInfo(name=about.name, classes=classes, licence=about.licence, source=about.source))
        _write_notes(folder, intake.findings)
    return tally


def _copied(records: Iterable[Record], base: Path, folder: Path, root: Path) -> Iterator[Record]:
    taken: dict[Path, Path] = {}
    for record in records:
        # by text, not through the file system: the dataset's folder does not exist yet
        source = Path(os.path.normpath(base.resolve() / record.image))
        below = source.relative_to(root.resolve()) if source.is_relative_to(root.resolve()) else Path(source.name)
        parts = below.parts[1:] if below.parts[0] in (IMAGE_FOLDER, "frames", "JPEGImages") else below.parts
        target = Path(IMAGE_FOLDER, *parts)
        if taken.setdefault(target, source) != source:
            raise DataError(f"{source} and {taken[target]} would both be copied to {target}: rename one of them")
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, folder / target)
        yield record.model_copy(update={"image": target.as_posix()})


def _check_classes(intake: Intake, tally: Tally) -> None:
    if tally.records == 0:
        raise DataError("no frame could be imported: " + (str(next(iter(intake.findings), "the source holds none"))))
    met = {key for label in intake.seen for key in label.keys}
    missing = sorted(intake.classes.puck - met)
    if missing and intake.seen and not intake.empty_means_no_puck:
        found = ", ".join(f"{label} ({count})" for label, count in intake.seen.most_common(12))
        raise DataError(f"no label is of class {', '.join(missing)}; the source has {found}: name some of these")


def _write_notes(folder: Path, findings: Findings) -> None:
    if findings:
        text = "".join(f"{finding.action}: {finding}\n" for finding in findings)
        (folder / NOTES_FILE).write_text(text, encoding="utf-8")
