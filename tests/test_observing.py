"""Drawn footage with a panning camera, looked at whole or in parts: pieces can start anew and say the same."""

import time
from threading import Lock

import cv2
import numpy as np
import pytest

from plucc import observing
from plucc.observing import Looking, Observed, Start, observe_frames, small_heat, warm_start
from plucc.pipeline import Stopwatch
from plucc.sighting import Observation, View
from plucc.track import Candidate
from plucc.types import Box, ImageArray, MaskArray, Point, Size
from plucc.video import Frame

SIZE, SHOTS, LENGTH = Size(480, 270), 3, 24


class PartFinder:
    """Finds the dark spot in the whole frame or in a part of it, and counts how often it looked at which."""

    def __init__(self, at_once: int = 1) -> None:
        self.at_once = at_once
        self.wholes = self.parts = self.masks = 0
        self._lock = Lock()

    def players(self, image: ImageArray) -> MaskArray | None:
        with self._lock:
            self.masks += 1
        mask = np.zeros(image.shape[:2], bool)
        mask[:20, :30] = image[0, 0, 0] > 128  # depends on the frame, so that carrying it wrongly shows
        return mask

    def look(self, image: ImageArray, players: MaskArray | None, view: View | None = None) -> Observation:
        assert players is not None
        box = Box(0, 0, SIZE.width, SIZE.height) if view is None else view.box_px
        part = image[int(box.top) : int(box.bottom), int(box.left) : int(box.right)]
        with self._lock:
            self.parts, self.wholes = self.parts + (view is not None), self.wholes + (view is None)
        rows, columns = np.nonzero(part.max(axis=2) < 30)
        found: tuple[Candidate, ...] = ()
        if len(rows) > 20:
            place = Point(box.left + columns.mean() + 0.5, box.top + rows.mean() + 0.5)
            found = (Candidate(place, 0.9 - 1e-3 * float(players.mean())),)
        heat = np.full((part.shape[0] // 2, part.shape[1] // 2), 1.0)
        seen_px = None if view is None else view.box_px
        return Observation(SIZE, found, 1.0, heat / heat.size, 2.0, players, 0.0, seen_px)

    def fitted(self, box: Box, size: Size) -> Box | None:
        left, top = (min(max(0, round(low)), high) for low, high in ((box.left, size.width - 140), (box.top, 130)))
        return Box(left, top, left + 140, top + 140)


def footage() -> list[Frame]:
    frames = []
    for shot in range(SHOTS):
        rng = np.random.default_rng(40 + shot)
        tint = rng.integers(90, 200, 3)
        coarse = np.clip(tint + rng.integers(-45, 45, (80, 240, 3)), 45, 255).astype(np.uint8)
        arena = cv2.resize(coarse, (1200, 400), interpolation=cv2.INTER_CUBIC).clip(45, 255).astype(np.uint8)
        for step in range(LENGTH):
            image = arena[40 : 40 + SIZE.height, 3 * step : 3 * step + SIZE.width].copy()
            if not (shot == 1 and 8 <= step < 14):
                x, y = 120 + 8 * step, 80 + 3 * step
                image[y - 5 : y + 5, x - 5 : x + 5] = 0
            frames.append(Frame(len(frames), len(frames) / 25, image))
    return frames


def observed(frames: list[Frame], start: Start, follow: bool, finder: PartFinder | None = None) -> list[Observed]:
    rest = iter(frames[warm_start(start) :])
    return list(observe_frames(rest, finder or PartFinder(), start, Looking(follow=follow), Stopwatch()))


def facts(one: Observed) -> tuple[object, ...]:
    """What of an observed frame reaches the rows; the first motion of a piece does not."""
    motion = None if one.begins_piece else one.candidates.motion.tobytes()
    step_s = None if one.begins_piece else one.candidates.step_s
    place = (one.position, one.index, one.shot, one.shot_position, one.begins_piece, one.was_scanned)
    return *place, motion, step_s, one.candidates.candidates


@pytest.mark.parametrize("follow", [False, True])
def test_any_piece_can_be_the_first(follow: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observing, "PIECE_FRAMES", (7, 10))
    frames = footage()
    whole = observed(frames, Start(), follow)
    assert [one.shot for one in whole] == [shot for shot in range(SHOTS) for _ in range(LENGTH)]
    starts = [one for one in whole if one.begins_piece]
    assert len(starts) >= 8
    for first in starts[1::3]:
        again = observed(frames, Start(first.position, first.shot, first.shot_position), follow)
        assert [facts(one) for one in again] == [facts(one) for one in whole[first.position :]]


def test_looks_at_once_say_what_looks_one_by_one_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observing, "PIECE_FRAMES", (7, 10))
    frames, together = footage(), PartFinder(at_once=3)
    one_by_one = observed(frames, Start(), follow=False)
    at_once = observed(frames, Start(), follow=False, finder=together)
    assert [facts(one) for one in at_once] == [facts(one) for one in one_by_one]
    assert (together.wholes, together.masks) == (len(frames), len(frames))
    first = next(one for one in one_by_one if one.begins_piece and one.position > LENGTH)
    again = observed(frames, Start(first.position, first.shot, first.shot_position), False, PartFinder(at_once=3))
    assert [facts(one) for one in again] == [facts(one) for one in one_by_one[first.position :]]


def test_stopping_early_ends_the_looks() -> None:
    frames, finder = footage(), PartFinder(at_once=2)
    some = observe_frames(iter(frames), finder, Start(), Looking(), Stopwatch())
    assert next(some).position == 0
    some.close()  # type: ignore[attr-defined]
    looks = finder.wholes
    assert looks < 30
    time.sleep(0.1)
    assert finder.wholes == looks


def test_following_sees_the_same_with_fewer_looks_at_the_whole() -> None:
    frames, scan, follow = footage(), PartFinder(), PartFinder()
    scanned, followed = (
        observed(frames, Start(), how is follow, how) for how in (scan, follow)
    )  # fmt: skip
    assert (scan.wholes, scan.parts) == (SHOTS * LENGTH, 0)
    assert follow.wholes < 0.35 * scan.wholes
    assert follow.masks < 0.6 * scan.masks
    for one, two in zip(scanned, followed, strict=True):
        places = [[tuple(each.xy_px) for each in seen.candidates.candidates] for seen in (one, two)]
        np.testing.assert_allclose(places[0], places[1], atol=1e-9)


def test_a_puck_that_vanishes_is_looked_for_everywhere() -> None:
    frames = footage()
    rows = observed(frames, Start(), follow=True)
    hidden = rows[LENGTH + 8 : LENGTH + 14]
    assert all(one.was_scanned and not one.candidates.candidates for one in hidden)


def test_the_kept_heat_shows_the_peak_where_it_is() -> None:
    heat = np.full((360, 640), 1e-9)
    heat[100, 500] = 1
    seen = Observation(Size(1280, 720), (), 1.0, heat / heat.sum(), 2.0, np.zeros((720, 1280), bool))
    y, x = np.unravel_index(small_heat(seen).argmax(), (90, 160))
    assert (x + 0.5) * 8 == pytest.approx(1001, abs=12)
    assert (y + 0.5) * 8 == pytest.approx(201, abs=12)
    part = Observation(
        Size(1280, 720), (), 1.0, heat[60:252, 400:592], 2.0, np.zeros((720, 1280), bool), 0.0, Box(800, 120, 1184, 504)
    )
    y, x = np.unravel_index(small_heat(part).argmax(), (90, 160))
    assert (x + 0.5) * 8 == pytest.approx(1001, abs=16)
    assert (y + 0.5) * 8 == pytest.approx(201, abs=16)
