"""What is in a dataset: counts by match, category and split, sizes, and where the puck was."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from plucc.data.schema import LabelClass, Record
from plucc.data.splits import Split, Splits
from plucc.types import Category, FloatArray, Size

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


@dataclass
class Counts:
    """Frames of one kind, and how their puck is labelled."""

    frames: int = 0
    pucks: int = 0
    without_puck: int = 0
    runs: set[str] = field(default_factory=set)

    @property
    def unlabelled(self) -> int:
        return self.frames - self.pucks - self.without_puck

    def add(self, record: Record) -> None:
        self.frames += 1
        self.pucks += record.puck is not None
        self.without_puck += record.no_puck
        if record.run is not None:
            self.runs.add(record.run)


@dataclass
class Stats:
    """A description that grows record by record. Lengths of puck boxes are at 720 lines."""

    total: Counts = field(default_factory=Counts)
    matches: dict[str, Counts] = field(default_factory=lambda: defaultdict(Counts))
    splits: dict[Split | None, Counts] = field(default_factory=lambda: defaultdict(Counts))
    categories: Counter[Category | None] = field(default_factory=Counter)
    sizes: Counter[Size] = field(default_factory=Counter)
    people: Counter[LabelClass] = field(default_factory=Counter)
    extras: Counter[str] = field(default_factory=Counter)
    _boxes_px: list[tuple[float, float]] = field(default_factory=list)
    _places: list[tuple[float, float]] = field(default_factory=list)

    def add(self, record: Record, split: Split | None) -> None:
        self.total.add(record)
        self.matches[record.match].add(record)
        self.splits[split].add(record)
        self.categories[record.category] += 1
        self.sizes[record.size] += 1
        for player in record.players or ():
            self.people[LabelClass.of_role(player.role)] += 1
            self.extras["player masks"] += player.mask is not None
        self.extras["cameras"] += record.camera is not None
        self.extras["homographies"] += record.homography is not None
        if record.puck is None:
            return
        self.extras["3-D puck positions"] += record.puck.position_m is not None
        self.extras["airborne pucks"] += bool(record.puck.airborne)
        x, y = record.puck.centre_px
        self._places.append((x / record.size.width, y / record.size.height))
        if record.puck.box_px is not None:
            scale = record.size.reference_scale
            self._boxes_px.append((record.puck.box_px.width * scale, record.puck.box_px.height * scale))

    @property
    def puck_places(self) -> FloatArray:
        """Where pucks are, (n, 2), as shares of the frame's width and height."""
        return np.array(self._places, dtype=np.float64).reshape(-1, 2)

    @property
    def box_quantiles_px(self) -> FloatArray | None:
        """Quantiles of the puck box's width and height, (2, len(QUANTILES)); None without boxes."""
        if not self._boxes_px:
            return None
        quantiles: FloatArray = np.quantile(np.array(self._boxes_px), QUANTILES, axis=0).T
        return quantiles


def describe(records: Iterable[Record], splits: Splits | None = None) -> Stats:
    """Count everything in one pass."""
    stats = Stats()
    for record in records:
        stats.add(record, None if splits is None else splits.of(record.match))
    return stats
