"""From records to batches."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import cv2
import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset as TorchDataset

from plucc.config import AugmentSpec, Spec
from plucc.data.manifest import Dataset
from plucc.data.schema import Puck, Record
from plucc.training.frames import Frames, PlayerMasks, half_shape
from plucc.training.mixture import Draw
from plucc.training.painting import hide, paint_decoy, paint_out, transplant
from plucc.training.photometry import degrade
from plucc.training.placement import place_crop, place_frame
from plucc.training.sample import Sample, move, move_point
from plucc.types import ImageArray, Point, Size

SHOWS = 0.15  # a puck counts as seen from this visible fraction on
USUAL_EXTENT_PX = (12.0, 9.0)  # of a puck at 720 lines, where only its point is labelled


@dataclass(frozen=True)
class FrameSource:
    """The usable records of one dataset with all that turns them into samples."""

    dataset: Dataset
    records: tuple[Record, ...]
    frames: Frames
    masks: PlayerMasks | None  # None: the network reads no context, and none is drawn
    mistakes: dict[str, tuple[Point, ...]]

    def __len__(self) -> int:
        return len(self.records)

    def sample(self, index: int) -> Sample:
        """Return a whole frame as it is on disk; its pixels are shared and must not be written into."""
        record = self.records[index]
        image = self.frames[index]
        players = np.zeros(half_shape(record.size), np.uint8) if self.masks is None else self.masks[index]
        homography = None if record.homography is None else np.asarray(record.homography)
        if record.puck is None:
            return Sample(image, players, None, homography=homography)
        return Sample(
            image,
            players,
            record.puck.centre_px,
            puck_extent(record.puck, record.size),
            _shows(record.puck),
            homography,
        )

    def mistakes_in(self, index: int) -> tuple[Point, ...]:
        """Return the places in a frame where something else than the puck won."""
        return self.mistakes.get(self.records[index].image, ())


class Batch(NamedTuple):
    """Samples side by side: pixels still bytes and channels last, normalised on the device.

    `points_px` is NaN where the image holds no puck. `present` is 1 where a puck shows, 0 where none does. `withheld`
    frames are zeroed after normalisation, their context stays.
    """

    frames: Tensor  # (n, h, w, 3) uint8
    contexts: Tensor  # (n, ⌈h/2⌉, ⌈w/2⌉, 3) uint8
    points_px: Tensor  # (n, 2) float32
    present: Tensor  # (n,) float32
    withheld: Tensor  # (n,) bool
    extents_px: Tensor  # (n, 2) float32: width and height of the puck's box


class Example(NamedTuple):
    """One row of a batch."""

    frame: ImageArray
    context: ImageArray
    point_px: tuple[float, float]
    present: bool
    withheld: bool
    extent_px: tuple[float, float]


class TrainingSamples(TorchDataset[Example]):
    """Augmented samples by draw.

    All chance comes from the seed and the draw's position: neither the number of loader processes nor what was drawn
    before changes a sample.
    """

    def __init__(self, sources: Sequence[FrameSource], spec: Spec) -> None:
        self._sources = tuple(sources)
        self._spec = spec

    def __getitem__(self, draw: Draw) -> Example:
        rng = np.random.default_rng((self._spec.train.seed, 0, draw.position))
        source = self._sources[draw.source]
        sample = augmented(source.sample(draw.record), self._spec, source.mistakes_in(draw.record), rng)
        withheld = bool(rng.random() < self._spec.augment.frame_dropout)
        return as_example(sample, self._spec.heatmap.height, withheld=withheld)


def augmented(sample: Sample, spec: Spec, mistakes_px: Sequence[Point], rng: np.random.Generator) -> Sample:
    """Return a training view of a frame: painted, cropped or resized, then degraded."""
    augment, recorded = spec.augment, sample
    if sample.is_visible and rng.random() < augment.transplant:
        sample = transplant(sample, rng)
    if spec.data.crop_px is None:
        matrix, size = place_frame(sample, spec, rng)
    else:
        matrix, size = place_crop(sample, spec, mistakes_px, rng), Size(spec.data.crop_px, spec.data.crop_px)
    looks_at = move_point(Point(size.width / 2, size.height / 2), np.linalg.inv(matrix))
    sample = _covered(sample, augment, rng, players_tell=sample is recorded)
    if rng.random() < augment.paint_decoy:
        sample = paint_decoy(sample, looks_at, 0.4 * size.height, rng)
    view = move(sample, matrix, size, _mean_colour(spec))
    if rng.random() < augment.mask_fault:
        view = replace(view, players=faulty(view.players, rng))
    return replace(view, image=degrade(view.image, view.point_px, augment, rng))


def _covered(sample: Sample, augment: AugmentSpec, rng: np.random.Generator, *, players_tell: bool) -> Sample:
    """Return the sample with or without its puck painted over; where players do not tell of it, it is gone then."""
    if not sample.is_visible:
        return sample
    chance = rng.random()
    if chance < augment.paint_out:
        return paint_out(sample, rng)
    if players_tell and chance < augment.paint_out + augment.hide:
        return hide(sample, rng)
    return sample


def whole_frame(sample: Sample, spec: Spec) -> Sample:
    """Return a frame at the height that the network is used at, otherwise as it is: what validation sees."""
    height = spec.heatmap.height
    if sample.size.height == height:
        return sample
    scale = height / sample.size.height
    size = Size(round(sample.size.width * scale), height)
    return move(sample, np.diag([scale, scale, 1.0]), size, _mean_colour(spec))


def faulty(players: ImageArray, rng: np.random.Generator) -> ImageArray:
    """Return player masks as a weaker finder gives them: thinner or fatter, some players missing, some ice taken in."""
    side = int(rng.integers(2, 7))
    change = cv2.dilate if rng.random() < 0.5 else cv2.erode
    players = np.asarray(change(players, np.ones((side, side), np.uint8)), np.uint8)
    height, width = players.shape
    for value in (0, 0, 255):
        if rng.random() < 0.5:
            x, y = int(rng.integers(width)), int(rng.integers(height))
            axes = (int(rng.integers(4, 24)), int(rng.integers(6, 40)))
            cv2.ellipse(players, (x, y), axes, 0, 0, 360, value, -1)
    return players


def as_example(sample: Sample, lines: int, *, withheld: bool = False) -> Example:
    """Return a sample, of frames with so many lines, in the form that travels from the loader's processes."""
    point = tuple(sample.point_px) if sample.holds_puck and sample.point_px is not None else (np.nan, np.nan)
    present = sample.holds_puck and sample.is_visible
    return Example(sample.image, sample.context(lines), (point[0], point[1]), present, withheld, sample.extent_px)


