"""Learning on real frames: with a small budget, clearly better than knowing nothing."""

import csv
from pathlib import Path

import numpy as np
import pytest

from plucc.config import Spec, load_preset
from plucc.data.manifest import read_dataset, write_dataset
from plucc.data.schema import DatasetInfo, LabelClass, Player, Puck, Record
from plucc.network.checkpoint import load_checkpoint
from plucc.training.fit import initial_network, train
from plucc.training.sources import open_sources
from plucc.training.validation import evaluate
from plucc.types import Box, Size

SHARED = Path(__file__).parents[3] / "shared" / "data" / "hockeyai"
SIZE = Size(1280, 720)
CLEARLY = 0.12  # of sixty frames; from random weights a quarter was found, by the other two none

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SHARED.is_dir(), reason=f"the HockeyAI frames are not in {SHARED}"),
]


def read_boxes(path: Path) -> dict[int, list[Box]]:
    boxes: dict[int, list[Box]] = {}
    for line in path.read_text().splitlines():
        kind, x, y, width, height = (float(word) for word in line.split())
        box = Box(
            max((x - width / 2) * SIZE.width, 0),
            max((y - height / 2) * SIZE.height, 0),
            min((x + width / 2) * SIZE.width, SIZE.width),
            min((y + height / 2) * SIZE.height, SIZE.height),
        )
        if box.width > 1 and box.height > 1:
            boxes.setdefault(int(kind), []).append(box)
    return boxes


@pytest.fixture
def real_frames(tmp_path: Path) -> Path:
    """Write a dataset of 300 real frames, 240 to learn from and 60 of a game held out, evenly spread."""
    with (SHARED / "index.csv").open() as file:
        rows = list(csv.DictReader(file))
    held_out = [row for row in rows if row["game"] == "g0"]
    others = [row for row in rows if row["game"] not in ("g0", "g4", "g9", "gmisc")]
    chosen = [
        part[int(step)]
        for part, count in ((others, 240), (held_out, 60))
        for step in np.linspace(0, len(part) - 1, count)
    ]
    records = []
    for row in chosen:
        boxes = read_boxes(SHARED / "labels" / Path(row["file"]).with_suffix(".txt").name)
        people = tuple(Player(box_px=box) for kind in (3, 4, 6) for box in boxes.get(kind, []))
        (tmp_path / "pictures").mkdir(exist_ok=True)
        link = tmp_path / "pictures" / row["file"]
        link.symlink_to(SHARED / "frames" / row["file"])
        records.append(
            Record(
                image=f"../pictures/{row['file']}",
                size=SIZE,
                match=row["game"],
                run=f"{row['game']}-{row['run']}",
                puck=Puck(box_px=boxes[5][0]),
                players=people,
            )
        )
    root = tmp_path / "real"
    info = DatasetInfo(name="real", classes=tuple(LabelClass), licence="MIT", source="HockeyAI")
    write_dataset(root, info, records)
    return root


def small_budget(root: Path, cache: Path) -> Spec:
    return load_preset(
        "hockeyai",
        [
            f"data.datasets=[{root}]",
            "data.validation_matches=[g0]",
            "data.test_matches=[]",
            f"data.cache={cache}",
            "data.crop_px=256",
            "augment.scale=[0.8, 1.25]",
            "augment.anywhere=0.1",
            "augment.paint_out=0.05",
            "train.hours=null",
            "train.steps=500",
            "train.epoch_samples=4000",
            "train.ema_decay=0.99",
            "train.validation_frames=null",
        ],
    )


def test_held_out_game_is_far_above_the_untrained_net_and_the_most_frequent_place(
    real_frames: Path, tmp_path: Path
) -> None:
    spec = small_budget(real_frames, tmp_path / "cache")
    sources = open_sources(spec)
    untrained = evaluate(initial_network(spec), sources.validation, spec).pixels.average_precision
    outcome = train(spec, tmp_path / "run", say=lambda _: None)
    trained = evaluate(load_checkpoint(outcome.final).network, sources.validation, spec).pixels.average_precision
    usual = most_frequent_place(read_dataset(real_frames).records)
    assert trained[1] > untrained[1] + CLEARLY
    assert trained[1] > usual + CLEARLY


def most_frequent_place(records: tuple[Record, ...]) -> float:
    """Return the share of held-out pucks within 10 px of where training has most of its pucks."""
    points = {
        held: np.array([tuple(r.puck.centre_px) for r in records if r.puck and (r.match == "g0") == held])
        for held in (True, False)
    }
    counts = np.array([(np.hypot(*(points[False] - point).T) <= 10).sum() for point in points[False]])
    return float((np.hypot(*(points[True] - points[False][counts.argmax()]).T) <= 10).mean())
