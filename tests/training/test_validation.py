"""Scores of known answers, and the frames on which they are computed."""

from collections.abc import Callable
from math import nan
from pathlib import Path

import numpy as np
import pytest
import torch

from plucc.config import Spec
from plucc.heatmap import gaussian_target
from plucc.training.sources import open_sources
from plucc.training.validation import (
    Sighting,
    Truth,
    ValidationBatch,
    ValidationFrames,
    collate_frame,
    heatmap_picture,
    score,
    sightings,
)
from plucc.types import Point, Size

Tiny = Callable[..., Spec]


def seen(distance_px: float, presence: float = nan, height_px: int = 720) -> Sighting:
    return Sighting(100.0 + distance_px, 50.0, presence, height_px, Truth(100.0, 50.0, True))


def empty(presence: float) -> Sighting:
    return Sighting(3.0, 3.0, presence, 720, Truth(nan, nan, True))


def test_precision_is_the_share_within_each_distance() -> None:
    scores = score([seen(1), seen(5), seen(9), seen(30)])
    assert scores.pixels.average_precision == (0.5, 0.75, 0.75, 1.0)
    assert scores.mean_precision == pytest.approx(75.0)
    assert scores.median_px == pytest.approx(7.0)


def test_distances_count_at_720_lines() -> None:
    assert score([seen(8, height_px=1440)]).pixels.average_precision[0] == 1.0
    assert score([seen(4, height_px=360)]).pixels.average_precision[0] == 0.0


def test_false_alarms_at_ninety_percent_recall() -> None:
    shown = [seen(0, presence=value) for value in np.linspace(0.05, 0.95, 10)]
    scores = score([*shown, empty(0.01), empty(0.10), empty(0.5), empty(0.99)])
    assert scores.false_alarms == pytest.approx(0.5)
    assert scores.pixels.labelled == 10


def test_no_frames_without_pucks_no_figure_for_them() -> None:
    assert "false_alarms" not in score([seen(1, presence=0.5)]).named()


def test_peaks_are_read_in_the_networks_pixels(drawn: Path, tiny: Tiny) -> None:
    spec = tiny(drawn)
    target = gaussian_target(Point(61.0, 33.0), Size(80, 64), 3.0, stride_px=2)
    logits = torch.from_numpy(np.log(target + 1e-30)).float()[None, None]
    batch = ValidationBatch(torch.zeros(1, 128, 160, 3, dtype=torch.uint8), torch.zeros(1), (Truth(60.0, 33.0, True),))
    (sighting,) = sightings(batch, logits, torch.tensor([0.0]), spec)
    assert sighting.x_px == pytest.approx(61.0, abs=0.05)
    assert sighting.presence == pytest.approx(0.5)
    assert score([sighting]).median_px == pytest.approx(720 / 128, rel=0.05)


def test_every_fourth_frame_comes_again_without_its_puck(drawn: Path, tiny: Tiny) -> None:
    spec = tiny(drawn)
    frames = ValidationFrames(open_sources(spec).validation, spec)
    assert len(frames) == 5
    _, truth = frames[0]
    sample, painted = frames[4]
    assert not np.isnan(truth.x_px)
    assert np.isnan(painted.x_px)
    assert sample.point_px is None
    batch = collate_frame([frames[0]])
    assert batch.frames.shape == (1, 128, 160, 3)
    assert batch.contexts.shape == (1, 64, 80, 3)


def test_fewer_frames_are_spread_evenly(drawn: Path, tiny: Tiny) -> None:
    spec = tiny(drawn, train={"validation_frames": 2}, network={"presence": False})
    frames = ValidationFrames(open_sources(spec).validation, spec)
    whole = ValidationFrames(open_sources(tiny(drawn, network={"presence": False})).validation, tiny(drawn))
    assert len(frames) == 2
    assert frames[1][1] == whole[3][1]


def test_picture_shows_heat_and_truth() -> None:
    frame = np.full((64, 96, 3), 100, np.uint8)
    logits = np.full((32, 48), -50.0)
    logits[10, 20] = 0
    picture = heatmap_picture(frame, logits, Truth(80.0, 50.0, True))
    assert picture.shape == (32, 48, 3)
    assert picture[10, 20, 0] > 200
    assert (picture[..., 1] > 180).any()
