"""Clipping and areas against OpenCV and hand-computed shapes."""

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plucc.metrics.polygons import areas, clip, clip_all, edge_lines
from plucc.types import InputError

SQUARE = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])


def convex(seed: int, corners: int = 7) -> np.ndarray:
    rng = np.random.default_rng(seed)
    hull = cv2.convexHull(rng.uniform(-10, 10, (corners, 2)).astype(np.float32))
    return hull[:, 0].astype(np.float64)


@given(first=st.integers(0, 10_000), second=st.integers(0, 10_000))
def test_intersection_of_convex_polygons_equals_opencv(first, second):
    a, b = convex(first), convex(second)
    expected, _ = cv2.intersectConvexConvex(a.astype(np.float32), b.astype(np.float32))
    value = areas(clip_all(a[None], edge_lines(b)[None]))[0]
    assert value == pytest.approx(expected, abs=1e-3)


@given(seed=st.integers(0, 10_000), angle=st.floats(0, 6.3), offset=st.floats(-12, 12))
def test_the_two_sides_of_a_line_make_up_the_whole(seed, angle, offset):
    polygon = convex(seed)[None]
    line = np.array([[np.cos(angle), np.sin(angle), offset]])
    parts = areas(clip(polygon, line)) + areas(clip(polygon, -line))
    np.testing.assert_allclose(parts, areas(polygon), rtol=1e-9)


def test_many_polygons_at_once_are_each_clipped_by_their_own_line():
    polygons = np.stack([SQUARE] * 4)
    lines = np.array([[1.0, 0, -1], [1, 0, -5], [1, 0, 5], [-1, -1, 1]])  # half, nothing, everything, a corner
    np.testing.assert_allclose(areas(clip(polygons, lines)), [2.0, 0.0, 4.0, 0.5])
    np.testing.assert_allclose(areas(clip(clip(polygons, lines), lines[::-1])), [0.0, 0.0, 0.0, 0.0], atol=1e-12)


def test_corners_may_run_either_way_around():
    np.testing.assert_allclose(edge_lines(SQUARE)[:, 2].sum(), edge_lines(SQUARE[::-1])[:, 2].sum())
    for square in (SQUARE, SQUARE[::-1]):
        middle = edge_lines(square) @ (1.0, 1.0, 1.0)
        np.testing.assert_allclose(middle, 2.0)


def test_dents_and_flat_shapes_are_refused():
    dented = np.array([[0.0, 0.0], [4.0, 0.0], [1.0, 1.0], [0.0, 4.0]])
    with pytest.raises(InputError, match="convex"):
        edge_lines(dented)
    with pytest.raises(InputError, match="convex"):
        edge_lines(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]))
