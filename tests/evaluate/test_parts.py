"""The parts of a report one by one: paths through clips, charts, galleries, detectors as subjects."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from plucc.data.schema import Puck, Record
from plucc.evaluate.answers import Answer
from plucc.evaluate.gallery import chosen_frames, warped_heatmap
from plucc.evaluate.scoring import Scoring, size_classes, size_labels
from plucc.evaluate.subjects import DetectorSubject
from plucc.evaluate.svg import Axes, Bar, Line, bar_chart, line_chart
from plucc.evaluate.tracking import is_sequence, track_scores
from plucc.rink.camera import Camera
from plucc.rink.sheet import nhl
from plucc.sighting import Observation
from plucc.types import Point, Size, Source

SIZE = Size(1280, 720)


def clip(errors_px: list[float | None], shots: list[int]) -> Scoring:
    """Return a clip whose puck moves 10 px a frame, answered with these errors; the last puck is hidden."""
    records, answers = [], []
    for index, (error, shot) in enumerate(zip(errors_px, shots, strict=True)):
        place = Point(100.0 + 10 * index, 300.0)
        fraction = 0.0 if index == len(shots) - 1 else 1.0
        records.append(
            Record(
                image=f"clip.mp4#{index:06d}",
                size=SIZE,
                match="m",
                shot=shot,
                frame_index=index,
                puck=Puck(point_px=place, visible_fraction=fraction),
            )
        )
        answers.append(
            Answer(None, 0.0, Source.ABSENT)
            if error is None
            else Answer(Point(place.x + error, 300.0), 0.9, Source.SEEN)
        )
    return Scoring(tuple(records), tuple(answers), 0.25)


def test_losses_and_leaps_of_a_path() -> None:
    """Lost in frames 2 and 3 and in 5; two leaps, out to 80 px and back; the cut before 6 is no step."""
    scores = track_scores(clip([0.0, 1.0, 80.0, None, 2.0, 30.0, 0.0, 3.0], [0, 0, 0, 0, 0, 0, 1, 1]))
    assert (scores.frames, scores.shots, scores.losses, scores.longest_loss) == (8, 2, 2, 2)
    assert (scores.leaps, scores.steps) == (1, 4)
    assert scores.held_shown == pytest.approx(4 / 7)
    assert scores.held_hidden == 1.0


def test_single_frames_are_no_sequence() -> None:
    scoring = clip([0.0, 0.0], [0, 0])
    assert is_sequence(scoring)
    assert not is_sequence(Scoring(scoring.records[:1], scoring.answers[:1], 0.25))
    loose = tuple(record.model_copy(update={"shot": None}) for record in scoring.records)
    assert not is_sequence(replace(scoring, records=loose))


def test_selecting_frames_selects_everything_known_of_them() -> None:
    scoring = clip([0.0, 5.0, 60.0], [0, 0, 0])
    some = scoring.select(np.array([False, True, True]))
    assert some.error_px == pytest.approx([5.0, 60.0])
    np.testing.assert_array_equal(some.answered.predicted_px, scoring.answered.predicted_px[1:])
    assert len(some.records) == len(some.answers) == 2


def test_lens_distortion_is_taken_out_before_metres_are_measured() -> None:
    camera = replace(Camera.look_at((0.0, -40.0, 15.0), (5.0, 0.0, 0.0), 1100.0, SIZE), k1=-0.12)
    place_m = np.array([[14.0, 9.0, 0.0], [14.0, 9.5, 0.0]])
    label, guess = (Point(float(x), float(y)) for x, y in camera.project(place_m))
    from plucc.data.schema import CameraRecord

    one = Record(image="a", size=SIZE, match="m", puck=Puck(point_px=label), camera=CameraRecord.of(camera))
    scoring = Scoring((one,), (Answer(guess, 1.0),), 0.25)
    from plucc.metrics.rink import rink_distances

    frames = scoring.on_ice
    assert rink_distances(frames.predicted_px, frames.target_px, frames.to_rink) == pytest.approx([0.5], abs=1e-3)
    assert scoring.target_m == pytest.approx(place_m[:1, :2], abs=1e-3)
    assert scoring.camera_distance_m == pytest.approx([np.sqrt(14**2 + 49**2 + 15**2)], rel=1e-3)


def test_sizes_fall_into_classes_without_gaps() -> None:
    assert size_labels(np.array([4.9, 5.0, 6.99, 40.0, np.nan])) == [
        "under 5 px",
        "5 to 7 px",
        "5 to 7 px",
        "from 16 px",
        "",
    ]
    assert len(set(size_classes())) == 6


def test_galleries_show_the_right_frames() -> None:
    scoring = clip([0.0, 5.0, 60.0, 20.0], [0, 0, 0, 0])
    answers = [
        replace(answer, confidence=sure) for answer, sure in zip(scoring.answers, (0.3, 0.9, 0.5, 0.8), strict=True)
    ]
    chosen = chosen_frames(replace(scoring, answers=tuple(answers)), 2)
    assert chosen == {"Surest right": [1, 0], "Largest errors": [2, 3], "Surest wrong": [3, 2]}


def test_charts_are_valid_svg_with_points_where_they_belong() -> None:
    axes = Axes("title & more", "x", "y", (0, 10), (0, 1))
    drawn = line_chart(axes, [Line("a", np.array([0.0, 10.0]), np.array([0.0, 1.0])), Line("b", *np.zeros((2, 2)))])
    tree = ET.fromstring(drawn)
    lines = [element.get("points") for element in tree.iter("{http://www.w3.org/2000/svg}polyline")]
    assert f"{axes.x_px(0):.1f},{axes.y_px(0):.1f} {axes.x_px(10):.1f},{axes.y_px(1):.1f}" in lines
    bars = bar_chart(axes, [Bar("small", ((0.5, 0.4, 0.6),), 12), Bar("none", ((np.nan,) * 3,), 0)], ["a"])
    heights = [
        float(element.get("height", 0)) for element in ET.fromstring(bars).iter("{http://www.w3.org/2000/svg}rect")
    ]
    assert heights[1:] == [pytest.approx((axes.y_px(0) - axes.y_px(1)) / 2, abs=0.1)]


def test_a_heatmap_lands_on_its_place_on_the_rink() -> None:
    camera = Camera.look_at((0.0, -40.0, 15.0), (10.0, 0.0, 0.0), 1100.0, SIZE)
    from plucc.data.schema import CameraRecord
    from plucc.heatmap import gaussian_target
    from plucc.overlay import rink_map

    spot_m = np.array([[12.0, 4.0, 0.0]])
    spot_px = Point(*(float(value) for value in camera.project(spot_m)[0]))
    heat = gaussian_target(spot_px, Size(640, 360), 6.0, stride_px=2.0)
    seen = Observation(SIZE, (), 1.0, heat, 2.0, np.zeros((720, 1280), bool))
    one = Record(image="a", size=SIZE, match="m", camera=CameraRecord.of(camera))
    drawn = warped_heatmap(one, seen, nhl())
    assert drawn is not None
    bare, to_px = rink_map(nhl(), drawn.shape[1])
    changed = np.abs(drawn.astype(int) - bare).sum(axis=2)
    rows, columns = np.nonzero(changed > 40)
    expected = to_px @ np.array([12.0, 4.0, 1.0])
    assert (columns.mean(), rows.mean()) == pytest.approx(expected[:2], abs=6)


def test_boxes_become_points_by_their_centres_best_first() -> None:
    class Fixed:
        kind = "fixed"

        def __call__(self, image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return np.array([[10.0, 20.0, 16.0, 24.0], [-30.0, 0.0, -10.0, 4.0]]), np.array([0.7, 0.2])

    sight = DetectorSubject("fixed", Fixed()).look(np.zeros((64, 96, 3), np.uint8))
    assert sight.answer().xy_px == Point(13.0, 22.0)
    assert sight.answer().confidence == 0.7
    assert sight.observation.candidates[1].xy_px == Point(0.0, 2.0)  # kept inside the picture
    peak = np.unravel_index(np.argmax(sight.observation.probability), sight.observation.probability.shape)
    assert (peak[1] * 4, peak[0] * 4) == pytest.approx((13, 22), abs=4)
