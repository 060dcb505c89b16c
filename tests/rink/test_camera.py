"""The camera against its own inverse, against OpenCV's pinhole model, and against hand-made views."""

from dataclasses import replace
from math import pi, radians

import cv2
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from plucc.rink.camera import Camera
from plucc.rink.homography import project
from plucc.types import FloatArray, InputError, Point, Size

HD = Size(1280, 720)


@st.composite
def broadcast_cameras(draw: st.DrawFn) -> Camera:
    """Cameras as broadcasts have them: high on a long side, any zoom, some roll, lens and aspect."""
    position = (draw(st.floats(-10, 10)), draw(st.floats(-50, -18)), draw(st.floats(5, 25)))
    target = (draw(st.floats(-28, 28)), draw(st.floats(-12, 12)), draw(st.floats(0, 3)))
    focal_px = draw(st.floats(700, 6000))
    camera = Camera.look_at(position, target, focal_px, HD, draw(st.floats(-0.1, 0.1)))
    corner = np.hypot(640, 360) / focal_px
    return replace(
        camera,
        k1=draw(st.floats(-0.06, 0.1)) / corner**2,
        k2=draw(st.floats(-0.01, 0.01)) / corner**4,
        principal_px=Point(draw(st.floats(600, 680)), draw(st.floats(330, 390))),
        pixel_aspect=draw(st.floats(0.9, 1.1)),
    )


ice_points = st.lists(st.tuples(st.floats(-30, 30), st.floats(-13, 13)), min_size=1, max_size=20).map(np.array)
picture_points = st.lists(st.tuples(st.floats(0, 1280), st.floats(0, 720)), min_size=1, max_size=20).map(np.array)
heights = st.floats(0.0, 3.0)


@given(camera=broadcast_cameras(), points=ice_points, height_m=heights)
def test_points_come_back_from_the_picture(camera: Camera, points: FloatArray, height_m: float) -> None:
    pixels = camera.project_plane(points, height_m)
    shown = (np.abs(pixels - (640, 360)) < (1920, 1080)).all(axis=1)  # in the picture, or one picture beside it
    np.testing.assert_allclose(camera.back_project(pixels, height_m)[shown], points[shown], atol=1e-6)


@given(camera=broadcast_cameras(), pixels=picture_points, height_m=heights)
def test_pixels_come_back_from_the_ice(camera: Camera, pixels: FloatArray, height_m: float) -> None:
    ground = camera.back_project(pixels, height_m)
    hit = np.hypot(*ground.T) < 1000  # further out the plane is seen edge-on and a pixel no longer tells it
    np.testing.assert_allclose(camera.project_plane(ground, height_m)[hit], pixels[hit], atol=1e-6)


@given(camera=broadcast_cameras(), pixels=picture_points)
def test_distortion_comes_off_and_on_everywhere_in_the_picture(camera: Camera, pixels: FloatArray) -> None:
    plain = camera.undistort(pixels)
    assert not np.isnan(plain).any()
    np.testing.assert_allclose(camera.distort(plain), pixels, atol=1e-6)


@given(camera=broadcast_cameras(), points=ice_points, height_m=heights)
def test_the_homography_is_the_camera_without_its_lens(camera: Camera, points: FloatArray, height_m: float) -> None:
    homography = camera.homography(height_m)
    pixels = homography.to_image(points)
    in_front = camera.depth(np.column_stack((points, np.full(len(points), height_m)))) > 1e-6
    np.testing.assert_array_equal(homography.in_front(points), in_front)
    np.testing.assert_allclose(camera.distort(pixels), camera.project_plane(points, height_m), atol=1e-6)
    np.testing.assert_allclose(project(points, camera.plane_to_image(height_m)), pixels, atol=1e-6)


@given(camera=broadcast_cameras(), points=ice_points, height_m=heights)
def test_opencv_agrees(camera: Camera, points: FloatArray, height_m: float) -> None:
    solid = np.column_stack((points, np.full(len(points), height_m)))
    pixels = camera.project(solid)
    shown = ~np.isnan(pixels).any(axis=1)
    assume(shown.any())
    translation = -camera.rotation @ np.array(camera.position_m)
    turn = cv2.Rodrigues(camera.rotation)[0]
    lens = np.array([camera.k1, camera.k2, 0.0, 0.0])
    theirs = cv2.projectPoints(solid[shown], turn, translation, camera.intrinsics, lens)[0][:, 0]
    np.testing.assert_allclose(pixels[shown], theirs, atol=1e-6, rtol=1e-9)


@given(camera=broadcast_cameras(), points=ice_points)
def test_mirroring_mirrors(camera: Camera, points: FloatArray) -> None:
    flipped = camera.mirrored().project_plane(points * (-1.0, 1.0))
    np.testing.assert_allclose(flipped, (1280.0, 0.0) + camera.project_plane(points) * (-1.0, 1.0), atol=1e-6)
    np.testing.assert_allclose(
        camera.homography().mirrored(1280.0).to_image(points),
        camera.mirrored().homography().to_image(points),
        atol=1e-6,
    )


@given(camera=broadcast_cameras(), points=ice_points)
def test_half_a_turn_of_the_rink_keeps_the_view(camera: Camera, points: FloatArray) -> None:
    turned = camera.turned_round()
    assert -pi <= turned.pan_rad <= pi
    np.testing.assert_allclose(turned.project_plane(-points), camera.project_plane(points), atol=1e-6)


