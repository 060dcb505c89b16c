"""COCO's average precision for boxes: greedy matching by overlap, precision sampled at 101 recalls.

Centres are what this project scores by; boxes are for detectors that publish boxes. All objects are of one class,
nothing is a crowd, and areas are not told apart: a puck is always what COCO calls small.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from plucc.metrics.ranking import RESAMPLED_BINS, sampled_precision, score_bins
from plucc.metrics.sums import Estimate
from plucc.types import ShapeError

IOU_THRESHOLDS = tuple(float(value) for value in np.linspace(0.5, 0.95, 10))
RECALLS = np.linspace(0.0, 1.0, 101)
MAX_DETECTIONS = 100


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Boxes of many frames: left, top, right and bottom edge, the frame's number, and a score (labels have 1)."""

    edges_px: Float[np.ndarray, "m 4"]
    frame: Int[np.ndarray, " m"]
    score: Float[np.ndarray, " m"]

    def __post_init__(self) -> None:
        if not len(self.edges_px) == len(self.frame) == len(self.score):
            raise ShapeError(
                f"{len(self.edges_px)} boxes come with {len(self.frame)} frame numbers and {len(self.score)} scores: "
                f"give one of each for every box"
            )

    def __len__(self) -> int:
        return len(self.edges_px)

    def take(self, rows: np.ndarray) -> "Boxes":
        return Boxes(self.edges_px[rows], self.frame[rows], self.score[rows])


@dataclass(frozen=True, slots=True, eq=False)
class BoxMatches:
    """Detections from the surest down, and at which thresholds each found a label of its own."""

    score: Float[np.ndarray, " d"]
    frame: Int[np.ndarray, " d"]
    matched: Bool[np.ndarray, "t d"]
    target_frame: Int[np.ndarray, " k"]
    iou_thresholds: tuple[float, ...]


def box_iou(first_px: Float[np.ndarray, "n 4"], second_px: Float[np.ndarray, "n 4"]) -> Float[np.ndarray, " n"]:
    """Return intersection over union of boxes pair by pair.

    >>> box_iou(np.array([[0.0, 0.0, 2.0, 2.0]]), np.array([[1.0, 0.0, 3.0, 2.0]]))
    array([0.33333333])
    """
    low, high = np.maximum(first_px[:, :2], second_px[:, :2]), np.minimum(first_px[:, 2:], second_px[:, 2:])
    shared = np.maximum(high - low, 0.0).prod(axis=1)
    areas = (first_px[:, 2:] - first_px[:, :2]).prod(axis=1) + (second_px[:, 2:] - second_px[:, :2]).prod(axis=1)
    return np.asarray(shared / (areas - shared))


def match_boxes(detections: Boxes, targets: Boxes, iou_thresholds: Sequence[float] = IOU_THRESHOLDS) -> BoxMatches:
    """Give every label to the surest detection that overlaps it enough, as COCO does.

    Within a frame, detections choose from the surest down, each the free label that it overlaps most. Only the 100
    surest of a frame take part.
    """
    order = np.lexsort((-detections.score, detections.frame))
    ranked = detections.take(order)
    ranks = np.arange(len(ranked)) - np.searchsorted(ranked.frame, ranked.frame)
    kept = ranks < MAX_DETECTIONS
    ranked, ranks = ranked.take(kept), ranks[kept]
    detection, target = _pairs(ranked.frame, targets.frame)
    overlap = box_iou(ranked.edges_px[detection], targets.edges_px[target])
    matched = np.zeros((len(iou_thresholds), len(ranked)), dtype=np.bool_)
    for row, threshold in enumerate(iou_thresholds):
        candidates = overlap >= min(threshold, 1 - 1e-10)
        matched[row, _greedy(detection[candidates], target[candidates], overlap[candidates], ranks)] = True
    surest = np.argsort(-ranked.score, kind="stable")
    return BoxMatches(
        ranked.score[surest], ranked.frame[surest], matched[:, surest], targets.frame, tuple(iou_thresholds)
    )