def collate(examples: Sequence[Example]) -> Batch:
    """Stack examples of one size."""
    return Batch(
        torch.from_numpy(np.stack([example.frame for example in examples])),
        torch.from_numpy(np.stack([example.context for example in examples])),
        torch.tensor([example.point_px for example in examples], dtype=torch.float32),
        torch.tensor([example.present for example in examples], dtype=torch.float32),
        torch.tensor([example.withheld for example in examples]),
        torch.tensor([example.extent_px for example in examples], dtype=torch.float32),
    )


def use_one_thread(_worker: int = 0) -> None:
    """Keep OpenCV from starting a pool of threads in each loader process."""
    cv2.setNumThreads(0)


def _mean_colour(spec: Spec) -> tuple[int, int, int]:
    """Return what the network sees as zero: beyond the frame's edge lies what its own padding gives."""
    red, green, blue = (round(255 * value) for value in spec.network.mean)
    return red, green, blue


def puck_extent(puck: Puck, size: Size) -> tuple[float, float]:
    """Return width and height of a puck's box; the usual ones where only its centre is labelled."""
    if puck.box_px is None:
        return USUAL_EXTENT_PX[0] / size.reference_scale, USUAL_EXTENT_PX[1] / size.reference_scale
    return puck.box_px.width, puck.box_px.height


def _shows(puck: Puck) -> bool:
    return puck.visible_fraction is None or puck.visible_fraction >= SHOWS
