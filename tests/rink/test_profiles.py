"""Lines are found where they are, however soft the picture."""

import cv2
import numpy as np
import pytest

from plucc.rink.evidence import Evidence
from plucc.rink.profiles import Pieces, match
from plucc.rink.template import Look
from plucc.types import Size

SIZE = Size(400, 120)
FOOT_PX = 60.0


def _plate(height_px, blur_px):
    """Return evidence of a yellow plate, level across the picture, whose foot is at FOOT_PX."""
    yellow = np.zeros((SIZE.height, SIZE.width), np.float32)
    yellow[int(FOOT_PX - height_px) : int(FOOT_PX)] = 60.0
    planes = np.zeros((SIZE.height, SIZE.width, 3), np.float32)
    planes[..., 2] = cv2.GaussianBlur(yellow, (0, 0), blur_px)
    everywhere = np.ones(yellow.shape, bool)
    return Evidence(SIZE, planes, np.full_like(yellow, 80.0), everywhere, everywhere)


@pytest.mark.parametrize("off_px", [-3.0, 0.0, 2.5])
@pytest.mark.parametrize("blur_px", [0.5, 1.5, 2.0])
@pytest.mark.parametrize("height_px", [6, 9, 16])
def test_the_foot_of_the_boards_is_found_without_a_bias(height_px, blur_px, off_px):
    at = np.column_stack((np.linspace(40, 360, 9), np.full(9, FOOT_PX + off_px)))
    up = np.tile([0.0, -1.0], (9, 1))
    pieces = Pieces(at, up, np.full(9, 8.0), np.full(9, Look.KICK_PLATE))
    found = match(_plate(height_px, blur_px), pieces, 8)
    assert found.found.all()
    np.testing.assert_allclose(found.offset_px, off_px, atol=0.3)
