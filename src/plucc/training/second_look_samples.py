"""What the second look learns from: places that a puck model thinks of, and what lies there in truth."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Protocol, TypeAlias

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.utils.data import Dataset as TorchDataset

from plucc.config import AugmentSpec, SecondLookSpec, Section
from plucc.data.manifest import Dataset
from plucc.data.schema import Record
from plucc.patches import patches_around
from plucc.training.dataset import puck_extent
from plucc.training.frames import FrameFiles, read_lines
from plucc.training.mixture import Draw
from plucc.training.painting import transplant
from plucc.training.photometry import degrade
from plucc.training.sample import Sample
from plucc.types import REFERENCE_HEIGHT_PX, FloatArray, ImageArray, Point, Progress, silent
from plucc.video import read_image

PEAKS = 24
NEGATIVES, POSITIVES = 5, 2  # of each frame
CLEAR_PX = 14.0  # at 720 lines: what is nearer to the puck than this shows it
VISIBLE_FROM = 0.2  # of the puck: with less of it, its place teaches neither yes nor no
RANK_POWER = 0.7  # how much likelier those places are that the first look prefers
SHIFTS_PX = (2.0, 1.5)  # at 720 lines, sigma for negatives and positives: the first look is not exact either
CARRIED = 0.35  # of the frames: variety of what lies around the puck
WITHHELD = 0.1  # of the places, one window: none is to be leant on alone
GREY = 124  # as ImageNet is on average, so that a withheld window says nothing
ZOOM = (0.5, 3.0)  # of what a window shows: pucks of twice to a third of their size
PIXELS = AugmentSpec(
    colour=0.8,
    hue=0.15,
    sharpen=0.15,
    blur=0.25,
    blur_sigma_px=(0.4, 1.6),
    streak=0.08,
    rescale=0.15,
    noise=0.3,
    noise_std=0.035,
    recompress=0.3,
)

Peak: TypeAlias = tuple[float, float, Annotated[float, Field(ge=0, le=1)]]
Places: TypeAlias = tuple[ImageArray, FloatArray]  # patches (n, windows, side, side, 3) and labels (n,)
Batch: TypeAlias = tuple[Tensor, Tensor, Tensor]  # the same of several frames, and which of them each place is of (n,)


class PeakLine(Section, extra="ignore"):
    """The first look at one image: its peaks as x, y (of its own pixels) and probability, highest first."""

    image: str
    match: str
    peaks: tuple[Peak, ...]
    presence: float | None = None  # logit


class Look(Protocol):
    """What a puck model says of one frame: its places with their probabilities, and the frame's presence logit."""

    @property
    def places(self) -> Sequence[tuple[Point, float]]: ...

    @property
    def presence_logit(self) -> float | None: ...


PeakFinder: TypeAlias = Callable[[ImageArray, int], Look]  # an RGB frame, and how many places


def mine_peaks(
    dataset: Dataset,
    records: Sequence[Record],
    path: Path,
    open_finder: Callable[[], PeakFinder],
    *,
    progress: Progress = silent,
) -> dict[str, PeakLine]:
    """Return the peaks of every record's image; those that the file lacks are found and added, a line at a time."""
    known = _resume(path)
    missing = [record for record in records if record.image not in known]
    if not missing:
        return known
    find = open_finder()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", newline="\n") as file:
        for record in progress(missing, total=len(missing), label=f"mining {dataset.info.name}"):
            look = find(read_image(dataset.image_path(record)), PEAKS)
            peaks = tuple((round(xy.x, 2), round(xy.y, 2), round(mass, 5)) for xy, mass in look.places)
            line = PeakLine(image=record.image, match=record.match, peaks=peaks, presence=look.presence_logit)
            file.write(line.model_dump_json() + "\n")
            file.flush()
            known[record.image] = line
    return known


def _resume(path: Path) -> dict[str, PeakLine]:
    """Cut off a last line that a killed run left unfinished, and return the others."""
    if not path.is_file():
        return {}
    whole = path.read_bytes()
    kept = whole[: whole.rfind(b"\n") + 1]
    if kept != whole:
        path.write_bytes(kept)
    return {line.image: line for line in read_lines(path, PeakLine)}


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """The places of one frame, in its own pixels: where the puck shows, and where it does not, likeliest first."""

    puck_px: Point | None
    others_px: FloatArray
    extent_px: tuple[float, float] = (0.0, 0.0)  # of the puck

    def __bool__(self) -> bool:
        return self.puck_px is not None or len(self.others_px) > 0


def lesson(record: Record, line: PeakLine) -> Lesson:
    """Return what a frame teaches; a puck that hardly shows is no example, and what lies near it no counter-example."""
    places = np.array([(x, y) for x, y, _ in line.peaks]).reshape(-1, 2)
    puck = record.puck
    if puck is None:
        return Lesson(None, places)
    away_px = np.hypot(*(places - np.array(tuple(puck.centre_px))).T) * record.size.reference_scale
    shows = puck.visible_fraction is None or puck.visible_fraction >= VISIBLE_FROM
    others = places[away_px > CLEAR_PX]
    return Lesson(puck.centre_px if shows else None, others, puck_extent(puck, record.size))


