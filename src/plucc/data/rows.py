"""The table that locating writes and scoring reads: one row for every frame, in the input's own pixels."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from plucc.files import whole_file
from plucc.types import DataError, InputError, Source, require

_DECIMALS = {"time_s": 6, "confidence": 4, "x_px": 2, "y_px": 2, "x_m": 3, "y_m": 3, "error_m": 3}
_OPTIONAL = ("x_px", "y_px", "x_m", "y_m", "error_m")


@dataclass(frozen=True, slots=True)
class Row:
    """Where the puck is in one frame, how sure that is, and how it was found.

    `confidence` is the calibrated probability that the puck is within 10 px (at 720 lines) of the given point; the
    point is None when `source` is absent, metres are None when the frame could not be registered, and `error_m` is
    the one-sigma radius on the ice.
    """

    file: str
    frame: int
    time_s: float
    shot: int
    source: Source
    confidence: float
    x_px: float | None = None
    y_px: float | None = None
    x_m: float | None = None
    y_m: float | None = None
    error_m: float | None = None


COLUMNS = tuple(field.name for field in fields(Row))


def check_table(path: Path) -> None:
    """Refuse a name whose format is not known, or needs something that is not installed."""
    if path.suffix not in _WRITERS:
        raise InputError(f"{path} has no known table format: name it .csv, .jsonl or .parquet")
    if path.suffix == ".parquet":
        require("pyarrow", "parquet")


def write_rows(path: Path, rows: Iterable[Row]) -> int:
    """Write rows as CSV, JSON lines or Parquet, by the suffix of `path`; return how many."""
    check_table(path)
    writer = _WRITERS[path.suffix]
    count = 0
    with whole_file(path) as temporary, writer(temporary) as put:
        for row in rows:
            put(_rounded(row))
            count += 1
    return count


def json_line(row: Row) -> str:
    """Return a row as a line of JSON, as `write_rows` writes it."""
    return json.dumps(_rounded(row)) + "\n"


def read_rows(path: Path) -> Iterator[Row]:
    """Read rows back; what is wrong is named by file, line and field."""
    reader = _READERS.get(path.suffix)
    if reader is None:
        raise InputError(f"{path} has no known table format: expected .csv, .jsonl or .parquet")
    if not path.is_file():
        raise InputError(f"{path} is not a file: give a table that plucc locate wrote")
    for line, values in reader(path):
        yield _parse(values, f"{path}:{line}")


def _rounded(row: Row) -> dict[str, Any]:
    """Round to what is meaningful, so that a table is small and the same on every machine."""
    values = asdict(row)
    for name, decimals in _DECIMALS.items():
        if values[name] is not None:
            values[name] = round(float(values[name]), decimals)
    values["source"] = row.source.value
    return values


def _parse(values: dict[str, Any], place: str) -> Row:
    unknown = set(values) - set(COLUMNS)
    missing = set(COLUMNS) - set(values)
    if unknown or missing:
        raise DataError(
            f"{place}: columns differ ({', '.join(sorted(unknown | missing))}): expected {','.join(COLUMNS)}"
        )
    parsed: dict[str, Any] = {}
    for name, value in values.items():
        try:
            parsed[name] = _PARSERS[name](value)
        except (TypeError, ValueError) as error:
            raise DataError(f"{place}: {name} is {value!r}, which is not a valid {name}") from error
    return Row(**parsed)


def _optional_float(value: Any) -> float | None:
    return None if value is None or value == "" else float(value)


_PARSERS: dict[str, Callable[[Any], Any]] = {
    "file": str,
    "frame": int,
    "time_s": float,
    "shot": int,
    "source": Source,
    "confidence": float,
} | dict.fromkeys(_OPTIONAL, _optional_float)

Put = Callable[[dict[str, Any]], Any]


@contextmanager
def _write_csv(path: Path) -> Iterator[Put]:
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        yield table.writerow


@contextmanager
def _write_jsonl(path: Path) -> Iterator[Put]:
    with path.open("w") as file:
        yield lambda values: file.write(json.dumps(values) + "\n")


@contextmanager
def _write_parquet(path: Path) -> Iterator[Put]:
    arrow, parquet = require("pyarrow", "parquet"), require("pyarrow.parquet", "parquet")
    kinds = {"file": arrow.string(), "frame": arrow.int64(), "shot": arrow.int64(), "source": arrow.string()}
    schema = arrow.schema([(name, kinds.get(name, arrow.float64())) for name in COLUMNS])
    buffer: list[dict[str, Any]] = []
    with parquet.ParquetWriter(path, schema) as table:

        def flush() -> None:
            table.write_table(arrow.Table.from_pylist(buffer, schema))
            buffer.clear()

        def put(values: dict[str, Any]) -> None:
            buffer.append(values)
            if len(buffer) >= 10_000:
                flush()

        yield put
        flush()


def _read_csv(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(newline="") as file:
        yield from enumerate(csv.DictReader(file), 2)


def _read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open() as file:
        for line, text in enumerate(file, 1):
            try:
                yield line, json.loads(text)
            except json.JSONDecodeError as error:
                raise DataError(f"{path}:{line}: not a JSON object ({error.msg}): expected one row a line") from error


def _read_parquet(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    file = require("pyarrow.parquet", "parquet").ParquetFile(path)
    rows = (row for batch in file.iter_batches() for row in batch.to_pylist())
    yield from enumerate(rows, 1)


_WRITERS: dict[str, Callable[[Path], AbstractContextManager[Put]]] = {
    ".csv": _write_csv,
    ".jsonl": _write_jsonl,
    ".parquet": _write_parquet,
}
_READERS = {".csv": _read_csv, ".jsonl": _read_jsonl, ".parquet": _read_parquet}
