"""Rendered frames with exact cameras: one arena, a wide view of the neutral zone and one of an end zone."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from plucc.rink.camera import Camera
from plucc.rink.prior import BROADCAST
from plucc.rink.sheet import Sheet
from plucc.synth.arena import build_stage
from plucc.synth.camera_work import Aim, View, sample_operator
from plucc.synth.match import sample_match
from plucc.synth.render import render
from plucc.synth.scene import sample_scene
from plucc.types import Category, Size

SIZE = Size(1280, 720)


@dataclass(frozen=True)
class Shown:
    image: np.ndarray
    players: np.ndarray
    camera: Camera
    sheet: Sheet


def _shoot(stage, aim_m, frame, px_per_m=48.0):
    scene = sample_scene(stage.match, frame, Category.NO_PUCK, SIZE)
    operator = replace(
        sample_operator(np.random.default_rng(3), stage.match, 1.0, View.MAIN),
        px_per_m=px_per_m,
        aim_offset_m=(0.0, 0.0),
    )
    plain = replace(scene, operator=operator, aim=Aim(aim_m, (0.0, 0.0)), interlaced=False)
    rendered = render(stage, plain)
    players = np.zeros((SIZE.height, SIZE.width), bool)
    for player in rendered.players:
        players |= player.mask
    return Shown(rendered.image, players, rendered.camera, stage.match.sheet)


@pytest.fixture(scope="session")
def shoot():
    """Films a stage: the main camera looks at a point of the ice."""
    return _shoot


@pytest.fixture(scope="session")
def stage():
    return build_stage(sample_match(seed=21, number=4))


@pytest.fixture(scope="session")
def neutral_zone(stage):
    return _shoot(stage, (3.0, 0.0), 0)


@pytest.fixture(scope="session")
def end_zone(stage):
    return _shoot(stage, (-18.0, 0.0), 1)


@pytest.fixture(scope="session")
def known_prior(stage):
    """What a calibration of this arena would know."""
    return replace(
        BROADCAST,
        position_m=stage.match.arena.camera_position_m,
        position_sigma_m=(0.6, 0.6, 0.6),
        roll_sigma_rad=0.015,
        k1=stage.match.arena.distortion,
        k1_sigma=0.01,
    )
