"""The paper's image figures against hand-computed cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from plucc.metrics.pixels import (
    TAU_PX,
    at_reference_height,
    pck_area,
    pck_curve,
    pixel_distances,
    pixel_scores,
    within_thresholds,
)

NONE = [np.nan, np.nan]


def test_the_papers_thresholds():
    assert TAU_PX == (5, 10, 25, 50)


def test_scores_of_a_hand_computed_set():
    target = np.array([[0, 0], [100, 100], [200, 200], [300, 300], NONE], dtype=float)
    predicted = np.array([[3, 4], [100, 110], NONE, [340, 330], [7, 7]], dtype=float)  # 5 px, 10 px, silence, 50 px
    scores = pixel_scores(predicted, target, np.full(5, 720.0))
    assert scores.average_precision == (0.25, 0.5, 0.5, 0.75)
    assert scores.mean_average_precision == 0.5
    assert scores.distance_px == pytest.approx(65 / 3)
    assert (scores.measured, scores.labelled) == (3, 4)


def test_thresholds_are_inclusive_and_scale_with_the_frame():
    distances = np.array([5.0, 7.5, 7.5, 7.500001, 15.0, 15.0])
    heights = np.array([720.0, 1080.0, 720.0, 1080.0, 2160.0, 1080.0])
    np.testing.assert_array_equal(within_thresholds(distances, heights, [5.0])[:, 0], [1, 1, 0, 0, 1, 0])


def test_mean_distance_is_quoted_at_720_lines():
    target = np.array([[0.0, 0.0], [0.0, 0.0]])
    predicted = np.array([[9.0, 0.0], [6.0, 0.0]])
    assert pixel_scores(predicted, target, np.array([1080.0, 720.0])).distance_px == pytest.approx(6.0)
    np.testing.assert_allclose(at_reference_height(np.array([30.0]), np.array([2160.0])), [10.0])


def test_mean_average_precision_is_the_mean_of_the_row_not_the_papers_print():
    """1000 frames with the shares of the paper's row of PLUCC (σ = 5), whose printed mAP of 83.5 is not their mean."""
    distances = np.concatenate((np.full(822, 1.0), np.full(14, 6.0), np.full(6, 12.0), np.full(8, 30.0)))
    predicted = np.full((1000, 2), np.nan)
    predicted[: len(distances)] = np.stack((distances, np.zeros(len(distances))), axis=1)
    scores = pixel_scores(predicted, np.zeros((1000, 2)), np.full(1000, 720.0))
    assert scores.average_precision == pytest.approx((0.822, 0.836, 0.842, 0.850))
    assert scores.mean_average_precision == pytest.approx(0.8375)


def test_nothing_to_score_gives_nan_and_zero_counts():
    empty = np.full((2, 2), np.nan)
    scores = pixel_scores(np.zeros((2, 2)), empty, np.full(2, 720.0))
    assert np.isnan(scores.average_precision).all()
    assert np.isnan(scores.distance_px)
    assert (scores.measured, scores.labelled) == (0, 0)
    silent = pixel_scores(empty, np.zeros((2, 2)), np.full(2, 720.0))
    assert silent.average_precision == (0, 0, 0, 0)
    assert np.isnan(silent.distance_px)


points = arrays.arrays(np.float64, (20, 2), elements=st.floats(0, 1280))


@given(predicted=points, target=points, scale=st.sampled_from([0.5, 1.5, 3.0]))
def test_scores_do_not_depend_on_the_size_of_the_frame(predicted, target, scale):
    plain = pixel_scores(predicted, target, np.full(20, 720.0))
    scaled = pixel_scores(predicted * scale, target * scale, np.full(20, 720.0 * scale))
    assert scaled.distance_px == pytest.approx(plain.distance_px)
    near_threshold = np.abs(pixel_distances(predicted, target)[:, None] - TAU_PX) < 1e-6
    if not near_threshold.any():
        assert scaled.average_precision == plain.average_precision


@given(distances=arrays.arrays(np.float64, 15, elements=st.floats(0, 100)))
def test_area_under_the_curve_is_the_integral_of_the_curve(distances):
    labelled = np.ones(15, dtype=bool)
    steps = (np.arange(20_000) + 0.5) / 20_000 * 50
    assert pck_area(distances, labelled, 50.0) == pytest.approx(pck_curve(distances, labelled, steps).mean(), abs=1e-3)


def test_curve_counts_silence_as_a_miss_and_ignores_unlabelled_frames():
    distances = np.array([1.0, 2.0, np.nan, 0.0])
    labelled = np.array([True, True, True, False])
    np.testing.assert_allclose(pck_curve(distances, labelled, np.array([0.0, 1.0, 2.0, 1e9])), [0, 1 / 3, 2 / 3, 2 / 3])
    assert np.isnan(pck_curve(distances, ~labelled & False, np.array([1.0]))).all()
    assert np.isnan(pck_area(distances, ~labelled & False, 10.0))
