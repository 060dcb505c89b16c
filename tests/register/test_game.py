import numpy as np
import pytest

from plucc.register.calibrate import _agree, _Fit, _largest_group, _together
from plucc.register.game import GameCamera, camera_file, read_game_camera, write_game_camera
from plucc.rink.prior import BROADCAST
from plucc.rink.sheet import iihf, nhl
from plucc.types import InputError


@pytest.mark.parametrize("sheet", [nhl(), iihf(28.5)])
def test_the_file_comes_back(tmp_path, sheet):
    path = camera_file(tmp_path / "game.mp4")
    assert path.name == "game.camera.json"
    write_game_camera(path, GameCamera(sheet, BROADCAST, 12))
    assert read_game_camera(path) == GameCamera(sheet, BROADCAST, 12)


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "game.camera.json"
    path.write_text('{"rink": "nhl"}')
    with pytest.raises(InputError, match="is not a game's camera"):
        read_game_camera(path)
    with pytest.raises(InputError, match="plucc calibrate"):
        read_game_camera(tmp_path / "none.json")


def test_the_camera_that_most_frames_saw_wins():
    rng = np.random.default_rng(5)
    covariance = np.diag([0.3, 0.5, 0.3, 0.004, 0.02]) ** 2
    true = np.array([2.0, -33.0, 11.0, 0.003, -0.02])
    main = [_Fit(true + rng.normal(size=5) * np.sqrt(np.diag(covariance)), covariance) for _ in range(12)]
    other = [_Fit(np.array([20.0, -25.0, 6.0, 0.0, 0.0]), covariance) for _ in range(4)]
    chosen = _largest_group([*other, *main])
    assert len(chosen) == 12
    game = _together(chosen, nhl(), BROADCAST)
    assert np.abs(np.array(game.prior.position_m) - true[:3]).max() < 0.5
    assert max(game.prior.position_sigma_m) < 1.0
    assert not _agree(main[0], other[0])


def test_a_lens_that_bends_more_as_it_zooms_in_is_not_held_to_the_mean():
    covariance = np.diag([0.3, 0.5, 0.3, 0.004, 0.03]) ** 2
    bends = np.linspace(0.0, 0.5, 9)
    fits = [_Fit(np.array([0.0, -24.0, 8.0, 0.0, bend]), covariance) for bend in bends]
    prior = _together(fits, nhl(), BROADCAST).prior
    assert prior.k1 == pytest.approx(0.25, abs=0.01)
    assert 0.12 < prior.k1_sigma < 0.25
    steady = _together([_Fit(fit.values * (1, 1, 1, 1, 0), covariance) for fit in fits], nhl(), BROADCAST).prior
    assert steady.k1_sigma < 0.06
