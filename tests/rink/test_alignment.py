"""The fit on pictures that are drawn from the sheet itself: exact geometry, plain colours, no arena."""

from dataclasses import replace
from itertools import pairwise

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plucc.rink.alignment import align
from plucc.rink.camera import Camera
from plucc.rink.dimensions import KICK_PLATE_HEIGHT_M
from plucc.rink.evidence import read_evidence
from plucc.rink.prior import BROADCAST
from plucc.rink.sheet import COLOURS_RGB, iihf, nhl
from plucc.rink.template import template
from plucc.types import Size

SIZE = Size(1280, 720)
SHIFT = 4


def drawn(camera, sheet):
    """Return the picture of a bare rink: dark surroundings, white ice, paint, a yellow kick plate."""
    canvas = np.full((SIZE.height, SIZE.width, 3), 30, np.uint8)
    boards = sheet.boards(0.3)
    _fill(canvas, camera, boards, (225, 228, 232))
    for marking in sheet.markings:
        if marking.name != "referee crease":
            _fill(canvas, camera, _dense(marking.polygon()), COLOURS_RGB[marking.colour])
    for start, end in pairwise(boards):
        if start[1] > -sheet.width_m / 2 + 1:
            foot = np.array([(*start, 0.0), (*end, 0.0), (*end, KICK_PLATE_HEIGHT_M), (*start, KICK_PLATE_HEIGHT_M)])
            _polygon(canvas, camera.project(foot), COLOURS_RGB["yellow"])
    return cv2.GaussianBlur(canvas, (0, 0), 0.8)


def _dense(outline):
    closed = np.vstack((outline, outline[:1]))
    at = np.concatenate(([0.0], np.cumsum(np.hypot(*np.diff(closed, axis=0).T))))
    places = np.union1d(np.arange(0.0, at[-1], 0.3), at)
    return np.column_stack([np.interp(places, at, closed[:, axis]) for axis in (0, 1)])


def _fill(canvas, camera, outline_m, colour):
    _polygon(canvas, camera.project_plane(outline_m), colour)


def _polygon(canvas, px, colour):
    if np.isfinite(px).all() and np.abs(px).max() < 20_000:
        fixed = np.round((px - 0.5) * 2**SHIFT).astype(np.int32)
        cv2.fillPoly(canvas, [fixed], colour, cv2.LINE_AA, SHIFT)


def _camera(x_m, aim_m, span_m, k1=0.0):
    position = (x_m, -34.0, 12.0)
    distance = float(np.linalg.norm(np.subtract((*aim_m, 0.0), position)))
    return replace(Camera.look_at(position, (*aim_m, 0.0), SIZE.width * distance / span_m, SIZE), k1=k1)


def _worst_m(camera, truth, sheet):
    across, down = np.meshgrid(np.linspace(20, 1260, 16), np.linspace(20, 700, 9))
    places = np.column_stack((across.ravel(), down.ravel()))
    true_m = truth.back_project(places)
    on_ice = sheet.contains(np.nan_to_num(true_m, nan=1e9))
    return float(np.hypot(*(camera.back_project(places) - true_m)[on_ice].T).max())


CASES = {
    "centre": (nhl(), _camera(0.0, (2.0, 1.0), 30.0)),
    "twelve metres off centre": (nhl(), _camera(12.0, (-14.0, 0.0), 28.0)),
    "wide lens": (iihf(29.0), _camera(-6.0, (16.0, 1.0), 30.0, k1=0.06)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_fit_finds_back_from_a_metre_away(name):
    sheet, truth = CASES[name]
    evidence = read_evidence(drawn(truth, sheet), np.zeros((SIZE.height, SIZE.width), bool))
    start = replace(
        truth, pan_rad=truth.pan_rad + 0.006, tilt_rad=truth.tilt_rad - 0.004, focal_px=truth.focal_px * 1.015
    )
    x, y, z = truth.position_m
    start = replace(start, position_m=(x + 0.4, y - 0.4, z + 0.2), k1=0.0)
    found = align(evidence, template(sheet, 0.35), sheet, start, BROADCAST)
    assert _worst_m(start, truth, sheet) > 0.4
    assert _worst_m(found.camera, truth, sheet) < 0.15
    assert found.agreement > 0.9


def test_the_mirrored_picture_gives_the_mirrored_camera():
    sheet, truth = CASES["twelve metres off centre"]
    nobody = np.zeros((SIZE.height, SIZE.width), bool)
    picture = drawn(truth, sheet)
    samples = template(sheet, 0.35)
    start = replace(truth, pan_rad=truth.pan_rad + 0.004)
    found = align(read_evidence(picture, nobody), samples, sheet, start, BROADCAST)
    flipped = np.ascontiguousarray(picture[:, ::-1])
    mirrored = align(read_evidence(flipped, nobody), samples, sheet, start.mirrored(), BROADCAST)
    assert _worst_m(mirrored.camera.mirrored(), found.camera, sheet) < 0.05


def test_players_hide_lines_without_harm():
    sheet, truth = CASES["centre"]
    picture = drawn(truth, sheet)
    players = np.zeros((SIZE.height, SIZE.width), bool)
    for x in range(100, 1200, 180):
        players[350:470, x : x + 50] = True
    picture[players] = (200, 30, 30)
    found = align(read_evidence(picture, players), template(sheet, 0.35), sheet, truth, BROADCAST)
    assert _worst_m(found.camera, truth, sheet) < 0.2


@settings(max_examples=60, deadline=None)
@given(focal=st.floats(10.0, 1e6), tilt=st.floats(-1.2, -0.02))
def test_zoom_cannot_collapse(focal, tilt):
    camera = replace(CASES["centre"][1], focal_px=focal, tilt_rad=tilt)
    bounded = BROADCAST.bounded(camera)
    reach_m = camera.position_m[2] / max(-np.sin(tilt), 0.05)
    span_m = SIZE.width * reach_m / bounded.focal_px
    least, most = BROADCAST.span_m
    assert least - 1e-6 <= span_m <= most + 1e-6


def test_the_covariance_grows_as_lines_go_out_of_view():
    sheet = nhl()
    nobody = np.zeros((SIZE.height, SIZE.width), bool)
    spread = []
    for span in (34.0, 16.0):
        truth = _camera(0.0, (2.0, 3.0), span)
        found = align(read_evidence(drawn(truth, sheet), nobody), template(sheet, 0.35), sheet, truth, BROADCAST)
        spread.append(np.sqrt(np.diag(found.covariance)[:3]).sum())
    assert spread[1] > spread[0]
