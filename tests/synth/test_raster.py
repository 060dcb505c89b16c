"""Solids and pucks cover the pixels that geometry says."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plucc.rink.camera import Camera
from plucc.synth.layer import Layer, lay, line_kernel
from plucc.synth.puck_flight import REST_HEIGHT_M, PuckState
from plucc.synth.puck_view import Exposure, Rubber, puck_point, puck_rims, render_puck
from plucc.synth.raster import Capsule, Light, Paint, rasterise
from plucc.types import PUCK_RADIUS_M, PUCK_THICKNESS_M, Box, Size

SIZE = Size(640, 360)
WINDOW = Box(-10, -10, 650, 370)
CAMERA = Camera.look_at((0.0, -30.0, 12.0), (0.0, 0.0, 0.0), 3000.0, SIZE)


def test_sphere_covers_a_disc_about_its_centre():
    centre, radius = np.array([0.3, 0.2, 0.5]), 0.4
    sphere = Capsule(centre, centre, radius, radius, Paint.plain((200, 100, 50)))
    layer = rasterise(CAMERA, [sphere], Light(), 4, WINDOW).layer()
    depth = CAMERA.depth(centre[None])[0]
    radius_px = radius * CAMERA.focal_px / depth
    assert layer.coverage.sum() == pytest.approx(np.pi * radius_px**2, rel=0.01)
    y, x = np.indices(layer.coverage.shape) + 0.5
    middle = np.array([(layer.coverage * x).sum(), (layer.coverage * y).sum()]) / layer.coverage.sum()
    assert np.allclose(middle + np.array([layer.left_px, layer.top_px]), CAMERA.project(centre[None])[0], atol=0.1)


def test_nearer_capsule_hides_the_farther_one():
    near, far = np.array([0.0, -1.0, 0.6]), np.array([0.0, 1.0, 0.2])
    red, blue = Paint.plain((0, 0, 200)), Paint.plain((200, 0, 0))
    bodies = [Capsule(near, near, 0.3, 0.3, red), Capsule(far, far, 0.3, 0.3, blue)]
    for order in (bodies, bodies[::-1]):
        patch = rasterise(CAMERA, order, Light(), 2, WINDOW)
        seen = patch.to_patch(CAMERA.project(near[None]))[0].astype(int)
        assert patch.albedo[seen[1], seen[0], 2] == 200


def test_light_comes_from_above():
    centre = np.array([0.0, 0.0, 0.6])
    patch = rasterise(
        CAMERA,
        [Capsule(centre, centre + np.array([0.4, 0.0, 0.0]), 0.3, 0.3, Paint.plain((200, 200, 200)))],
        Light(),
        1,
        WINDOW,
    )
    lit = patch.light[:, patch.light.shape[1] // 2]
    lit = lit[lit > 0]
    assert lit[: len(lit) // 4].mean() > lit[-len(lit) // 4 :].mean()


@pytest.mark.parametrize("tilt", [0.0, 0.7, np.pi / 2])
def test_rims_are_those_of_a_real_puck(tilt):
    up, down = puck_rims(PuckState((1.0, 2.0, 0.5), (0, 0, 0), tilt_rad=tilt, tilt_axis_rad=0.4))
    assert np.allclose(np.linalg.norm(up - up.mean(axis=0), axis=1), PUCK_RADIUS_M)
    assert np.linalg.norm(up.mean(axis=0) - down.mean(axis=0)) == pytest.approx(PUCK_THICKNESS_M)
    assert np.allclose((up.mean(axis=0) + down.mean(axis=0)) / 2, [1.0, 2.0, 0.5])


@given(x=st.floats(-2, 2), y=st.floats(-2, 2), vx=st.floats(-40, 40), vy=st.floats(-40, 40))
def test_puck_is_centred_on_its_label_however_it_smears(x, y, vx, vy):
    def at(shift):
        return PuckState((x + vx * shift, y + vy * shift, REST_HEIGHT_M), (vx, vy, 0.0))

    shifts = ((np.arange(24) + 0.5) / 24 - 0.5) / 100
    layer = render_puck([Exposure(CAMERA, at(s)) for s in shifts], Rubber())
    rows, columns = np.indices(layer.coverage.shape) + 0.5
    weight = layer.coverage / layer.coverage.sum()
    label = puck_point(CAMERA, at(0.0))
    assert (weight * columns).sum() + layer.left_px == pytest.approx(label.x, abs=0.15)
    assert (weight * rows).sum() + layer.top_px == pytest.approx(label.y, abs=0.15)


def test_still_puck_covers_its_silhouette():
    puck = PuckState((0.0, 0.0, REST_HEIGHT_M), (0.0, 0.0, 0.0))
    layer = render_puck([Exposure(CAMERA, puck)], Rubber())
    scale = CAMERA.focal_px / CAMERA.depth(np.array([puck.position_m]))[0]
    down = np.sin(-CAMERA.tilt_rad)
    area = np.pi * PUCK_RADIUS_M**2 * down + 2 * PUCK_RADIUS_M * PUCK_THICKNESS_M * np.cos(CAMERA.tilt_rad)
    # filling counts samples that the outline touches, an eighth of a pixel wide
    assert layer.coverage.sum() == pytest.approx(area * scale**2, rel=0.12)
    assert layer.coverage.max() <= 1.0


@given(dx=st.floats(-30, 30), dy=st.floats(-30, 30))
def test_motion_blur_keeps_light_and_place(dx, dy):
    kernel = line_kernel(dx, dy)
    if kernel is None:
        assert np.hypot(dx, dy) < 0.5
        return
    y, x = np.indices(kernel.shape) - np.array(kernel.shape)[:, None, None] // 2
    assert kernel.sum() == pytest.approx(1.0, abs=1e-5)
    assert (kernel * x).sum() == pytest.approx(0.0, abs=1e-3)
    assert (kernel * y).sum() == pytest.approx(0.0, abs=1e-3)


def test_layers_are_cut_at_the_edge_of_the_canvas():
    canvas = np.full((4, 4, 3), 100, np.uint8)
    lay(canvas, Layer(-1, 2, np.full((3, 3, 3), 50.0, np.float32), np.full((3, 3), 1.0, np.float32)))
    assert (canvas[2:, :2] == 50).all()
    assert (canvas[:2] == 100).all()
    lay(canvas, Layer(9, 9, np.zeros((2, 2, 3), np.float32), np.ones((2, 2), np.float32)))


def test_slender_capsules_are_covered_whole():
    # long and thin, so drawn along a band only: its area is that of the same capsule cut into short pieces
    start, stop = np.array([-1.0, 0.0, 0.1]), np.array([0.9, 0.6, 1.0])
    joints = start + (stop - start) * np.linspace(0, 1, 9)[:, None]
    paint = Paint.plain((200, 200, 200))
    pieces = [Capsule(a, b, 0.02, 0.02, paint) for a, b in pairwise(joints)]
    whole = rasterise(CAMERA, [Capsule(start, stop, 0.02, 0.02, paint)], Light(), 3, WINDOW).layer()
    cut = rasterise(CAMERA, pieces, Light(), 3, WINDOW).layer()
    assert (whole.left_px, whole.top_px) == (cut.left_px, cut.top_px)
    assert np.abs(whole.coverage - cut.coverage).mean() < 0.002
    assert whole.coverage.sum() == pytest.approx(cut.coverage.sum(), rel=0.02)


def test_window_cuts_a_body_without_changing_the_rest():
    centre = np.array([0.0, 0.0, 0.6])
    ball = [Capsule(centre, centre + np.array([0.5, 0.0, 0.3]), 0.3, 0.2, Paint.plain((180, 90, 40), gloss=0.2))]
    whole = rasterise(CAMERA, ball, Light(), 2, WINDOW).layer()
    middle = CAMERA.project(centre[None])[0].astype(int)
    window = Box(middle[0] - 12, middle[1] - 9, middle[0] + 15, middle[1] + 11)
    cut = rasterise(CAMERA, ball, Light(), 2, window).layer()
    rows = slice(cut.top_px - whole.top_px, cut.top_px - whole.top_px + cut.coverage.shape[0])
    columns = slice(cut.left_px - whole.left_px, cut.left_px - whole.left_px + cut.coverage.shape[1])
    assert np.allclose(whole.coverage[rows, columns], cut.coverage, atol=0.02)
    assert np.abs(whole.colour[rows, columns] - cut.colour).max() <= 3
