"""How much of the puck a context image shows: rendered frames with and without the puck, otherwise the same.

    python benchmarks/puck_leak.py [--frames 240] [--seed 7400]

Where the two pictures differ in brightness at half size, at the puck's place, is the puck; elsewhere, and in colour, it
is compression that differs. The puck survives where their context images differ as well: once with the same mask, which
tells what the composition lets through, and once each with its own, so that a mask which bulges around a puck counts
too. The plain composition, as the paper has it, stands beside.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Annotated, TypeAlias

import cv2
import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from plucc.context.image import context_image, context_size
from plucc.context.shipped import ShippedFinder
from plucc.synth.arena import build_stage
from plucc.synth.frames import plan_frames
from plucc.synth.match import sample_match
from plucc.synth.render import find_scene, render
from plucc.types import Box, ImageArray, MaskArray, Size

FRAME_SIZE = Size(1280, 720)
FRAMES_PER_MATCH = 3
VISIBLE = 16  # of 255
FEWEST_PX = 2  # of a puck that shows at all
REACH_PX = 6.0  # around its box: blur and shadow
Compose: TypeAlias = Callable[[ImageArray, MaskArray], ImageArray]


def main(
    frames: Annotated[int, typer.Option(help="How many frames to render, each twice.")] = 240,
    seed: Annotated[int, typer.Option(help="Of the matches.")] = 7400,
) -> None:
    """Print the table."""
    find_players = ShippedFinder()
    pucks, survived = 0, defaultdict(list)
    for shown, empty, place in track(pairs(frames, seed), total=frames, console=Console(stderr=True)):
        puck = differs(halved(shown), halved(empty)) & place
        if np.count_nonzero(puck) < FEWEST_PX:
            continue
        pucks += int(np.count_nonzero(puck))
        own = find_players(shown), find_players(empty)
        for name, compose in WAYS.items():
            for kind, masks in (("the same mask", (own[0], own[0])), ("each its own", own)):
                change = differs(compose(shown, masks[0]), compose(empty, masks[1]))
                survived[name, kind].append(int(np.count_nonzero(change & puck)))
    table = Table("composition", "mask", "puck pixels that survive", "frames with any")
    for (name, kind), counts in survived.items():
        table.add_row(name, kind, f"{sum(counts) / pucks:.2%}", f"{np.count_nonzero(counts)} of {len(counts)}")
    Console().print(table)


def pairs(count: int, seed: int) -> Iterator[tuple[ImageArray, ImageArray, MaskArray]]:
    """Render frames in which a puck is, each with and without it, and say where it is at half size."""
    plan = plan_frames(count, seed, FRAME_SIZE, frames_per_match=FRAMES_PER_MATCH)
    for match in range(-(-count // FRAMES_PER_MATCH)):
        stage = build_stage(sample_match(plan.seed, match))
        for frame in range(FRAMES_PER_MATCH):
            scene = find_scene(stage, frame, plan.category(match * FRAMES_PER_MATCH + frame), FRAME_SIZE)
            shown = render(stage, scene)
            if shown.puck is not None and shown.puck.box_px is not None:
                yield shown.image, render(stage, scene, with_puck=False).image, _place(shown.puck.box_px)


def _place(box: Box) -> MaskArray:
    """Return the puck's box and what its blur and shadow reach, at half size."""
    half = context_size(FRAME_SIZE)
    reach_px = REACH_PX + 0.5 * max(box.width, box.height)
    x, y = 2 * np.arange(half.width) + 1, 2 * np.arange(half.height)[:, None] + 1
    across = (x > box.left - reach_px) & (x < box.right + reach_px)
    return np.asarray(across & (y > box.top - reach_px) & (y < box.bottom + reach_px))


def plain(frame: ImageArray, mask: MaskArray) -> ImageArray:
    """Cut the players out at full size and average: the paper's composition."""
    return halved(np.where(mask[:, :, None], frame, np.uint8(0)))


WAYS: dict[str, Compose] = {"as in the paper": plain, "as it ships": context_image}


def halved(image: ImageArray) -> ImageArray:
    """Return a picture at the size of its context image."""
    half = context_size(Size(image.shape[1], image.shape[0]))
    return np.asarray(cv2.resize(image, (half.width, half.height), interpolation=cv2.INTER_AREA), np.uint8)


def differs(one: ImageArray, other: ImageArray) -> MaskArray:
    """Return where two pictures visibly differ in brightness."""
    grey = [cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) for image in (one, other)]
    return np.asarray(cv2.absdiff(*grey) > VISIBLE)


if __name__ == "__main__":
    typer.run(main)
