"""How fast the renderer is: frames per second of one core, by category and size, and the memory it holds.

Run: python benchmarks/synth.py [--frames 5] [--seed 1]
"""

import argparse
import resource
import time

import cv2

from plucc.data.schema import Record
from plucc.synth.arena import build_stage
from plucc.synth.clip import plan_clip, render_clip
from plucc.synth.finish import encode_jpeg
from plucc.synth.frames import DEFAULT_MIX
from plucc.synth.match import sample_match
from plucc.synth.render import find_scene, render
from plucc.synth.truth import record_of
from plucc.types import Category, Size

FRAMES_PER_MATCH = 25


def render_one(stage, index: int, category: Category, size: Size) -> Record:
    """Do all that `plucc synth frames` does for one frame, but for the writing."""
    scene = find_scene(stage, index, category, size)
    rendered = render(stage, scene)
    encode_jpeg(rendered.image, scene.quality)
    record = record_of(rendered, stage.match, "frame.jpg", "run", category)
    record.model_dump_json()
    return record


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=5, help="frames for each row")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    start = time.process_time()
    stages = [build_stage(sample_match(options.seed, number)) for number in range(2)]
    stage_s = (time.process_time() - start) / len(stages)
    print(f"painting an arena: {stage_s:.2f} s, shared by {FRAMES_PER_MATCH} frames")
    print(f"{'category':<14}{'size':<12}{'s a frame':>10}{'frames/s':>10}")
    expected = 0.0
    for size in (Size(1280, 720), Size(640, 360)):
        for category in Category:
            start = time.process_time()
            for index in range(options.frames):
                render_one(stages[index % 2], index, category, size)
            each = (time.process_time() - start) / options.frames
            print(f"{category.value:<14}{size.width}x{size.height:<7}{each:>10.3f}{1 / each:>10.1f}")
            expected += DEFAULT_MIX[category] * each if size.height == 720 else 0.0
    each = expected + stage_s / FRAMES_PER_MATCH
    print(f"{'default mix':<14}{'1280x720':<12}{each:>10.3f}{1 / each:>10.1f}  (arena included)")
    start = time.process_time()
    count = sum(1 for _ in render_clip(stages[0], plan_clip(options.frames / 25, options.seed, Size(1280, 720))))
    each = (time.process_time() - start) / count
    print(f"{'clip':<14}{'1280x720':<12}{each:>10.3f}{1 / each:>10.1f}")
    print(f"memory at most: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
