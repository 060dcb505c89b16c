"""Bodies hold together: bones keep their length, blades touch the ice, feet stand on it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plucc.synth.skeleton import FOREARM_M, SHIN_M, THIGH_M, UPPER_ARM_M, Pose, Stance, build_skeleton

angles = st.floats(-np.pi, np.pi)
poses = st.builds(
    Pose,
    position_m=st.tuples(st.floats(-20, 20), st.floats(-10, 10)),
    facing_rad=angles,
    gaze_rad=angles,
    blade_m=st.tuples(st.floats(-22, 22), st.floats(-12, 12), st.just(0.0)),
    stance=st.sampled_from([Stance.SKATING, Stance.UPRIGHT, Stance.SET]),
    crouch=st.floats(0.1, 1),
    lean_rad=st.floats(0.1, 0.9),
    phase_rad=angles,
    stride=st.floats(0.2, 1),
    handed=st.sampled_from([-1, 1]),
)


def _length(a, b):
    return float(np.linalg.norm(np.subtract(a, b)))


@given(pose=poses)
def test_bones_keep_their_length(pose):
    body = build_skeleton(pose)
    for side in (0, 1):
        assert _length(body.hips[side], body.knees[side]) == pytest.approx(THIGH_M, abs=1e-6)
        assert _length(body.shoulders[side], body.elbows[side]) == pytest.approx(UPPER_ARM_M, abs=1e-6)
        assert _length(body.elbows[side], body.hands[side]) == pytest.approx(FOREARM_M, abs=1e-6)
        assert _length(body.knees[side], body.ankles[side]) == pytest.approx(SHIN_M, abs=0.35)
        assert 0.05 < body.ankles[side][2] < 0.25


@given(pose=poses)
def test_blade_lies_on_the_ice_within_reach(pose):
    body = build_skeleton(pose)
    assert body.heel[2] == 0.0
    assert body.blade_tip[2] == pytest.approx(0.0, abs=1e-9)
    assert _length(body.heel[:2], pose.position_m) < 2.2


@given(pose=poses)
def test_head_is_on_top(pose):
    body = build_skeleton(pose)
    assert body.head[2] > body.neck[2] > body.pelvis[2] > body.ankles[0][2]
