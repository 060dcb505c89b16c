"""Candidates of every frame -> one path through the shot: seen, inferred, interpolated, absent.

A path visits at most one candidate a frame and may leap over frames in which none fits. Its worth is

    sum over visits of  logit(probability)  -  sum over moves of  (motion cost + price of each leapt frame),

so that a faint candidate is taken where the motion of its neighbours supports it, and a strong one is dropped where
no puck could have got there. Positions are compared after the camera's own motion is taken out. The best path is found
exactly, by dynamic programming over the candidates: offline over the whole shot, online with a bounded delay.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from plucc.types import FloatArray, Point, Size, Source

_IMPOSSIBLE = -1e9
_BRIDGE_DECAY = 0.93  # of confidence with each frame away from a detection


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place in a frame where the puck may be.

    `probability` is that of the puck being within 10 px at 720 lines; `visible` tells a puck that shows from a place
    that only the players point to.
    """

    xy_px: Point
    probability: float
    visible: bool = True


@dataclass(frozen=True, slots=True)
class CandidateFrame:
    """All candidates of one frame, and the camera's motion: a homography from the previous frame to it."""

    size: Size
    candidates: tuple[Candidate, ...]
    motion: FloatArray = field(default_factory=lambda: np.eye(3))


@dataclass(frozen=True, slots=True)
class TrackPoint:
    """The puck in one frame as the whole path has it; no position when absent."""

    source: Source
    confidence: float
    xy_px: Point | None = None


@dataclass(frozen=True, slots=True)
class TrackLimits:
    """What the path may do, in pixels of a 720-line picture per frame.

    A shot of 45 m/s moves 1.5 m in a thirtieth of a second, about 60 px in the usual framing: `reach_px` leaves room
    for closer framings. `stride_px` is the motion at which moving starts to cost.
    """

    reach_px: float = 140.0
    stride_px: float = 14.0
    longest_leap: int = 24
    leap_price: float = 0.35
    break_price: float = 6.0
    absent_below: float = 0.25


@dataclass(slots=True)
class _Column:
    """The search at one frame: the worth of the best path that ends at each candidate, and how it got there."""

    points: FloatArray  # (k, 2) in 720-line pixels of its own frame
    worth: FloatArray  # (k,)
    back: list[tuple[int, int] | None]  # (frame, candidate) before this one; None starts the path
    best_before: float  # worth of the best path that ended in an earlier frame
    best_before_end: tuple[int, int] | None


def track_shot(frames: Sequence[CandidateFrame], limits: TrackLimits | None = None) -> list[TrackPoint]:
    """Return the best path over a whole shot, one point a frame."""
    limits = limits or TrackLimits()
    columns: list[_Column] = []
    for index in range(len(frames)):
        columns.append(_advance(frames, columns, index, limits))
    visits = _best_visits(columns)
    return [_point(frames, visits, index, limits) for index in range(len(frames))]


def track_live(
    frames: Iterable[CandidateFrame], *, delay: int = 12, limits: TrackLimits | None = None
) -> Iterator[TrackPoint]:
    """Yield one point a frame, each decided by the best path once `delay` further frames of the shot are known."""
    limits = limits or TrackLimits()
    known: list[CandidateFrame] = []
    columns: list[_Column] = []
    for index, frame in enumerate(frames):
        known.append(frame)
        columns.append(_advance(known, columns, index, limits))
        if index >= delay:
            yield _point(known, _best_visits(columns, index - delay), index - delay, limits)
    first = max(0, len(known) - delay)
    visits = _best_visits(columns, first)
    for index in range(first, len(known)):
        yield _point(known, visits, index, limits)


def _advance(frames: Sequence[CandidateFrame], columns: list[_Column], index: int, limits: TrackLimits) -> _Column:
    """Extend all best paths to the candidates of frame `index`."""
    frame = frames[index]
    scale = frame.size.reference_scale
    points = np.array([tuple(candidate.xy_px) for candidate in frame.candidates], float).reshape(-1, 2) * scale
    gain = np.array([_logit(candidate.probability) for candidate in frame.candidates])
    best_before, best_end = _best_ended(columns)
    resumes = best_end is not None and best_before > limits.break_price  # else a fresh start is worth more
    worth = gain + (best_before - limits.break_price if resumes else 0.0)
    back = [best_end if resumes else None for _ in gain]
    motion = _to_reference(frame.motion, scale)
    for leap in range(1, min(limits.longest_leap + 1, index) + 1):
        earlier = columns[index - leap]
        if len(earlier.worth) and len(gain):
            reached = _move_worth(_apply(motion, earlier.points), points, leap, limits) + earlier.worth[:, None]
            winner = reached.argmax(axis=0)
            total = reached[winner, np.arange(len(gain))] + gain
            for target in np.flatnonzero(total > worth).tolist():
                worth[target], back[target] = total[target], (index - leap, int(winner[target]))
        motion = motion @ _to_reference(frames[index - leap].motion, scale)
    return _Column(points, worth, back, best_before, best_end)


