"""How often, how near and by which networks a picture is looked at."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from plucc.calibration import Calibration
from plucc.closer import (
    CLOSER_ZOOM,
    FURTHER_ZOOM,
    LARGE_PLAYERS,
    SMALL_PLAYERS,
    TINY_PLAYERS,
    USUAL_ZOOM,
    first_zoom,
    other_zoom,
)
from plucc.loading import SHIPPED_MODEL, Networks, companions, load_networks
from plucc.puck_finder import observe_closely
from plucc.runtime.base import Heatmaps, Runtime
from plucc.runtime.card import ModelCard
from plucc.synth.arena import build_stage
from plucc.synth.match import sample_match
from plucc.synth.render import find_scene, render
from plucc.types import Category, ImageArray, MaskArray, Size

SIZE = Size(640, 360)
NOBODY = np.zeros((SIZE.height, SIZE.width), np.bool_)


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


def test_small_and_large_players_are_worth_another_distance() -> None:
    assert other_zoom(standing(SMALL_PLAYERS - 0.02)) == CLOSER_ZOOM
    assert other_zoom(standing(TINY_PLAYERS - 0.02)) == USUAL_ZOOM
    assert other_zoom(standing((SMALL_PLAYERS + LARGE_PLAYERS) / 2)) is None
    assert other_zoom(standing(LARGE_PLAYERS + 0.02)) == FURTHER_ZOOM
    assert other_zoom(NOBODY) is None


@dataclass(frozen=True)
class Watched:
    """A runtime that notes its name and the heights of the frames that it was shown."""

    runtime: Runtime
    name: str
    looks: list[tuple[str, int]] = field(default_factory=list)
    device: str = "cpu"

    @property
    def card(self) -> ModelCard:
        return self.runtime.card

    def __call__(self, frames: ImageArray, contexts: ImageArray | None = None) -> Heatmaps:
        self.looks.append((self.name, frames.shape[1]))
        return self.runtime(frames, contexts)


@pytest.fixture(scope="module")
def shipped() -> Networks:
    models = replace(companions(SHIPPED_MODEL, "onnx"), opinion=None)
    return load_networks(models, threads=1)


def looks(networks: Networks, image: ImageArray, share: float, *, ask: bool = False) -> list[tuple[str, int]]:
    """Return which network looked at a picture, and at how many lines of it, with players of this share."""
    first = Watched(networks.first, "first")
    watched = replace(networks, first=first, opinion=Watched(networks.first, "other", first.looks) if ask else None)
    observe_closely(watched, image, standing(share, Size(image.shape[1], image.shape[0])))
    return first.looks


EMPTY = np.full((720, 1280, 3), 220, np.uint8)


MIDDLING = (SMALL_PLAYERS + LARGE_PLAYERS) / 2


def test_empty_ice_is_looked_at_from_two_distances_where_players_are_small_or_large(shipped: Networks) -> None:
    assert looks(shipped, EMPTY, SMALL_PLAYERS - 0.02) == [("first", 720), ("first", 1440)]
    assert looks(shipped, EMPTY, TINY_PLAYERS - 0.02) == [("first", 1440), ("first", 720)]
    assert looks(shipped, EMPTY, MIDDLING) == [("first", 720)]
    assert looks(shipped, EMPTY, LARGE_PLAYERS + 0.02) == [("first", 720), ("first", 432)]


def test_the_other_network_is_asked_from_the_first_distance_where_the_first_is_unsure(shipped: Networks) -> None:
    assert looks(shipped, EMPTY, MIDDLING, ask=True) == [("first", 720), ("other", 720)]
    asked = [("first", 1440), ("other", 1440), ("first", 720)]
    assert looks(shipped, EMPTY, TINY_PLAYERS - 0.02, ask=True) == asked


def test_a_plain_puck_takes_one_look(shipped: Networks) -> None:
    stage = build_stage(sample_match(11, 0))
    plain = render(stage, find_scene(stage, 1, Category.STANDARD, Size(1280, 720))).image
    assert looks(shipped, plain, SMALL_PLAYERS - 0.02, ask=True) == [("first", 720)]


def test_models_without_a_second_look_and_very_large_frames_are_looked_at_once(shipped: Networks) -> None:
    small = TINY_PLAYERS - 0.02
    assert looks(replace(shipped, judge=Calibration()), EMPTY, small, ask=True) == [("first", 720)]
    panorama = np.full((300, 5120, 3), 220, np.uint8)  # nearly as large as memory allows already
    assert len(looks(shipped, panorama, small)) == 1
