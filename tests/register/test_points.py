import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plucc.register.points import Click, ClickedFrame, read_points, register_points
from plucc.rink.camera import Camera
from plucc.rink.sheet import nhl
from plucc.types import DataError, InputError, Point, Size

NAMES = ("centre spot", "blue line left far", "neutral spot right near", "centre circle near", "neutral spot left far")


def _clicked(camera, names=NAMES):
    sheet = nhl()
    points = np.array([tuple(sheet.landmarks[name]) for name in names])
    at_px = camera.project_plane(points)
    clicks = tuple(
        Click(image_px=(float(x), float(y)), landmark=name) for name, (x, y) in zip(names, at_px, strict=True)
    )
    return ClickedFrame(frame=0, points=clicks)


@settings(max_examples=25, deadline=None)
@given(x=st.floats(-10, 10), z=st.floats(8, 18), focal=st.floats(900, 1600))
def test_exact_clicks_give_the_exact_ice(x, z, focal):
    camera = Camera.look_at((x, -35.0, z), (0.0, 0.0, 0.0), focal, Size(1280, 720))
    given_ = register_points(_clicked(camera), nhl())
    place = np.array([[3.0, -2.0]])
    at_px = camera.project_plane(place)[0]
    x_m, y_m, error_m = given_.locate(Point(float(at_px[0]), float(at_px[1])), 1.0)
    assert np.hypot(x_m - 3.0, y_m + 2.0) < 1e-4
    assert error_m > 0


def test_points_come_from_a_file(tmp_path):
    path = tmp_path / "points.json"
    camera = Camera.look_at((0.0, -35.0, 12.0), (0.0, 0.0, 0.0), 1200.0, Size(1280, 720))
    path.write_text(json.dumps([_clicked(camera).model_dump(exclude_none=True)]))
    assert read_points(path)[0] == _clicked(camera)


@pytest.mark.parametrize(
    "content",
    [
        "not json",
        '{"points": []}',
        json.dumps({"frame": 0, "points": [{"image_px": [0, 1]}] * 4}),
    ],
)
def test_a_bad_file_gets_a_sentence(tmp_path, content):
    path = tmp_path / "points.json"
    path.write_text(content)
    with pytest.raises(DataError, match="clicked points"):
        read_points(path)


def test_an_unknown_landmark_names_the_known_ones():
    clicks = tuple(Click(image_px=(float(i), 0.0), landmark="goal mouth") for i in range(4))
    with pytest.raises(InputError, match="centre spot"):
        register_points(ClickedFrame(frame=0, points=clicks), nhl())
