"""What a long run has finished so far, on disk: whole pieces, so that a killed run goes on where it stopped.

A piece is there when its mark is: rows first, then its part of the overlay, the mark last.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from plucc.data.rows import Row, read_rows, write_rows
from plucc.files import whole_file
from plucc.observing import Start
from plucc.types import InputError

_IDENTITY = "run.json"


@dataclass(frozen=True, slots=True)
class Mark:
    """A finished piece: the time of its first frame, and where the next one starts; None after the last."""

    first_s: float
    next_start: Start | None


class Journal:
    """The folder of a run that has not ended yet, beside the table that it will write."""

    def __init__(self, table: Path) -> None:
        self.folder = table.parent / f".{table.name}.part"
        self._marks: list[Mark] = []

    def open(self, identity: dict[str, Any], *, resume: bool) -> None:
        """Begin anew, or take up what an earlier run of exactly the same work has left."""
        known = self.folder / _IDENTITY
        if resume and known.is_file():
            if json.loads(known.read_text()) != json.loads(json.dumps(identity)):
                raise InputError(
                    f"{self.folder} was left by a run with another input, model or setting: "
                    f"give the same ones, or leave out --resume to begin anew"
                )
            self._marks = list(self._read_marks())
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        with whole_file(known) as temporary:
            temporary.write_text(json.dumps(identity, indent=1))

    @property
    def marks(self) -> tuple[Mark, ...]:
        return tuple(self._marks)

    @property
    def next_start(self) -> Start | None:
        """Where work goes on; None when all of it is done."""
        return self._marks[-1].next_start if self._marks else Start()

    def film_path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.mp4"

    def write_rows(self, number: int, rows: tuple[Row, ...]) -> None:
        write_rows(self._rows_path(number), rows)

    def commit(self, mark: Mark) -> None:
        """Count the piece whose files were written as finished; the next number is the next piece's."""
        with whole_file(self.folder / f"{len(self._marks):06d}.json") as temporary:
            temporary.write_text(json.dumps(asdict(mark)))
        self._marks.append(mark)

    def rows(self) -> Iterator[Row]:
        """Yield the rows of all finished pieces, in order."""
        for number in range(len(self._marks)):
            yield from read_rows(self._rows_path(number))

    def films(self) -> list[tuple[Path, float]]:
        """Return the parts of the overlay and the time at which each begins."""
        return [(self.film_path(number), mark.first_s) for number, mark in enumerate(self._marks)]

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _rows_path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.jsonl"

    def _read_marks(self) -> Iterator[Mark]:
        number = 0
        while (path := self.folder / f"{number:06d}.json").is_file():
            values = json.loads(path.read_text())
            start = values["next_start"]
            yield Mark(values["first_s"], None if start is None else Start(**start))
            number += 1


def identity_of(source: Path, settings: dict[str, Any], models: tuple[Path, ...]) -> dict[str, Any]:
    """Return what makes two runs the same work: the input as it is on disk, the models' content, and the settings."""
    status = source.stat()
    return {
        "source": str(source.resolve()),
        "bytes": status.st_size,
        "modified_ns": status.st_mtime_ns,
        "models": [_digest(path) for path in models],
        "settings": settings,
    }


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
