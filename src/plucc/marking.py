"""Frames of a piece with what was found in them: heat, trail, puck, and the rink where the frame is registered."""

from collections import deque
from fractions import Fraction
from pathlib import Path

from plucc.data.rows import Row
from plucc.files import whole_file
from plucc.locator import Piece
from plucc.overlay import draw_heat, draw_puck, draw_rink, draw_trail, rink_map
from plucc.recording import CLOCK
from plucc.rink.sheet import Sheet
from plucc.types import FloatArray, ImageArray, Point, Source
from plucc.video import Frame, VideoReader, VideoWriter

TRAIL_FRAMES = 20
RING_SHARE = 1 / 60  # of the frame's height: within the ring the puck itself is left to be seen
MAP_SHARE = 0.26  # of the frame's width

RinkMap = tuple[ImageArray, FloatArray]


class Marker:
    """Draws frame after frame; remembers the puck's last way within a shot, and moves it with the camera."""

    def __init__(self, sheet: Sheet | None = None) -> None:
        self._sheet = sheet
        self._map: RinkMap | None = None
        self._passed: deque[tuple[Point, Source]] = deque(maxlen=TRAIL_FRAMES)
        self._places: deque[tuple[Point, Source]] = deque(maxlen=TRAIL_FRAMES)

    def draw(self, frame: Frame, row: Row, motion: FloatArray, heat: ImageArray | None = None) -> ImageArray:
        """Return the frame with everything that is known of it; `motion` is the camera's since the frame before."""
        moved = [(_carried(point, motion), source) for point, source in self._passed]
        self._passed = deque(moved, TRAIL_FRAMES)
        here = picture_point(row)
        clear_px = RING_SHARE * frame.size.height
        image = frame.image if heat is None else draw_heat(frame.image, heat, here, clear_px)
        apart = [old for old in self._passed if here is None or old[0].distance(here) > clear_px]
        image = draw_puck(draw_trail(image, apart), here, row.source, row.confidence)
        if here is not None:
            self._passed.append((here, row.source))
        place = rink_point(row)
        if self._sheet is None or place is None:
            return image
        if self._map is None:
            self._map = rink_map(self._sheet, round(MAP_SHARE * frame.size.width))
        self._places.append((place, row.source))
        return draw_rink(image, self._map, self._places, here)


def _carried(point: Point, motion: FloatArray) -> Point:
    x, y, w = motion @ (point.x, point.y, 1.0)
    return Point(float(x / w), float(y / w))


def picture_point(row: Row) -> Point | None:
    """Return where a row has the puck in the picture."""
    return None if row.x_px is None or row.y_px is None else Point(row.x_px, row.y_px)


def rink_point(row: Row) -> Point | None:
    """Return where a row has the puck on the ice."""
    return None if row.x_m is None or row.y_m is None else Point(row.x_m, row.y_m)


def film_piece(path: Path, video: VideoReader, piece: Piece, sheet: Sheet | None, every: int) -> None:
    """Write a piece of the overlay: its frames are read again and drawn on."""
    by_index = {one.index: (row, one) for row, one in zip(piece.rows, piece.observed, strict=True)}
    first, last = piece.observed[0].index, piece.observed[-1].index
    marker, rate = Marker(sheet), Fraction(video.info.frame_rate) / every
    with whole_file(path) as temporary, VideoWriter(temporary, rate, clock=CLOCK) as writer:
        for frame in video.frames(first, last + 1, every):
            row, one = by_index[frame.index]
            writer.write(marker.draw(frame, row, one.candidates.motion, one.heat), frame.time_s)