def _best_ended(columns: list[_Column]) -> tuple[float, tuple[int, int] | None]:
    """Return the worth and the end of the best path over all frames so far."""
    if not columns:
        return 0.0, None
    last = columns[-1]
    if len(last.worth) and last.worth.max() > last.best_before:
        return float(last.worth.max()), (len(columns) - 1, int(last.worth.argmax()))
    return last.best_before, last.best_before_end


def _move_worth(before: FloatArray, after: FloatArray, leap: int, limits: TrackLimits) -> FloatArray:
    """Return the (negative) worth of moving between all pairs; a heavy tail lets passes and shots through."""
    distance = np.linalg.norm(before[:, None] - after[None], axis=2)
    cost = np.log1p((distance / (limits.stride_px * np.sqrt(leap))) ** 2) + limits.leap_price * (leap - 1)
    return np.where(distance <= limits.reach_px * leap, -cost, _IMPOSSIBLE)


def _best_visits(columns: list[_Column], until: int = 0) -> dict[int, int]:
    """Return frame -> candidate of the best path, in order of frames, back to the last visit at or before `until`."""
    worth, end = _best_ended(columns)
    if worth <= 0:
        return {}
    visits = {}
    while end is not None:
        visits[end[0]] = end[1]
        if end[0] <= until:
            break
        end = columns[end[0]].back[end[1]]
    return dict(sorted(visits.items()))


def _point(frames: Sequence[CandidateFrame], visits: dict[int, int], index: int, limits: TrackLimits) -> TrackPoint:
    if index in visits:
        return _visit(frames[index].candidates[visits[index]], limits)
    visited = list(visits)
    position = bisect_left(visited, index)
    if 0 < position < len(visited):
        first, second = visited[position - 1], visited[position]
        bridge = _bridge(frames, (first, visits[first]), (second, visits[second]), index, limits)
        if bridge is not None:
            return bridge
    return TrackPoint(Source.ABSENT, max((each.probability for each in frames[index].candidates), default=0.0))


def _visit(candidate: Candidate, limits: TrackLimits) -> TrackPoint:
    if candidate.probability < limits.absent_below and not candidate.visible:
        return TrackPoint(Source.ABSENT, candidate.probability)
    source = Source.SEEN if candidate.visible else Source.INFERRED
    return TrackPoint(source, candidate.probability, candidate.xy_px)


def _bridge(
    frames: Sequence[CandidateFrame], first: tuple[int, int], second: tuple[int, int], index: int, limits: TrackLimits
) -> TrackPoint | None:
    """Return a leapt frame's point, on the line between both visits as the camera sees it; None across a break."""
    start, end = (frames[frame].candidates[which] for frame, which in (first, second))
    carried = here = np.array([tuple(start.xy_px)])
    for step in range(first[0] + 1, second[0] + 1):
        carried = _apply(frames[step].motion, carried)
        if step == index:
            here = carried
    leap = second[0] - first[0]
    drift_px = np.array([tuple(end.xy_px)]) - carried
    reach_px = limits.reach_px * leap / frames[index].size.reference_scale
    if leap > limits.longest_leap + 1 or np.hypot(*drift_px[0]) > reach_px:
        return None
    x, y = (here + drift_px * (index - first[0]) / leap)[0]
    nearest_visit = min(index - first[0], second[0] - index)
    confidence = min(start.probability, end.probability) * _BRIDGE_DECAY**nearest_visit
    return TrackPoint(Source.INTERPOLATED, confidence, Point(float(x), float(y)))


def _logit(probability: float) -> float:
    clipped = min(max(probability, 1e-4), 1 - 1e-4)
    return float(np.log(clipped / (1 - clipped)))


def _apply(matrix: FloatArray, points: FloatArray) -> FloatArray:
    homogeneous = np.c_[points, np.ones(len(points))] @ matrix.T
    return np.asarray(homogeneous[:, :2] / homogeneous[:, 2:])


def _to_reference(motion: FloatArray, scale: float) -> FloatArray:
    grow = np.diag([scale, scale, 1.0])
    return np.asarray(grow @ motion @ np.linalg.inv(grow))
