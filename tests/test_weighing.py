import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from plucc.types import InputError
from plucc.weighing import Evidence, Weighing, fit_weighing


def evidence(shares: list[float], logits: list[float], presence: float = 0.0) -> Evidence:
    return Evidence(np.zeros((len(shares), 2)), np.array(shares), np.array(logits), presence)


def test_a_softmax_with_none_by_hand() -> None:
    """Scores 2 log 0.5 + 0 + 1 and 2 log 0.1 + 3 + 1 beside -1: e to them is 0.6796, 0.5460, 0.3679, in all 1.5934."""
    weighing = Weighing(first=2.0, second=1.5, presence=0.5, none=-1.0)
    found = weighing(evidence([0.5, 0.1], [0.0, 2.0], presence=2.0))
    np.testing.assert_allclose(found, [0.42648, 0.34264], atol=1e-4)


def test_presence_moves_all_places_against_none() -> None:
    weighing = Weighing(1.0, 1.0, 1.0, 0.0)
    shown, hidden = (weighing(evidence([0.6, 0.3], [1.0, 1.0], presence)) for presence in (4.0, -4.0))
    assert shown.sum() > 0.95
    assert hidden.sum() < 0.1
    assert shown[0] / shown[1] == pytest.approx(hidden[0] / hidden[1])


def test_nothing_found_has_no_probability() -> None:
    assert Weighing()(evidence([], [])).shape == (0,)


@given(
    shares=arrays(np.float64, 5, elements=st.floats(0, 1)),
    logits=arrays(np.float64, 5, elements=st.floats(-2000, 2000)),
    none=st.floats(-50, 50),
)
def test_probabilities_sum_to_at_most_one(shares: np.ndarray, logits: np.ndarray, none: float) -> None:
    found = Weighing(none=none)(Evidence(np.zeros((5, 2)), shares, logits, 3.0))
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert found.sum() <= 1 + 1e-9


def simulated(truth: Weighing, count: int) -> tuple[list[Evidence], list[int | None]]:
    rng = np.random.default_rng(5)
    frames, right = [], []
    for _ in range(count):
        places = int(rng.integers(1, 9))
        one = Evidence(
            np.zeros((places, 2)), rng.dirichlet(np.ones(9))[:places], rng.normal(-1, 3, places), rng.normal(0, 2)
        )
        chances = truth(one)
        drawn = int(rng.choice(places + 1, p=[*chances, 1 - chances.sum()]))
        frames.append(one)
        right.append(None if drawn == places else drawn)
    return frames, right


def test_the_fit_recovers_known_weights_and_is_calibrated() -> None:
    truth = Weighing(first=0.7, second=0.9, presence=0.4, none=-1.5)
    frames, right = simulated(truth, 6000)
    fitted = fit_weighing(frames, right)
    for name, value in truth.to_card().items():
        assert fitted.to_card()[name] == pytest.approx(value, abs=0.12), name
    best = [fitted(one) for one in frames]
    sure = np.array([chances.max() for chances in best])
    is_right = np.array([place == int(chances.argmax()) for place, chances in zip(right, best, strict=True)])
    for low in np.arange(0.2, 1.0, 0.2):
        inside = (sure >= low) & (sure < low + 0.2)
        assert is_right[inside].mean() == pytest.approx(sure[inside].mean(), abs=0.05)


def test_frames_that_are_all_right_still_fit() -> None:
    frames, _ = simulated(Weighing(), 60)
    fitted = fit_weighing(frames, [0] * 60)
    assert all(np.isfinite(value) for value in fitted.to_card().values())
    assert fitted.none < 0


def test_too_little_to_learn_from_is_refused() -> None:
    frames, right = simulated(Weighing(), 19)
    with pytest.raises(InputError, match="19 frames"):
        fit_weighing(frames, right)
    frames, right = simulated(Weighing(), 30)
    with pytest.raises(InputError, match="30 frames, 0 with the puck"):
        fit_weighing(frames, [None] * 30)


def test_a_card_brings_the_weights_back() -> None:
    weighing = Weighing(0.7, 0.9, 0.4, -1.5)
    assert Weighing.from_card(weighing.to_card()) == weighing
    assert Weighing.from_card({}) == Weighing()
