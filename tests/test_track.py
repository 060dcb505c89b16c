"""Paths through drawn candidates: what a faint, false, missing or jumping detection does to them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plucc.track import Candidate, CandidateFrame, TrackLimits, track_live, track_shot
from plucc.types import Point, Size, Source

SIZE = Size(1280, 720)


def frame(*candidates: Candidate, motion: np.ndarray | None = None, size: Size = SIZE) -> CandidateFrame:
    return CandidateFrame(size, candidates, np.eye(3) if motion is None else motion)


def at(x: float, y: float, probability: float = 0.9) -> Candidate:
    return Candidate(Point(x, y), probability)


def gliding(count: int) -> list[CandidateFrame]:
    return [frame(at(200 + 6 * step, 300 + 2 * step)) for step in range(count)]


def test_a_clean_path_is_kept_as_it_is() -> None:
    frames = gliding(30)
    points = track_shot(frames)
    assert [point.xy_px for point in points] == [each.candidates[0].xy_px for each in frames]
    assert {point.source for point in points} == {Source.SEEN}


def test_a_stronger_candidate_far_away_does_not_tear_the_path() -> None:
    frames = gliding(30)
    frames[15] = frame(at(1100, 80, 0.97), at(200 + 6 * 15, 300 + 2 * 15, 0.4))
    assert track_shot(frames)[15].xy_px == Point(290, 330)


def test_a_gap_is_bridged_and_says_so() -> None:
    frames = gliding(30)
    for index in range(10, 16):
        frames[index] = frame()
    points = track_shot(frames)
    assert [point.source for point in points[9:17]] == [Source.SEEN, *[Source.INTERPOLATED] * 6, Source.SEEN]
    for index in range(10, 16):
        xy_px = points[index].xy_px
        assert xy_px is not None
        assert tuple(xy_px) == pytest.approx((200 + 6 * index, 300 + 2 * index))
        assert points[index].confidence < points[9].confidence


def test_a_bridge_follows_the_camera() -> None:
    """The puck lies still on the ice while the camera pans: its pixels move by 8 a frame, in the gap too."""
    pan = np.array([[1.0, 0, -8], [0, 1, 0], [0, 0, 1]])
    frames = [frame(at(900 - 8 * step, 400), motion=pan) for step in range(20)]
    for index in range(8, 12):
        frames[index] = frame(motion=pan)
    for index, point in enumerate(track_shot(frames)):
        assert point.xy_px is not None
        assert tuple(point.xy_px) == pytest.approx((900 - 8 * index, 400))


def test_a_gap_longer_than_allowed_stays_absent() -> None:
    frames = gliding(60)
    for index in range(10, 50):
        frames[index] = frame()
    points = track_shot(frames, TrackLimits(longest_leap=12))
    assert {point.source for point in points[10:50]} == {Source.ABSENT}
    assert {point.source for point in points[:10] + points[50:]} == {Source.SEEN}


def test_a_place_out_of_reach_is_not_joined() -> None:
    frames = (
        [frame(at(100, 100)) for _ in range(10)] + [frame(at(1200, 600))] + [frame(at(100, 100)) for _ in range(10)]
    )
    point = track_shot(frames)[10]
    assert point.source is Source.INTERPOLATED
    assert point.xy_px is not None
    assert tuple(point.xy_px) == pytest.approx((100, 100))


def test_no_bridge_spans_a_jump_that_no_puck_makes() -> None:
    frames = [frame(at(100, 100)) for _ in range(10)] + [frame()] * 3 + [frame(at(1200, 600)) for _ in range(10)]
    assert [point.source for point in track_shot(frames)] == [Source.SEEN] * 10 + [Source.ABSENT] * 3 + [
        Source.SEEN
    ] * 10


def test_nothing_but_noise_is_absent() -> None:
    rng = np.random.default_rng(1)
    frames = [frame(at(*rng.uniform((0, 0), (1280, 720)), 0.1)) for _ in range(40)]
    assert {point.source for point in track_shot(frames)} == {Source.ABSENT}
    assert all(point.xy_px is None for point in track_shot(frames))


def test_limits_hold_at_any_resolution() -> None:
    frames = gliding(20)
    frames[8] = frame(at(1000, 700, 0.95), at(248, 316, 0.3))
    small = track_shot(frames)
    doubled = [
        frame(*(at(2 * c.xy_px.x, 2 * c.xy_px.y, c.probability) for c in each.candidates), size=Size(2560, 1440))
        for each in frames
    ]
    for one, two in zip(small, track_shot(doubled), strict=True):
        assert one.source is two.source
        assert one.xy_px is not None
        assert two.xy_px == Point(2 * one.xy_px.x, 2 * one.xy_px.y)


def test_live_agrees_with_offline_once_the_delay_covers_the_gap() -> None:
    frames = gliding(50)
    frames[15] = frame(at(1100, 80, 0.97))
    for index in range(30, 34):
        frames[index] = frame()
    assert list(track_live(frames, delay=12)) == track_shot(frames)


def test_an_empty_shot_has_no_points() -> None:
    assert track_shot([]) == []
    assert list(track_live([])) == []


@given(st.lists(st.lists(st.tuples(st.floats(0, 1280), st.floats(0, 720), st.floats(0, 1)), max_size=4), max_size=25))
def test_every_frame_gets_one_honest_point(drawn: list[list[tuple[float, float, float]]]) -> None:
    frames = [frame(*(at(*each) for each in candidates)) for candidates in drawn]
    for tracker in (track_shot, track_live):
        points = list(tracker(frames))
        assert len(points) == len(frames)
        for one, point in zip(frames, points, strict=True):
            supported = point.xy_px in [candidate.xy_px for candidate in one.candidates]
            assert (point.xy_px is None) == (point.source is Source.ABSENT)
            assert supported or point.source in {Source.ABSENT, Source.INTERPOLATED}
