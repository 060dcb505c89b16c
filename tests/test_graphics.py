"""Candidates that stay on one place of the picture while the camera pans: logos go, pucks stay."""

import numpy as np
import pytest

from plucc.graphics import Graphics, without_graphics
from plucc.track import Candidate, CandidateFrame, track_shot
from plucc.types import Point, Size, Source

PAN = np.array([[1.0, 0, -8], [0, 1, 0], [0, 0, 1]])
LOGO = Point(1175.0, 56.0)


def shot(size: Size, place: Point, count: int = 16, motion: np.ndarray = PAN) -> list[CandidateFrame]:
    """A candidate that trembles by a third of a pixel around one place of the picture."""
    rng = np.random.default_rng(2)
    grow = size.height / 720
    shakes = rng.uniform(-0.3, 0.3, (count, 2)) * grow
    move = np.diag([grow, grow, 1]) @ motion @ np.diag([1 / grow, 1 / grow, 1])
    places = [Point(grow * place.x + float(dx), grow * place.y + float(dy)) for dx, dy in shakes]
    return [CandidateFrame(size, (Candidate(each, 0.93),), move, 1 / 25) for each in places]


@pytest.mark.parametrize("size", [Size(1280, 720), Size(640, 360), Size(1920, 1080)])
def test_a_logo_is_left_out_of_every_frame(size: Size) -> None:
    frames = shot(size, LOGO)
    assert {point.source for point in track_shot(frames)} == {Source.SEEN}
    assert all(not frame.candidates for frame in without_graphics(frames))


def test_while_the_camera_stands_still_nothing_can_be_told() -> None:
    frames = shot(Size(1280, 720), LOGO, motion=np.eye(3))
    assert without_graphics(frames) == frames


def test_a_puck_that_the_camera_follows_stays() -> None:
    frames = shot(Size(1280, 720), Point(640.0, 400.0))
    assert without_graphics(frames) == frames


def test_a_puck_along_the_boards_stays() -> None:
    """It lies still on the ice at the picture's edge, so the pan moves it."""
    frames = [
        CandidateFrame(Size(1280, 720), (Candidate(Point(900.0 - 8 * index, 60.0), 0.9),), PAN) for index in range(16)
    ]
    assert without_graphics(frames) == frames


def test_what_was_learned_so_far_is_used_from_frame_to_frame() -> None:
    graphics, known = Graphics(), []
    for frame in shot(Size(1280, 720), LOGO):
        graphics.note(frame)
        known.append(graphics.covers(frame.candidates[0].xy_px, frame.size))
    assert known == sorted(known)
    assert known.index(True) == 5


def test_places_on_the_rink_go_with_their_candidates() -> None:
    frames = [
        CandidateFrame(
            frame.size,
            (*frame.candidates, Candidate(Point(640.0, 300.0 + 9 * index), 0.8)),
            PAN,
            places_m=(Point(1.0, 1.0), Point(2.0, 2.0)),
        )
        for index, frame in enumerate(shot(Size(1280, 720), LOGO))
    ]
    for frame in without_graphics(frames):
        assert [each.probability for each in frame.candidates] == [0.8]
        assert frame.places_m == (Point(2.0, 2.0),)
