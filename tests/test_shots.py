"""Cuts in drawn footage: pans, whip pans, and a detector that starts on the way."""

import cv2
import numpy as np
import pytest

from plucc.shots import LOOK_AHEAD, WARM_UP, CutDetector
from plucc.types import ImageArray


def view(seed: int, shift: int = 0, light: float = 1.0) -> ImageArray:
    rng = np.random.default_rng(seed)
    coarse = np.clip(rng.integers(60, 200, 3) + rng.integers(-50, 50, (18, 64, 3)), 0, 255).astype(np.uint8)
    wide = cv2.resize(coarse, (1280, 180), interpolation=cv2.INTER_CUBIC)
    return np.clip(wide[:, shift : shift + 320] * light, 0, 255).astype(np.uint8)


def cuts(images: list[ImageArray], first: int = 0) -> list[int]:
    detector = CutDetector()
    verdicts = [detector.feed(image) for image in images]
    assert verdicts[: min(LOOK_AHEAD, len(images))] == [None] * min(LOOK_AHEAD, len(images))
    decided = [verdict for verdict in verdicts if verdict is not None] + list(detector.flush())
    assert len(decided) == len(images)
    return [first + index for index, is_cut in enumerate(decided) if is_cut]


def test_cuts_are_found_and_pans_are_not() -> None:
    images = [view(1, 4 * step) for step in range(20)] + [view(2, 9 * step) for step in range(20)]
    images += [view(3, 200 - 6 * step) for step in range(20)]
    assert cuts(images) == [20, 40]


def test_a_whip_pan_is_not_a_cut() -> None:
    images = [view(1, shift) for shift in (0, 0, 5, 30, 80, 150, 240, 340, 450, 560, 660, 740, 800, 840, 860, 870, 872)]
    assert cuts(images) == []


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_short_videos_have_a_verdict_for_every_frame(count: int) -> None:
    assert cuts([view(1)] * count) == []


@pytest.mark.parametrize("start", [17, 20, 21, 23, 26, 33, 40])
def test_a_detector_that_starts_on_the_way_agrees(start: int) -> None:
    images = [view(1, 4 * step) for step in range(20)] + [view(2, 9 * step) for step in range(3)]
    images += [view(3, 9 * step) for step in range(17)] + [view(4, 2 * step) for step in range(20)]
    known, first = cuts(images), start - WARM_UP
    assert len(known) == 3
    assert [cut for cut in cuts(images[first:], first) if cut >= start] == [cut for cut in known if cut >= start]


def test_sizes_that_change_do_not_stop_it() -> None:
    images = [view(1)] * 5 + [cv2.resize(view(1), (640, 360))] * 5
    assert cuts(images) == []
