"""From how near a frame is looked at, and what looks from two distances say together.

In a wide shot pucks are smaller than the network can see; its players tell, and it is looked at from nearer. A network
that is unsure of a frame may see more in a larger picture of it: a pale streak, a puck at a blade. What it then says
comes from other pixels, so the two are two opinions, and their mean is better than either.
"""

from collections.abc import Sequence
from dataclasses import replace

import cv2
import numpy as np

from plucc.context.masks import typical_height
from plucc.sighting import Observation
from plucc.track import Candidate
from plucc.types import FloatArray, MaskArray

USUAL_ZOOM, CLOSER_ZOOM = 1.0, 2.0
TINY_PLAYERS, SMALL_PLAYERS = 0.14, 0.19  # of the frame's height; in broadcasts the median outline is 0.12 to 0.35
UNSURE_BELOW = 0.6  # of the best place's probability
SAME_PX = 10.0  # at 720 lines: places this near to each other are one


def first_zoom(players: MaskArray) -> float:
    """Return how many times larger than usual a frame is looked at first."""
    return CLOSER_ZOOM if _are_below(players, TINY_PLAYERS) else USUAL_ZOOM


def other_zoom(seen: Observation, zoom: float) -> float | None:
    """Return from how near else a frame is worth looking at, after a look with this zoom; None where one is enough.

    Where the players are large the puck is, too, and a closer look gains nothing.
    """
    is_unsure = not seen.candidates or seen.candidates[0].probability < UNSURE_BELOW
    if not is_unsure or not _are_below(seen.players, SMALL_PLAYERS):
        return None
    return CLOSER_ZOOM if zoom == USUAL_ZOOM else USUAL_ZOOM


def pooled(seen: Observation, closer: Observation) -> Observation:
    """Return the mean of looks at a frame from two distances: of places' probabilities, of presence and of heatmaps.

    A place that only one look knows has no probability in the other. What else an observation holds is the first's.
    """
    return replace(
        seen,
        candidates=_pooled(seen, closer)[: max(len(seen.candidates), len(closer.candidates))],
        presence=(seen.presence + closer.presence) / 2,
        probability=(seen.probability + _resampled(closer.probability, seen.probability.shape)) / 2,
    )


def _pooled(seen: Observation, closer: Observation) -> tuple[Candidate, ...]:
    reach_px = SAME_PX / seen.size.reference_scale
    left = list(closer.candidates)
    merged: list[Candidate] = []
    for candidate in seen.candidates:
        same = min(left, key=lambda other: other.xy_px.distance(candidate.xy_px), default=None)
        if same is None or same.xy_px.distance(candidate.xy_px) > reach_px:
            merged.append(_halved(candidate))
        else:
            left.remove(same)
            merged.append(_mean((candidate, same)))
    merged.extend(_halved(candidate) for candidate in left)
    return tuple(sorted(merged, key=lambda candidate: -candidate.probability))


def _mean(two: Sequence[Candidate]) -> Candidate:
    """Return the surer one with the mean of both probabilities."""
    surer = max(two, key=lambda candidate: candidate.probability)
    return replace(surer, probability=sum(candidate.probability for candidate in two) / 2)


def _halved(candidate: Candidate) -> Candidate:
    return replace(candidate, probability=candidate.probability / 2)


def _resampled(heat: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Return a heatmap over other cells; it still sums to one."""
    small = cv2.resize(np.asarray(heat, np.float32), (shape[1], shape[0]), interpolation=cv2.INTER_AREA)
    return np.asarray(small / max(float(small.sum(dtype=np.float64)), 1e-12))


def _are_below(players: MaskArray, share: float) -> bool:
    height = typical_height(players)
    return height is not None and height < share
