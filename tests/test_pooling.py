"""What several looks at one frame say together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plucc.pooling import SAME_PX, pooled
from plucc.sighting import Observation
from plucc.track import Candidate
from plucc.types import Point, Size

SIZE = Size(640, 360)
HOT = Point(300, 200)
NOBODY = np.zeros((SIZE.height, SIZE.width), np.bool_)
chances = st.lists(st.floats(0, 0.2), min_size=0, max_size=5)


def observation(candidates: list[Candidate], *, stride_px: float = 4.0, hot: Point = HOT) -> Observation:
    heat = np.zeros((round(SIZE.height / stride_px), round(SIZE.width / stride_px)), np.float32)
    heat[int(hot.y / stride_px), int(hot.x / stride_px)] = 1.0
    presence = sum(each.probability for each in candidates)
    return Observation(SIZE, tuple(candidates), presence, heat, stride_px, NOBODY, log_mass=2.5)


def test_one_look_is_what_it_says() -> None:
    seen = observation([Candidate(HOT, 0.4)])
    assert pooled([seen]) is seen


def test_places_of_all_looks_take_the_mean_and_the_surest_one_s_place() -> None:
    blade, puck = Point(100, 100), Point(300, 200)
    near = Point(puck.x + 0.9 * SAME_PX / 2, puck.y)  # pixels of 360 lines are twice as large
    seen = observation([Candidate(blade, 0.4), Candidate(puck, 0.3)])
    closer = observation([Candidate(near, 0.9, visible=False)])
    both = pooled([seen, closer])
    assert [each.xy_px for each in both.candidates] == [near, blade]
    assert [each.probability for each in both.candidates] == pytest.approx([0.6, 0.2])
    assert not both.candidates[0].visible
    assert both.presence == pytest.approx(0.8)
    three = pooled([seen, closer, observation([Candidate(blade, 0.9)])])
    assert [each.xy_px for each in three.candidates] == [blade, near]
    assert [each.probability for each in three.candidates] == pytest.approx([1.3 / 3, 0.4])


def test_places_further_apart_stay_two() -> None:
    one, other = Point(300, 200), Point(300 + 1.1 * SAME_PX / 2, 200)
    both = pooled([observation([Candidate(one, 0.4)]), observation([Candidate(other, 0.3)])])
    assert [each.xy_px for each in both.candidates] == [one]  # as many as either look names
    both = pooled(
        [observation([Candidate(one, 0.4), Candidate(Point(9, 9), 0.1)]), observation([Candidate(other, 0.3)])]
    )
    assert [(each.xy_px, each.probability) for each in both.candidates] == [(one, 0.2), (other, 0.15)]


def test_two_places_of_one_look_do_not_melt_into_one_of_another() -> None:
    one, other = Point(300, 200), Point(304, 200)
    both = pooled([observation([Candidate(HOT, 0.5)]), observation([Candidate(one, 0.3), Candidate(other, 0.2)])])
    assert [each.probability for each in both.candidates] == pytest.approx([0.4, 0.1])


@given(st.lists(chances, min_size=2, max_size=4), st.integers(0, 2**32 - 1))
def test_what_they_say_is_a_distribution_best_first(sides: list[list[float]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    looks = [
        observation([Candidate(Point(*rng.uniform(0, 60, 2)), chance) for chance in sorted(side, reverse=True)])
        for side in sides
    ]
    together = pooled(looks)
    shares = [each.probability for each in together.candidates]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) <= together.presence + 1e-9
    assert together.presence == pytest.approx(sum(map(sum, sides)) / len(sides))
    assert together.probability.sum() == pytest.approx(1, abs=1e-4)


def test_the_heatmap_is_the_mean_over_the_first_one_s_cells() -> None:
    seen = observation([], stride_px=4.0, hot=Point(100, 100))
    closer = observation([], stride_px=2.0, hot=Point(300, 200))
    both = pooled([seen, closer])
    assert both.probability.shape == seen.probability.shape
    assert both.stride_px == seen.stride_px
    assert both.log_mass == seen.log_mass
    assert both.probability[25, 25] == pytest.approx(0.5)
    assert both.probability[48:52, 73:77].sum() == pytest.approx(0.5, abs=1e-3)
