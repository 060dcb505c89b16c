"""From how near a frame is looked at.

In a wide shot pucks are smaller than the network can see; its players tell, and it is looked at from nearer. A network
that is unsure of a frame may see more in a larger picture of it: a pale streak, a puck at a blade. In a close-up the
puck may be larger than those that the network learnt from, and shows better from further away.
"""

from plucc.context.masks import typical_height
from plucc.types import MaskArray

USUAL_ZOOM, CLOSER_ZOOM, FURTHER_ZOOM = 1.0, 2.0, 0.6
# of the frame's height; in broadcasts the median outline is 0.12 to 0.35, in close-ups more
TINY_PLAYERS, SMALL_PLAYERS, LARGE_PLAYERS = 0.14, 0.19, 0.22


def first_zoom(players: MaskArray) -> float:
    """Return how many times larger than usual a frame is looked at first."""
    height = typical_height(players)
    return CLOSER_ZOOM if height is not None and height < TINY_PLAYERS else USUAL_ZOOM


def other_zoom(players: MaskArray) -> float | None:
    """Return from how near else a frame is worth looking at; None where one distance is enough."""
    height = typical_height(players)
    if height is None or SMALL_PLAYERS <= height < LARGE_PLAYERS:
        return None
    if height >= LARGE_PLAYERS:
        return FURTHER_ZOOM
    return CLOSER_ZOOM if height >= TINY_PLAYERS else USUAL_ZOOM
