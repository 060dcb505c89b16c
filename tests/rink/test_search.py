"""What the search scores best: the view that a picture shows, not one that zooms in on a line or out of it all."""

from dataclasses import replace
from itertools import pairwise

import cv2
import numpy as np
import pytest

from plucc.rink.camera import Camera
from plucc.rink.dimensions import KICK_PLATE_HEIGHT_M
from plucc.rink.evidence import read_evidence
from plucc.rink.fields import build_fields, read_marks
from plucc.rink.search import FINE_STEP_M, ICE_STEP_M, ROUNDS, score_poses
from plucc.rink.sheet import COLOURS_RGB, nhl
from plucc.rink.template import ice_template, joined, template
from plucc.rink.views import FOCAL, pose_of
from plucc.types import Size

SIZE = Size(1280, 720)
ZOOMS = np.array([0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 3.0, 6.0, 20.0])


def _bare_rink(camera, sheet):
    """Return a picture of ice, paint and kick plate alone."""
    canvas = np.full((SIZE.height, SIZE.width, 3), 30, np.uint8)
    boards = sheet.boards(0.3)
    outlines = [(boards, (225, 228, 232))]
    outlines += [(one.polygon(), COLOURS_RGB[one.colour]) for one in sheet.markings if one.name != "referee crease"]
    shapes = [(camera.project_plane(outline), colour) for outline, colour in outlines]
    for start, end in pairwise(boards[boards[:, 1] > -sheet.width_m / 2 + 1]):
        foot = np.array([(*start, 0.0), (*end, 0.0), (*end, KICK_PLATE_HEIGHT_M), (*start, KICK_PLATE_HEIGHT_M)])
        shapes.append((camera.project(foot), COLOURS_RGB["yellow"]))
    for px, colour in shapes:
        if np.isfinite(px).all():
            cv2.fillPoly(canvas, [np.round(px - 0.5).clip(-30_000, 30_000).astype(np.int32)], colour, cv2.LINE_AA)
    return cv2.GaussianBlur(canvas, (0, 0), 0.8)


def _fields(evidence):
    shrink, reach_px, _ = ROUNDS[-1]
    return build_fields(read_marks(evidence), shrink, reach_px)


@pytest.mark.parametrize("aim_m", [(0.0, 0.0), (18.0, 2.0), (-9.0, -3.0)])
def test_zooming_in_or_out_does_not_pay(aim_m):
    sheet = nhl()
    camera = Camera.look_at((4.0, -34.0, 12.0), (*aim_m, 0.0), 1500.0, SIZE)
    evidence = read_evidence(_bare_rink(camera, sheet), np.zeros((SIZE.height, SIZE.width), bool))
    samples = joined(template(sheet, FINE_STEP_M), ice_template(sheet, ICE_STEP_M))
    poses = np.repeat(pose_of(camera)[None], len(ZOOMS), axis=0)
    poses[:, FOCAL] *= ZOOMS
    # aimed at a line, so that a camera zoomed in on it would see nothing but evidence
    at_line = pose_of(Camera.look_at(camera.position_m, (sheet.blue_line.centre_x_m, 0.0, 0.0), 1500.0, SIZE))
    zoomed = np.repeat(at_line[None], len(ZOOMS), axis=0)
    zoomed[:, FOCAL] *= 4.0 * ZOOMS
    scores = score_poses(np.concatenate((poses, zoomed)), samples, sheet, _fields(evidence))
    assert ZOOMS[scores[: len(ZOOMS)].argmax()] == 1.0
    assert scores.argmax() < len(ZOOMS)


def test_the_camera_that_stands_elsewhere_scores_less():
    sheet = nhl()
    camera = Camera.look_at((-10.0, -34.0, 12.0), (-14.0, 0.0, 0.0), 1500.0, SIZE)
    evidence = read_evidence(_bare_rink(camera, sheet), np.zeros((SIZE.height, SIZE.width), bool))
    samples = joined(template(sheet, FINE_STEP_M), ice_template(sheet, ICE_STEP_M))
    others = [replace(camera, pan_rad=camera.pan_rad + turn) for turn in (-0.3, -0.1, 0.1, 0.3)]
    poses = np.array([pose_of(one) for one in (camera, *others)])
    scores = score_poses(poses, samples, sheet, _fields(evidence))
    assert scores.argmax() == 0
