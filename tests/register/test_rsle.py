"""A registration that is off by a motion of the whole rink leaves distances on the ice, and so RSLE, as they were."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from plucc.metrics.rink import rink_distances
from plucc.rink.camera import Camera
from plucc.rink.homography import Homography
from plucc.types import Size

CAMERA = Camera.look_at((2.0, -35.0, 12.0), (3.0, 0.0, 0.0), 1400.0, Size(1280, 720))


@settings(max_examples=50, deadline=None)
@given(turn=st.floats(-0.2, 0.2), x=st.floats(-2, 2), y=st.floats(-2, 2))
def test_rsle_does_not_see_a_shared_motion_of_the_rink(turn, x, y):
    moved = np.array([[np.cos(turn), -np.sin(turn), x], [np.sin(turn), np.cos(turn), y], [0.0, 0.0, 1.0]])
    right = CAMERA.homography()
    wrong = Homography(moved @ right.matrix)
    predicted, target = np.array([[500.0, 420.0], [800.0, 380.0]]), np.array([[520.0, 410.0], [790.0, 460.0]])
    by_right, by_wrong = (
        rink_distances(predicted, target, np.stack([homography.matrix] * 2)) for homography in (right, wrong)
    )
    np.testing.assert_allclose(by_wrong, by_right, rtol=1e-9)
