"""What a model or a table of rows says of each labelled frame."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from plucc.data.rows import Row, read_rows
from plucc.data.schema import Record
from plucc.evaluate.selection import Labelled
from plucc.types import DataError, Point, Source
from plucc.weighing import Evidence


@dataclass(frozen=True, slots=True)
class Answer:
    """Where the puck is said to be in one frame, in its own pixels, and how sure that is.

    A model always names its best place; whether that counts as a puck is decided by confidence. A row that says
    absent has no place. `seconds` is what finding it took, of which `player_seconds` went into the players; None for
    rows, which were made elsewhere. `evidence` is what the confidence rests on where a second look was taken.
    """

    xy_px: Point | None
    confidence: float
    source: Source | None = None
    xy_m: Point | None = None
    seconds: float | None = None
    player_seconds: float | None = None
    evidence: Evidence | None = None


def answers_from_rows(path: Path, labelled: Labelled) -> tuple[Answer, ...]:
    """Read a table of rows and put each row to its frame; a labelled frame without a row is refused.

    A picture's row is found by its file, the whole path in the dataset or its last part; a clip's by file and frame.
    """
    rows = _by_name(path, read_rows(path), labelled.records)
    missing = [record.image for record in labelled.records if _row_of(rows, record) is None]
    if missing:
        raise DataError(
            f"{path} has no row for {len(missing)} of {len(labelled)} frames, such as {missing[0]}: locate those too, "
            f"or score fewer with --matches, --split or --every"
        )
    return tuple(_answer(row) for record in labelled.records if (row := _row_of(rows, record)) is not None)


def rows_from_answers(records: Sequence[Record], answers: Sequence[Answer], absent_below: float) -> Iterable[Row]:
    """Yield a row for every frame, with the whole path of its picture; below the confidence it says absent."""
    for index, (record, answer) in enumerate(zip(records, answers, strict=True)):
        absent = answer.xy_px is None or answer.confidence < absent_below
        source = Source.ABSENT if absent else answer.source or Source.SEEN
        x_px, y_px = (None, None) if absent or answer.xy_px is None else answer.xy_px
        x_m, y_m = (None, None) if absent or answer.xy_m is None else answer.xy_m
        frame = index if record.frame_index is None else record.frame_index
        shot = index if record.shot is None else record.shot
        yield Row(
            record.image, frame, record.time_s or 0.0, shot, source, answer.confidence, x_px, y_px, x_m=x_m, y_m=y_m
        )


def _answer(row: Row) -> Answer:
    xy_px = None if row.x_px is None or row.y_px is None else Point(row.x_px, row.y_px)
    xy_m = None if row.x_m is None or row.y_m is None else Point(row.x_m, row.y_m)
    return Answer(xy_px, row.confidence, row.source, xy_m)


Key = tuple[str, int | None]  # file, and the frame within it where the file is a clip


def _key(record: Record) -> Key:
    file, mark, frame = record.image.partition("#")
    if mark:
        return PurePosixPath(file).name, int(frame)
    return record.image, None


def _by_name(path: Path, rows: Iterable[Row], records: Sequence[Record]) -> dict[Key, Row]:
    clips = {name for name, frame in map(_key, records) if frame is not None}
    found: dict[Key, Row] = {}
    for row in rows:
        key = (row.file, row.frame if PurePosixPath(row.file).name in clips else None)
        if key in found:
            place = row.file if key[1] is None else f"frame {row.frame} of {row.file}"
            raise DataError(f"{path} has two rows for {place}: keep one for each frame")
        found[key] = row
    return found


def _row_of(rows: dict[Key, Row], record: Record) -> Row | None:
    name, frame = _key(record)
    return rows.get((name, frame)) or rows.get((PurePosixPath(name).name, frame))
