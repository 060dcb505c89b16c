import numpy as np
import pytest

from plucc.register.registration import How, Registration, refused
from plucc.register.table import RegisteredFrame, read_registrations, write_registrations
from plucc.rink.camera import Camera
from plucc.rink.homography import Homography
from plucc.types import DataError, Point, Size

SIZE = Size(1280, 720)
CAMERA = Camera.look_at((1.0, -36.0, 13.0), (4.0, 1.0, 0.0), 1500.0, SIZE)


def _frame(index, registration):
    return RegisteredFrame("game.mp4", index, index / 25, 0, SIZE, registration)


def test_lines_come_back_as_they_were(tmp_path):
    covariance = np.diag(np.full(9, 1e-4))
    plane = Homography(CAMERA.homography().matrix)
    frames = [
        _frame(0, Registration(True, "", CAMERA, covariance, 0.9, How.FOUND)),
        _frame(1, refused("no ice")),
        _frame(2, Registration(True, "", how=How.POINTS, plane=plane, score=1.0)),
    ]
    path = tmp_path / "out.jsonl"
    assert write_registrations(path, frames) == {"found": 1, "no ice": 1, "points": 1}
    first, second, third = read_registrations(path)
    assert first.registration.camera == CAMERA
    np.testing.assert_allclose(first.registration.covariance, covariance, rtol=1e-8)
    assert (second.registration.accepted, second.registration.reason) == (False, "no ice")
    assert second.registration.homography is None
    one, other = (given.registration.locate(Point(640.0, 400.0), 1.0) for given in (first, third))
    np.testing.assert_allclose(one[:2], other[:2], atol=0.05)  # the puck's height is all that differs


def test_a_refused_frame_gives_its_camera_to_nobody(tmp_path):
    path = tmp_path / "out.jsonl"
    tried = Registration(False, "too few lines", CAMERA, np.eye(9), 0.3)
    write_registrations(path, [_frame(0, tried)])
    assert "camera" not in path.read_text()
    assert tried.homography is None
    assert tried.locate(Point(640.0, 400.0), 1.0) is None


def test_a_broken_line_is_named(tmp_path):
    path = tmp_path / "out.jsonl"
    path.write_text('{"file": "a"}\n')
    with pytest.raises(DataError, match=r"line 1, frame"):
        list(read_registrations(path))
