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
    points = track_shot(frames, TrackLimits(longest_leap_s=0.4))
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


def test_limits_are_in_seconds_not_in_frames() -> None:
    """150 px from frame to frame are one path at 5 frames a second, and out of reach at 60."""
    for step_s, joined in ((1 / 5, 7), (1 / 60, 1)):
        places = [at(100 + 150 * step, 300, 0.7) for step in range(7)]
        frames = [CandidateFrame(SIZE, (place,), np.eye(3), step_s) for place in places]
        points = track_shot(frames, TrackLimits(speed_px_s=2000))
        assert sum(point.source is Source.SEEN for point in points) == joined


def test_frames_a_second_apart_are_joined_but_not_bridged() -> None:
    frames = [CandidateFrame(SIZE, (at(100 + 90 * step, 300, 0.6),), np.eye(3), 1.0) for step in range(8)]
    assert {point.source for point in track_shot(frames)} == {Source.SEEN}
    frames[4] = CandidateFrame(SIZE, (), np.eye(3), 1.0)
    assert track_shot(frames)[4].source is Source.ABSENT


def test_metres_decide_where_frames_are_registered() -> None:
    """The picture jumps by 600 px, as after a zoom that was not measured; on the ice the puck glides on."""
    here = [at(200 + 5 * step, 300) if step < 10 else at(800 + 9 * step, 500) for step in range(20)]
    places = [Point(0.2 * step, 1.0) for step in range(20)]
    frames = [
        CandidateFrame(SIZE, (one, at(640, 100, 0.3)), places_m=(place, Point(-20, 12)))
        for one, place in zip(here, places, strict=True)
    ]
    assert [point.xy_px for point in track_shot(frames)] == [one.xy_px for one in here]
    frames[10] = CandidateFrame(SIZE, (at(640, 100, 0.95),), places_m=(Point(-20, 12),))
    assert track_shot(frames)[10].source is not Source.SEEN  # 22 m within a frame: no puck


def test_a_puck_that_glides_on_is_preferred_to_one_that_turns_back() -> None:
    frames = [frame(at(100 + 60 * step, 300)) for step in range(8)]
    frames.append(frame(at(100 + 60 * 8, 300, 0.5), at(100 + 60 * 6, 300, 0.52)))
    frames += [frame(at(100 + 60 * step, 300)) for step in range(9, 16)]
    assert track_shot(frames)[8].xy_px == Point(580, 300)


def test_neighbours_lend_a_faint_visit_their_confidence() -> None:
    frames = gliding(21)
    frames[10] = frame(at(260, 320, 0.3))
    point = track_shot(frames)[10]
    assert (point.source, point.xy_px) == (Source.SEEN, Point(260, 320))
    assert 0.3 < point.confidence < 0.9


def test_a_place_that_only_the_players_point_to_is_inferred() -> None:
    frames = gliding(12)
    frames[5] = frame(Candidate(Point(230, 310), 0.5, visible=False))
    assert track_shot(frames)[5].source is Source.INFERRED
    faint = [frame(Candidate(Point(230, 310), 0.2, visible=False))]
    assert track_shot(faint)[0].source is Source.ABSENT


def test_live_keeps_only_what_it_needs() -> None:
    """A long shot is tracked with as many frames in mind as the delay and the leaps need."""
    import plucc.track as module

    kept = []

    class Watched(module._Search):
        def forget_before(self, index: int) -> None:
            super().forget_before(index)
            kept.append(len(self.columns))

    original, module._Search = module._Search, Watched  # type: ignore[misc]
    try:
        points = list(track_live(gliding(300), delay=10))
    finally:
        module._Search = original  # type: ignore[misc]
    assert len(points) == 300
    assert max(kept) < 80


@pytest.mark.parametrize("seed", [201, 202, 203])
def test_on_rendered_play_the_path_beats_single_frames(seed: int) -> None:
    """Truth of rendered play, hidden for spells, seen through a detector with misses and decoys on the ice."""
    from plucc.synth.clip import clip_scenes, plan_clip
    from plucc.synth.match import sample_match

    rng, match = np.random.default_rng(seed), sample_match(seed, 0)
    frames, truth, before = [], [], None
    decoys = np.column_stack([rng.uniform((-28, -12), (28, 12), (6, 2)), np.zeros(6)])
    for index, (_, scene) in enumerate(clip_scenes(match, plan_clip(6, seed, SIZE))):
        camera = scene.camera
        x, y = camera.project(np.array([scene.puck.position_m]))[0]
        inside = 0 <= x < 1280 and 0 <= y < 720
        truth.append((x, y) if inside else None)
        found = [at(*rng.normal((x, y), 2), rng.beta(6, 2))] if inside and index % 40 > 8 and rng.random() < 0.7 else []
        found += [at(*spot, rng.uniform(0.1, 0.6)) for spot in camera.project(decoys) if np.isfinite(spot).all()]
        inside_only = [each for each in found if 0 <= each.xy_px.x < 1280 and 0 <= each.xy_px.y < 720]
        best = tuple(sorted(inside_only, key=lambda each: -each.probability)[:5])
        motion = np.eye(3)
        if before is not None:
            motion = np.linalg.inv(camera.homography().matrix) @ before.homography().matrix
        frames.append(CandidateFrame(SIZE, best, motion, 1 / 25))
        before = camera

    def hits(points: list) -> int:
        pairs = [(point, place) for point, place in zip(points, truth, strict=True) if place is not None]
        return sum(point.xy_px is not None and point.xy_px.distance(Point(*place)) <= 25 for point, place in pairs)

    path, alone = track_shot(frames), [track_shot([one])[0] for one in frames]
    assert hits(path) > hits(alone) + 0.1 * sum(place is not None for place in truth)
    for one, point in zip(frames, path, strict=True):
        supported = point.xy_px in [candidate.xy_px for candidate in one.candidates]
        assert point.xy_px is None or supported == (point.source is not Source.INTERPOLATED)