@dataclass(frozen=True, slots=True, eq=False)
class LessonSource:
    """The frames of one dataset with what each of them teaches."""

    frames: FrameFiles
    records: tuple[Record, ...]
    lessons: tuple[Lesson, ...]


def open_lessons(dataset: Dataset, records: Sequence[Record], peaks: dict[str, PeakLine]) -> LessonSource:
    """Return the records that teach anything."""
    pairs = [(record, lesson(record, peaks[record.image])) for record in records if record.image in peaks]
    kept = [(record, found) for record, found in pairs if found]
    chosen = tuple(record for record, _ in kept)
    return LessonSource(FrameFiles(dataset, chosen), chosen, tuple(found for _, found in kept))


class PlaceSamples(TorchDataset[Places]):
    """Patches and labels of one frame for each draw; chance follows from the seed and the draw's position alone."""

    def __init__(self, sources: Sequence[LessonSource], spec: SecondLookSpec, seed: int) -> None:
        self._sources, self._spec, self._seed = sources, spec, seed

    def __getitem__(self, draw: Draw) -> Places:
        source = self._sources[draw.source]
        rng = np.random.default_rng((self._seed, 4, draw.position))
        image, taught = source.frames[draw.record], source.lessons[draw.record]
        if rng.random() < CARRIED:
            image, taught = carried(image, taught, rng)
        return sample_places(image, taught, self._spec, rng)


def carried(image: ImageArray, taught: Lesson, rng: np.random.Generator) -> tuple[ImageArray, Lesson]:
    """Return a frame whose puck lies elsewhere, as a streak most times, where it can be lifted from the ice."""
    nobody = np.zeros((-(-image.shape[0] // 2), -(-image.shape[1] // 2)), np.uint8)
    moved = transplant(Sample(image, nobody, taught.puck_px, taught.extent_px), rng)
    if moved.point_px is None or moved.point_px == taught.puck_px:
        return image, taught
    away_px = np.hypot(*(taught.others_px - np.array(tuple(moved.point_px))).T)
    others = taught.others_px[away_px > 2 * CLEAR_PX * image.shape[0] / REFERENCE_HEIGHT_PX]
    return moved.image, replace(taught, puck_px=moved.point_px, others_px=others)


def sample_places(image: ImageArray, taught: Lesson, spec: SecondLookSpec, rng: np.random.Generator) -> Places:
    """Return patches around the puck and around places that only look like it, as other cameras might show them."""
    ranks = np.arange(len(taught.others_px))
    odds = (1.0 + ranks) ** -RANK_POWER
    count = min(NEGATIVES, len(ranks))
    chosen = rng.choice(ranks, count, replace=False, p=odds / odds.sum()) if count else ranks
    places = [(taught.others_px[index], 0) for index in chosen]
    if taught.puck_px is not None:
        places += [(np.array(tuple(taught.puck_px)), 1)] * POSITIVES
    patches = np.stack([_seen(image, place, SHIFTS_PX[label], spec, rng) for place, label in places])
    withhold(patches, rng)
    return patches, np.array([label for _, label in places], np.float32)


def withhold(patches: ImageArray, rng: np.random.Generator) -> None:
    """Make one window of some of the places (n, windows, side, side, 3) grey; a lone window stays."""
    places, windows = patches.shape[:2]
    if windows > 1:
        gone = np.flatnonzero(rng.random(places) < WITHHELD)
        patches[gone, rng.integers(windows, size=len(gone))] = GREY


def collate(samples: Sequence[Places]) -> Batch:
    """Return the places of several frames as one batch."""
    patches, labels = (np.concatenate(parts) for parts in zip(*samples, strict=True))
    frames = np.repeat(np.arange(len(samples)), [len(labels) for _, labels in samples])
    return torch.from_numpy(patches), torch.from_numpy(labels), torch.from_numpy(frames)


def _seen(
    image: ImageArray, place: FloatArray, shift_px: float, spec: SecondLookSpec, rng: np.random.Generator
) -> ImageArray:
    """Return the windows around a place, shifted, zoomed, mirrored and degraded, all of them alike."""
    scale = 720 / image.shape[0]
    zoom = float(np.exp(rng.uniform(*np.log(ZOOM))))
    moved = place + rng.normal(0, shift_px, 2) / scale
    windows = patches_around(image, moved[None], spec.windows_px, spec.side_px, scale=scale / zoom)[0]
    if rng.random() < 0.5:
        windows = windows[:, :, ::-1]
    column = np.ascontiguousarray(windows).reshape(-1, spec.side_px, 3)  # one picture, so that all change alike
    return degrade(column, None, PIXELS, rng).reshape(windows.shape)
