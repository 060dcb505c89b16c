"""How long registering takes, stage by stage, and how well it does on rendered and on real frames.

    python benchmarks/registration.py stages [--frames 20] [--seed 900] [--threads 2]
    python benchmarks/registration.py clicks [--width 30] [--table real.jsonl]
    python benchmarks/registration.py sample [--every 6] [--width 30] [--table real.jsonl]

`stages` renders frames of matches that nothing was tuned on, registers each from nothing and once more as a followed
frame, and prints the time of every stage, wall clock and processor, with the errors of what was accepted. The other two
take real frames: see `registration_real.py`.
"""

import argparse
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from registration_real import clicks, sample

from plucc.context.shipped import ShippedFinder
from plucc.register.gate import refusal
from plucc.register.registrar import STEP_M, Registrar, registration_of
from plucc.rink.alignment import WARM_REACHES_PX, align
from plucc.rink.evidence import read_evidence
from plucc.rink.search import search
from plucc.rink.template import template
from plucc.synth.arena import build_stage
from plucc.synth.camera_work import View
from plucc.synth.match import sample_match
from plucc.synth.render import render
from plucc.synth.scene import sample_scene
from plucc.types import Category, Point, Size

SIZE = Size(1280, 720)
# pucks lie, slide, fly, and ride up the boards
CATEGORIES = (Category.STANDARD, Category.BLURRY, Category.STANDARD, Category.YELLOW_LINE, Category.STANDARD)
SEEDS_TRIED = 20
PIXEL_SIGMA_PX = 2.5  # of a puck that is found


@dataclass(frozen=True)
class Outcome:
    """What became of one frame: its mean error on the ice, and the puck's squared error over the expected one."""

    error_m: float
    accepted: bool
    ratio: float = float("nan")
    airborne: bool = False


class Stages:
    """Adds up the time of named stages, wall clock and processor."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[tuple[float, float]]] = defaultdict(list)

    def __call__(self, name, call, *arguments):
        start, busy = time.perf_counter(), time.process_time()
        result = call(*arguments)
        self.seconds[name].append((time.perf_counter() - start, time.process_time() - busy))
        return result


def main_views(match):
    """Yield a scene of each category that the main camera films."""
    stage = build_stage(match)
    for number, category in enumerate(CATEGORIES):
        for attempt in range(SEEDS_TRIED):
            scene = sample_scene(match, SEEDS_TRIED * number + attempt, category, SIZE)
            if scene.operator.view is View.MAIN:
                yield render(stage, scene)
                break


def error_m(camera, truth, sheet):
    """Return the mean distance on the ice between two cameras, over the part of the rink in view."""
    across, down = np.meshgrid(np.linspace(20, 1260, 24), np.linspace(20, 700, 14))
    places = np.column_stack((across.ravel(), down.ravel()))
    true_m = truth.back_project(places)
    on_ice = sheet.contains(np.nan_to_num(true_m, nan=1e9))
    away = np.hypot(*(camera.back_project(places) - true_m)[on_ice].T)
    return float(np.nan_to_num(away, nan=99.0).mean())


def puck_ratio(found, truth, rng):
    """Return the squared error of the puck's place over its expected value, with the pixel off as in a found puck."""
    if truth is None:
        return float("nan")
    at_px = np.array(tuple(truth.point_px)) + rng.normal(0, PIXEL_SIGMA_PX, 2)
    place = registration_of(found, "", SIZE).locate(Point(*map(float, at_px)), PIXEL_SIGMA_PX)
    if place is None:
        return float("nan")
    return float(np.sum((np.array(place[:2]) - truth.position_m[:2]) ** 2) / (2 * place[2] ** 2))


def run(frames, seed):
    """Register frames and return the stages and what became of each frame."""
    stages, outcomes, rng = Stages(), [], np.random.default_rng(seed)
    find_players = ShippedFinder()
    for number in range(-(-frames // len(CATEGORIES))):
        match = sample_match(seed, number)
        registrar, samples = Registrar(match.sheet), template(match.sheet, STEP_M)
        stages("dictionary of views (once a video)", registrar.dictionary, SIZE)
        for rendered in main_views(match):
            players = stages("players", find_players, rendered.image)
            evidence = stages("evidence", read_evidence, rendered.image, players)
            if evidence is not None:
                stages("search alone", search, evidence, registrar.dictionary(SIZE), np.random.default_rng(0))
            found = None if evidence is None else stages("search and fit (cold frame)", registrar.search, evidence)
            if found is None:
                outcomes.append(Outcome(99.0, False))
                continue
            prior = registrar.prior.around(found.camera)
            stages("fit (followed frame)", align, evidence, samples, match.sheet, found.camera, prior, WARM_REACHES_PX)
            accepted = not refusal(found, match.sheet, registrar.prior)
            off_m = error_m(found.camera, rendered.camera, match.sheet)
            puck = rendered.puck
            ratio = puck_ratio(found, puck, rng)
            outcomes.append(Outcome(off_m, accepted, ratio, puck is not None and puck.airborne))
    return stages, outcomes


def print_outcomes(outcomes):
    """Print shares, errors and how well the errors are known."""
    errors, accepted = (np.array([getattr(one, name) for one in outcomes]) for name in ("error_m", "accepted"))
    print(f"\n{len(outcomes)} frames: {(errors < 0.25).mean():.1%} below 0.25 m, {accepted.mean():.1%} accepted")
    if not accepted.any():
        return
    print(f"accepted: median {np.median(errors[accepted]):.3f} m, worst {errors[accepted].max():.3f} m")
    pucks = [one for one in outcomes if one.accepted and np.isfinite(one.ratio)]
    for name, chosen in (
        ("all", pucks),
        ("on the ice", [one for one in pucks if not one.airborne]),
        ("off it", [one for one in pucks if one.airborne]),
    ):
        if chosen:
            ratios = [one.ratio for one in chosen]
            print(
                f"pucks {name}: {len(chosen)}, squared error over the expected one: "
                f"mean {np.mean(ratios):.2f}, median {np.median(ratios):.2f}"
            )


def print_stages(stages):
    """Print the time of every stage."""
    print(f"{'stage':40s} {'median ms':>10s} {'worst ms':>10s} {'median CPU ms':>14s}")
    for name, seconds in stages.seconds.items():
        wall, busy = 1000 * np.array(seconds).T
        print(f"{name:40s} {np.median(wall):10.0f} {max(wall):10.0f} {np.median(busy):14.0f}")


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("stages", "clicks", "sample"))
    parser.add_argument("--frames", type=int, default=20)
    parser.add_argument("--seed", type=int, default=900)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--every", type=int, default=6)
    parser.add_argument("--width", type=float, default=30.0)
    parser.add_argument("--table", type=Path, default=Path("real.jsonl"))
    options = parser.parse_args()
    cv2.setNumThreads(options.threads)
    if options.what == "clicks":
        clicks(options.width, options.table, options.threads)
    elif options.what == "sample":
        sample(options.every, options.width, options.table, options.threads)
    else:
        stages, outcomes = run(options.frames, options.seed)
        print_stages(stages)
        print_outcomes(outcomes)


if __name__ == "__main__":
    main()
