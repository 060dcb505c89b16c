"""Homographies of the ice: round trips, orientation, picture changes, and the paper's template."""

from math import hypot

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plucc.rink.camera import Camera
from plucc.rink.homography import (
    Homography,
    compose,
    from_paper_template,
    project,
    to_paper_template,
    visible_mask,
)
from plucc.types import FloatArray, InputError, Point, ShapeError, Size

HD = Size(1280, 720)


@st.composite
def broadcast_homographies(draw: st.DrawFn) -> FloatArray:
    """Matrices from image to ice of cameras high on a long side."""
    position = (draw(st.floats(-10, 10)), draw(st.floats(-50, -18)), draw(st.floats(5, 25)))
    target = (draw(st.floats(-28, 28)), draw(st.floats(-12, 12)), 0.0)
    camera = Camera.look_at(position, target, draw(st.floats(700, 6000)), HD, draw(st.floats(-0.1, 0.1)))
    return camera.homography().matrix


rink_points = st.lists(st.tuples(st.floats(-30, 30), st.floats(-13, 13)), min_size=1, max_size=20).map(np.array)


@given(points=rink_points, homography=broadcast_homographies())
def test_projection_round_trips(points: FloatArray, homography: FloatArray) -> None:
    to_image = np.linalg.inv(homography)
    seen = visible_mask(points, to_image)
    back = project(project(points, to_image), homography)
    np.testing.assert_allclose(back[seen], points[seen], atol=1e-6)
    assert np.isnan(back[~seen]).all()


@given(points=rink_points, first=broadcast_homographies(), second=broadcast_homographies())
def test_composition_is_one_after_the_other(points: FloatArray, first: FloatArray, second: FloatArray) -> None:
    # ice -> the first camera's picture -> ice -> the second camera's picture
    to_first, to_second = np.linalg.inv(first), np.linalg.inv(second)
    seen = visible_mask(points, to_first) & visible_mask(points, to_second)
    one_after_the_other = project(project(project(points, to_first), first), to_second)
    np.testing.assert_allclose(
        project(points, compose(to_first, first, to_second))[seen], one_after_the_other[seen], atol=1e-5, rtol=1e-9
    )


@given(points=rink_points, homography=broadcast_homographies(), scale=st.floats(1e-3, 1e3))
def test_scale_means_nothing_and_sign_can_be_restored(points: FloatArray, homography: FloatArray, scale: float) -> None:
    true = Homography(homography)
    expected = true.to_image(points)
    for matrix in (homography * scale, homography * -scale):
        np.testing.assert_allclose(Homography.from_matrix(matrix).to_image(points), expected, rtol=1e-9, atol=1e-6)
    below = Point(*true.to_image(np.array([[0.0, 13.0]]))[0])
    if not np.isnan(below.x):
        found = Homography.from_matrix(homography * -scale, visible_px=below)
        np.testing.assert_allclose(found.to_image(points), expected, rtol=1e-9, atol=1e-6)


