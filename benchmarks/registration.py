"""How long registering takes, stage by stage, and how well it does on rendered frames.

    python benchmarks/registration.py [--frames 20] [--seed 900] [--threads 2]

Renders frames of matches that nothing was tuned on, registers each from nothing and once more as a followed frame, and
prints the time of every stage with the errors of what was accepted.
"""

import argparse
import time
from collections import defaultdict

import cv2
import numpy as np

from plucc.context.shipped import ShippedFinder
from plucc.register.gate import refusal
from plucc.register.registrar import STEP_M, Registrar
from plucc.rink.alignment import WARM_REACHES_PX, align
from plucc.rink.evidence import read_evidence
from plucc.rink.search import search
from plucc.rink.template import template
from plucc.synth.arena import build_stage
from plucc.synth.camera_work import View
from plucc.synth.match import sample_match
from plucc.synth.render import render
from plucc.synth.scene import sample_scene
from plucc.types import Category, Size

SIZE = Size(1280, 720)
PER_MATCH = 5
SEEDS_TRIED = 20


class Stages:
    """Adds up the time of named stages."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)

    def __call__(self, name, call, *arguments):
        start = time.perf_counter()
        result = call(*arguments)
        self.seconds[name].append(time.perf_counter() - start)
        return result


def main_views(match, count):
    """Yield scenes that the main camera films."""
    stage, found = build_stage(match), 0
    for frame in range(SEEDS_TRIED * count):
        scene = sample_scene(match, frame, Category.STANDARD, SIZE)
        if scene.operator.view is View.MAIN:
            yield render(stage, scene)
            found += 1
        if found == count:
            return


def error_m(camera, truth, sheet):
    """Return the mean distance on the ice between two cameras, over the part of the rink in view."""
    across, down = np.meshgrid(np.linspace(20, 1260, 24), np.linspace(20, 700, 14))
    places = np.column_stack((across.ravel(), down.ravel()))
    true_m = truth.back_project(places)
    on_ice = sheet.contains(np.nan_to_num(true_m, nan=1e9))
    away = np.hypot(*(camera.back_project(places) - true_m)[on_ice].T)
    return float(np.nan_to_num(away, nan=99.0).mean())


def run(frames, seed):
    """Register frames and return the stages and a row (error, accepted) for each."""
    stages, rows = Stages(), []
    find_players = ShippedFinder()
    for number in range(-(-frames // PER_MATCH)):
        match = sample_match(seed, number)
        registrar, samples = Registrar(match.sheet), template(match.sheet, STEP_M)
        for index, rendered in enumerate(main_views(match, PER_MATCH)):
            players = stages("players", find_players, rendered.image)
            evidence = stages("evidence", read_evidence, rendered.image, players)
            if evidence is None:
                rows.append((99.0, False))
                continue
            if index == 0:
                stages("dictionary of views (once a video)", registrar.dictionary, evidence.size)
            views = registrar.dictionary(evidence.size)
            stages("search alone", search, evidence, views, np.random.default_rng(0))
            found = stages("search and fit (cold frame)", registrar.search, evidence)
            if found is None:
                rows.append((99.0, False))
                continue
            prior = registrar.prior.around(found.camera)
            stages("fit (followed frame)", align, evidence, samples, match.sheet, found.camera, prior, WARM_REACHES_PX)
            accepted = not refusal(found, match.sheet, registrar.prior)
            rows.append((error_m(found.camera, rendered.camera, match.sheet), accepted))
    return stages, rows


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=20)
    parser.add_argument("--seed", type=int, default=900)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    cv2.setNumThreads(options.threads)
    stages, rows = run(options.frames, options.seed)
    print(f"{'stage':40s} {'median ms':>10s} {'worst ms':>10s}")
    for name, seconds in stages.seconds.items():
        print(f"{name:40s} {1000 * np.median(seconds):10.0f} {1000 * max(seconds):10.0f}")
    errors, accepted = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    print(f"\n{len(rows)} frames: {(errors < 0.25).mean():.1%} below 0.25 m, {accepted.mean():.1%} accepted")
    if accepted.any():
        print(f"accepted: median {np.median(errors[accepted]):.3f} m, worst {errors[accepted].max():.3f} m")


if __name__ == "__main__":
    main()
