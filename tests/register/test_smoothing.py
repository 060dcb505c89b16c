from dataclasses import replace

import numpy as np

from plucc.register.registration import How, Registration, refused
from plucc.register.smoothing import smoothed
from plucc.register.table import RegisteredFrame
from plucc.rink.camera import Camera
from plucc.types import Size

SIZE = Size(1280, 720)
BASE = Camera.look_at((0.0, -35.0, 12.0), (0.0, 0.0, 0.0), 1500.0, SIZE)


def _shot(pans):
    return [
        RegisteredFrame(
            "a.mp4",
            index,
            index / 25,
            0,
            SIZE,
            refused("no ice")
            if np.isnan(pan)
            else Registration(True, "", replace(BASE, pan_rad=float(pan)), np.eye(9), 0.9, How.FOLLOWED),
        )
        for index, pan in enumerate(pans)
    ]


def _pans(shot):
    return np.array([one.registration.camera.pan_rad if one.registration.accepted else np.nan for one in shot])


def test_a_pan_that_speeds_up_is_left_alone():
    pans = 0.01 * np.arange(20) + 0.0005 * np.arange(20) ** 2
    np.testing.assert_allclose(_pans(smoothed(_shot(pans))), pans, atol=1e-12)


def test_jitter_is_halved_and_refused_frames_stay():
    rng = np.random.default_rng(2)
    truth = 0.01 * np.arange(60)
    noisy = truth + rng.normal(0, 0.002, 60)
    noisy[30] = np.nan
    after = _pans(smoothed(_shot(noisy)))
    assert np.isnan(after[30])
    inner = np.r_[4:26, 35:56]
    assert np.abs(after - truth)[inner].std() < 0.75 * np.abs(noisy - truth)[inner].std()


def test_the_ends_of_a_shot_do_not_move():
    pans = np.array([0.0, 0.1, 0.0, 0.1, 0.0])
    after = _pans(smoothed(_shot(pans)))
    assert after[0] == pans[0]
    assert after[-1] == pans[-1]
