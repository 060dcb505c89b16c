import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from plucc.calibration import Calibration, fit_calibration
from plucc.types import InputError


def test_a_known_distortion_is_undone() -> None:
    rng = np.random.default_rng(3)
    chance = rng.beta(1.2, 0.8, 20_000)
    is_right = rng.random(20_000) < chance
    raw = expit((logit(np.clip(chance, 1e-3, 1 - 1e-3)) - 0.9) / 1.5)  # overcautious, and too flat
    calibration = fit_calibration(raw, is_right)
    assert calibration.slope == pytest.approx(1.5, abs=0.1)
    assert calibration.intercept == pytest.approx(0.9, abs=0.1)
    bins = np.array([calibration(value) for value in raw])
    for low in np.arange(0.1, 0.9, 0.2):
        inside = (bins >= low) & (bins < low + 0.2)
        assert is_right[inside].mean() == pytest.approx(bins[inside].mean(), abs=0.03)


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_ranking_stays(one: float, other: float) -> None:
    calibration = Calibration(0.7, 0.4)
    assert (one <= other) <= (calibration(one) <= calibration(other))
    assert 0 < calibration(one) < 1


def test_an_uncalibrated_model_keeps_its_confidence() -> None:
    assert Calibration.from_card({})(0.37) == pytest.approx(0.37)
    assert Calibration.from_card(Calibration(0.8, 0.3).to_card()) == Calibration(0.8, 0.3)


@pytest.mark.parametrize("right", [np.ones(50, bool), np.zeros(50, bool), np.array([True, False])])
def test_too_little_to_learn_from_is_refused(right: np.ndarray) -> None:
    with pytest.raises(InputError, match="cannot be calibrated"):
        fit_calibration(np.full(len(right), 0.5), right)
