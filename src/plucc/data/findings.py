"""What was found wrong, changed or chosen while data was read; each finding names file, line and field."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from plucc.types import DataError


class Action(StrEnum):
    """What became of the thing that was found."""

    LEFT_OUT = "left out"
    CLAMPED = "clamped"
    CHOSEN = "chosen"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the input: a file, its line counted from one (None where lines mean nothing), and a field."""

    file: Path
    line: int | None = None
    field: str = ""

    def __str__(self) -> str:
        parts = [str(self.file)]
        if self.line is not None:
            parts.append(f"line {self.line}")
        if self.field:
            parts.append(self.field)
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence about one place."""

    place: Place
    message: str
    action: Action = Action.LEFT_OUT

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class Fault(Exception):  # noqa: N818
    """Raised while one frame is read and caught by the reader's loop, which knows whether to go on."""

    def __init__(self, place: Place, message: str) -> None:
        super().__init__(f"{place}: {message}")
        self.place = place
        self.message = message


@dataclass
class Findings:
    """Collects findings; a fault stops the reading unless bad records are to be skipped."""

    skip_bad: bool = False
    items: list[Finding] = field(default_factory=list)

    def fault(self, place: Place, message: str) -> None:
        """Leave something out, or refuse to go on when that was not allowed."""
        finding = Finding(place, message)
        if not self.skip_bad:
            raise DataError(f"{finding} (mend it, or go on without it: --skip-bad)")
        self.items.append(finding)

    def note(self, action: Action, place: Place, message: str) -> None:
        """Remember what was decided; never stops the reading."""
        self.items.append(Finding(place, message, action))

    def of(self, action: Action) -> tuple[Finding, ...]:
        return tuple(item for item in self.items if item.action is action)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.items)
