"""Registering rendered frames: right to centimetres, or refused with a reason."""

import numpy as np
import pytest

from plucc.register import GameCamera, Registrar
from plucc.register.registration import How
from plucc.types import Point, ShapeError


@pytest.fixture(scope="module")
def registrar(neutral_zone, known_prior):
    return Registrar(neutral_zone.sheet, GameCamera(neutral_zone.sheet, known_prior, 3))


def _worst_error_m(camera, truth, sheet):
    across, down = np.meshgrid(np.linspace(20, 1260, 20), np.linspace(20, 700, 12))
    places = np.column_stack((across.ravel(), down.ravel()))
    true_m = truth.back_project(places)
    on_ice = sheet.contains(np.nan_to_num(true_m, nan=1e9))
    return float(np.hypot(*(camera.back_project(places) - true_m)[on_ice].T).max())


@pytest.mark.parametrize("where", ["neutral_zone", "end_zone"])
def test_a_known_camera_registers_to_centimetres(registrar, where, request):
    shown = request.getfixturevalue(where)
    given = registrar.frame(shown.image, shown.players, is_cut=True)
    assert given.accepted, given.reason
    assert given.how is How.FOUND
    assert _worst_error_m(given.camera, shown.camera, shown.sheet) < 0.25


def test_the_next_frame_is_followed(registrar, neutral_zone):
    registrar.frame(neutral_zone.image, neutral_zone.players, is_cut=True)
    again = registrar.frame(neutral_zone.image, neutral_zone.players, is_cut=False)
    assert again.how is How.FOLLOWED
    assert _worst_error_m(again.camera, neutral_zone.camera, neutral_zone.sheet) < 0.25


def test_a_point_comes_to_the_ice_with_its_error(registrar, neutral_zone):
    given = registrar.frame(neutral_zone.image, neutral_zone.players, is_cut=True)
    puck_m = np.array([[2.0, 1.0, 0.0127]])
    at_px = Point(*map(float, neutral_zone.camera.project(puck_m)[0]))
    x_m, y_m, error_m = given.locate(at_px, 1.0, speed_m_s=5.0)
    assert np.hypot(x_m - 2.0, y_m - 1.0) < 0.1
    assert 0.0 < error_m < 0.3
    assert given.locate(at_px, 4.0, speed_m_s=5.0)[2] > error_m
    assert given.locate(at_px, 1.0)[2] > error_m  # how fast the puck goes is not known, so it may be high


def test_pictures_of_another_size_give_the_same_places(registrar, neutral_zone):
    half = neutral_zone.image[::2, ::2]
    given = registrar.frame(half, neutral_zone.players[::2, ::2], is_cut=True)
    assert given.accepted, given.reason
    x_m, y_m, _ = given.locate(Point(320.0, 250.0), 1.0)
    true_m = neutral_zone.camera.back_project(np.array([[640.0, 500.0]]), 0.0127)[0]
    assert np.hypot(x_m - true_m[0], y_m - true_m[1]) < 0.3


@pytest.mark.parametrize("kind", ["black", "white", "noise", "crowd"])
def test_pictures_without_a_rink_are_refused(registrar, kind, neutral_zone):
    rng = np.random.default_rng(0)
    shape = neutral_zone.image.shape
    image = {
        "black": np.zeros(shape, np.uint8),
        "white": np.full(shape, 240, np.uint8),
        "noise": rng.integers(0, 255, shape, dtype=np.uint8),
        "crowd": np.kron(rng.integers(0, 160, (72, 128, 3)), np.ones((10, 10, 1))).astype(np.uint8),
    }[kind]
    given = registrar.frame(image, np.zeros(shape[:2], bool), is_cut=True)
    assert not given.accepted
    assert given.reason
    assert given.locate(Point(600.0, 400.0), 1.0) is None


def test_a_close_up_is_refused(registrar, neutral_zone):
    crop = np.kron(neutral_zone.image[300:444, 500:756], np.ones((5, 5, 1), np.uint8)).astype(np.uint8)
    given = registrar.frame(crop, np.zeros(crop.shape[:2], bool), is_cut=True)
    assert not given.accepted
    assert given.reason


def test_a_shot_that_does_not_register_is_not_searched_in_every_frame(registrar, neutral_zone, monkeypatch):
    calls = []
    white = np.full_like(neutral_zone.image, 240)
    nobody = np.zeros(white.shape[:2], bool)
    search = Registrar.search
    monkeypatch.setattr(Registrar, "search", lambda self, evidence: calls.append(1) or search(self, evidence))
    reasons = {registrar.frame(white, nobody, is_cut=index == 0).reason for index in range(8)}
    assert len(calls) <= 4
    assert len(reasons) == 1


def test_a_mask_of_another_shape_is_refused_with_a_sentence(registrar, neutral_zone):
    with pytest.raises(ShapeError, match="must agree"):
        registrar.frame(neutral_zone.image, np.zeros((10, 10), bool), is_cut=True)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["neutral_zone", "end_zone"])
def test_an_unknown_camera_registers(where, request):
    shown = request.getfixturevalue(where)
    given = Registrar(shown.sheet).frame(shown.image, shown.players, is_cut=True)
    assert given.accepted, given.reason
    assert _worst_error_m(given.camera, shown.camera, shown.sheet) < 0.5
