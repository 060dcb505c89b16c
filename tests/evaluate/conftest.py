"""A dataset of ten frames small enough to score by hand, and rows that answer it."""

from collections.abc import Callable, Sequence
from pathlib import Path

import cv2
import numpy as np
import pytest

from plucc.data.manifest import write_manifest
from plucc.data.rows import Row, write_rows
from plucc.data.schema import DatasetInfo, LabelClass, Puck, Record
from plucc.types import Box, Category, Point, Size, Source

SIZE = Size(1280, 720)
LABEL = Point(600.0, 400.0)
# distances of the answers to the labels, in pixels; None is silence. The ninth frame has no puck and gets an answer,
# the tenth has none and gets none.
OFFSETS: tuple[float | None, ...] = (0.0, 4.0, 5.0, 9.0, 20.0, 60.0, None, 40.0)
CENTIMETRES = ((0.01, 0.0, -6.4), (0.0, -0.01, 3.6), (0.0, 0.0, 1.0))  # a camera that looks straight down


def record(index: int, *, puck: bool = True, **changes: object) -> Record:
    box = Box(LABEL.x - 3, LABEL.y - 3, LABEL.x + 3, LABEL.y + 3)
    facts: dict[str, object] = {
        "image": f"frames/{index:02d}.png",
        "size": SIZE,
        "match": f"m{index % 2}",
        "run": f"r{index}",
        "puck": Puck(point_px=LABEL, box_px=box) if puck else None,
        "no_puck": not puck,
        "category": (Category.BLURRY if index % 4 == 0 else Category.STANDARD) if puck else Category.NO_PUCK,
        "homography": CENTIMETRES if index != 1 else None,
    }
    return Record.model_validate(facts | changes)


def answer(index: int, offset: float | None, **changes: object) -> Row:
    silent = offset is None
    facts: dict[str, object] = {
        "file": f"{index:02d}.png",
        "frame": index,
        "time_s": 0.0,
        "shot": index,
        "source": Source.ABSENT if silent else Source.SEEN,
        "confidence": 0.1 if silent else 0.9,
        "x_px": None if offset is None else LABEL.x + offset,
        "y_px": None if silent else LABEL.y,
    }
    return Row(**(facts | changes))  # type: ignore[arg-type]


WriteSet = Callable[[Path, Sequence[Record]], Path]


@pytest.fixture(scope="session")
def write_set() -> WriteSet:
    """Return what writes a dataset with a pale picture for each record."""

    def write(root: Path, records: Sequence[Record]) -> Path:
        (root / "frames").mkdir(parents=True)
        for one in records:
            picture = np.full((one.size.height, one.size.width, 3), 220, np.uint8)
            if one.puck is not None:
                centre = (int(one.puck.centre_px.x), int(one.puck.centre_px.y))
                cv2.circle(picture, centre, 4, (10, 10, 10), -1)
            cv2.imwrite(str(root / one.image), picture)
        info = DatasetInfo(name="ten", classes=tuple(LabelClass), licence="MIT", source="drawn for a test")
        write_manifest(root, info, records)
        return root

    return write


@pytest.fixture(scope="session")
def ten(tmp_path_factory: pytest.TempPathFactory, write_set: WriteSet) -> Path:
    records = [record(index) for index in range(8)] + [record(8, puck=False), record(9, puck=False)]
    return write_set(tmp_path_factory.mktemp("sets") / "ten", records)


@pytest.fixture(scope="session")
def ten_rows(ten: Path) -> Path:
    """Return the rows of the offsets above; metres are given for the first frame, half a metre off."""
    rows = [answer(index, offset) for index, offset in enumerate(OFFSETS)]
    rows[0] = answer(0, 0.0, x_m=0.0 - 0.4 + 0.5, y_m=-0.4, error_m=0.2)
    rows += [answer(8, 0.0, confidence=0.6), answer(9, None)]
    path = ten.parent / "rows.csv"
    write_rows(path, rows)
    return path
