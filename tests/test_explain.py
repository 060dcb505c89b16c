"""Attribution to players, on a network written by hand: it puts the puck where the reddest player stands."""

import numpy as np
import pytest

from plucc.config import load_preset
from plucc.data.schema import Player
from plucc.explain import draw_influences, draw_players_alone, explain, gaze, masks_of
from plucc.runtime.base import Heatmaps
from plucc.runtime.card import ModelCard
from plucc.types import Box, DataError, FloatArray, ImageArray, InputError, Size

SIZE = Size(320, 192)


class Reddest:
    """A real, if simple, reader of context images: logits are the red of each cell, the frame adds its darkness."""

    device = "cpu"

    def __init__(self, *, uses_context: bool = True) -> None:
        changes = [f"heatmap.height={SIZE.height}", "network.presence=false"]
        spec = load_preset("swift", changes if uses_context else [*changes, "network.context=null"])
        self.card = ModelCard(spec=spec.network, heatmap=spec.heatmap, version="0")

    def __call__(self, frames: ImageArray, contexts: ImageArray | None = None) -> Heatmaps:
        assert contexts is not None
        red = contexts[..., 0].astype(np.float64) - contexts[..., 2]
        logits: FloatArray = red / 20
        return Heatmaps(logits[:, : frames.shape[1] // 2, : frames.shape[2] // 2], 2)


def picture() -> tuple[ImageArray, tuple[Player, ...]]:
    """Return ice with a red player on the left and a blue one on the right."""
    image = np.full((SIZE.height, SIZE.width, 3), 220, np.uint8)
    image[60:120, 40:70] = (250, 20, 20)
    image[60:120, 240:270] = (20, 20, 250)
    return image, (Player(box_px=Box(40, 60, 70, 120)), Player(box_px=Box(240, 60, 270, 120)))


def found_in(image: ImageArray) -> np.ndarray:
    return np.asarray(image.min(axis=2) < 100)


def test_the_player_that_the_network_follows_has_the_influence() -> None:
    image, players = picture()
    masks = masks_of(image, players, found_in(image))
    explanation = explain(Reddest(), image, masks)
    red, blue = explanation.influences
    assert red.moved > 0.9
    assert blue.moved < 0.05
    assert red.lost > blue.lost
    assert 40 <= explanation.peak_px.x <= 70
    assert (red.centre_px.x, red.centre_px.y) == pytest.approx((54.5, 89.5), abs=1.5)
    drawn = draw_influences(explanation)
    tinted = drawn[100, 45].astype(int)
    assert drawn.shape == image.shape
    assert tinted[0] > 150
    assert draw_players_alone(explanation)[10, 10].max() < 60  # without the frame there is no ice


def test_players_without_labels_are_the_separate_parts_of_a_mask() -> None:
    image, players = picture()
    parts = masks_of(image, None, found_in(image))
    assert [int(part.sum()) for part in parts] == [1800, 1800]
    labelled = masks_of(image, players, np.zeros(image.shape[:2], bool))  # nothing found: ellipses in the boxes
    assert [mask.sum() > 1000 for mask in labelled] == [True, True]


def test_a_model_without_context_has_nothing_to_explain() -> None:
    with pytest.raises(InputError, match="looks at no players"):
        explain(Reddest(uses_context=False), picture()[0], [])


def test_gaze_needs_players_whose_gaze_is_known() -> None:
    with pytest.raises(DataError, match="no player of these frames"):
        gaze(Reddest(), [])
