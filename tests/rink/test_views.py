import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from plucc.rink.camera import Camera
from plucc.rink.views import camera_of, pose_of, project_all
from plucc.types import Size

SIZE = Size(1280, 720)
poses = st.tuples(
    st.floats(-12, 12),
    st.floats(-45, -25),
    st.floats(7, 18),
    st.floats(-0.7, 0.7),
    st.floats(-0.5, -0.15),
    st.floats(-0.03, 0.03),
    st.floats(0.8, 3.0),
    st.floats(-0.1, 0.1),
)


@settings(max_examples=60, deadline=None)
@given(pose=poses)
def test_many_cameras_at_once_see_what_one_camera_sees(pose):
    camera = camera_of(np.array(pose), SIZE)
    points = np.array([[x, y, 0.0] for x in (-10.0, 0.0, 10.0) for y in (-5.0, 5.0, 12.0)])
    expected = (camera.project(points) - (640, 360)) / SIZE.width
    found = project_all(np.array([pose]), points)[0]
    inside = np.isfinite(expected).all(axis=1) & (np.abs(np.nan_to_num(expected)) < 1).all(axis=1)
    np.testing.assert_allclose(found[inside], expected[inside], atol=2e-4)


@settings(max_examples=60, deadline=None)
@given(pose=poses)
def test_a_pose_and_its_camera_are_the_same(pose):
    np.testing.assert_allclose(pose_of(camera_of(np.array(pose), SIZE)), pose, atol=1e-12)


def test_points_behind_the_camera_are_nowhere():
    camera = Camera.look_at((0.0, -35.0, 12.0), (0.0, 0.0, 0.0), 1200.0, SIZE)
    assert np.isnan(project_all(pose_of(camera)[None], np.array([[0.0, -80.0, 0.0]]))).all()
