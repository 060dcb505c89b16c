"""The value object of scored frames."""

from dataclasses import replace

import numpy as np
import pytest

from plucc.metrics.frames import ScoredFrames
from plucc.types import DataError, ShapeError, Size


@pytest.fixture
def frames() -> ScoredFrames:
    predicted = np.array([[1.0, 2.0], [np.nan, np.nan], [5.0, 6.0]])
    target = np.array([[1.0, 2.0], [3.0, 4.0], [np.nan, np.nan]])
    return ScoredFrames.plain(predicted, target, Size(1280, 720))


def test_plain_frames_say_what_is_known(frames):
    assert len(frames) == 3
    assert frames.is_predicted.tolist() == [True, False, True]
    assert frames.has_puck.tolist() == [True, True, False]
    assert frames.confidence.tolist() == [1.0, 0.0, 1.0]
    assert frames.height_px.tolist() == [720.0] * 3
    assert np.isnan(frames.to_rink).all()


def test_selecting_keeps_rows_together(frames):
    named = replace(frames, match=np.array(["a", "b", "c"]), category=np.array(["standard", "blurry", "no-puck"]))
    chosen = named.select(np.array([False, True, True]))
    assert chosen.match.tolist() == ["b", "c"]
    assert chosen.target_px[0].tolist() == [3.0, 4.0]
    assert named.select(np.array([2, 0])).category.tolist() == ["no-puck", "standard"]


@pytest.mark.usefixtures("without_shape_checks")
def test_arrays_of_other_lengths_are_refused(frames):
    with pytest.raises(ShapeError, match=r"match has shape \(2,\); 3 frames need \(3,\)"):
        replace(frames, match=np.zeros(2))
    with pytest.raises(ShapeError, match="to_rink"):
        replace(frames, to_rink=np.zeros((3, 9)))


def test_half_a_point_is_refused(frames):
    with pytest.raises(DataError, match="row 1 of target_px has one coordinate only"):
        replace(frames, target_px=np.array([[1.0, 2.0], [3.0, np.nan], [np.nan, np.nan]]))


def test_a_missing_confidence_is_refused(frames):
    with pytest.raises(DataError, match="confidence of row 2"):
        replace(frames, confidence=np.array([0.1, 0.2, np.nan]))
