"""Answers beside labels, in the forms that the figures need."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from plucc.data.schema import Record
from plucc.evaluate.answers import Answer
from plucc.evaluate.selection import UNCATEGORISED
from plucc.metrics.frames import ScoredFrames
from plucc.metrics.rink import project_each
from plucc.types import Category, FloatArray, InputError, MaskArray, Point, Size

SHOWS = 0.15  # visible fraction from which a puck counts as showing
SIZE_EDGES_PX = (5.0, 7.0, 9.0, 12.0, 16.0)  # of a puck at 720 lines: the square root of its box's area


@dataclass(frozen=True, eq=False)
class Scoring:
    """Labelled frames with an answer each.

    `absent_below` is the confidence under which an answer counts as "no puck here" where that has to be decided.
    """

    records: tuple[Record, ...]
    answers: tuple[Answer, ...]
    absent_below: float

    def __post_init__(self) -> None:
        if len(self.records) != len(self.answers):
            raise InputError(f"{len(self.answers)} answers for {len(self.records)} frames: give one for each")

    def __len__(self) -> int:
        return len(self.records)

    def select(self, rows: MaskArray) -> "Scoring":
        """Return the chosen frames only."""
        kept = np.flatnonzero(rows)
        places = kept.tolist()
        chosen = Scoring(
            tuple(map(self.records.__getitem__, places)),
            tuple(map(self.answers.__getitem__, places)),
            self.absent_below,
        )
        # what is known of all frames is not worked out again for some of them
        for name in ("answered", "decided", "on_ice"):
            chosen.__dict__[name] = getattr(self, name).select(kept)
        for name in ("target_m", "error_px", "puck_size_px", "camera_distance_m"):
            chosen.__dict__[name] = getattr(self, name)[kept]
        return chosen

    @cached_property
    def answered(self) -> ScoredFrames:
        """The best place of every frame, however faint: what the paper scores."""
        records = self.records
        return ScoredFrames(
            predicted_px=_points(answer.xy_px for answer in self.answers),
            target_px=_points(None if record.puck is None else record.puck.centre_px for record in records),
            confidence=np.array([answer.confidence for answer in self.answers], dtype=np.float64),
            size_px=np.array([(record.size.width, record.size.height) for record in records]).reshape(-1, 2),
            to_rink=_homographies(records),
            predicted_to_rink=np.full((len(records), 3, 3), np.nan),
            match=np.array([record.match for record in records]),
            run=np.array([_run(record) for record in records]),
            category=np.array([category_of(record) for record in records]),
        )

    @cached_property
    def decided(self) -> ScoredFrames:
        """The same with silence where confidence is too low: what a user gets."""
        frames = self.answered
        kept = np.where((frames.confidence >= self.absent_below)[:, None], frames.predicted_px, np.nan)
        return replace(frames, predicted_px=kept)

    @cached_property
    def on_ice(self) -> ScoredFrames:
        """The best places with the lens's distortion taken out, because homographies speak of undistorted pixels."""
        frames = self.answered
        predicted, target = frames.predicted_px.copy(), frames.target_px.copy()
        for index, record in enumerate(self.records):
            if record.camera is not None and (record.camera.k1 or record.camera.k2):
                both = np.stack((predicted[index], target[index]))
                predicted[index], target[index] = record.camera.camera(record.size).undistort(both)
        return replace(frames, predicted_px=predicted, target_px=target)

    @cached_property
    def target_m(self) -> FloatArray:
        """Where the labelled pucks are on the ice: as labelled in metres, else through the homography; NaN without."""
        projected = project_each(self.on_ice.target_px, self.on_ice.to_rink)
        for index, record in enumerate(self.records):
            if record.puck is not None and record.puck.position_m is not None:
                projected[index] = record.puck.position_m[:2]
        return projected

    @cached_property
    def error_px(self) -> FloatArray:
        """Distance from answer to label at 720 lines; NaN where either is missing."""
        frames = self.answered
        away = np.hypot(*(frames.predicted_px - frames.target_px).T)
        return np.asarray(away * 720 / frames.height_px)

    @cached_property
    def puck_size_px(self) -> FloatArray:
        """Square root of the box's area at 720 lines; NaN where no box is labelled."""
        return np.array([_puck_size(record) for record in self.records], dtype=np.float64)

    @cached_property
    def camera_distance_m(self) -> FloatArray:
        """From the camera to the labelled puck; NaN where either is unknown."""
        distances = np.full(len(self), np.nan)
        for index, (record, place) in enumerate(zip(self.records, self.target_m, strict=True)):
            if record.camera is not None:
                x, y, z = record.camera.position_m
                distances[index] = np.sqrt((place[0] - x) ** 2 + (place[1] - y) ** 2 + z**2)
        return distances


def category_of(record: Record) -> str:
    """Return a record's category, by the label of no puck where it has no other."""
    if record.category is not None:
        return record.category.value
    return Category.NO_PUCK.value if record.no_puck else UNCATEGORISED


def visibility_of(record: Record) -> str:
    """Say whether the puck shows, as far as the label tells; empty where it does not."""
    if record.puck is None or record.puck.visible_fraction is None:
        return ""
    return "shows" if record.puck.visible_fraction >= SHOWS else "hidden"


def size_labels(sizes_px: FloatArray) -> list[str]:
    """Return the class of each puck's size, such as `5 to 7 px`; empty for NaN."""
    names = [*size_classes(), ""]
    places = np.where(np.isnan(sizes_px), len(names) - 1, np.searchsorted(SIZE_EDGES_PX, sizes_px, side="right"))
    return [names[place] for place in places]


def size_classes() -> list[str]:
    """Return all classes of size, smallest first."""
    between = [f"{low:g} to {high:g} px" for low, high in pairwise(SIZE_EDGES_PX)]
    return [f"under {SIZE_EDGES_PX[0]:g} px", *between, f"from {SIZE_EDGES_PX[-1]:g} px"]


def _points(points: Iterable[Point | None]) -> FloatArray:
    return np.array([(np.nan, np.nan) if point is None else (point.x, point.y) for point in points]).reshape(-1, 2)


def _homographies(records: Sequence[Record]) -> FloatArray:
    """Return the records' homographies, signed as `Record.to_rink` signs them, all labelled ones at once."""
    matrices = np.full((len(records), 3, 3), np.nan)
    labelled = [index for index, record in enumerate(records) if record.homography is not None]
    if labelled:
        given = np.array([records[index].homography for index in labelled], dtype=np.float64)
        matrices[labelled] = np.where(np.linalg.det(given)[:, None, None] > 0, -given, given)
    for index, record in enumerate(records):
        if record.homography is None and record.camera is not None:
            homography = record.to_rink
            matrices[index] = np.nan if homography is None else homography.matrix
    return matrices


def _run(record: Record) -> str:
    """Frames of an unknown run are no reason to think them independent: a shot, or the whole match, stands for it."""
    if record.run is not None:
        return record.run
    return "" if record.shot is None else f"shot {record.shot}"


def _puck_size(record: Record) -> float:
    box = None if record.puck is None else record.puck.box_px
    size: Size = record.size
    return float("nan") if box is None else float(np.sqrt(box.width * box.height)) * size.reference_scale
