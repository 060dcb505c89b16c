"""Candidates of every frame -> one path through the shot: seen, inferred, interpolated, absent.

A path visits at most one candidate a frame and may leap over frames in which none fits. Its worth is

    sum over visits of  logit(probability) - logit(threshold)  -  sum over moves of  (motion cost + price of the leap),

so that a faint candidate is taken where the motion of its neighbours supports it, and a strong one is dropped where
no puck could have got there. Positions are compared in metres where both frames are registered, and otherwise in
pixels after the camera's own motion is taken out. A move is free where the puck stays or glides on as it did; a change
of speed costs with its size, but has no hard limit, because a stick stops or sends a puck within a frame. The best
path is found by dynamic programming over the candidates: offline over the whole shot, live with a bounded delay.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from plucc.trust import Trust, log_odds
from plucc.types import FloatArray, Point, Size, Source

REFERENCE_STEP_S = 1 / 30  # limits that are quoted "a frame" mean this long
_IMPOSSIBLE = -1e9


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
    """All candidates of one frame.

    `motion` is the camera's: a homography from the previous frame to this one, `step_s` the time between the two.
    `places_m` says where each candidate lies on the ice; None for a frame that is not registered.
    """

    size: Size
    candidates: tuple[Candidate, ...]
    motion: FloatArray = field(default_factory=lambda: np.eye(3))
    step_s: float = REFERENCE_STEP_S
    places_m: tuple[Point | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class TrackPoint:
    """The puck in one frame as the whole path has it; no position when absent."""

    source: Source
    confidence: float
    xy_px: Point | None = None


@dataclass(frozen=True, slots=True)
class TrackLimits:
    """What the path may do; pixels are those of a 720-line picture.

    A shot of 45 m/s moves 60 px in a thirtieth of a second in the usual framing: `speed_px_s` leaves room for closer
    ones, `speed_m_s` for the error of registration. `stride` is the motion within a thirtieth of a second at which
    moving starts to cost. `leap_price` is for each thirtieth of a second leapt over, `break_price` for going on at a
    place that could not be reached. A path is worth something where its candidates are above `absent_below`, and a
    point of it that is less sure than that counts as absent; `trust` says how sure points are.
    """

    speed_px_s: float = 4200.0
    speed_m_s: float = 55.0
    slack_m: float = 1.5
    stride_px: float = 14.0
    stride_m: float = 0.25
    longest_leap_s: float = 0.8
    leap_price: float = 0.35
    break_price: float = 6.0
    absent_below: float = 0.25
    trust: Trust = field(default_factory=Trust)


@dataclass(slots=True)
class _Column:
    """The search at one frame: the worth of the best path that ends at each of its n nodes, and how it got there.

    Every candidate is a node twice: once as the start of a path, and once as reached by a move. Only the second knows a
    velocity, and a fast puck's first step would never be worth taking if the best of both were kept alone.
    """

    frame: CandidateFrame
    points: FloatArray  # (n, 2) in 720-line pixels of its own frame
    places: FloatArray  # (n, 2) in metres, NaN where unknown
    worth: FloatArray  # (n,)
    back: list[tuple[int, int] | None]  # (frame, node) before this one; None starts the path
    drift: FloatArray  # (n, 4) velocity with which the path arrives: pixels and metres a second, NaN where unknown
    best_before: float  # worth of the best path that ended in an earlier frame
    best_before_end: tuple[int, int] | None


def track_shot(frames: Sequence[CandidateFrame], limits: TrackLimits | None = None) -> list[TrackPoint]:
    """Return the best path over a whole shot, one point a frame."""
    search = _Search(limits or TrackLimits())
    for frame in frames:
        search.advance(frame)
    path = search.path()
    return [path.point(index) for index in range(len(frames))]


def track_live(
    frames: Iterable[CandidateFrame], *, delay: int = 12, limits: TrackLimits | None = None
) -> Iterator[TrackPoint]:
    """Yield one point a frame, each decided by the best path once `delay` further frames of the shot are known.

    Only as many frames are kept as the delay and the longest leap need.
    """
    search = _Search(limits or TrackLimits())
    look_back = round(search.limits.trust.around_s / REFERENCE_STEP_S)
    count = 0
    for count, frame in enumerate(frames, 1):
        search.advance(frame)
        if count > delay:
            index = count - 1 - delay
            yield search.path(index - look_back).point(index)
            search.forget_before(index)
    for index in range(max(0, count - delay), count):
        yield search.path(index - look_back).point(index)


class _Search:
    """Dynamic programming over the candidates, a frame at a time."""

    def __init__(self, limits: TrackLimits) -> None:
        self.limits = limits
        self.columns: dict[int, _Column] = {}
        self.count = 0
        self._threshold = log_odds(limits.absent_below)

    def advance(self, frame: CandidateFrame) -> None:
        """Extend all best paths to the candidates of the next frame."""
        column = self._start(frame)
        scale = frame.size.reference_scale
        motion, elapsed_s = _to_reference(frame.motion, scale), frame.step_s
        gain = self._gain(frame)
        for index in range(self.count - 1, -1, -1):
            earlier = self.columns.get(index)
            is_leap = index < self.count - 1  # frames far apart still follow one another
            if earlier is None or (is_leap and elapsed_s > self.limits.longest_leap_s):
                break
            self._extend(column, (index, earlier), motion, elapsed_s, gain)
            motion = motion @ _to_reference(earlier.frame.motion, scale)
            elapsed_s += earlier.frame.step_s
        self.columns[self.count] = column
        self.count += 1

    def path(self, until: int = 0) -> "_Path":
        """Return the best path as known now, back to its last visit at or before frame `until`."""
        worth, end = self._best_ended()
        visits: dict[int, int] = {}
        while end is not None and worth > 0 and end[0] in self.columns:
            visits[end[0]] = end[1] % len(self.columns[end[0]].frame.candidates)
            if end[0] <= until:
                break
            end = self.columns[end[0]].back[end[1]]
        return _Path(self.columns, dict(sorted(visits.items())), self.limits)

    def forget_before(self, index: int) -> None:
        """Drop the frames from which no move to a later one, and no bridge over this one, can start."""
        elapsed_s = 0.0
        for old in range(index, -1, -1):
            if old not in self.columns:
                return
            elapsed_s += self.columns[old].frame.step_s
            if elapsed_s > 2 * self.limits.longest_leap_s:
                del self.columns[old]

    def _gain(self, frame: CandidateFrame) -> FloatArray:
        return np.array([log_odds(candidate.probability) - self._threshold for candidate in frame.candidates])

    def _start(self, frame: CandidateFrame) -> _Column:
        """Return a column in which every candidate starts a path, or goes on from the best one so far by a break."""
        count = len(frame.candidates)
        points = np.array([tuple(each.xy_px) for each in frame.candidates], float).reshape(-1, 2)
        places = np.full((count, 2), np.nan)
        for row, place in enumerate(frame.places_m or ()):
            if place is not None:
                places[row] = tuple(place)
        best, end = self._best_ended()
        resumes = end is not None and best > self.limits.break_price  # else a fresh start is worth more
        fresh = self._gain(frame) + (best - self.limits.break_price if resumes else 0.0)
        worth = np.concatenate([fresh, np.full(count, _IMPOSSIBLE)])
        back = [end if resumes else None] * count + [None] * count
        points = np.tile(points * frame.size.reference_scale, (2, 1))
        drift = np.full((2 * count, 4), np.nan)
        return _Column(frame, points, np.tile(places, (2, 1)), worth, back, drift, best, end)

    def _best_ended(self) -> tuple[float, tuple[int, int] | None]:
        """Return the worth and the end of the best path over all frames so far."""
        last = self.columns.get(self.count - 1)
        if last is None:
            return 0.0, None
        if len(last.worth) and last.worth.max() > last.best_before:
            return float(last.worth.max()), (self.count - 1, int(last.worth.argmax()))
        return last.best_before, last.best_before_end

    def _extend(
        self, column: _Column, earlier: tuple[int, _Column], motion: FloatArray, elapsed_s: float, gain: FloatArray
    ) -> None:
        """Improve a column by all moves from one earlier frame."""
        index, before = earlier
        count = len(gain)
        if not len(before.worth) or not count:
            return
        steps_px = column.points[None, :count] - _apply(motion, before.points)[:, None]
        steps_m = column.places[None, :count] - before.places[:, None]
        leapt = (elapsed_s - column.frame.step_s) / REFERENCE_STEP_S
        moving = _move_worth(steps_px, steps_m, before.drift, elapsed_s, self.limits)
        reached = moving - self.limits.leap_price * leapt + before.worth[:, None]
        winner = reached.argmax(axis=0)
        total = reached[winner, np.arange(count)] + gain
        for target in np.flatnonzero(total > column.worth[count:]).tolist():
            origin, node = int(winner[target]), count + target
            column.worth[node], column.back[node] = total[target], (index, origin)
            moved = np.concatenate([steps_px[origin, target], steps_m[origin, target]])
            column.drift[node] = moved / max(elapsed_s, 1e-3)


def _move_worth(
    steps_px: FloatArray, steps_m: FloatArray, drift: FloatArray, elapsed_s: float, limits: TrackLimits
) -> FloatArray:
    """Return the (negative) worth of moving between all pairs; a heavy tail lets passes and shots through."""
    spread = np.sqrt(elapsed_s / REFERENCE_STEP_S)
    cost = _step_cost(steps_px, drift[:, :2] * elapsed_s, limits.stride_px * spread)
    possible = np.linalg.norm(steps_px, axis=2) <= limits.speed_px_s * elapsed_s
    on_ice = np.isfinite(steps_m).all(axis=2)
    if on_ice.any():
        cost = np.where(on_ice, _step_cost(steps_m, drift[:, 2:] * elapsed_s, limits.stride_m * spread), cost)
        within = np.linalg.norm(steps_m, axis=2) <= limits.speed_m_s * elapsed_s + limits.slack_m
        possible = np.where(on_ice, within, possible)
    return np.where(possible, -cost, _IMPOSSIBLE)


def _step_cost(steps: FloatArray, glide: FloatArray, stride: float) -> FloatArray:
    """Return the cost of steps (n, k, 2): how far each is from staying, or from gliding on (n, 2), if that is less."""
    still = np.linalg.norm(steps, axis=2)
    gliding = np.linalg.norm(steps - glide[:, None], axis=2)
    return np.asarray(np.log1p((np.fmin(still, gliding) / stride) ** 2))


@dataclass(frozen=True, slots=True)
class _Path:
    """Which candidate is visited in which frames, in order, and what that says of every frame."""

    columns: dict[int, _Column]
    visits: dict[int, int]
    limits: TrackLimits

    def point(self, index: int) -> TrackPoint:
        """Return the puck in one frame: where the path visits it, or else on the way between two visits.

        Where neither is sure enough it is absent, with the confidence of the best place that was turned down: one that
        the path passes by is not surer than the threshold, however likely it would be by itself.
        """
        offers = [offer for offer in (self._visit(index), self._bridge(index)) if offer is not None]
        for offer in offers:
            if offer.confidence >= self.limits.absent_below:
                return offer
        passed_by = [self.limits.trust.visited(each.probability, []) for each in self.columns[index].frame.candidates]
        best = max([offer.confidence for offer in offers] or passed_by, default=0.0)
        return TrackPoint(Source.ABSENT, min(best, self.limits.absent_below))

    def _visit(self, index: int) -> TrackPoint | None:
        if index not in self.visits:
            return None
        candidate = self._candidate(index)
        source = Source.SEEN if candidate.visible else Source.INFERRED
        return TrackPoint(source, self._confidence(index), candidate.xy_px)

    def _neighbours(self, index: int) -> tuple[int | None, int | None]:
        before = max((visit for visit in self.visits if visit < index), default=None)
        return before, min((visit for visit in self.visits if visit > index), default=None)

    def _candidate(self, index: int) -> Candidate:
        return self.columns[index].frame.candidates[self.visits[index]]

    def _confidence(self, index: int) -> float:
        """Return how sure a visit is, given the other visits nearby."""
        around = [self._candidate(visit).probability for visit in self._nearby(index) if visit in self.visits]
        return self.limits.trust.visited(self._candidate(index).probability, around)

    def _nearby(self, index: int) -> Iterator[int]:
        """Yield the frames before and after one that are near in time."""
        for step in (-1, 1):
            at, elapsed_s = index, 0.0
            while (at := at + step) in self.columns:
                elapsed_s += self.columns[at if step > 0 else at + 1].frame.step_s
                if elapsed_s > self.limits.trust.around_s:
                    break
                yield at

    def _bridge(self, index: int) -> TrackPoint | None:
        """Return a frame's point on the line between the visits before and after; None where no puck goes that way.

        The line is a constant speed over the ice as far as the picture shows it: the camera's motion is taken out.
        """
        first, second = self._neighbours(index)
        if first is None or second is None:
            return None
        start, end = self._candidate(first), self._candidate(second)
        carried = here = np.array([tuple(start.xy_px)])
        elapsed_s, until_s = 0.0, 0.0
        for step in range(first + 1, second + 1):
            frame = self.columns[step].frame
            carried, elapsed_s = _apply(frame.motion, carried), elapsed_s + frame.step_s
            if step == index:
                here, until_s = carried, elapsed_s
        drift_px = np.array([tuple(end.xy_px)]) - carried
        reach_px = self.limits.speed_px_s * elapsed_s / self.columns[index].frame.size.reference_scale
        if elapsed_s > self.limits.longest_leap_s or np.hypot(*drift_px[0]) > reach_px:
            return None
        x, y = (here + drift_px * until_s / elapsed_s)[0]
        size = self.columns[index].frame.size
        if not (0 <= x <= size.width and 0 <= y <= size.height):  # between two visits it had left the picture
            return None
        ends = self._confidence(first), self._confidence(second)
        confidence = self.limits.trust.bridged(ends, (until_s, elapsed_s - until_s))
        return TrackPoint(Source.INTERPOLATED, confidence, Point(float(x), float(y)))


def _apply(matrix: FloatArray, points: FloatArray) -> FloatArray:
    homogeneous = np.c_[points, np.ones(len(points))] @ matrix.T
    return np.asarray(homogeneous[:, :2] / homogeneous[:, 2:])


def _to_reference(motion: FloatArray, scale: float) -> FloatArray:
    grow = np.diag([scale, scale, 1.0])
    return np.asarray(grow @ motion @ np.diag([1 / scale, 1 / scale, 1.0]))
