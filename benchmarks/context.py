"""What finding players costs, by stage: the shipped network, and SAM 2 beside it where its ONNX files are given.

python benchmarks/context.py [--weights players.onnx] [--sam2 FOLDER] [--threads 2] [--repeats 50]
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np
from rich.console import Console
from rich.table import Table

from plucc.context.cache import MaskCache
from plucc.context.finder import PromptedFinder
from plucc.context.image import context_image
from plucc.context.masks import body
from plucc.context.sam2_onnx import Sam2Onnx, box_prompts
from plucc.context.shipped import SHIPPED_WEIGHTS, ShippedFinder, outlines, shrunk, spread
from plucc.data.schema import Player
from plucc.synth.arena import build_stage
from plucc.synth.match import sample_match
from plucc.synth.render import Rendered, find_scene, render
from plucc.types import Category, Size

WARM_UP = 5
FRAME_SIZE = Size(1280, 720)


def timed(work: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Return the median and the best of many runs, in milliseconds."""
    for _ in range(min(WARM_UP, repeats)):
        work()
    spent_ms = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        spent_ms.append(1e3 * (time.perf_counter() - start))
    return float(np.median(spent_ms)), min(spent_ms)


def shipped_stages(path: Path, rendered: Rendered, threads: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the stages of the shipped way, then all of it, then the composition and the cache."""
    finder = ShippedFinder(path, threads=threads)
    frame = rendered.image
    mask = finder(frame)
    cache = MaskCache(Path(tempfile.mkdtemp(prefix="plucc-benchmark-")))
    key = cache.key(frame, finder.version)
    cache.put(key, mask)
    yield "shipped: shrink the frame", lambda: shrunk(frame, finder.facts.size)
    yield "shipped: network with shrinking", lambda: finder.logits(frame)
    logits = finder.logits(frame)
    steps, margin_px = finder.steps(logits), finder.facts.margin_px
    yield "shipped: players from logits", lambda: finder.steps(logits)
    yield "shipped: margin around them", lambda: spread(steps, margin_px)
    yield "shipped: outlines at the frame's size", lambda: outlines(steps, FRAME_SIZE)
    yield "shipped: frame to mask, all of it", lambda: finder(frame)
    yield "mask to context image", lambda: context_image(frame, mask)
    yield "cache: name a frame", lambda: cache.key(frame, finder.version)
    yield "cache: read a mask", lambda: cache.get(key)


def sam2_stages(folder: Path, rendered: Rendered, threads: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the stages of SAM 2 for the boxes of a whole frame, then all of it; finding the boxes comes on top."""
    segmenter = Sam2Onnx(folder, threads=threads)
    players = [Player(box_px=player.box_px) for player in rendered.players]
    boxes = [player.box_px for player in players]
    finder = PromptedFinder(segmenter)
    features = segmenter.encode(rendered.image)
    masks = segmenter(rendered.image, boxes)
    prompts = box_prompts(boxes, FRAME_SIZE.width, FRAME_SIZE.height)
    yield "SAM 2: image encoder", lambda: segmenter.encode(rendered.image)
    yield f"SAM 2: mask decoder, {len(boxes)} boxes", lambda: segmenter.decode(features, prompts)
    yield "SAM 2: sticks off", lambda: [body(mask, box) for mask, box in zip(masks, boxes, strict=True)]
    yield "SAM 2: frame to mask, all of it", lambda: finder(rendered.image, players)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights", type=Path, default=SHIPPED_WEIGHTS)
    parser.add_argument("--sam2", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=50)
    options = parser.parse_args()
    cv2.setNumThreads(options.threads)
    stage = build_stage(sample_match(7, 0))
    rendered = render(stage, find_scene(stage, 1, Category.STANDARD, FRAME_SIZE))
    table = Table("stage, one 1280x720 frame", "median ms", "best ms", title=f"{options.threads} threads")
    for name, work in shipped_stages(options.weights, rendered, options.threads):
        median_ms, best_ms = timed(work, options.repeats)
        table.add_row(name, f"{median_ms:.2f}", f"{best_ms:.2f}")
    if options.sam2 is not None:
        for name, work in sam2_stages(options.sam2, rendered, options.threads):
            median_ms, best_ms = timed(work, 3)
            table.add_row(name, f"{median_ms:.0f}", f"{best_ms:.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
