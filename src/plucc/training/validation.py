"""Scoring on whole frames, as the network is used: the paper's AP over distance, and how well absence is told."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import NamedTuple

import cv2
import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset as TorchDataset

from plucc.config import NetworkSpec, Spec
from plucc.heatmap import decode
from plucc.metrics.pixels import TAU_PX, PixelScores, at_reference_height, pixel_distances, pixel_scores
from plucc.network.plucc import PuckNetwork
from plucc.training.dataset import FrameSource, as_example, whole_frame
from plucc.training.painting import paint_by_flow
from plucc.training.sample import Sample
from plucc.types import FloatArray, ImageArray, Point

RECALL = 0.9  # at which false alarms are counted
PAINTED_EVERY = 4  # a frame in so many is also judged with its puck painted out


class Truth(NamedTuple):
    """Where the puck of a validation frame is, in the network's pixels; NaN where there is none."""

    x_px: float
    y_px: float
    is_visible: bool


class ValidationBatch(NamedTuple):
    """Whole frames of one size with what is true of them."""

    frames: Tensor
    contexts: Tensor
    truths: tuple[Truth, ...]


class Sighting(NamedTuple):
    """What the network said of one frame, beside what is true; `presence` is NaN for a network that does not tell."""

    x_px: float
    y_px: float
    presence: float
    height_px: int
    truth: Truth


@dataclass(frozen=True, slots=True)
class Scores:
    """Validation in numbers: the paper's, in percent, and how absence is told."""

    pixels: PixelScores
    median_px: float  # at 720 lines
    false_alarms: float  # share of frames without a puck still called present at 90 % recall; NaN without such frames

    @property
    def mean_precision(self) -> float:
        return 100 * self.pixels.mean_average_precision

    def named(self) -> dict[str, float]:
        """Return the numbers under the names they are logged by; those without a value are left out."""
        values = {"mAP": self.mean_precision, "median_px": self.median_px, "false_alarms": self.false_alarms}
        values |= {f"AP{tau:g}": 100 * value for tau, value in zip(TAU_PX, self.pixels.average_precision, strict=True)}
        return {name: value for name, value in values.items() if not np.isnan(value)}


class ValidationFrames(TorchDataset[tuple[Sample, Truth]]):
    """Frames of the validation matches, at most so many and evenly spread.

    With a presence output, every fourth one comes once more with its puck painted out, by a painter that training does
    not use.
    """

    def __init__(self, sources: Sequence[FrameSource], spec: Spec) -> None:
        self._sources = tuple(sources)
        self._spec = spec
        places = [(source, index) for source, part in enumerate(self._sources) for index in range(len(part))]
        limit = spec.train.validation_frames or len(places)
        if limit < len(places):
            places = [places[int(step)] for step in np.linspace(0, len(places) - 1, limit)]
        self._items = [(*place, False) for place in places]
        if spec.network.presence:
            self._items += [(*place, True) for place in places[::PAINTED_EVERY]]

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, number: int) -> tuple[Sample, Truth]:
        source, index, painted = self._items[number]
        sample = self._sources[source].sample(index)
        if painted and sample.point_px is not None:
            rng = np.random.default_rng((self._spec.train.seed, 3, number))
            image = paint_by_flow(sample.image, sample.point_px, sample.extent_px, rng)
            sample = replace(sample, image=image, point_px=None)
        sample = whole_frame(sample, self._spec)
        point = Point(nan, nan) if sample.point_px is None else sample.point_px
        return sample, Truth(point.x, point.y, sample.is_visible)


def collate_frame(items: Sequence[tuple[Sample, Truth]]) -> ValidationBatch:
    """Make a batch of one frame: frames may differ in width."""
    (sample, truth) = items[0]
    example = as_example(sample, sample.size.height)
    return ValidationBatch(
        torch.from_numpy(np.array(example.frame))[None], torch.from_numpy(example.context)[None], (truth,)
    )


def sightings(batch: ValidationBatch, logits: Tensor, presence: Tensor | None, spec: Spec) -> list[Sighting]:
    """Decode the peaks and set them beside the truth."""
    chances = [nan] * len(batch.truths) if presence is None else presence.float().sigmoid().tolist()
    found = []
    for truth, heatmap, chance in zip(batch.truths, logits[:, 0].float().cpu().numpy(), chances, strict=True):
        peak = decode(heatmap, sigma_px=spec.heatmap.sigma_px, stride_px=spec.network.logit_stride)
        found.append(Sighting(peak.xy_px.x, peak.xy_px.y, chance, batch.frames.shape[1], truth))
    return found


def normalised(pixels: Tensor, spec: NetworkSpec) -> Tensor:
    """Return bytes (n, h, w, 3) as a network's input (n, 3, h, w); in memory the channels stay last."""
    mean, std = (255 * torch.tensor(values, device=pixels.device).view(1, 3, 1, 1) for values in (spec.mean, spec.std))
    return (pixels.permute(0, 3, 1, 2).float() - mean) / std


@torch.inference_mode()
def evaluate(network: PuckNetwork, sources: Sequence[FrameSource], spec: Spec) -> Scores:
    """Score a network on whole frames, one after the other, on the device that it is on."""
    network.eval()
    device = next(network.parameters()).device
    frames = ValidationFrames(sources, spec)
    found: list[Sighting] = []
    for index in range(len(frames)):
        batch = collate_frame([frames[index]])
        pixels, players = batch.frames.to(device), batch.contexts.to(device)
        output = network(normalised(pixels, spec.network), normalised(players, spec.network))
        logits, presence = output if isinstance(output, tuple) else (output, None)
        found.extend(sightings(batch, logits, presence, spec))
    return score(found)


def score(found: Sequence[Sighting]) -> Scores:
    """Return the paper's AP^τ over frames that hold a puck, and the false alarms over those that do not."""
    predicted = np.array([(item.x_px, item.y_px) for item in found]).reshape(-1, 2)
    target = np.array([(item.truth.x_px, item.truth.y_px) for item in found]).reshape(-1, 2)
    heights = np.array([float(item.height_px) for item in found])
    chances = np.array([item.presence for item in found])
    labelled = np.isfinite(target).all(axis=1)
    shows = labelled & np.array([item.truth.is_visible for item in found], bool)
    distances = at_reference_height(pixel_distances(predicted, target), heights)[labelled]
    return Scores(
        pixel_scores(predicted, target, heights),
        float(np.median(distances)) if distances.size else nan,
        _false_alarms(chances[shows], chances[~labelled]),
    )


def heatmap_picture(frame: ImageArray, logits: FloatArray, truth: Truth) -> ImageArray:
    """Return the frame at half size with the heatmap in red over it and the true place ringed in green."""
    height, width = frame.shape[0] // 2, frame.shape[1] // 2
    small = cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA)
    heat = np.exp(logits - logits.max())
    heat = cv2.resize(heat.astype(np.float32), (width, height), interpolation=cv2.INTER_LINEAR)[..., None] ** 0.5
    blended = small * (1 - 0.8 * heat) + np.array([255, 0, 0]) * 0.8 * heat
    picture: ImageArray = np.clip(blended, 0, 255).astype(np.uint8)
    if not np.isnan(truth.x_px):
        cv2.circle(picture, (int(truth.x_px / 2), int(truth.y_px / 2)), 10, (0, 220, 0), 1, cv2.LINE_AA)
    return picture


def _false_alarms(shown: FloatArray, absent: FloatArray) -> float:
    if not shown.size or not absent.size or np.isnan(shown).any():
        return nan
    threshold = np.quantile(shown, 1 - RECALL)
    return float((absent >= threshold).mean())
