"""What several looks at one frame say together: from other distances, or by other networks.

What each says comes from other pixels, or from other weights, so they are opinions of their own, and their mean is
better than any of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import cv2
import numpy as np

from plucc.sighting import Observation
from plucc.track import Candidate
from plucc.types import FloatArray

SAME_PX = 10.0  # at 720 lines: places this near to each other are one


def pooled(looks: Sequence[Observation]) -> Observation:
    """Return the mean of looks at a frame: of places' probabilities, of presence and of heatmaps.

    A place that a look does not know has no probability in it. What else an observation holds is the first's.
    """
    seen = looks[0]
    if len(looks) == 1:
        return seen
    shape = seen.probability.shape
    return replace(
        seen,
        candidates=_pooled(looks)[: max(len(look.candidates) for look in looks)],
        presence=sum(look.presence for look in looks) / len(looks),
        probability=np.mean([_resampled(look.probability, shape) for look in looks], axis=0),
    )


def _pooled(looks: Sequence[Observation]) -> tuple[Candidate, ...]:
    places: list[list[Candidate]] = []
    reach_px = SAME_PX / looks[0].size.reference_scale
    for look in looks:
        left = list(range(len(places)))  # of one look's candidates no two are the same place
        for candidate in look.candidates:
            same = min(left, key=lambda index: _gap_px(places[index], candidate), default=None)
            if same is None or _gap_px(places[same], candidate) > reach_px:
                places.append([candidate])
            else:
                left.remove(same)
                places[same].append(candidate)
    return tuple(sorted(_means(places, len(looks)), key=lambda candidate: -candidate.probability))


def _means(places: Sequence[Sequence[Candidate]], looks: int) -> Iterator[Candidate]:
    """Yield the surest candidate of each place, with the mean of all probabilities."""
    for same in places:
        yield replace(_surest(same), probability=sum(candidate.probability for candidate in same) / looks)


def _gap_px(place: Sequence[Candidate], candidate: Candidate) -> float:
    return _surest(place).xy_px.distance(candidate.xy_px)


def _surest(same: Sequence[Candidate]) -> Candidate:
    return max(same, key=lambda candidate: candidate.probability)


def _resampled(heat: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Return a heatmap over other cells; it still sums to one."""
    if heat.shape == shape:
        return heat
    small = cv2.resize(np.asarray(heat, np.float32), (shape[1], shape[0]), interpolation=cv2.INTER_AREA)
    return np.asarray(small / max(float(small.sum(dtype=np.float64)), 1e-12))