def test_a_mirrored_picture_is_oriented_by_a_visible_point() -> None:
    camera = Camera.look_at((0.0, -35.0, 12.0), (5.0, 0.0, 0.0), 1200.0, HD)
    flip = np.array([[-1.0, 0.0, 1280.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    only_picture_flipped = -camera.homography().after(flip).matrix
    found = Homography.from_matrix(only_picture_flipped, visible_px=Point(640.0, 700.0))
    pixels = camera.homography().to_image(np.array([[5.0, 0.0], [0.0, 3.0]]))
    np.testing.assert_allclose(found.to_rink((1280.0, 0.0) + pixels * (-1.0, 1.0)), [[5.0, 0.0], [0.0, 3.0]], atol=1e-9)


def test_pixels_above_the_horizon_are_reported() -> None:
    camera = Camera.look_at((0.0, -35.0, 12.0), (0.0, 0.0, 0.0), 900.0, HD)
    homography = camera.homography()
    pixels = np.array([[640.0, 360.0], [640.0, 51.43], [640.0, 0.0]])
    # tilt is atan(12/35): the horizon lies 900 * 12 / 35 = 308.571 px above the middle, at y = 51.4286
    assert homography.sees_plane(pixels).tolist() == [True, True, False]
    assert np.isnan(homography.to_rink(pixels)).any(axis=1).tolist() == [False, False, True]
    exactly = np.array([[640.0, 360.0 - 900 * 12 / 35]])
    assert np.abs(homography.to_rink(exactly)).max() > 1e9 or np.isnan(homography.to_rink(exactly)).any()
    assert homography.in_front(np.array([[0.0, 0.0], [0.0, -80.0]])).tolist() == [True, False]
    assert np.isnan(homography.to_image(np.array([[0.0, -80.0]]))).all()


@given(points=rink_points, homography=broadcast_homographies())
def test_a_crop_moves_pixels_and_not_the_ice(points: FloatArray, homography: FloatArray) -> None:
    crop = np.array([[1.0, 0.0, -100.0], [0.0, 1.0, -50.0], [0.0, 0.0, 1.0]])
    cropped = Homography(homography).after(crop)
    np.testing.assert_allclose(
        cropped.to_image(points), Homography(homography).to_image(points) - (100.0, 50.0), atol=1e-6, rtol=1e-9
    )


@pytest.mark.parametrize(
    ("matrix", "error", "says"),
    [
        (np.zeros((3, 3)), InputError, "singular"),
        (np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 1.0]), InputError, "singular"),
        (np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]), InputError, "singular"),
        (np.full((3, 3), np.nan), InputError, "not finite"),
        (np.eye(4), ShapeError, "3x3"),
    ],
)
def test_what_is_no_homography_is_refused(matrix: FloatArray, error: type[InputError], says: str) -> None:
    with pytest.raises(error, match=says):
        Homography.from_matrix(matrix)


def test_a_homography_cannot_be_changed_from_outside() -> None:
    matrix = np.eye(3)
    homography = Homography(matrix)
    matrix[0, 0] = 5.0
    assert homography.matrix[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        homography.matrix[0, 0] = 5.0


def paper_rsle(matrix: FloatArray, predicted: Point, truth: Point) -> float:
    """RSLE step by step as the paper writes it: warp, divide, scale by 61 / 1280 and 25.9 / 720, measure."""
    rink = []
    for point in (predicted, truth):
        x, y, w = (row[0] * point.x + row[1] * point.y + row[2] for row in matrix)
        rink.append((x / w / 1280 * 61.0, y / w / 720 * 25.9))
    return hypot(rink[0][0] - rink[1][0], rink[0][1] - rink[1][1])


@given(
    homography=broadcast_homographies(),
    points=st.tuples(*[st.floats(-20, 20), st.floats(-12, 12)] * 2),
    scale=st.sampled_from([1.0, -1.0, 250.0]),
)
def test_paper_rsle_comes_out_the_same(
    homography: FloatArray, points: tuple[float, float, float, float], scale: float
) -> None:
    onto_template = to_paper_template(Homography(homography)) * scale
    pixels = Homography(homography).to_image(np.array(points).reshape(2, 2))
    if np.isnan(pixels).any():
        return
    ours = from_paper_template(onto_template).to_rink(pixels)
    expected = paper_rsle(onto_template, Point(*pixels[0]), Point(*pixels[1]))
    assert hypot(*(ours[0] - ours[1])) == pytest.approx(expected, abs=1e-6)
    np.testing.assert_allclose(ours, np.array(points).reshape(2, 2), atol=1e-6)


def test_the_paper_template_lies_about_centre_ice() -> None:
    # an identity onto the template: the picture is the template; it is a view from above, so all of it is in front
    homography = from_paper_template(np.eye(3))
    corners = homography.to_rink(np.array([[0.0, 0.0], [640.0, 360.0], [1280.0, 720.0]]))
    np.testing.assert_allclose(corners, [[-30.5, 12.95], [0.0, 0.0], [30.5, -12.95]], atol=1e-12)
    # the paper's numbers by hand: 10 px right and 10 px down are 0.4766 m and 0.3597 m
    near = homography.to_rink(np.array([[650.0, 370.0]]))[0]
    np.testing.assert_allclose(near, (10 * 61 / 1280, -10 * 25.9 / 720), atol=1e-12)
    np.testing.assert_allclose(to_paper_template(homography), np.eye(3), atol=1e-12)
