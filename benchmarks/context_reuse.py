"""What it costs to look for players in every n-th frame only, and to carry them along with the camera in between.

Rendered clips, so the truth of every frame is known; bodies are compared, without the margin around them. Seconds are
those of the processor, so that other work on the machine does not count:

    python benchmarks/context_reuse.py [--seconds 4] [--clips 3] [--threads 2]
"""

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from rich.console import Console
from rich.table import Table

from plucc.context.masks import union
from plucc.context.quality import mask_iou
from plucc.context.shipped import SHIPPED_WEIGHTS, ShippedFinder
from plucc.context.stream import player_masks
from plucc.data.masks import decode_mask
from plucc.synth.arena import build_stage
from plucc.synth.clip import clip_record, plan_clip, render_clip
from plucc.synth.match import sample_match
from plucc.types import ImageArray, MaskArray, Size
from plucc.video import Frame

FRAME_SIZE = Size(1280, 720)
STEPS = (1, 2, 3, 5, 10, 25)


def rendered_clip(seed: int, seconds: float) -> Iterator[tuple[Frame, MaskArray]]:
    """Yield frames with the true union of their players."""
    plan = plan_clip(seconds, seed, FRAME_SIZE)
    for frame in render_clip(build_stage(sample_match(seed, 0)), plan):
        players = clip_record(frame, "clip", plan.rate).players or ()
        masks = (decode_mask(player.mask) for player in players if player.mask is not None)
        yield Frame(frame.index, frame.index / plan.rate, frame.rendered.image), union(masks, FRAME_SIZE)


def true_mask(truths: dict[int, MaskArray], image: ImageArray) -> MaskArray:
    """Return the true mask of exactly this picture in memory."""
    return truths[id(image)]


def score(clip: list[tuple[Frame, MaskArray]], find: Callable[[ImageArray], MaskArray], every: int) -> list[float]:
    """Return the IoU of every frame that shows players."""
    stream = player_masks((frame for frame, _ in clip), find, every=every)
    pairs = zip(stream, clip, strict=True)
    return [mask_iou(mask, truth) for (_, mask), (_, truth) in pairs if truth.any()]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights", type=Path, default=SHIPPED_WEIGHTS)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--clips", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    cv2.setNumThreads(options.threads)
    shipped = ShippedFinder(options.weights, threads=options.threads)
    scores: dict[tuple[int, str], list[float]] = {}
    spent_s = dict.fromkeys(STEPS, 0.0)
    for seed in range(900, 900 + options.clips):
        clip = list(rendered_clip(seed, options.seconds))
        truths = {id(frame.image): truth for frame, truth in clip}
        for every in STEPS:
            perfect = score(clip, partial(true_mask, truths), every)
            scores.setdefault((every, "truth"), []).extend(perfect)
            start = time.process_time()
            scores.setdefault((every, "shipped"), []).extend(score(clip, shipped.bodies, every))
            spent_s[every] += (time.process_time() - start) / len(clip) / options.clips
    table = Table("every n-th frame", "IoU, true masks carried", "IoU, shipped network", "processor ms a frame")
    for every in STEPS:
        carried, found = np.mean(scores[every, "truth"]), np.mean(scores[every, "shipped"])
        table.add_row(str(every), f"{carried:.3f}", f"{found:.3f}", f"{1e3 * spent_s[every]:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
