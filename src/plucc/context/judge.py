"""Scores a way to find players on a dataset: against true masks where records have them, else against boxes."""

from collections.abc import Sequence

from plucc.context.finder import PlayerFinder
from plucc.context.labels import LabelFinder
from plucc.context.quality import MaskQuality
from plucc.context.shipped import ShippedFinder
from plucc.data.manifest import Dataset
from plucc.data.schema import Record
from plucc.types import Progress, silent
from plucc.video import read_image


def judge(
    dataset: Dataset, records: Sequence[Record], finder: PlayerFinder, *, progress: Progress = silent
) -> MaskQuality:
    """Run the finder without labels over the records that have labelled players, and compare.

    Boxes and pucks are compared with the mask as it is used; true masks with the bodies alone, where a finder adds a
    margin around them.
    """
    truth = LabelFinder()
    quality = MaskQuality()
    labelled = [record for record in records if record.players is not None]
    for record in progress(labelled, total=len(labelled), label="judging"):
        image = read_image(dataset.image_path(record))
        players = record.players or ()
        mask = finder(image)
        quality.add_boxes(mask, [player.box_px for player in players])
        if all(player.mask is not None for player in players):
            bodies = finder.bodies(image) if isinstance(finder, ShippedFinder) else mask
            quality.add_truth(bodies, truth(image, players))
        if record.puck is not None and record.puck.box_px is not None:
            quality.add_puck(mask, record.puck)
    return quality
