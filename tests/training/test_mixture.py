"""The sequence of samples: fair, repeatable, and enterable anywhere."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plucc.training.mixture import Mixture, MixtureBatches, run_weights


def even(lengths: tuple[int, ...], shares: tuple[float, ...], samples: int, seed: int = 0) -> Mixture:
    return Mixture(tuple(np.ones(length) for length in lengths), shares, samples, seed)


def test_each_record_comes_once_a_round() -> None:
    mixture = even((50,), (1.0,), 50)
    for number in range(3):
        assert sorted(draw.record for draw in mixture.epoch(number)) == list(range(50))
    assert [draw.record for draw in mixture.epoch(0)] != [draw.record for draw in mixture.epoch(1)]


def test_rounds_go_on_across_epochs() -> None:
    mixture = even((30,), (1.0,), 20)
    records = [draw.record for number in range(3) for draw in mixture.epoch(number)]
    assert set(Counter(records).values()) == {2}


@settings(max_examples=25, deadline=None)
@given(shares=st.lists(st.floats(0.1, 5.0), min_size=1, max_size=4), seed=st.integers(0, 99))
def test_datasets_get_their_shares(shares: list[float], seed: int) -> None:
    mixture = even((7,) * len(shares), tuple(shares), 40, seed)
    counts = Counter(draw.source for number in range(25) for draw in mixture.epoch(number))
    for source, share in enumerate(shares):
        assert counts[source] / 1000 == pytest.approx(share / sum(shares), abs=0.03)


def test_positions_count_on_and_never_repeat() -> None:
    mixture = even((9, 4), (2.0, 1.0), 12)
    positions = [draw.position for number in range(4) for draw in mixture.epoch(number)]
    assert positions == list(range(48))


def test_epochs_are_the_same_for_the_same_seed_only() -> None:
    assert even((40,), (1.0,), 40).epoch(5) == even((40,), (1.0,), 40).epoch(5)
    assert even((40,), (1.0,), 40).epoch(5) != even((40,), (1.0,), 40, seed=1).epoch(5)


def test_weights_decide_how_often_a_record_comes() -> None:
    weights = np.array([1.0, 1.0, 4.0, 2.0])
    mixture = Mixture((weights,), (1.0,), 4, 0)
    counts = Counter(draw.record for number in range(500) for draw in mixture.epoch(number))
    np.testing.assert_allclose([counts[index] / 2000 for index in range(4)], weights / weights.sum(), atol=0.03)


def test_near_duplicates_share_their_weight() -> None:
    np.testing.assert_allclose(run_weights(["a", "a", "a", "a", "b", None]), [0.5, 0.5, 0.5, 0.5, 1.0, 1.0])


def test_iteration_starts_where_it_was_left() -> None:
    whole = MixtureBatches(even((20,), (1.0,), 20), 4)
    late = MixtureBatches(even((20,), (1.0,), 20), 4)
    late.served = 8  # the second epoch, fourth batch
    whole.served = 5
    assert list(late) == list(whole)[3:]


def test_processes_share_each_batch_without_overlap() -> None:
    mixture = even((24,), (1.0,), 24)
    one = list(MixtureBatches(mixture, 6))
    halves = [list(MixtureBatches(mixture, 3, rank=rank, processes=2)) for rank in (0, 1)]
    assert [first + second for first, second in zip(*halves, strict=True)] == one
