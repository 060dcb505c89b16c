"""A dataset on disk: `dataset.yaml` and `records.jsonl`, one frame a line.

Lines are validated one at a time as they stream by, so a manifest of any length is checked in the memory of one record.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from plucc.data.findings import Finding, Findings, Place
from plucc.data.schema import DatasetInfo, FieldError, LabelClass, Record
from plucc.files import whole_file, whole_folder
from plucc.types import DataError, Progress, silent

INFO_FILE = "dataset.yaml"
RECORDS_FILE = "records.jsonl"


@dataclass(frozen=True, slots=True)
class Dataset:
    """Records in manifest order, and what was left out of them when bad lines were skipped."""

    root: Path
    info: DatasetInfo
    records: tuple[Record, ...]
    left_out: tuple[Finding, ...] = field(default=())

    def image_path(self, record: Record) -> Path:
        return self.root / record.image

    def __len__(self) -> int:
        return len(self.records)


def read_dataset(root: Path, *, skip_bad: bool = False, progress: Progress = silent) -> Dataset:
    """Read a whole dataset into memory; the first bad line is an error unless bad ones are to be skipped."""
    info = read_info(root)
    findings = Findings(skip_bad)
    lines = read_records(root, info, findings)
    records = tuple(record for _, record in progress(lines, total=count_lines(root), label="reading"))
    return Dataset(root, info, records, tuple(findings))


def read_info(root: Path) -> DatasetInfo:
    """Read `dataset.yaml`."""
    path = root / INFO_FILE
    if not path.is_file():
        raise DataError(f"{path} is missing: expected the folder of a dataset, as plucc data import writes it")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        place = Place(path, None if mark is None else mark.line + 1)
        raise DataError(f"{place}: not valid YAML; mend the file") from error
    try:
        return DatasetInfo.model_validate(content)
    except ValidationError as error:
        raise DataError(str(explain(error, path))) from error


def read_records(root: Path, info: DatasetInfo, findings: Findings) -> Iterator[tuple[int, Record]]:
    """Yield the line number and record of every good line; bad lines go to the findings."""
    path = root / RECORDS_FILE
    if not path.is_file():
        raise DataError(f"{path} is missing: expected one record a line")
    census = _Census(info)
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.isspace():
                continue
            try:
                record = Record.model_validate_json(line, strict=True)
            except ValidationError as error:
                finding: Finding | None = explain(error, path, number)
            else:
                finding = census.contradiction(record, Place(path, number))
            if finding is None:
                yield number, record
            else:
                findings.fault(finding.place, finding.message)


def count_lines(root: Path) -> int:
    """Count the manifest's lines, for progress bars; zero when there is none."""
    path = root / RECORDS_FILE
    if not path.is_file():
        return 0
    with path.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))


def write_dataset(root: Path, info: DatasetInfo, records: Iterable[Record]) -> int:
    """Write a new dataset folder, whole or not at all; return the number of records."""
    with whole_folder(root) as folder:
        return write_manifest(folder, info, records)


def write_manifest(root: Path, info: DatasetInfo, records: Iterable[Record]) -> int:
    """Write both files into a folder that may hold images already; return the number of records."""
    count = write_records(root, records)
    write_info(root, info)
    return count


def write_records(root: Path, records: Iterable[Record]) -> int:
    """Write `records.jsonl`; return the number of records."""
    count = 0
    with whole_file(root / RECORDS_FILE) as path, path.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            file.write(record.model_dump_json(exclude_defaults=True))
            file.write("\n")
            count += 1
    return count


def write_info(root: Path, info: DatasetInfo) -> None:
    """Write `dataset.yaml`."""
    with whole_file(root / INFO_FILE) as path:
        content = yaml.safe_dump(info.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
        path.write_text(content, encoding="utf-8")


def explain(error: ValidationError, file: Path, line: int | None = None) -> Finding:
    """Turn what pydantic says about the first fault into a place and a sentence."""
    details: ErrorDetails = error.errors(include_url=False)[0]
    location = [str(part) for part in details["loc"]]
    cause = details.get("ctx", {}).get("error")
    if isinstance(cause, FieldError):
        location.append(cause.field)
    message = details["msg"].removeprefix("Value error, ")
    value = details["input"]
    if isinstance(value, str | int | float):
        message += f" (it is {value!r:.60})"
    return Finding(Place(file, line, ".".join(location)), message[:1].lower() + message[1:])


class _Census:
    """What only the whole manifest can contradict: an image listed twice, a class that `dataset.yaml` does not name."""

    def __init__(self, info: DatasetInfo) -> None:
        self._line_of_image: dict[str, int] = {}
        self._labels_puck = LabelClass.PUCK in info.classes
        self._roles = tuple(label.role for label in info.classes if label is not LabelClass.PUCK)
        self._classes = ", ".join(info.classes)

    def contradiction(self, record: Record, place: Place) -> Finding | None:
        earlier = self._line_of_image.setdefault(record.image, place.line or 0)
        if earlier != place.line:
            return Finding(replace(place, field="image"), f"{record.image} is the image of line {earlier} already")
        if record.is_puck_labelled and not self._labels_puck:
            return Finding(replace(place, field="puck"), f"puck is none of the classes in {INFO_FILE}: {self._classes}")
        for index, player in enumerate(record.players or ()):
            if player.role not in self._roles:
                label = LabelClass.of_role(player.role)
                where = replace(place, field=f"players.{index}.role")
                return Finding(where, f"{label} is none of the classes in {INFO_FILE}: {self._classes}")
        return None
