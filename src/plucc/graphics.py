"""Candidates on what is laid over the picture: a logo or a clock stays where it is, whatever the camera does.

A puck that the camera follows may seem to stand still too, but in the middle of the picture; graphics lie at its edges.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from plucc.track import CandidateFrame
from plucc.types import FloatArray, Point, Size

EDGE_SHARE = 0.15  # of the height from above and below, and of the width from either side
STILL_PX = 2.0  # at 720 lines: a candidate within this of where it was has not moved
FEWEST = 6  # times that it was there
TRAVEL_PX = 30.0  # at 720 lines: how far the camera has moved what is behind it in the meantime


@dataclass(slots=True)
class _Spot:
    """A place of the picture where candidates were: how often, and how far the camera moved between them."""

    xy: FloatArray  # at 720 lines
    times: int = 1
    travelled_px: float = 0.0
    since_px: float = 0.0  # moved since it was last there

    @property
    def is_graphic(self) -> bool:
        return self.times >= FEWEST and self.travelled_px >= TRAVEL_PX


class Graphics:
    """Learns from frame after frame of a shot where graphics are."""

    def __init__(self) -> None:
        self._spots: dict[tuple[int, int], _Spot] = {}

    def note(self, frame: CandidateFrame) -> None:
        """Take in the candidates of the next frame, and the camera's motion since the one before."""
        scale = frame.size.reference_scale
        for spot in self._spots.values():
            x, y, w = frame.motion @ (*(spot.xy / scale), 1.0)
            spot.since_px += float(np.hypot(x / w * scale - spot.xy[0], y / w * scale - spot.xy[1]))
        for candidate in frame.candidates:
            if not _is_at_edge(candidate.xy_px, frame.size):
                continue
            xy = np.array(tuple(candidate.xy_px)) * scale
            known = self._at(xy)
            if known is None:
                self._spots[_cell(xy)] = _Spot(xy)
            else:
                known.times += 1
                known.travelled_px += known.since_px
                known.since_px = 0.0

    def covers(self, xy_px: Point, size: Size) -> bool:
        """Tell whether a place of the picture is known to be a graphic."""
        spot = self._at(np.array(tuple(xy_px)) * size.reference_scale)
        return spot is not None and spot.is_graphic

    def cleared(self, frame: CandidateFrame) -> CandidateFrame:
        """Return a frame without its candidates on graphics."""
        kept = [not self.covers(candidate.xy_px, frame.size) for candidate in frame.candidates]
        if all(kept):
            return frame
        candidates = tuple(each for each, keep in zip(frame.candidates, kept, strict=True) if keep)
        places = frame.places_m and tuple(each for each, keep in zip(frame.places_m, kept, strict=True) if keep)
        return replace(frame, candidates=candidates, places_m=places)

    def _at(self, xy: FloatArray) -> _Spot | None:
        column, row = _cell(xy)
        near = (self._spots.get((column + right, row + down)) for right, down in product((-1, 0, 1), repeat=2))
        found = [spot for spot in near if spot is not None and np.hypot(*(spot.xy - xy)) <= STILL_PX]
        return max(found, key=lambda spot: spot.times, default=None)


def without_graphics(frames: Sequence[CandidateFrame]) -> list[CandidateFrame]:
    """Return the frames of a shot without the candidates that lie on graphics, the first frames included."""
    graphics = Graphics()
    for frame in frames:
        graphics.note(frame)
    return [graphics.cleared(frame) for frame in frames]


def _cell(xy: FloatArray) -> tuple[int, int]:
    return int(xy[0] // STILL_PX), int(xy[1] // STILL_PX)


def _is_at_edge(xy_px: Point, size: Size) -> bool:
    across, down = xy_px.x / size.width, xy_px.y / size.height
    return min(across, 1 - across, down, 1 - down) < EDGE_SHARE
