"""Errors on the ice against hand-computed cases and the paper's own formula."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plucc.metrics.rink import (
    can_be_scored,
    project_each,
    rink_distances,
    rink_scores,
    zone_accuracy,
    zone_confusion,
    zone_indices,
)
from plucc.rink.camera import Camera
from plucc.rink.homography import from_paper_template, project
from plucc.rink.sheet import iihf, nhl
from plucc.types import PUCK_RADIUS_M, Point, Size

CENTIMETRES = np.diag([0.01, 0.01, 1.0])
NO_MATRIX = np.full((3, 3), np.nan)
NONE = [np.nan, np.nan]


def broadcast(pan_m: float = 0.0) -> np.ndarray:
    camera = Camera.look_at((0.0, -40.0, 15.0), (pan_m, 0.0, 0.0), 1100.0, Size(1280, 720))
    return camera.homography().matrix


def test_each_point_goes_through_its_own_matrix():
    matrices = np.stack([broadcast(pan) for pan in (-15.0, 0.0, 20.0)])
    points = np.array([[640.0, 400.0], [100.0, 500.0], [1200.0, 650.0]])
    expected = [project(point[None], matrix)[0] for point, matrix in zip(points, matrices, strict=True)]
    np.testing.assert_allclose(project_each(points, matrices), expected)


def test_scores_of_a_hand_computed_set():
    target = np.array([[0, 0]] * 6 + [NONE], dtype=float)
    predicted = np.array([[3, 0], [0, 7], [15, 0], [100, 0], NONE, [1, 1], [0, 0]], dtype=float)
    matrices = np.stack([CENTIMETRES] * 5 + [NO_MATRIX, CENTIMETRES])
    scores = rink_scores(predicted, target, matrices)
    assert scores.average_precision == (0.2, 0.4, 0.6)  # 3.81, 7.62 and 15.24 cm; five frames can be scored
    assert scores.mean_m == pytest.approx((0.03 + 0.07 + 0.15 + 1.0) / 4)
    assert scores.median_m == pytest.approx(0.11)
    assert (scores.measured, scores.scored, scores.without_homography, scores.beyond_horizon) == (4, 5, 1, 0)


def test_the_radius_is_that_of_a_puck_and_counts_as_within():
    metres = np.eye(3)[None]
    for multiple, expected in ((1, (1, 1, 1)), (2, (0, 1, 1)), (4, (0, 0, 1)), (4.001, (0, 0, 0))):
        predicted = np.array([[PUCK_RADIUS_M * multiple, 0.0]])
        assert rink_scores(predicted, np.zeros((1, 2)), metres).average_precision == expected


def test_a_prediction_above_the_horizon_is_a_miss_and_counted_apart():
    matrices = np.stack([broadcast()] * 2)
    target = np.array([[640.0, 400.0]] * 2)
    predicted = np.array([[640.0, -4000.0], [640.0, 400.0]])
    assert rink_distances(predicted, target, matrices).tolist() == [np.inf, 0.0]
    scores = rink_scores(predicted, target, matrices)
    assert scores.average_precision == (0.5, 0.5, 0.5)
    assert (scores.mean_m, scores.measured, scores.beyond_horizon) == (0.0, 1, 1)


def test_a_label_above_the_horizon_cannot_be_scored():
    matrices = broadcast()[None]
    scores = rink_scores(np.array([[640.0, 400.0]]), np.array([[640.0, -4000.0]]), matrices)
    assert (scores.scored, scores.without_homography) == (0, 1)
    assert np.isnan(scores.average_precision).all()
    assert not can_be_scored(np.array([[640.0, -4000.0]]), matrices).any()


@given(
    xs=st.lists(st.floats(0, 1280), min_size=2, max_size=2),
    ys=st.lists(st.floats(300, 720), min_size=2, max_size=2),
)
def test_distances_are_the_papers(xs, ys):
    """The paper's two steps, warping to its 1280×720 template and scaling to 61 m × 25.9 m, by hand."""
    to_template = np.array([[1.1, 0.3, -200.0], [0.05, 2.4, -500.0], [0.0, 0.0006, 0.5]])
    warped = [to_template @ (x, y, 1.0) for x, y in zip(xs, ys, strict=True)]
    on_rink = [(w[0] / w[2] / 1280 * 61, w[1] / w[2] / 720 * 25.9) for w in warped]
    expected = np.hypot(on_rink[0][0] - on_rink[1][0], on_rink[0][1] - on_rink[1][1])
    matrix = from_paper_template(to_template, visible_px=Point(640.0, 600.0)).matrix
    predicted, target = np.array([[xs[0], ys[0]]]), np.array([[xs[1], ys[1]]])
    assert rink_distances(predicted, target, matrix[None])[0] == pytest.approx(expected, abs=1e-9)


def test_the_same_pixel_error_is_larger_at_the_far_boards():
    matrices = np.stack([broadcast()] * 2)
    target = np.array([[640.0, 250.0], [640.0, 600.0]])
    far, near = rink_distances(target + np.array([0.0, 5.0]), target, matrices)
    assert far > 2 * near


def test_nothing_to_score_gives_nan():
    scores = rink_scores(np.full((1, 2), np.nan), np.zeros((1, 2)), CENTIMETRES[None])
    assert np.isnan([scores.mean_m, scores.median_m]).all()
    assert scores.average_precision == (0, 0, 0)


def test_zones_follow_the_blue_lines_of_the_sheet():
    points = np.array([[-7.63, 0.0], [-7.61, 0.0], [0.0, 10.0], [7.61, -10.0], [7.63, 0.0], NONE])
    assert zone_indices(points, nhl()).tolist() == [0, 1, 1, 1, 2, -1]
    assert zone_indices(points, nhl(), attacks_right=False).tolist() == [2, 1, 1, 1, 0, -1]
    assert zone_indices(points, iihf()).tolist() == [0, 0, 1, 2, 2, -1]  # neutral zone between x = ±6.99 m


def test_zone_accuracy_of_a_hand_computed_set():
    target = np.array([[-20, 0], [-20, 0], [0, 0], [0, 0], [20, 0], NONE], dtype=float)
    predicted = np.array([[-15, 5], [0, 0], [0, 3], NONE, [20, 1], [0, 0]], dtype=float)
    confusion = zone_confusion(predicted, target, nhl())
    np.testing.assert_array_equal(confusion, [[1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    assert zone_accuracy(predicted, target, nhl()) == 0.6
    assert np.isnan(zone_accuracy(predicted[:0], target[:0], nhl()))
