"""Which match and which run of near-duplicates a picture belongs to: from a table, its folder, or its name."""

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from plucc.data.findings import Fault, Place
from plucc.data.importers.intake import Lookup
from plucc.types import DataError, InputError

FILE_COLUMNS = ("file", "image", "filename", "file_name", "path", "name")
RUN_COLUMN = "run"
FOLDER = "folder"
NAME = "name"


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV file with one picture a row, found by the picture's path below the root, its name, or its stem."""

    path: Path
    root: Path
    columns: tuple[str, ...]
    rows: dict[str, dict[str, str]]

    def lookup(self, column: str, *, required: bool = True) -> Lookup:
        """Return how to find a picture's value; an empty one is a fault where it is required, and else None."""
        if column not in self.columns:
            raise DataError(f"{self.path} has no column {column!r}; it has {', '.join(self.columns)}: name one of them")

        def value(image: Path) -> str | None:
            below = image.relative_to(self.root).as_posix() if image.is_relative_to(self.root) else image.name
            row = next((self.rows[key] for key in (below, image.name, image.stem) if key in self.rows), None)
            if row is None:
                raise Fault(Place(self.path, field=column), f"no row for {below}; add one")
            if required and not row[column]:
                raise Fault(Place(self.path, int(row[""]), column), "empty; fill it in")
            return row[column] or None

        return value


def find_origins(root: Path, match: str | None, match_from: str | None, run_from: str | None) -> tuple[Lookup, Lookup]:
    """Return how to find a picture's match and its run.

    `match` names one match for all. The other two say where to look: `FILE.csv:COLUMN`, `folder`, or `name:REGEX`,
    whose first group is taken. Without `run_from`, the run comes from the same table's column `run`, if it has one.
    """
    if match is not None and match_from is not None:
        raise InputError("--match and --match-from exclude each other: give one of them")
    run = _nowhere if run_from is None else _parse(run_from, root, required=False)
    if match_from is None:
        return (lambda _: match), run
    if run_from is None and _is_table(match_from):
        table = read_table(match_from.rpartition(":")[0], root)
        if RUN_COLUMN in table.columns:
            run = table.lookup(RUN_COLUMN, required=False)
    return _parse(match_from, root, required=True), run


def read_table(name: str, root: Path) -> Table:
    """Read a CSV table that lies in the source's folder, or anywhere."""
    path = root / name if (root / name).is_file() else Path(name)
    if not path.is_file():
        raise DataError(f"{path} is missing: expected a CSV table in {root} or at that path")
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            columns = tuple(reader.fieldnames or ())
            key = next((column for column in FILE_COLUMNS if column in columns), None)
            if key is None:
                raise DataError(
                    f"{path}, line 1: no column says which picture; expected one of {', '.join(FILE_COLUMNS)}"
                )
            rows = _index(reader, key, path)
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not a CSV table in UTF-8 ({error}): save it as one") from error
    return Table(path, root, columns, rows)


def _index(rows: Iterable[dict[str, str | None]], key: str, path: Path) -> dict[str, dict[str, str]]:
    index: dict[str, dict[str, str]] = {}
    for number, row in enumerate(rows, start=2):
        name = (row[key] or "").strip()
        values = {column: (value or "").strip() for column, value in row.items() if isinstance(column, str)}
        if name in index and any(index[name][column] != value for column, value in values.items()):
            raise DataError(
                f"{path}, line {number}, {key}: {name} is in line {index[name]['']} already, with other values"
            )
        index.setdefault(name, values | {"": str(number)})
    return index


def _parse(option: str, root: Path, *, required: bool) -> Lookup:
    if option == FOLDER:
        return lambda image: image.parent.name
    head, colon, tail = option.partition(":")
    if head == NAME and colon:
        return _by_name(tail)
    if _is_table(option):
        file, _, column = option.rpartition(":")
        return read_table(file, root).lookup(column, required=required)
    raise InputError(f"{option!r} does not say where to look: expected FILE.csv:COLUMN, folder, or name:REGEX")


def _by_name(pattern: str) -> Lookup:
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise InputError(f"{pattern!r} is not a regular expression ({error}): mend it") from error
    if expression.groups < 1:
        raise InputError(f"{pattern!r} has no group: put the part of the file name to take in parentheses")

    def value(image: Path) -> str:
        found = expression.search(image.name)
        if found is None or not found.group(1):
            raise Fault(Place(image, field="name"), f"the file name does not match {pattern!r}")
        return found.group(1)

    return value


def _is_table(option: str) -> bool:
    return ":" in option and not option.startswith(f"{NAME}:")


def _nowhere(_: Path) -> None:
    return None
