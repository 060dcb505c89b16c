"""Frames of a video -> what each says of the puck, with the camera's motion, the cuts, and the place on the rink.

What a look at a whole frame says does not depend on other frames: looks run at once, ahead of all that goes in order.
Following needs each look's answer for the next; there decoding, players and motion run ahead. A video is taken in
pieces: a shot, or part of a very long one. Nothing but the players and the motion of the last few frames is carried
from one piece into the next, so that work can start again at any piece and give the same answers.
"""

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import cv2
import numpy as np

from plucc.context.stream import moved
from plucc.follow import Follower
from plucc.graphics import Graphics
from plucc.motion import camera_motion, small_grey
from plucc.pipeline import Stopwatch, ahead, together
from plucc.rink.camera import Camera
from plucc.shots import WARM_UP as CUT_WARM_UP
from plucc.shots import CutDetector
from plucc.sighting import Observation, StagedFinder
from plucc.track import REFERENCE_STEP_S, CandidateFrame
from plucc.types import FloatArray, ImageArray, MaskArray, Point, Progress, Size, silent
from plucc.video import Frame

HEAT_SIZE = Size(160, 90)  # of the heatmap that is kept for drawing
PIECE_FRAMES = (500, 750)  # a long shot is divided between these, where the puck is plainly seen if possible
PLAINLY = 0.8
FOLLOW_PLAYERS_EVERY = 3  # frames, when following; in between they are moved with the camera
PIXEL_SIGMA_PX = 2.5  # of a candidate, at 720 lines
SHORTEST_SHOT = 5  # frames; a flash is not a cut and back
WARM_UP = CUT_WARM_UP + FOLLOW_PLAYERS_EVERY


class Registration(Protocol):
    """Where the camera of one frame stands and looks, if that could be told."""

    @property
    def accepted(self) -> bool: ...
    @property
    def reason(self) -> str: ...
    @property
    def camera(self) -> Camera | None: ...

    def locate(
        self, point_px: Point, pixel_sigma_px: float, speed_m_s: float | None = None
    ) -> tuple[float, float, float] | None: ...


class Registrar(Protocol):
    """Registers the frames of one video in order."""

    def frame(self, image: ImageArray, player_mask: MaskArray, *, is_cut: bool) -> Registration: ...


@dataclass(frozen=True, slots=True)
class Start:
    """Where to begin: at a frame, by its position among the wanted ones, in a shot that began at another."""

    position: int = 0
    shot: int = 0
    shot_position: int = 0


@dataclass(frozen=True, slots=True)
class Observed:
    """One frame: where it is in the video, what it says, and where it belongs.

    `heat` is the heatmap as a small grey picture, kept only where it will be drawn. `begins_piece` is True for the
    first frame of a piece; `was_scanned` for one whose whole area was looked at.
    """

    position: int
    index: int
    time_s: float
    shot: int
    shot_position: int
    candidates: CandidateFrame
    begins_piece: bool
    was_scanned: bool
    registration: Registration | None = None
    heat: ImageArray | None = None


@dataclass(frozen=True, slots=True)
class Looking:
    """How to look: everywhere or following the puck, keeping heatmaps or not, on the rink or not, and who watches."""

    follow: bool = False
    keep_heat: bool = False
    registrar: Registrar | None = None
    progress: Progress = silent


