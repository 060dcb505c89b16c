"""A textured picture is warped by a known motion; the estimate must find it again."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from plucc.motion import camera_motion, small_grey
from plucc.synth.arena import build_stage
from plucc.synth.match import sample_match
from plucc.synth.render import find_scene, render
from plucc.types import Category, ImageArray, Size

WIDTH, HEIGHT = 1280, 720
CORNERS = np.array([[0, 0, 1], [WIDTH, 0, 1], [0, HEIGHT, 1], [WIDTH, HEIGHT, 1]], float)


def texture(seed: int = 0) -> ImageArray:
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (72, 128, 3), dtype=np.uint8)
    return np.asarray(cv2.resize(coarse, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC), np.uint8)


def moved(image: ImageArray, motion: np.ndarray) -> ImageArray:
    to_index = np.array([[1, 0, -0.5], [0, 1, -0.5], [0, 0, 1.0]])
    matrix = to_index @ motion @ np.linalg.inv(to_index)
    return np.asarray(cv2.warpPerspective(image, matrix, (WIDTH, HEIGHT), borderMode=cv2.BORDER_REFLECT), np.uint8)


def similarity(angle_rad: float, scale: float, x: float, y: float) -> np.ndarray:
    cosine, sine = scale * np.cos(angle_rad), scale * np.sin(angle_rad)
    return np.array([[cosine, -sine, x], [sine, cosine, y], [0, 0, 1]])


@pytest.mark.parametrize(
    "motion",
    [
        np.eye(3),
        similarity(0, 1, 17, -4),
        similarity(0, 1, 70, -12),
        similarity(0, 1.03, -12, -8),
        similarity(0.01, 0.98, 30, 5),
    ],
    ids=["still", "pan", "fast pan", "zoom in", "turn and zoom out"],
)
def test_the_motion_is_found_to_a_pixel(motion: np.ndarray) -> None:
    image = texture()
    found = camera_motion(small_grey(image), small_grey(moved(image, motion)), WIDTH)
    assert found is not None
    np.testing.assert_allclose((found @ CORNERS.T)[:2], (motion @ CORNERS.T)[:2], atol=1.0)


@pytest.mark.parametrize("shift_m", [0.1, 0.8, -2.0], ids=["slow", "fast", "very fast"])
def test_a_rendered_broadcast_moves_as_its_camera_does(shift_m: float) -> None:
    stage = build_stage(sample_match(5, 0))
    scene = find_scene(stage, 2, Category.STANDARD, Size(WIDTH, HEIGHT))
    x_m, y_m = scene.aim.point_m
    later = replace(scene, aim=replace(scene.aim, point_m=(x_m + shift_m, y_m)))
    found = camera_motion(*(small_grey(render(stage, each).image) for each in (scene, later)), WIDTH)
    assert found is not None
    points = np.array([(x, y) for x in (200.0, 640.0, 1080.0) for y in (300.0, 480.0, 660.0)])
    true = later.camera.homography().to_image(scene.camera.homography().to_rink(points))
    errors_px = np.linalg.norm((np.column_stack([points, np.ones(9)]) @ found.T)[:, :2] - true, axis=1)
    assert errors_px.mean() < 1.5


def test_players_do_not_drag_the_camera() -> None:
    image, motion = texture(), similarity(0, 1, 9, 0)
    after = moved(image, motion)
    players = np.zeros((HEIGHT, WIDTH), bool)
    players[200:600, 300:1000] = True
    before = image.copy()
    before[players], after[np.roll(players, -40, axis=1)] = texture(1)[players], texture(1)[players]
    found = camera_motion(small_grey(before), small_grey(after), WIDTH, players)
    assert found is not None
    np.testing.assert_allclose((found @ CORNERS.T)[:2], (motion @ CORNERS.T)[:2], atol=1.0)


@pytest.mark.parametrize("after", [texture(7), np.full((HEIGHT, WIDTH, 3), 128, np.uint8)], ids=["cut", "blank"])
def test_pictures_that_do_not_match_have_no_motion(after: ImageArray) -> None:
    assert camera_motion(small_grey(texture()), small_grey(after), WIDTH) is None
    assert camera_motion(small_grey(after), small_grey(texture()), WIDTH) is None
