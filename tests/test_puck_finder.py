"""The shipped networks on one rendered frame: a look at a part must say what a look at the whole says."""

import cv2
import numpy as np
import pytest

from plucc.puck_finder import Locator, shows
from plucc.sighting import Observation, View
from plucc.synth.arena import build_stage
from plucc.synth.match import sample_match
from plucc.synth.render import find_scene, render
from plucc.types import Box, Category, ImageArray, Point, ShapeError, Size


@pytest.fixture(scope="module")
def image() -> ImageArray:
    """Render a plain frame whose puck is found: where it is not, a part need not agree with the whole."""
    stage = build_stage(sample_match(11, 0))
    return render(stage, find_scene(stage, 1, Category.STANDARD, Size(1280, 720))).image


@pytest.fixture(scope="module")
def locator() -> Locator:
    return Locator()


@pytest.fixture(scope="module")
def whole(locator: Locator, image: ImageArray) -> Observation:
    return locator.frame(image)


def test_a_whole_look_is_a_distribution_with_candidates_in_the_picture(whole: Observation) -> None:
    assert whole.probability.sum() == pytest.approx(1, abs=1e-3)
    assert 1 <= len(whole.candidates) <= 5
    assert all(0 <= each.probability <= 1 for each in whole.candidates)
    assert all(0 <= each.xy_px.x <= 1280 and 0 <= each.xy_px.y <= 720 for each in whole.candidates)


def test_a_part_names_the_place_that_the_whole_names(locator: Locator, image: ImageArray, whole: Observation) -> None:
    """How sure it is may differ: channels are weighed by what the picture shows, and a part shows less."""
    best = whole.candidates[0]
    x, y = best.xy_px
    box = locator.fitted(Box(x - 192, y - 192, x + 192, y + 192), whole.size)
    assert box is not None
    seen = locator.look(image, whole.players, View(box, whole.log_mass_outside(box)))
    assert seen.candidates[0].xy_px.distance(best.xy_px) < 1.5
    assert seen.candidates[0].probability > 0.5 * best.probability
    assert seen.view_px == box


def test_places_are_in_the_input_s_own_pixels(locator: Locator, image: ImageArray, whole: Observation) -> None:
    large = np.asarray(cv2.resize(image, (1920, 1080), interpolation=cv2.INTER_CUBIC), np.uint8)
    best, same = whole.candidates[0].xy_px, locator.frame(large).candidates
    assert min(abs(each.xy_px.x / 1.5 - best.x) + abs(each.xy_px.y / 1.5 - best.y) for each in same) < 3


def test_a_picture_too_small_for_a_puck_is_a_sentence(locator: Locator) -> None:
    with pytest.raises(ShapeError, match="16x16"):
        locator.frame(np.zeros((16, 16, 3), np.uint8))


@pytest.mark.parametrize(
    ("x", "probability", "presence", "expected"),
    [
        (300, 0.9, 0.95, True),  # plainly there, at a player's stick
        (300, 0.9, 0.3, False),  # the frame shows no puck: the player says where it is
        (300, 0.1, 0.95, False),  # a puck shows, but hardly here
        (900, 0.1, 0.3, True),  # faint on open ice: nothing hides it
        (335, 0.1, 0.3, False),  # beside a player, within reach
        (340, 0.1, 0.3, True),
    ],
)
def test_a_puck_shows_or_the_players_say_where_it_is(
    x: float, probability: float, presence: float, expected: bool
) -> None:
    players = np.zeros((720, 1280), bool)
    players[200:300, 280:320] = True
    assert shows(Point(x, 250), probability, presence, players) is expected
    twice = np.kron(players, np.ones((2, 2), bool))
    assert shows(Point(2 * x, 500), probability, presence, twice) is expected