@dataclass(frozen=True, slots=True)
class _Glance:
    """A frame with what was found in it by itself; what follows from the frames before it comes later."""

    frame: Frame
    players: MaskArray | None = None
    seen: Observation | None = None


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A frame before it takes its place in a piece; `motion` is from the frame before, None where none fits.

    `seen` is None where the puck is still to be looked for.
    """

    frame: Frame
    players: MaskArray | None
    motion: FloatArray | None
    is_cut: bool
    seen: Observation | None


def observe_frames(
    frames: Iterable[Frame], finder: StagedFinder, start: Start, looking: Looking, watch: Stopwatch
) -> Iterator[Observed]:
    """Yield what every frame says, from `start` on; `frames` begin up to `WARM_UP` earlier, at `warm_start(start)`."""
    first = warm_start(start)
    decoded = ahead(watch.over("decode", frames))
    looks = _Looks(finder, start.position, watch)
    glances = _unseen(decoded) if looking.follow else together(enumerate(decoded, first), looks, finder.at_once)
    prepared = ahead(_prepare(glances, _Preparing(finder, looking.follow, first, start, watch)))
    observer = _Observer(finder, looking, start, watch)
    try:
        for position, one in enumerate(prepared, first):
            if position >= start.position:
                yield observer.observe(position, one)
    finally:
        for stage in (prepared, glances, decoded):
            stage.close()


def warm_start(start: Start) -> int:
    """Return the position of the frame from which on a detector of cuts and carried players must see the video."""
    return max(0, start.position - WARM_UP)


def _unseen(frames: Iterable[Frame]) -> Generator[_Glance, None, None]:
    for frame in frames:
        yield _Glance(frame)


@dataclass(frozen=True, slots=True)
class _Looks:
    """Looks at whole frames, each by itself; of those before `first`, which only warm up, the players are enough."""

    finder: StagedFinder
    first: int
    watch: Stopwatch

    def __call__(self, numbered: tuple[int, Frame]) -> _Glance:
        position, frame = numbered
        with self.watch.stage("players"):
            players = self.finder.players(frame.image)
        if position < self.first:
            return _Glance(frame, players)
        with self.watch.stage("network"):
            return _Glance(frame, players, self.finder.look(frame.image, players))


@dataclass(frozen=True, slots=True)
class _Preparing:
    """What the stages before the path need to know."""

    finder: StagedFinder
    follow: bool
    first: int
    start: Start
    watch: Stopwatch


def _prepare(glances: Iterable[_Glance], how: _Preparing) -> Iterator[_Prepared]:
    """Find cuts, camera motion and players; frames come out a little later than they go in."""
    cuts = CutDetector()
    waiting: deque[_Glance] = deque()
    carrier = _PlayerCarrier(how)
    for glance in glances:
        waiting.append(glance)
        with how.watch.stage("cuts"):
            verdict = cuts.feed(glance.frame.image)
        if verdict is not None:
            yield carrier.prepare(waiting.popleft(), verdict)
    for verdict in cuts.flush():
        yield carrier.prepare(waiting.popleft(), verdict)


class _PlayerCarrier:
    """Camera motion, and the players; where the puck is followed, found in some frames and moved with the camera else.

    Which frames those are depends on their place in the video alone, so that a run which starts anywhere does the same.
    """

    def __init__(self, how: _Preparing) -> None:
        self._how = how
        self._position = how.first
        self._last_cut = how.start.shot_position if how.start.position else -SHORTEST_SHOT
        self._before: ImageArray | None = None
        self._players: MaskArray | None = None

    def prepare(self, glance: _Glance, may_be_cut: bool) -> _Prepared:
        """Return the frame with its motion and players; a frame that moves on with the one before is no cut."""
        frame = glance.frame
        with self._how.watch.stage("motion"):
            grey, motion = small_grey(frame.image), None
            if self._before is not None and self._before.shape == grey.shape:
                motion = camera_motion(self._before, grey, frame.size.width, self._players)
        is_cut = may_be_cut and motion is None and self._position - self._last_cut >= SHORTEST_SHOT
        if is_cut:
            self._last_cut = self._position
        self._players = self._next_players(frame, motion) if self._how.follow else glance.players
        self._before = grey
        self._position += 1
        return _Prepared(frame, self._players, motion, is_cut, glance.seen)

    def _next_players(self, frame: Frame, motion: FloatArray | None) -> MaskArray | None:
        is_due = self._position % FOLLOW_PLAYERS_EVERY == 0
        with self._how.watch.stage("players"):
            if is_due or motion is None or self._players is None:
                return self._how.finder.players(frame.image)
            return moved(self._players, motion)


class _Observer:
    """Looks at prepared frames, in order, and divides them into pieces."""

    def __init__(self, finder: StagedFinder, looking: Looking, start: Start, watch: Stopwatch) -> None:
        self._finder, self._looking, self._watch = finder, looking, watch
        self._shot, self._shot_position = start.shot, start.shot_position
        self._first = start.position
        self._in_piece = 0
        self._was_plain = False
        self._follower, self._graphics = Follower(), Graphics()
        self._time_s = float("nan")

    def observe(self, position: int, one: _Prepared) -> Observed:
        begins_piece = position == self._first or one.is_cut or self._is_long()
        if one.is_cut and position != self._shot_position:  # a run that starts with a cut was told its number
            self._shot, self._shot_position = self._shot + 1, position
        if begins_piece:
            self._follower, self._graphics, self._in_piece = Follower(), Graphics(), 0
        seen = self._look(one, None if begins_piece else one.motion) if one.seen is None else one.seen
        registration = self._register(one, begins_piece, seen)
        step_s = one.frame.time_s - self._time_s
        motion = np.eye(3) if one.motion is None else one.motion
        candidates = CandidateFrame(
            seen.size,
            seen.candidates,
            motion,
            step_s if np.isfinite(step_s) and step_s > 0 else REFERENCE_STEP_S,
            _places(seen, registration),
        )
        self._graphics.note(candidates)
        self._in_piece += 1
        self._time_s = one.frame.time_s
        self._was_plain = any(candidate.probability >= PLAINLY for candidate in seen.candidates)
        return Observed(
            position,
            one.frame.index,
            one.frame.time_s,
            self._shot,
            self._shot_position,
            candidates,
            begins_piece,
            seen.view_px is None,
            registration,
            small_heat(seen) if self._looking.keep_heat else None,
        )

    def _is_long(self) -> bool:
        shortest, longest = PIECE_FRAMES
        return self._in_piece >= longest or (self._in_piece >= shortest and self._was_plain)

    def _look(self, one: _Prepared, motion: FloatArray | None) -> Observation:
        """Look at the part where the puck is expected, and at the whole where that does not show it."""
        expected = self._follower.expected(motion)
        part = None if expected is None else self._finder.fitted(expected, one.frame.size)
        if part is not None:
            with self._watch.stage("network, part"):
                seen = self._finder.look(one.frame.image, one.players, self._follower.view(part))
            if self._follower.shows_puck(self._without_graphics(seen)):
                self._follower.note(self._without_graphics(seen), motion)
                return seen
        with self._watch.stage("network"):
            seen = self._finder.look(one.frame.image, one.players)
        self._follower.note(self._without_graphics(seen), motion)
        return seen

    def _without_graphics(self, seen: Observation) -> Observation:
        """Return what is worth following: a logo that looks like a puck would hold on to it for good."""
        kept = tuple(each for each in seen.candidates if not self._graphics.covers(each.xy_px, seen.size))
        return replace(seen, candidates=kept)

    def _register(self, one: _Prepared, is_fresh: bool, seen: Observation) -> Registration | None:
        if self._looking.registrar is None:
            return None
        with self._watch.stage("registration"):
            return self._looking.registrar.frame(one.frame.image, seen.players, is_cut=is_fresh)


def _places(seen: Observation, registration: Registration | None) -> tuple[Point | None, ...] | None:
    if registration is None or not registration.accepted:
        return None
    sigma_px = PIXEL_SIGMA_PX / seen.size.reference_scale
    found = (registration.locate(candidate.xy_px, sigma_px) for candidate in seen.candidates)
    return tuple(None if place is None else Point(place[0], place[1]) for place in found)


def small_heat(seen: Observation) -> ImageArray:
    """Return the heatmap as a grey picture of the whole frame, small enough to keep; faint peaks are lifted."""
    highest = max(float(seen.probability.max()), 1e-12)
    heat = (255 * np.sqrt(seen.probability / highest)).astype(np.uint8)
    canvas = np.zeros((HEAT_SIZE.height, HEAT_SIZE.width), np.uint8)
    across, down = HEAT_SIZE.width / seen.size.width, HEAT_SIZE.height / seen.size.height
    box = seen.view_px
    left, top = (0, 0) if box is None else (round(box.left * across), round(box.top * down))
    right = HEAT_SIZE.width if box is None else min(HEAT_SIZE.width, round(box.right * across))
    bottom = HEAT_SIZE.height if box is None else min(HEAT_SIZE.height, round(box.bottom * down))
    # the brightest cell of each patch stays: averaging would lose a puck's peak
    size = (max(1, right - left), max(1, bottom - top))
    cell = max(1, heat.shape[0] // size[1])
    widest = cv2.dilate(heat, np.ones((cell, cell), np.uint8))
    canvas[top:bottom, left:right] = cv2.resize(widest, size, interpolation=cv2.INTER_NEAREST)
    return canvas
