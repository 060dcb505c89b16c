"""Datasets of rendered frames: written whole, by several processes, resumed where they stopped.

Frames gather in a folder beside the output, each picture before its record. A frame is done when its record is there,
so a run killed at any moment goes on with the rest; the folder takes the output's name when the last frame is done.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path

import cv2

from plucc.data.manifest import write_manifest
from plucc.data.schema import Record
from plucc.files import whole_file
from plucc.synth.arena import build_stage
from plucc.synth.categories import category_of
from plucc.synth.finish import encode_jpeg
from plucc.synth.match import sample_match
from plucc.synth.noise import rng_for
from plucc.synth.render import find_scene, render
from plucc.synth.truth import dataset_info, record_of
from plucc.types import Category, InputError, Progress, Size, silent

DEFAULT_MIX: dict[Category, float] = {
    Category.STANDARD: 0.45,
    Category.BLURRY: 0.15,
    Category.GOAL_LINE: 0.07,
    Category.YELLOW_LINE: 0.09,
    Category.OCCLUDED: 0.09,
    Category.ARTIFACT: 0.05,
    Category.NO_PUCK: 0.10,
}
MIN_SIDE_PX, MAX_SIDE_PX = 64, 7680
MIX_STREAM = 701
RENDERER = 2  # raised whenever the same seed comes to give other bytes
PICTURES, RECORDS, PLAN = "frames", "records", "plan.json"


@dataclass(frozen=True, slots=True)
class FramesPlan:
    """What to render. The same plan and version give the same bytes, in however many processes."""

    count: int
    seed: int
    size: Size
    mix: tuple[tuple[Category, float], ...]
    frames_per_match: int = 25

    def category(self, index: int) -> Category:
        """Return the category of a frame, drawn from the mix by its index alone."""
        draw = rng_for(self.seed, index, MIX_STREAM).random() * sum(share for _, share in self.mix)
        for category, share in self.mix:
            draw -= share
            if draw < 0:
                return category
        return self.mix[-1][0]

    def fingerprint(self) -> str:
        """Return what must agree for an unfinished run to be continued."""
        mix = {category.value: share for category, share in self.mix}
        facts = {"seed": self.seed, "size": [self.size.width, self.size.height], "mix": mix, "count": self.count}
        made_by = {"version": version("plucc"), "renderer": RENDERER}
        return json.dumps(facts | {"frames_per_match": self.frames_per_match} | made_by)


def plan_frames(
    count: int, seed: int, size: Size, mix: Mapping[Category, float] | None = None, frames_per_match: int = 25
) -> FramesPlan:
    """Return a checked plan."""
    if count < 1 or frames_per_match < 1:
        raise InputError(f"{count} frames, {frames_per_match} a match: both must be at least 1")
    if seed < 0:
        raise InputError(f"the seed is {seed}: choose a number from 0 up")
    if not all(MIN_SIDE_PX <= side <= MAX_SIDE_PX for side in (size.width, size.height)):
        raise InputError(
            f"a picture of {size.width}x{size.height} px cannot be rendered: both sides must have "
            f"{MIN_SIDE_PX} to {MAX_SIDE_PX} px"
        )
    shares = tuple((category, share) for category, share in (mix or DEFAULT_MIX).items() if share > 0)
    if not shares:
        raise InputError("the mix of categories is empty: give at least one a share above zero")
    return FramesPlan(count, seed, size, shares, frames_per_match)


def parse_mix(text: str) -> dict[Category, float]:
    """Return the shares written as `standard=0.4,blurry=0.6`."""
    shares: dict[Category, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, share = part.partition("=")
        try:
            shares[Category(name.strip())] = float(share) if share else 1.0
        except ValueError as error:
            known = ", ".join(Category)
            raise InputError(f"{part!r} is not a share of a category: write {known}, each as name=share") from error
    if not shares or any(not 0 <= share < float("inf") for share in shares.values()):
        raise InputError(f"the mix {text!r} must name categories with positive numbers, as standard=0.4,no-puck=0.6")
    return shares


def write_frames(out: Path, plan: FramesPlan, *, processes: int = 1, progress: Progress = silent) -> int:
    """Render a dataset into a new folder; return how many frames an earlier, interrupted run had done already."""
    if out.exists():
        raise InputError(f"{out} exists already: choose another output folder, or remove this one first")
    if processes < 1:
        raise InputError(f"{processes} processes: at least 1 is needed")
    work = out.with_name(f".{out.name}.unfinished")
    _open_work(work, plan)
    try:
        before = sum(1 for _ in (work / RECORDS).glob("*.json"))
        for _ in progress(_run(work, plan, processes), total=plan.count - before, label="rendering"):
            pass
        write_manifest(work, dataset_info(out.name), _records(work, plan))
        shutil.rmtree(work / RECORDS)
        (work / PLAN).unlink()
        work.replace(out)
    except InputError:  # a file that could not be begun
        shutil.rmtree(work, ignore_errors=True)
        raise
    except OSError as error:
        shutil.rmtree(work, ignore_errors=True)
        raise InputError(f"{out} could not be written ({error.strerror}): make room or choose another place") from error
    return before


def _open_work(work: Path, plan: FramesPlan) -> None:
    try:
        (work / PICTURES).mkdir(parents=True, exist_ok=True)
        (work / RECORDS).mkdir(exist_ok=True)
        mark = work / PLAN
        if mark.is_file():
            if mark.read_text(encoding="utf-8") != plan.fingerprint():
                raise InputError(
                    f"{work} holds an unfinished run with other settings: "
                    f"repeat those to finish it, or remove the folder"
                )
            for half_written in work.glob("*/.*"):  # where the earlier run was killed
                half_written.unlink()
        else:
            with whole_file(mark) as path:
                path.write_text(plan.fingerprint(), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{work.parent} cannot be written to ({error.strerror}): choose another place") from error


def _run(work: Path, plan: FramesPlan, processes: int) -> Iterator[int]:
    """Yield the index of every frame as it gets done."""
    matches = range(-(-plan.count // plan.frames_per_match))
    if processes == 1:
        for number in matches:
            yield from _render_match(work, plan, number)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        tasks = [pool.submit(_render_match_list, work, plan, number) for number in matches]
        try:
            for task in as_completed(tasks):
                yield from task.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _render_match_list(work: Path, plan: FramesPlan, number: int) -> list[int]:
    return list(_render_match(work, plan, number))


def _render_match(work: Path, plan: FramesPlan, number: int) -> Iterator[int]:
    first = number * plan.frames_per_match
    indices = range(first, min(first + plan.frames_per_match, plan.count))
    missing = [index for index in indices if not _record_path(work, index).is_file()]
    if not missing:
        return
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)  # processes are the way to use more cores; threads here would only get in their way
    try:
        stage = build_stage(sample_match(plan.seed, number))
        for index in missing:
            scene = find_scene(stage, index - first, plan.category(index), plan.size)
            rendered = render(stage, scene)
            name = f"{PICTURES}/{index:06d}.jpg"
            with whole_file(work / name) as path:
                path.write_bytes(encode_jpeg(rendered.image, scene.quality))
            category = category_of(rendered, scene, stage.match)
            record = record_of(rendered, stage.match, name, f"{stage.match.name}-{index:06d}", category)
            with whole_file(_record_path(work, index)) as path:
                path.write_text(record.model_dump_json(exclude_defaults=True), encoding="utf-8")
            yield index
    finally:
        cv2.setNumThreads(threads)


def _record_path(work: Path, index: int) -> Path:
    return work / RECORDS / f"{index:06d}.json"


def _records(work: Path, plan: FramesPlan) -> Iterator[Record]:
    for index in range(plan.count):
        yield Record.model_validate_json(_record_path(work, index).read_bytes(), strict=True)
