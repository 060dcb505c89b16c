"""Players from a dataset's own labels."""

from collections.abc import Sequence

from plucc.context.masks import box_mask, union
from plucc.data.masks import decode_mask
from plucc.data.schema import Player
from plucc.types import ImageArray, InputError, MaskArray, Size


class LabelFinder:
    """Labelled masks where a player has one, else his box; or boxes throughout."""

    def __init__(self, *, boxes_only: bool = False) -> None:
        self._boxes_only = boxes_only
        self.version = "label-boxes-1" if boxes_only else "labels-1"

    def __call__(self, frame: ImageArray, players: Sequence[Player] | None = None) -> MaskArray:
        if players is None:
            raise InputError("this frame has no labelled players: use another way to find them, or a labelled dataset")
        size = Size(frame.shape[1], frame.shape[0])
        return union((self._mask(player, size) for player in players), size)

    def _mask(self, player: Player, size: Size) -> MaskArray:
        if self._boxes_only or player.mask is None:
            return box_mask([player.box_px], size)
        return decode_mask(player.mask)
