"""From how near a frame is looked at.

In a wide shot pucks are smaller than the network can see; its players tell, and it is looked at from nearer. A network
that is unsure of a frame may see more in a larger picture of it: a pale streak, a puck at a blade.
"""

from plucc.context.masks import typical_height
from plucc.types import MaskArray

USUAL_ZOOM, CLOSER_ZOOM = 1.0, 2.0
TINY_PLAYERS, SMALL_PLAYERS = 0.14, 0.19  # of the frame's height; in broadcasts the median outline is 0.12 to 0.35


def first_zoom(players: MaskArray) -> float:
    """Return how many times larger than usual a frame is looked at first."""
    return CLOSER_ZOOM if _are_below(players, TINY_PLAYERS) else USUAL_ZOOM


def other_zoom(players: MaskArray) -> float | None:
    """Return from how near else a frame is worth looking at; None where one distance is enough.

    Where the players are large the puck is, too, and a closer look gains nothing.
    """
    if not _are_below(players, SMALL_PLAYERS):
        return None
    return CLOSER_ZOOM if first_zoom(players) == USUAL_ZOOM else USUAL_ZOOM


def _are_below(players: MaskArray, share: float) -> bool:
    height = typical_height(players)
    return height is not None and height < share
