"""How well a path through a clip holds: spells of loss, and leaps that no puck made."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from plucc.evaluate.scoring import SHOWS, Scoring
from plucc.metrics.figures import CORRECT_PX
from plucc.types import FloatArray, MaskArray

LEAP_PX = 50.0  # at 720 lines: how much a step may differ from the puck's own


@dataclass(frozen=True, slots=True)
class TrackScores:
    """What only consecutive frames can tell; a shot is never joined with the next.

    `held_shown` and `held_hidden` are shares of frames whose position is right (10 px at 720 lines) where the puck
    shows and where it does not. A loss is a spell of frames with a puck and no right position. A leap is a step of
    the path that differs from the puck's own by more than 50 px.
    """

    frames: int
    shots: int
    held_shown: float
    held_hidden: float
    losses: int
    longest_loss: int
    leaps: int
    steps: int  # pairs of neighbouring frames that both have a position and a puck


def is_sequence(scoring: Scoring) -> bool:
    """Tell whether the frames are those of clips, in order."""
    return len(scoring) > 1 and all(
        record.frame_index is not None and record.shot is not None for record in scoring.records
    )


def track_scores(scoring: Scoring) -> TrackScores:
    """Score the decided positions of frames in the order of their clips."""
    frames = scoring.decided
    error_px = np.hypot(*(frames.predicted_px - frames.target_px).T) * 720 / frames.height_px
    right = error_px <= CORRECT_PX
    hidden = np.array([_is_hidden(record.puck) for record in scoring.records])
    held, lost = frames.has_puck, frames.has_puck & ~right
    spells, leaps, steps = [], 0, 0
    for shot in _shots(scoring):
        spells += _spell_lengths(lost[shot])
        offset = (frames.predicted_px - frames.target_px)[shot] * (720 / frames.height_px[shot])[:, None]
        made, taken = _leaps(offset)
        leaps, steps = leaps + made, steps + taken
    return TrackScores(
        frames=len(scoring),
        shots=len(_shots(scoring)),
        held_shown=_share(right, held & ~hidden),
        held_hidden=_share(right, held & hidden),
        losses=len(spells),
        longest_loss=max(spells, default=0),
        leaps=leaps,
        steps=steps,
    )


def _shots(scoring: Scoring) -> list[np.ndarray]:
    """Return the indices of each shot's frames, in order, cut where frames are missing."""
    keys = [(record.match, record.shot or 0, record.frame_index or 0) for record in scoring.records]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    cuts = [
        place + 1
        for place, (one, two) in enumerate(pairwise(order))
        if keys[one][:2] != keys[two][:2] or keys[two][2] != keys[one][2] + 1
    ]
    return np.split(np.array(order), cuts)


def _spell_lengths(lost: MaskArray) -> list[int]:
    edges = np.flatnonzero(np.diff(np.concatenate(([0], lost.astype(np.int8), [0]))))
    return [int(stop - start) for start, stop in zip(edges[::2], edges[1::2], strict=True)]


def _leaps(offset_px: FloatArray) -> tuple[int, int]:
    steps = np.hypot(*np.diff(offset_px, axis=0).T)
    return int((steps > LEAP_PX).sum()), int(np.isfinite(steps).sum())


def _is_hidden(puck: object) -> bool:
    fraction = getattr(puck, "visible_fraction", None)
    return fraction is not None and fraction < SHOWS


def _share(right: MaskArray, among: MaskArray) -> float:
    return float(right[among].mean()) if among.any() else float("nan")
