"""Real broadcast frames against circles that people outlined: the numbers are here, the pictures are not ours to ship.

Each entry of `labelled_circles.json` names a frame and the boxes (left, top, right, bottom, in pixels of 1280x720) of
the face-off circles that show in it from edge to edge, from the labels of HockeyAI.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from plucc.context.shipped import ShippedFinder
from plucc.register import Registrar
from plucc.rink.markings import arc
from plucc.rink.sheet import iihf
from plucc.types import Point
from plucc.video import read_image

FRAMES = Path(__file__).parents[3] / "shared" / "data" / "hockeyai" / "frames"
LABELLED = json.loads(Path(__file__).with_name("labelled_circles.json").read_text())
SHEET = iihf(30.0)


def _centre(name: str) -> Point:
    if name == "centre":
        return Point(0.0, 0.0)
    end, side = name.split()
    spot = SHEET.end_spot
    return Point(spot.x if end == "right" else -spot.x, spot.y if side == "far" else -spot.y)


def _errors_m(camera, name, box):
    """Return how far from the labelled box the registered circle's four extremes are, in metres on the ice."""
    centre = _centre(name)
    rim_m = arc(centre, SHEET.circle_radius_m, 0.0, 2 * np.pi)
    rim_px = camera.project_plane(rim_m)
    outward = rim_m + 0.01 * (rim_m - tuple(centre)) / SHEET.circle_radius_m
    scale = np.abs(camera.project_plane(outward) - rim_px) / 0.01
    extremes = [rim_px[:, 0].argmin(), rim_px[:, 1].argmin(), rim_px[:, 0].argmax(), rim_px[:, 1].argmax()]
    return [abs(rim_px[at, side % 2] - box[side]) / scale[at, side % 2] for side, at in enumerate(extremes)]


def test_the_labels_are_circles_of_several_games():
    assert len(LABELLED) >= 30
    assert len({entry["game"] for entry in LABELLED}) >= 4
    for entry in LABELLED:
        for left, top, right, bottom in entry["circles"].values():
            assert 0 < left < right < 1280
            assert 0 < top < bottom < 720


@pytest.mark.slow
@pytest.mark.skipif(not FRAMES.is_dir(), reason="the HockeyAI frames are not beside the project")
def test_registered_circles_lie_where_people_outlined_them():
    registrar, find_players = Registrar(SHEET), ShippedFinder()
    accepted, along, across = 0, [], []
    for entry in LABELLED:
        image = read_image(FRAMES / entry["file"])
        given = registrar.frame(image, find_players(image), is_cut=True)
        if not given.accepted:
            continue
        accepted += 1
        for name, box in entry["circles"].items():
            left, top, right, bottom = _errors_m(given.camera, name, box)
            along += [left, right]
            across += [top, bottom]
    assert accepted >= 0.6 * len(LABELLED)
    assert np.median(along) < 0.15
    assert np.median(across) < 0.35
    assert np.percentile(along, 90) < 0.4
