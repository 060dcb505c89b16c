"""Rendered lines lie where sheet and camera say, to a centimetre, lens distortion included."""

from dataclasses import replace

import numpy as np
import pytest

from plucc.rink.camera import Camera
from plucc.rink.sheet import nhl
from plucc.synth import rink_texture
from plucc.synth.arena import build_stage, paint_backdrop
from plucc.synth.match import sample_match
from plucc.types import Size

SIZE = Size(1280, 720)


@pytest.fixture(scope="module")
def clean_stage():
    """A sheet with paint but no adverts, scratches or reflections, so that lines stand alone."""
    match = sample_match(2, 0)
    arena = replace(match.arena, wear=0.0, ice_unevenness=0.0, reflectivity=0.0, line_fade=0.0, glass_haze=0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rink_texture, "_paint_adverts", lambda *_: None)
        patch.setattr(rink_texture, "_scuff", lambda *_: None)
        return build_stage(replace(match, sheet=nhl(), arena=arena))


def _camera(target, zoom, k1, position=(4.0, -36.0, 14.0)):
    distance = np.linalg.norm(np.subtract(target, position))
    return replace(Camera.look_at(position, target, zoom * distance, SIZE, 0.01), k1=k1)


def _line_point(canvas, camera, on_line_m, across_m):
    """Return the middle of a painted line in the picture, measured along a short walk across it."""
    steps = np.linspace(-1, 1, 241)[:, None] * across_m
    walk = camera.project(np.column_stack([on_line_m + steps, np.zeros(len(steps))]))
    x, y = walk.T - 0.5
    x0, y0 = np.floor(x).astype(int), np.floor(y).astype(int)
    fx, fy = (x - x0)[:, None], (y - y0)[:, None]
    samples = (canvas[y0, x0] * (1 - fx) + canvas[y0, x0 + 1] * fx) * (1 - fy)
    samples += (canvas[y0 + 1, x0] * (1 - fx) + canvas[y0 + 1, x0 + 1] * fx) * fy
    green = samples[:, 1]  # red and blue paint both take green away
    weight = np.clip(np.median(green[[0, 1, 2, -3, -2, -1]]) - green, 0, None)
    assert weight.sum() > 0
    return (walk * weight[:, None]).sum(axis=0) / weight.sum()


def _fit(points):
    """Return a point and a direction of the straight line through points."""
    middle = points.mean(axis=0)
    return middle, np.linalg.svd(points - middle)[2][0]


def _cross(first, second):
    (p, u), (q, v) = first, second
    share = np.linalg.solve(np.column_stack([u, -v]), q - p)[0]
    return p + share * u


@pytest.mark.parametrize("k1", [0.0, -0.15, 0.2])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_line_crossings_map_to_the_sheet(clean_stage, k1, side):
    sheet = clean_stage.match.sheet
    goal_x, trapezoid = sheet.goal_line_x_m, sheet.trapezoid
    depth = sheet.length_m / 2 - goal_x
    camera = _camera((goal_x, side * 4.0, 0.0), 110.0, k1)
    canvas = paint_backdrop(clean_stage, camera, 110.0).canvas
    # middles of the two lines: the trapezoid's widths are between outer edges
    slope = (trapezoid.boards_m - trapezoid.goal_line_m) / 2 / depth
    span = sheet.thin_line_m * np.hypot(1, slope)
    start = trapezoid.goal_line_m / 2 - span / 2
    goal_line = [np.array([goal_x, side * y]) for y in np.linspace(start + 0.5, start + 3.0, 12)]
    slanted = [np.array([goal_x + d, side * (start + slope * d)]) for d in np.linspace(0.5, depth - 0.5, 12)]
    across_goal, across_slanted = np.array([0.12, 0.0]), np.array([0.0, 0.12])
    found = [
        np.array([_line_point(canvas, camera, p, across) for p in points])
        for points, across in ((goal_line, across_goal), (slanted, across_slanted))
    ]
    straight = [_fit(camera.undistort(points)) for points in found]
    crossing_px = _cross(*straight)
    crossing_m = camera.homography().to_rink(crossing_px[None])[0]
    assert np.hypot(crossing_m[0] - goal_x, crossing_m[1] - side * start) < 0.01
    # and the full camera, through its distortion, agrees
    again = camera.back_project(camera.distort(crossing_px[None]))[0]
    assert np.allclose(again, crossing_m, atol=1e-6)


@pytest.mark.parametrize("zoom", [45.0, 80.0])
def test_blue_line_stays_within_a_centimetre_across_the_picture(clean_stage, zoom):
    sheet = clean_stage.match.sheet
    camera = _camera((sheet.blue_line_x_m, 2.0, 0.0), zoom, -0.1, (-10.0, -33.0, 16.0))
    canvas = paint_backdrop(clean_stage, camera, zoom).canvas
    for y in np.linspace(-1.5, 6.0, 9):
        point = _line_point(canvas, camera, np.array([sheet.blue_line_x_m, y]), np.array([0.45, 0.0]))
        assert abs(camera.back_project(point[None])[0, 0] - sheet.blue_line_x_m) < 0.01
