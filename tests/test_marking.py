"""What is drawn into the frames of an overlay."""

import numpy as np
import pytest

from plucc.data.rows import Row
from plucc.marking import Marker
from plucc.overlay import SOURCE_RGB
from plucc.rink.sheet import nhl
from plucc.types import ImageArray, Source
from plucc.video import Frame

GREY = np.full((360, 640, 3), 90, np.uint8)
PAN = np.array([[1.0, 0, -20], [0, 1, 0], [0, 0, 1]])


def row(index: int, x: float, y: float, *metres: float) -> Row:
    return Row("a.mp4", index, index / 25, 0, Source.SEEN, 0.9, x, y, *metres)


def green(image: ImageArray, rows: slice) -> np.ndarray:
    part = image[rows].astype(int)
    return np.argwhere((np.abs(part - SOURCE_RGB[Source.SEEN]) < 60).all(axis=2))[:, 1] + 0.5


def test_the_trail_moves_with_the_camera() -> None:
    """The puck lies still on the ice: its last places lie under it, however far the camera has panned."""
    marker = Marker()
    for index in range(8):
        image = marker.draw(Frame(index, 0.0, GREY), row(index, 400 - 20 * index, 250), PAN)
    columns = green(image, slice(249, 252))
    assert columns.min() > 260 - 12
    assert columns.max() < 260 + 12


def test_without_a_camera_s_motion_the_trail_stays_where_it_was() -> None:
    marker = Marker()
    for index in range(8):
        image = marker.draw(Frame(index, 0.0, GREY), row(index, 400 - 20 * index, 250), np.eye(3))
    assert green(image, slice(249, 252)).max() > 310


@pytest.mark.parametrize(("x", "corner"), [(100, "right"), (560, "left")])
def test_the_rink_does_not_cover_the_puck(x: float, corner: str) -> None:
    image = Marker(nhl()).draw(Frame(0, 0.0, GREY), row(0, x, 320, 5.0, 2.0, 0.1), np.eye(3))
    plain = Marker().draw(Frame(0, 0.0, GREY), row(0, x, 320), np.eye(3))
    columns = np.argwhere((image != plain).any(axis=2))[:, 1]
    assert (columns.min() > 320) if corner == "right" else (columns.max() < 320)


def test_a_frame_that_is_not_registered_has_no_rink() -> None:
    registered, plain = (
        Marker(sheet).draw(Frame(0, 0.0, GREY), row(0, 100, 100), np.eye(3)) for sheet in (nhl(), None)
    )
    assert (registered == plain).all()