def _pairs(
    detection_frame: Int[np.ndarray, " d"], target_frame: Int[np.ndarray, " k"]
) -> tuple[Int[np.ndarray, " p"], Int[np.ndarray, " p"]]:
    """Return the row numbers of every detection beside every label of its frame; labels keep their order."""
    order = np.argsort(target_frame, kind="stable")
    first = np.searchsorted(target_frame[order], detection_frame, side="left")
    count = np.searchsorted(target_frame[order], detection_frame, side="right") - first
    detection = np.repeat(np.arange(len(detection_frame)), count)
    within = np.arange(len(detection)) - np.repeat(np.cumsum(count) - count, count)
    return detection, order[np.repeat(first, count) + within]


def _greedy(
    detection: Int[np.ndarray, " p"],
    target: Int[np.ndarray, " p"],
    overlap: Float[np.ndarray, " p"],
    ranks: Int[np.ndarray, " d"],
) -> Int[np.ndarray, " m"]:
    """Return the detections that get a label; all frames take their turn with the n-th detection at once."""
    taken = np.zeros(target.max(initial=-1) + 1, dtype=np.bool_)
    winners = []
    for rank in np.unique(ranks[detection]):
        is_open = (ranks[detection] == rank) & ~taken[target]
        chooser, choice = detection[is_open], target[is_open]
        # the last of each chooser's options wins: the greatest overlap, and of equal ones the later label
        options = np.lexsort((overlap[is_open], chooser))
        is_last = np.append(chooser[options][1:] != chooser[options][:-1], True)[: len(options)]
        best = options[is_last]
        taken[choice[best]] = True
        winners.append(chooser[best])
    return np.concatenate(winners) if winners else np.zeros(0, dtype=np.int64)


def box_average_precision(matches: BoxMatches) -> Float[np.ndarray, " t"]:
    """Return COCO's AP at each threshold: the mean over 101 recalls of the best precision at that recall or beyond.

    The mean over the ten default thresholds is COCO's AP, the first is AP50, the sixth AP75. NaN without labels.
    """
    hits = matches.matched[:, ::-1].astype(np.float64)  # histograms run from the lowest score
    return sampled_precision(hits, 1.0 - hits, np.full(len(hits), float(len(matches.target_frame))), RECALLS)


def box_estimates(matches: BoxMatches, frames: int) -> Iterable[Estimate]:
    """Yield the AP of boxes over all thresholds and at each, ready for resampling by groups of the numbered frames."""
    exact = box_average_precision(matches)
    columns, labels = _frame_histograms(matches, frames), len(matches.target_frame)
    every = range(len(exact))
    finish = partial(_precision_at, thresholds=len(exact), chosen=every)
    yield Estimate("box AP", "share", float(exact.mean()), labels, columns, finish)
    for number in every:
        name = f"box AP{100 * matches.iou_thresholds[number]:.0f}"
        finish = partial(_precision_at, thresholds=len(exact), chosen=range(number, number + 1))
        yield Estimate(name, "share", float(exact[number]), labels, columns, finish)


def _precision_at(sums: np.ndarray, thresholds: int, chosen: range) -> np.ndarray:
    """Return the mean AP at the chosen thresholds from sums of `_frame_histograms`."""
    bins = (sums.shape[-1] - 1) // (thresholds + 1)
    histograms = sums[..., 1:].reshape(*sums.shape[:-1], thresholds + 1, bins)
    hits = histograms[..., chosen.start : chosen.stop, :]
    labels = np.broadcast_to(sums[..., :1], hits.shape[:-1])
    return np.asarray(sampled_precision(hits, histograms[..., -1:, :] - hits, labels, RECALLS).mean(axis=-1))


def _frame_histograms(matches: BoxMatches, frames: int) -> sparse.csr_array:
    """Return for each frame its labels, and the histograms of its detections: matched at each threshold, and all."""
    bins = score_bins(matches.score, RESAMPLED_BINS)
    detections = np.arange(len(matches.score))
    members = sparse.csr_array((np.ones(len(detections)), (matches.frame, detections)), shape=(frames, len(detections)))
    histograms = members @ bins.columns(*matches.matched, np.ones(len(detections)))
    labels = sparse.csr_array(np.bincount(matches.target_frame, minlength=frames)[:, None].astype(np.float64))
    return sparse.csr_array(sparse.hstack((labels, histograms)))
