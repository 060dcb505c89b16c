"""Everything about a sample moves together, by the program's pixel convention."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plucc.training.sample import Sample, crop_matrix, magnification, move, move_point
from plucc.types import FloatArray, Point, Size

BLACK = (0, 0, 0)
CROP = Size(160, 128)


FRAME = Size(320, 240)


def dotted(point: Point, size: Size = FRAME, radius_px: float = 4.0) -> Sample:
    """Draw a soft white disc at a point, in the frame and in the players' mask."""
    y, x = np.mgrid[: size.height, : size.width] + 0.5
    disc = np.clip(radius_px + 0.5 - np.hypot(x - point.x, y - point.y), 0, 1)
    y, x = (np.mgrid[: size.height // 2, : size.width // 2] + 0.5) * 2
    small = np.clip((radius_px + 1 - np.hypot(x - point.x, y - point.y)) / 2, 0, 1)
    image = np.repeat((255 * disc).astype(np.uint8)[..., None], 3, axis=2)
    homography = np.array([[0.1, 0.02, -12.0], [0.01, -0.2, 20.0], [0.0001, 0.002, 1.0]])
    return Sample(image, (255 * small).astype(np.uint8), point, homography=homography)


def centroid(pixels: FloatArray) -> Point:
    weight = pixels.astype(float)
    y, x = np.mgrid[: pixels.shape[0], : pixels.shape[1]] + 0.5
    return Point(float((x * weight).sum() / weight.sum()), float((y * weight).sum() / weight.sum()))


def on_ice(point: Point, homography: FloatArray) -> FloatArray:
    x, y, w = homography @ (point.x, point.y, 1.0)
    return np.array([x / w, y / w])


matrices = st.builds(
    lambda dx, dy, scale, squeeze, turn, flip: crop_matrix(
        Point(160 + dx, 120 + dy), CROP, scale=scale, squeeze=squeeze, rotation_rad=turn, flip=flip
    ),
    st.floats(-15, 15),
    st.floats(-15, 15),
    st.floats(0.5, 2.0),
    st.floats(0.75, 1.33),
    st.floats(-0.1, 0.1),
    st.booleans(),
)


@settings(max_examples=25, deadline=None)
@given(matrix=matrices)
def test_pixels_players_and_point_follow_the_same_map(matrix: FloatArray) -> None:
    moved = move(dotted(Point(155.3, 118.8)), matrix, CROP, BLACK)
    assert moved.point_px is not None
    seen = centroid(moved.image[..., 0])
    assert seen.distance(moved.point_px) < 0.12
    half = centroid(moved.players)
    assert Point(half.x * 2, half.y * 2).distance(moved.point_px) < 0.3


@settings(max_examples=25, deadline=None)
@given(matrix=matrices)
def test_place_on_the_ice_does_not_change(matrix: FloatArray) -> None:
    sample = dotted(Point(150.0, 110.0))
    moved = move(sample, matrix, CROP, BLACK)
    assert sample.point_px is not None
    assert moved.point_px is not None
    assert sample.homography is not None
    assert moved.homography is not None
    np.testing.assert_allclose(
        on_ice(moved.point_px, moved.homography), on_ice(sample.point_px, sample.homography), atol=1e-9
    )


@given(matrix=matrices, x=st.floats(0, 320), y=st.floats(0, 240))
def test_map_can_be_undone(matrix: FloatArray, x: float, y: float) -> None:
    back = move_point(move_point(Point(x, y), matrix), np.linalg.inv(matrix))
    assert back.distance(Point(x, y)) < 1e-9


def test_plain_crop_copies_pixels() -> None:
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (100, 120, 3), dtype=np.uint8)
    sample = Sample(image, np.zeros((50, 60), np.uint8), None)
    moved = move(sample, crop_matrix(Point(60, 50), Size(40, 30)), Size(40, 30), BLACK)
    np.testing.assert_array_equal(moved.image, image[35:65, 40:80])


def test_flip_mirrors_about_the_middle() -> None:
    image = np.random.default_rng(1).integers(0, 256, (30, 40, 3), dtype=np.uint8)
    sample = Sample(image, np.zeros((15, 20), np.uint8), Point(3.0, 7.0))
    moved = move(sample, crop_matrix(Point(20, 15), Size(40, 30), flip=True), Size(40, 30), BLACK)
    np.testing.assert_array_equal(moved.image, image[:, ::-1])
    assert moved.point_px == Point(37.0, 7.0)


def test_outside_of_the_frame_has_the_border_colour_and_no_second_puck() -> None:
    sample = dotted(Point(6.0, 120.0))
    moved = move(sample, crop_matrix(Point(0, 120), CROP), CROP, (10, 20, 30))
    assert (moved.image[:, :79] == (10, 20, 30)).all()
    assert centroid(moved.image[:, 80:, 0]).x == pytest.approx(6.0, abs=0.3)


def test_puck_size_scales_with_the_picture() -> None:
    matrix = crop_matrix(Point(160, 120), CROP, scale=1.7, flip=True, rotation_rad=0.05)
    assert magnification(matrix) == pytest.approx(1.7)
    moved = move(dotted(Point(160, 120)), matrix, CROP, BLACK)
    assert moved.extent_px == pytest.approx((12 * 1.7, 9 * 1.7))


def test_context_is_the_players_of_this_very_image() -> None:
    image = np.full((64, 80, 3), 200, np.uint8)
    players = np.zeros((32, 40), np.uint8)
    players[8:16, 10:20] = 255
    context = Sample(image, players, None).context(720)
    assert context.shape == (32, 40, 3)
    assert (context[8:16, 10:20] == 200).all()
    assert context.sum() == 200 * 8 * 10 * 3


def test_thin_line_fades_when_it_shrinks_instead_of_flickering() -> None:
    image = np.zeros((128, 128, 3), np.uint8)
    image[:, 64] = 255
    sample = Sample(image, np.zeros((64, 64), np.uint8), None)
    sums = []
    for shift in np.linspace(0, 1, 5):
        moved = move(sample, crop_matrix(Point(64 + shift, 64), Size(64, 64), scale=0.5), Size(64, 64), BLACK)
        sums.append(float(moved.image[32, :, 0].astype(float).sum()))
    assert np.std(sums) < 0.1 * np.mean(sums)
    assert np.mean(sums) == pytest.approx(255 * 0.5, rel=0.1)


def test_squeezing_changes_widths_alone() -> None:
    matrix = crop_matrix(Point(100, 60), Size(80, 40), scale=2.0, squeeze=0.75)
    assert move_point(Point(100, 60), matrix) == Point(40, 20)
    assert move_point(Point(110, 65), matrix) == Point(55, 30)
    assert magnification(matrix) == pytest.approx(2 * 0.75**0.5)
