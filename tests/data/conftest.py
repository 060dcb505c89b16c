"""Small drawn rinks: a picture with a dark puck on bright ice, and records that say where it is."""

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from plucc.data.findings import Findings
from plucc.data.importers.intake import ClassMap, Intake
from plucc.data.manifest import write_manifest
from plucc.data.schema import DatasetInfo, Player, Puck, Record
from plucc.types import Box, PlayerRole, Size

SIZE = Size(160, 90)


@pytest.fixture
def draw_frame() -> Callable[..., Path]:
    """Draw one picture; another seed is another picture."""

    def draw(path: Path, seed: int = 0, size: Size = SIZE) -> Path:
        rng = np.random.default_rng(seed)
        image = rng.normal(225, 4, (size.height, size.width, 3)).clip(0, 255).astype(np.uint8)
        cv2.line(image, (size.width // 2, 0), (size.width // 2, size.height), (60, 60, 200), 2)
        cv2.ellipse(image, (80, 45), (4, 2), 0, 0, 360, (15, 15, 15), -1)
        path.parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(path), image)
        return path

    return draw


@pytest.fixture
def make_record() -> Callable[..., Record]:
    """Make a record with a puck and a player; give fields to change."""

    def make(number: int = 0, match: str = "m0", run: str | None = None, **more: object) -> Record:
        fields = {
            "image": f"images/{number:03d}.png",
            "size": SIZE,
            "match": match,
            "run": run,
            "puck": Puck(box_px=Box(76, 43, 84, 47)),
            "players": (Player(box_px=Box(20, 10, 40.5, 60.25), role=PlayerRole.SKATER),),
        }
        return Record(**fields | more)

    return make


@pytest.fixture
def info() -> DatasetInfo:
    return DatasetInfo(
        name="drawn", classes=("puck", "skater", "goaltender"), licence="CC0", source="drawn by the tests"
    )


@pytest.fixture
def make_dataset(tmp_path: Path, draw_frame: Callable[..., Path], info: DatasetInfo) -> Callable[..., Path]:
    """Write a dataset with its pictures and return its folder."""

    def make(*records: Record) -> Path:
        root = tmp_path / "dataset"
        root.mkdir()
        write_manifest(root, info, records)
        for seed, record in enumerate(records):
            draw_frame(root / record.image, seed, record.size)
        return root

    return make


@pytest.fixture
def make_intake(tmp_path: Path) -> Callable[..., Intake]:
    """Make an intake for classes given by name or number, with commas between."""

    def make(puck: str = "puck", players: str = "player,skater,goaltender,referee", **more: object) -> Intake:
        classes = ClassMap(frozenset(puck.split(",")), frozenset(filter(None, players.split(","))))
        fields = {"classes": classes, "match": lambda _: "m0", "run": lambda _: None}
        fields["findings"] = Findings(bool(more.pop("skip_bad", False)))
        return Intake(tmp_path / "out", **fields | more)

    return make
