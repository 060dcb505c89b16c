from pathlib import Path

import pytest

from plucc.data.rows import COLUMNS, Row, read_rows, write_rows
from plucc.types import DataError, InputError, Source

ROWS = [
    Row("game.mp4", 0, 0.0, 0, Source.SEEN, 0.9312, 640.25, 360.5, -3.125, 4.5, 0.25),
    Row("game.mp4", 1, 0.04, 0, Source.INFERRED, 0.4, 641.0, 361.0),
    Row("game, 2.mp4", 2, 0.08, 1, Source.ABSENT, 0.05),
]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_rows_survive_the_trip(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"rows{suffix}"
    assert write_rows(path, ROWS) == 3
    assert list(read_rows(path)) == ROWS


def test_csv_is_what_the_design_says(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    write_rows(path, ROWS)
    lines = path.read_text().splitlines()
    assert lines[0] == "file,frame,time_s,shot,source,confidence,x_px,y_px,x_m,y_m,error_m" == ",".join(COLUMNS)
    assert lines[1] == "game.mp4,0,0.0,0,seen,0.9312,640.25,360.5,-3.125,4.5,0.25"
    assert lines[3] == '"game, 2.mp4",2,0.08,1,absent,0.05,,,,,'


def test_an_error_while_locating_leaves_no_table(tmp_path: Path) -> None:
    def breaking():
        yield ROWS[0]
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_rows(tmp_path / "rows.csv", breaking())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("game.mp4,x,0,0,seen,0.9,1,2,,,", "rows.csv:2: frame is 'x'"),
        ("game.mp4,1,0,0,spotted,0.9,1,2,,,", "rows.csv:2: source is 'spotted'"),
    ],
)
def test_a_bad_field_is_named(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(",".join(COLUMNS) + "\n" + line + "\n")
    with pytest.raises(DataError, match=words):
        list(read_rows(path))


def test_unknown_formats_and_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.csv, \.jsonl or \.parquet"):
        write_rows(tmp_path / "rows.txt", ROWS)
    path = tmp_path / "rows.csv"
    path.write_text("file,frame\ngame.mp4,1\n")
    with pytest.raises(DataError, match="columns differ"):
        list(read_rows(path))
