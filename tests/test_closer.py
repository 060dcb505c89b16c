"""A closer look at frames that leave the program unsure: when it is taken, and what both looks together say."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plucc.calibration import Calibration
from plucc.closer import (
    CLOSER_ZOOM,
    SAME_PX,
    SMALL_PLAYERS,
    TINY_PLAYERS,
    UNSURE_BELOW,
    USUAL_ZOOM,
    first_zoom,
    other_zoom,
    pooled,
)
from plucc.puck_finder import SHIPPED_MODEL, Judge, observe_closely
from plucc.runtime.base import Heatmaps, Runtime
from plucc.runtime.card import ModelCard
from plucc.runtime.load import load_runtime
from plucc.second_look import SecondLook, second_look_file
from plucc.sighting import Observation
from plucc.synth.arena import build_stage
from plucc.synth.match import sample_match
from plucc.synth.render import find_scene, render
from plucc.track import Candidate
from plucc.types import Category, ImageArray, MaskArray, Point, Size

SIZE = Size(640, 360)
HOT = Point(300, 200)
NOBODY = np.zeros((SIZE.height, SIZE.width), np.bool_)
chances = st.lists(st.floats(0, 0.2), min_size=0, max_size=5)


def observation(candidates: list[Candidate], *, stride_px: float = 4.0, hot: Point = HOT) -> Observation:
    heat = np.zeros((round(SIZE.height / stride_px), round(SIZE.width / stride_px)), np.float32)
    heat[int(hot.y / stride_px), int(hot.x / stride_px)] = 1.0
    presence = sum(each.probability for each in candidates)
    return Observation(SIZE, tuple(candidates), presence, heat, stride_px, NOBODY, log_mass=2.5)


def test_places_of_both_looks_take_the_mean_and_the_surer_one_s_place() -> None:
    blade, puck = Point(100, 100), Point(300, 200)
    near = Point(puck.x + 0.9 * SAME_PX / 2, puck.y)  # pixels of 360 lines are twice as large
    seen = observation([Candidate(blade, 0.4), Candidate(puck, 0.3)])
    closer = observation([Candidate(near, 0.9, visible=False)])
    both = pooled(seen, closer)
    assert [each.xy_px for each in both.candidates] == [near, blade]
    assert [each.probability for each in both.candidates] == pytest.approx([0.6, 0.2])
    assert not both.candidates[0].visible
    assert both.presence == pytest.approx(0.8)


def test_places_further_apart_stay_two() -> None:
    one, other = Point(300, 200), Point(300 + 1.1 * SAME_PX / 2, 200)
    both = pooled(observation([Candidate(one, 0.4)]), observation([Candidate(other, 0.3)]))
    assert [each.xy_px for each in both.candidates] == [one]  # as many as either look names
    both = pooled(observation([Candidate(one, 0.4), Candidate(Point(9, 9), 0.1)]), observation([Candidate(other, 0.3)]))
    assert [(each.xy_px, each.probability) for each in both.candidates] == [(one, 0.2), (other, 0.15)]


@given(chances, chances, st.integers(0, 2**32 - 1))
def test_what_both_say_is_a_distribution_best_first(one: list[float], other: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    looks = [
        observation([Candidate(Point(*rng.uniform(0, 60, 2)), chance) for chance in sorted(side, reverse=True)])
        for side in (one, other)
    ]
    both = pooled(looks[0], looks[1])
    shares = [each.probability for each in both.candidates]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) <= both.presence + 1e-9
    assert both.presence == pytest.approx((sum(one) + sum(other)) / 2)
    assert both.probability.sum() == pytest.approx(1, abs=1e-4)


def test_the_heatmap_is_the_mean_of_both_over_the_first_one_s_cells() -> None:
    seen = observation([], stride_px=4.0, hot=Point(100, 100))
    closer = observation([], stride_px=4.0 / CLOSER_ZOOM, hot=Point(300, 200))
    both = pooled(seen, closer)
    assert both.probability.shape == seen.probability.shape
    assert both.stride_px == seen.stride_px
    assert both.log_mass == seen.log_mass
    assert both.probability[25, 25] == pytest.approx(0.5)
    assert both.probability[48:52, 73:77].sum() == pytest.approx(0.5, abs=1e-3)


def standing(share: float, size: Size = SIZE) -> MaskArray:
    """Return a mask of three players, the middle one of whom takes this share of the frame's height."""
    mask = np.zeros((size.height, size.width), np.bool_)
    for place, height in enumerate((0.8 * share, share, 1.5 * share)):
        mask[20 : 20 + round(height * size.height), 30 * place : 30 * place + 12] = True
    return mask


