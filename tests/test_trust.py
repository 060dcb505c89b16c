"""Confidence of points on a path, against values worked out by hand and against what it must never do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plucc.track import Candidate, CandidateFrame, TrackLimits, track_live, track_shot
from plucc.trust import PICTURES, Trust, log_odds
from plucc.types import Point, Size, Source

SIZE = Size(1280, 720)
chances = st.floats(0.001, 0.999)


def path(*probabilities: float | None, visible: bool = True, step_s: float = 1 / 25) -> list[CandidateFrame]:
    """Frames with a candidate that glides to the right; None is a frame without one."""
    return [
        CandidateFrame(
            SIZE,
            () if chance is None else (Candidate(Point(300.0 + 5 * index, 300.0), chance, visible),),
            step_s=step_s,
        )
        for index, chance in enumerate(probabilities)
    ]


def test_a_visit_weighs_its_own_frame_and_those_around() -> None:
    trust = Trust(own=0.5, around=0.25, offset=-1.0)
    expected = 0.5 * np.log(0.8 / 0.2) + 0.25 * (np.log(9) + np.log(1 / 9) + np.log(4)) / 3 - 1.0
    assert log_odds(trust.visited(0.8, [0.9, 0.1, 0.8])) == pytest.approx(expected)


def test_a_visit_without_others_stands_for_them() -> None:
    assert Trust().visited(0.8, []) == pytest.approx(Trust().visited(0.8, [0.8]))


def test_pictures_keep_the_probability_of_their_frame() -> None:
    assert PICTURES.visited(0.37, []) == pytest.approx(0.37)


@given(chances, chances, st.lists(chances, min_size=1, max_size=12))
def test_surer_frames_never_make_a_point_less_sure(low: float, high: float, around: list[float]) -> None:
    low, high = sorted((low, high))
    assert Trust().visited(low, around) <= Trust().visited(high, around)
    assert Trust().visited(0.6, [*around, low]) <= Trust().visited(0.6, [*around, high])


@given(chances, chances, st.floats(0, 0.8), st.floats(0, 0.8))
def test_a_bridge_is_never_surer_than_its_ends(first: float, second: float, before_s: float, after_s: float) -> None:
    assert Trust().bridged((first, second), (before_s, after_s)) <= min(first, second)


def test_a_bridge_is_as_sure_as_its_weaker_end_as_often_as_the_puck_kept_to_the_line() -> None:
    trust = Trust(curve_s2=0.1, straight=0.5)
    assert trust.bridged((0.8, 0.6), (0.0, 0.4)) == pytest.approx(0.3)
    assert trust.bridged((0.8, 0.6), (0.2, 0.5)) == pytest.approx(0.3 / np.e)


def test_a_bridge_is_least_sure_in_its_middle() -> None:
    points = track_shot(path(*[0.97] * 10, *[None] * 9, *[0.97] * 10))
    bridge = [point.confidence for point in points[10:19]]
    assert {point.source for point in points[10:19]} == {Source.INTERPOLATED}
    assert bridge == pytest.approx(bridge[::-1])
    assert bridge[:5] == sorted(bridge[:5], reverse=True)


def test_a_lonely_peak_is_less_sure_than_the_same_among_sure_ones() -> None:
    lonely = track_shot(path(*[0.3] * 6, 0.8, *[0.3] * 6))[6].confidence
    among = track_shot(path(*[0.95] * 6, 0.8, *[0.95] * 6))[6].confidence
    assert lonely < 0.7
    assert among > 0.8


def test_frames_beyond_a_quarter_of_a_second_do_not_count() -> None:
    near = track_shot(path(*[0.95] * 6, 0.8, *[0.95] * 6))[6].confidence
    further = track_shot(path(*[0.4] * 20, *[0.95] * 6, 0.8, *[0.95] * 6, *[0.4] * 20))[26].confidence
    assert further == pytest.approx(near)


def test_below_the_threshold_a_visit_is_absent_and_keeps_no_place() -> None:
    faint = track_shot(path(*[0.25] * 12), TrackLimits(absent_below=0.4))
    assert {(point.source, point.xy_px) for point in faint} == {(Source.ABSENT, None)}


def test_a_place_that_the_path_passes_by_is_not_above_the_threshold() -> None:
    frames = path(*[0.9] * 10, *[None] * 30, *[0.9] * 10)
    frames[25] = CandidateFrame(SIZE, (Candidate(Point(1200.0, 90.0), 0.9),), step_s=1 / 25)
    point = track_shot(frames)[25]
    assert (point.source, point.xy_px, point.confidence) == (Source.ABSENT, None, TrackLimits().absent_below)


def test_a_hidden_puck_among_sure_frames_is_inferred() -> None:
    frames = path(*[0.95] * 8, *[0.3] * 3, *[0.95] * 8)
    for index in (8, 9, 10):
        place = frames[index].candidates[0].xy_px
        frames[index] = CandidateFrame(SIZE, (Candidate(place, 0.2, visible=False),))
    points = track_shot(frames)
    assert [point.source for point in points[7:12]] == [Source.SEEN, *[Source.INFERRED] * 3, Source.SEEN]
    assert all(point.confidence < points[4].confidence for point in points[8:11])


@pytest.mark.parametrize("delay", [8, 12])
def test_live_is_as_sure_as_the_whole_shot_once_it_has_seen_as_far(delay: int) -> None:
    rng = np.random.default_rng(4)
    frames = path(*rng.uniform(0.7, 0.98, 40).tolist())
    for live, whole in zip(track_live(frames, delay=delay), track_shot(frames), strict=True):
        assert live.confidence == pytest.approx(whole.confidence)