@given(camera=broadcast_cameras(), points=ice_points, width=st.integers(100, 4000), height=st.integers(100, 3000))
def test_resizing_multiplies(camera: Camera, points: FloatArray, width: int, height: int) -> None:
    resized = camera.resized(Size(width, height))
    scale = (width / 1280, height / 720)
    np.testing.assert_allclose(resized.project_plane(points), camera.project_plane(points) * scale, atol=1e-6)
    both = camera.homography().resized(HD, Size(width, height)).to_image(points)
    np.testing.assert_allclose(both, resized.homography().to_image(points), atol=1e-6)


@given(camera=broadcast_cameras())
def test_rotation_is_a_rotation(camera: Camera) -> None:
    np.testing.assert_allclose(camera.rotation @ camera.rotation.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(camera.rotation) == pytest.approx(1.0)


@given(
    position=st.tuples(st.floats(-30, 30), st.floats(-60, 60), st.floats(1, 40)),
    target=st.tuples(st.floats(-30, 30), st.floats(-13, 13), st.floats(0, 0.5)),
    roll_rad=st.floats(-3, 3),
)
def test_the_target_shows_at_the_principal_point(
    position: tuple[float, float, float], target: tuple[float, float, float], roll_rad: float
) -> None:
    camera = Camera.look_at(position, target, 1500.0, HD, roll_rad)
    np.testing.assert_allclose(camera.project(np.array([target])), [[640.0, 360.0]], atol=1e-6)


def test_pan_turns_right_and_tilt_looks_up() -> None:
    level = Camera((0.0, -30.0, 10.0), 0.0, 0.0, 0.0, 1000.0, HD)
    ahead = np.array([[0.0, 0.0, 10.0]])  # straight ahead along +y, at the camera's height
    np.testing.assert_allclose(level.project(ahead), [[640.0, 360.0]])
    np.testing.assert_allclose(level.project(np.array([[3.0, 0.0, 10.0]])), [[740.0, 360.0]])  # x is right
    np.testing.assert_allclose(level.project(np.array([[0.0, 0.0, 7.0]])), [[640.0, 460.0]])  # ice is down
    assert replace(level, pan_rad=0.1).project(ahead)[0, 0] < 640  # looking right moves the world left
    assert replace(level, tilt_rad=-0.1).project(ahead)[0, 1] < 360  # looking down moves the world up
    rolled = replace(level, roll_rad=radians(90)).project(np.array([[3.0, 0.0, 10.0]]))
    np.testing.assert_allclose(rolled, [[640.0, 260.0]])  # camera clockwise, picture anticlockwise
    assert Camera.look_at((0.0, -30.0, 10.0), (30.0, 0.0, 10.0), 1000.0, HD).pan_rad == pytest.approx(pi / 4)
    assert Camera.look_at((0.0, -30.0, 30.0), (0.0, 0.0, 0.0), 1000.0, HD).tilt_rad == pytest.approx(-pi / 4)
    assert level.field_of_view_rad == pytest.approx(2 * np.arctan(0.64))


def test_what_is_behind_or_above_the_horizon_is_nan() -> None:
    camera = Camera.look_at((0.0, -35.0, 12.0), (0.0, 0.0, 0.0), 900.0, HD)
    behind = camera.project(np.array([[0.0, -60.0, 12.0], [0.0, -35.0, 12.0], [0.0, 0.0, 0.0]]))
    assert np.isnan(behind).any(axis=1).tolist() == [True, True, False]
    sky = camera.back_project(np.array([[640.0, -2000.0], [640.0, 360.0]]))
    assert np.isnan(sky).any(axis=1).tolist() == [True, False]
    horizon = camera.homography().horizon
    assert horizon @ (640.0, 360.0, 1.0) > 0 > horizon @ (640.0, -2000.0, 1.0)
    assert np.isnan(camera.back_project(np.array([[np.nan, 3.0]]))).any()


def test_points_beyond_the_fold_of_the_lens_are_nan_and_not_folded_in() -> None:
    camera = replace(Camera((0.0, -30.0, 10.0), 0.0, 0.0, 0.0, 1000.0, HD), k1=-0.2)
    aside = camera.project(np.array([[25.0, 0.0, 10.0], [90.0, 0.0, 10.0]]))
    assert np.isnan(aside).any(axis=1).tolist() == [False, True]


def test_a_camera_knows_the_middle_of_its_picture() -> None:
    assert Camera((0.0, -30.0, 10.0), 0.0, 0.0, 0.0, 1000.0, HD).principal_px == Point(640.0, 360.0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"k1": -0.5, "focal_px": 600.0}, "folds over inside the picture"),
        ({"focal_px": 0.0}, "must be positive"),
        ({"pan_rad": float("nan")}, "not finite"),
        ({"size": Size(0, 720)}, "must be positive"),
    ],
)
def test_impossible_cameras_are_refused(change: dict[str, float], says: str) -> None:
    camera = Camera((0.0, -30.0, 10.0), 0.0, 0.0, 0.0, 1000.0, HD)
    with pytest.raises(InputError, match=says):
        replace(camera, **change)


def test_planes_through_the_camera_and_targets_at_it_are_refused() -> None:
    camera = Camera((0.0, -30.0, 10.0), 0.0, 0.0, 0.0, 1000.0, HD)
    with pytest.raises(InputError, match="stands in the plane"):
        camera.homography(10.0)
    with pytest.raises(InputError, match="own target"):
        Camera.look_at((0.0, 0.0, 1.0), (0.0, 0.0, 1.0), 1000.0, HD)