def test_wide_shots_are_looked_at_from_nearer_first() -> None:
    assert first_zoom(standing(TINY_PLAYERS - 0.02)) == CLOSER_ZOOM
    assert first_zoom(standing(TINY_PLAYERS + 0.02)) == USUAL_ZOOM
    assert first_zoom(NOBODY) == USUAL_ZOOM


@pytest.mark.parametrize(
    ("share", "chance", "expected"),
    [
        (SMALL_PLAYERS - 0.02, UNSURE_BELOW - 0.01, CLOSER_ZOOM),
        (SMALL_PLAYERS - 0.02, UNSURE_BELOW, None),
        (SMALL_PLAYERS - 0.02, 0.99, None),
        (SMALL_PLAYERS + 0.02, UNSURE_BELOW - 0.01, None),
    ],
)
def test_only_unsure_frames_with_small_players_are_looked_at_again(
    share: float, chance: float, expected: float | None
) -> None:
    seen = replace(observation([Candidate(Point(1, 1), chance)]), players=standing(share))
    assert other_zoom(seen, USUAL_ZOOM) == expected
    assert other_zoom(replace(seen, candidates=()), CLOSER_ZOOM) == (USUAL_ZOOM if share < SMALL_PLAYERS else None)


@dataclass(frozen=True)
class Watched:
    """A runtime that remembers the heights of the frames that it was shown."""

    runtime: Runtime
    heights: list[int] = field(default_factory=list)
    device: str = "cpu"

    @property
    def card(self) -> ModelCard:
        return self.runtime.card

    def __call__(self, frames: ImageArray, contexts: ImageArray | None = None) -> Heatmaps:
        self.heights.append(frames.shape[1])
        return self.runtime(frames, contexts)


@pytest.fixture(scope="module")
def shipped() -> tuple[Runtime, SecondLook]:
    runtime = load_runtime(SHIPPED_MODEL, backend="onnx", threads=1)
    path = second_look_file(SHIPPED_MODEL, runtime.card)
    assert path is not None
    return runtime, SecondLook(path, backend="onnx", threads=1)


def heights(shipped: tuple[Runtime, SecondLook], image: ImageArray, judge: Judge, share: float) -> list[int]:
    watched = Watched(shipped[0])
    observe_closely(watched, image, standing(share, Size(image.shape[1], image.shape[0])), judge)
    return watched.heights


def test_empty_ice_is_looked_at_from_two_distances_and_a_plain_puck_from_one(
    shipped: tuple[Runtime, SecondLook],
) -> None:
    empty = np.full((720, 1280, 3), 220, np.uint8)
    assert heights(shipped, empty, shipped[1], SMALL_PLAYERS - 0.02) == [720, 1440]
    assert heights(shipped, empty, shipped[1], TINY_PLAYERS - 0.02) == [1440, 720]
    assert heights(shipped, empty, shipped[1], SMALL_PLAYERS + 0.02) == [720]
    stage = build_stage(sample_match(11, 0))
    plain = render(stage, find_scene(stage, 1, Category.STANDARD, Size(1280, 720))).image
    assert heights(shipped, plain, shipped[1], SMALL_PLAYERS - 0.02) == [720]


def test_models_without_a_second_look_and_very_large_frames_are_looked_at_once(
    shipped: tuple[Runtime, SecondLook],
) -> None:
    small = TINY_PLAYERS - 0.02
    assert heights(shipped, np.full((720, 1280, 3), 220, np.uint8), Calibration(), small) == [720]
    panorama = np.full((300, 5120, 3), 220, np.uint8)  # nearly as large as memory allows already
    assert len(heights(shipped, panorama, shipped[1], small)) == 1
