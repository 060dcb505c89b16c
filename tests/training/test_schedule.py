"""Learning rates at the places that matter."""

import pytest

from plucc.config import TrainSpec
from plucc.training.schedule import FLOOR, Plateau, learning_rate


def test_paper_divides_by_ten_after_five_epochs_without_gain() -> None:
    spec = TrainSpec()
    plateau = Plateau()
    rates = []
    for score in [10, 20, 20, 19, 18, 20, 20, 21, 1, 1, 1, 1, 1]:
        plateau = plateau.after(score, spec)
        rates.append(learning_rate(spec, 0.5, plateau))
    assert rates[:6] == [1e-3] * 6
    assert rates[6:12] == pytest.approx([1e-4] * 6)  # five in a row after the 20 of epoch two
    assert rates[12] == pytest.approx(1e-5)
    assert plateau.best == 21


def test_cosine_rises_peaks_and_ends_at_the_floor() -> None:
    spec = TrainSpec(lr=2e-3, schedule="cosine", warmup=0.1)
    rates = [learning_rate(spec, progress, Plateau()) for progress in (0.0, 0.05, 0.1, 0.55, 1.0, 1.2)]
    assert rates[0] == 0
    assert rates[1] == pytest.approx(1e-3)
    assert rates[2] == pytest.approx(2e-3)
    assert rates[3] == pytest.approx(2e-3 * (0.5 + FLOOR / 2), rel=1e-6)
    assert rates[4] == rates[5] == pytest.approx(2e-3 * FLOOR)


def test_constant_stays() -> None:
    assert learning_rate(TrainSpec(schedule="constant"), 0.9, Plateau()) == 1e-3
