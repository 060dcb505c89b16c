"""Registration errors against hand-computed views and rasterised fields."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plucc.metrics.homography import (
    coverage,
    field_grid,
    field_rectangle,
    has_homography,
    iou_part,
    iou_whole,
    projection_error_m,
    reprojection_error_px,
)
from plucc.rink.camera import Camera
from plucc.rink.homography import project
from plucc.types import Size

FRAME = Size(1280, 720)
SIZE = np.array([[1280, 720]])
FIELD = field_rectangle(60.0, 26.0)
NONE = np.full((1, 3, 3), np.nan)


def from_above(left_m: float, top_m: float, metres_a_pixel: float) -> np.ndarray:
    """Return the view straight down of a picture whose upper left corner lies at this place."""
    return np.array([[metres_a_pixel, 0, left_m], [0, -metres_a_pixel, top_m], [0, 0, 1]])[None]


def broadcast(target_x_m: float, focal_px: float, height_m: float, target_y_m: float = 0.0) -> np.ndarray:
    camera = Camera.look_at((0.0, -38.0, height_m), (target_x_m, target_y_m, 0.0), focal_px, FRAME)
    return camera.homography().matrix[None]


def inside(points: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return ((points >= low) & (points <= high)).all(axis=-1)


def rastered(first: np.ndarray, second: np.ndarray) -> float:
    return (first & second).sum() / (first | second).sum()


def seen(matrix: np.ndarray, points_m: np.ndarray) -> np.ndarray:
    return inside(project(points_m, np.linalg.inv(matrix[0])), np.zeros(2), np.array([1280, 720]))


def grid_over(scale: float, across: int, down: int) -> np.ndarray:
    x_m, y_m = ((np.arange(count) + 0.5) / count - 0.5 for count in (across, down))
    return np.stack(np.meshgrid(x_m * 60 * scale, y_m * 26 * scale), axis=-1).reshape(-1, 2)


views = st.tuples(st.floats(-25, 25), st.floats(500, 3000), st.floats(8, 25))


@given(view=views)
def test_equal_homographies_overlap_whole_and_have_no_error(view):
    matrix = broadcast(*view)
    for scale in (1.0, 0.3):
        assert iou_part(matrix * scale, matrix, SIZE, FIELD)[0] == pytest.approx(1.0)
        assert iou_whole(matrix * scale, matrix, FIELD)[0] == pytest.approx(1.0)
        assert projection_error_m(matrix * scale, matrix, SIZE, FIELD)[0] == pytest.approx(0.0, abs=1e-9)
        error_px = reprojection_error_px(matrix * scale, matrix, SIZE, field_grid(60.0, 26.0))[0]
        assert np.isnan(error_px) or error_px == pytest.approx(0.0, abs=1e-6)


def test_part_of_views_from_above_by_hand():
    # pictures of 12.8 m × 7.2 m, the second 6.4 m to the right: they share half of each
    first, second = from_above(-10.0, 5.0, 0.01), from_above(-3.6, 5.0, 0.01)
    assert iou_part(second, first, SIZE, FIELD)[0] == pytest.approx(1 / 3)
    # the right half of the second hangs over the end boards at 30 m and does not count
    first, second = from_above(17.2, 5.0, 0.01), from_above(23.6, 5.0, 0.01)
    assert iou_part(second, first, SIZE, FIELD)[0] == pytest.approx(0.5)


def test_whole_of_a_shifted_field_by_hand():
    first, second = from_above(0.0, 0.0, 0.01), from_above(15.0, 0.0, 0.01)
    assert iou_whole(second, first, FIELD)[0] == pytest.approx(45 / 75)


def test_whole_is_cut_off_at_four_times_the_field():
    first, tenfold = from_above(0.0, 0.0, 0.01), from_above(0.0, 0.0, 0.1)
    assert iou_whole(tenfold, first, FIELD)[0] == pytest.approx(1 / 16)


def test_whole_goes_to_the_picture_by_the_label_and_back_by_the_prediction():
    """Only perspective tells the two directions apart; the corners are moved by hand here."""
    slant = np.array([[1.0, 0.0, 10.0], [0.0, 1.0, 0.0], [0.012, 0.0, 1.0]])
    label = from_above(0.0, 0.0, 0.01)
    moved_m = project(FIELD, slant).astype(np.float32)
    shared, _ = cv2.intersectConvexConvex(FIELD.astype(np.float32), moved_m)
    expected = shared / (60 * 26 + cv2.contourArea(moved_m) - shared)
    assert iou_whole(slant @ label, label, FIELD)[0] == pytest.approx(expected, abs=1e-4)
    assert iou_whole(label, slant @ label, FIELD)[0] != pytest.approx(expected, abs=1e-2)


@settings(max_examples=10)
@given(view=views, pan_m=st.floats(-6, 6), zoom=st.floats(0.8, 1.25))
def test_overlaps_equal_rasterised_fields(view, pan_m, zoom):
    target_x_m, focal_px, height_m = view
    label, prediction = broadcast(*view), broadcast(target_x_m + pan_m, focal_px * zoom, height_m)
    points_m = grid_over(1.0, 299, 131)
    expected = rastered(seen(prediction, points_m), seen(label, points_m))
    assert iou_part(prediction, label, SIZE, FIELD)[0] == pytest.approx(expected, abs=0.02)
    canvas_m = grid_over(4.0, 599, 259)
    before = project(project(canvas_m, np.linalg.inv(prediction[0])), label[0])
    moved, field = inside(before, FIELD.min(0), FIELD.max(0)), inside(canvas_m, FIELD.min(0), FIELD.max(0))
    assert iou_whole(prediction, label, FIELD)[0] == pytest.approx(rastered(moved, field), abs=0.02)


def test_a_horizon_in_the_picture_does_no_harm():
    label, prediction = broadcast(0.0, 500.0, 8.0, target_y_m=20.0), broadcast(2.0, 500.0, 8.0, target_y_m=20.0)
    assert np.isnan(project(np.array([[640.0, 0.0]]), label[0])).all()
    points_m = grid_over(1.0, 600, 260)
    expected = rastered(seen(prediction, points_m), seen(label, points_m))
    assert iou_part(prediction, label, SIZE, FIELD)[0] == pytest.approx(expected, abs=0.01)
    assert np.isfinite(projection_error_m(prediction, label, SIZE, FIELD)[0])


def test_errors_of_views_from_above_are_the_shift():
    first, second = from_above(-6.4, 3.6, 0.01), from_above(-6.1, 4.0, 0.01)
    assert projection_error_m(second, first, SIZE, FIELD)[0] == pytest.approx(0.5)
    grid_m = np.stack(np.meshgrid(np.linspace(-3, 3, 5), np.linspace(-2, 2, 5)), axis=-1).reshape(-1, 2)
    assert reprojection_error_px(second, first, SIZE, grid_m)[0] == pytest.approx(50.0)
    # the same picture at 1440 lines: twice the pixels, the same error at 720
    fine = [from_above(-6.4, 3.6, 0.005), from_above(-6.1, 4.0, 0.005)]
    assert reprojection_error_px(fine[1], fine[0], 2 * SIZE, grid_m)[0] == pytest.approx(50.0)


def test_frames_without_a_homography_are_nan_and_counted_by_coverage():
    label = np.concatenate([from_above(0, 0, 0.01)] * 3 + [NONE])
    singular = np.zeros((1, 3, 3))
    prediction = np.concatenate([from_above(0, 0, 0.01), NONE, singular, from_above(0, 0, 0.01)])
    sizes = np.repeat(SIZE, 4, axis=0)
    assert has_homography(prediction).tolist() == [True, False, False, True]
    assert coverage(prediction, label) == pytest.approx(1 / 3)
    assert np.isnan(coverage(prediction, np.concatenate([NONE] * 4)))
    for values in (
        iou_part(prediction, label, sizes, FIELD),
        iou_whole(prediction, label, FIELD),
        projection_error_m(prediction, label, sizes, FIELD),
        reprojection_error_px(prediction, label, sizes, np.array([[1.0, -1.0]])),
    ):
        assert np.isfinite(values).tolist() == [True, False, False, False]


def test_a_picture_of_nothing_but_stands_has_no_overlap():
    crowd = from_above(100.0, 100.0, 0.01)
    assert np.isnan(iou_part(crowd, crowd, SIZE, FIELD)[0])
    assert iou_part(crowd, from_above(0.0, 0.0, 0.01), SIZE, FIELD)[0] == 0.0
    assert np.isnan(projection_error_m(crowd, crowd, SIZE, FIELD)[0])


def test_many_frames_give_what_each_gives_alone():
    rng = np.random.default_rng(2)
    label = np.concatenate([broadcast(x, f, 15.0) for x, f in rng.uniform([-20, 700], [20, 2000], (600, 2))])
    prediction = label * (1 + rng.normal(0, 2e-3, label.shape))
    sizes = np.repeat(SIZE, 600, axis=0)
    together = iou_part(prediction, label, sizes, FIELD)
    for row in (0, 255, 256, 599):
        alone = iou_part(prediction[row : row + 1], label[row : row + 1], SIZE, FIELD)
        assert together[row] == pytest.approx(alone[0])


def test_the_field_and_its_grid():
    np.testing.assert_array_equal(FIELD.max(axis=0), [30, 13])
    grid = field_grid(60.0, 26.0)
    assert len(grid) == 91
    np.testing.assert_array_equal(grid[[0, -1]], [[-30, -13], [30, 13]])
