"""Clips: continuous play filmed in shots, with hard cuts and replays, as H.264 with a record for every frame."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np

from plucc.data.schema import Record
from plucc.files import whole_file
from plucc.synth.arena import Stage, build_stage
from plucc.synth.camera_work import Aim, Operator, View, follow, sample_operator
from plucc.synth.categories import categorise
from plucc.synth.frames import plan_frames
from plucc.synth.graphics import Graphics
from plucc.synth.match import Match, sample_match
from plucc.synth.noise import rng_for
from plucc.synth.placing import sample_focus
from plucc.synth.play import PlayState, advance, start_play
from plucc.synth.render import Rendered, render
from plucc.synth.scene import Scene
from plucc.synth.truth import record_of
from plucc.types import Category, ImageArray, InputError, Progress, Size, silent

CLIP_STREAM = 801
WIPE_S = 0.9
REPLAY_SPEED = 0.4
LONGEST_S = 4 * 3600.0
MAX_RATE = 240


@dataclass(frozen=True, slots=True)
class ClipPlan:
    """What to render: how long, at which rate and size, and from which seed."""

    seconds: float
    seed: int
    size: Size
    rate: int = 25

    @property
    def count(self) -> int:
        return max(round(self.seconds * self.rate), 1)


@dataclass(frozen=True, slots=True)
class _Segment:
    """One shot: its frames, camera and speed; a replay starts and ends with a wipe."""

    first: int
    stop: int
    operator: Operator
    speed: float
    is_replay: bool


@dataclass(frozen=True, slots=True)
class ClipFrame:
    """A rendered frame of a clip, its shot, and the scene it shows."""

    index: int
    shot: int
    scene: Scene
    rendered: Rendered
    match: Match


def plan_clip(seconds: float, seed: int, size: Size, rate: int = 25) -> ClipPlan:
    """Return a checked plan."""
    if not 0 < seconds <= LONGEST_S:
        raise InputError(f"a clip of {seconds:g} s cannot be rendered: choose more than 0 and at most {LONGEST_S:g} s")
    if not 1 <= rate <= MAX_RATE:
        raise InputError(f"{rate} frames per second cannot be rendered: choose from 1 to {MAX_RATE}")
    plan_frames(1, seed, size)
    if size.width % 2 or size.height % 2:
        raise InputError(f"a clip of {size.width}x{size.height} px cannot be encoded: both sides must be even")
    return ClipPlan(seconds, seed, size, rate)


def records_path(out: Path) -> Path:
    """Return where a clip's truth goes: beside it, with the same name."""
    return out.with_suffix(".records.jsonl")


def write_clip(out: Path, plan: ClipPlan, *, progress: Progress = silent) -> None:
    """Render a clip and its truth; both files appear when both are whole."""
    for path in (out, records_path(out)):
        if path.exists():
            raise InputError(f"{path} exists already: choose another name, or remove it first")
    try:
        with ExitStack() as stack:
            video = stack.enter_context(whole_file(out))
            truth = stack.enter_context(whole_file(records_path(out)))
            _write(video, truth, out.name, plan, progress)
    except (OSError, av.error.FFmpegError) as error:
        raise InputError(f"{out} could not be written ({error.strerror}): make room or choose another place") from error


def _write(video: Path, truth: Path, name: str, plan: ClipPlan, progress: Progress) -> None:
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        stage = build_stage(sample_match(plan.seed, 0))
        with _Encoder(video, plan, stage.match.grading.crf) as encoder, truth.open("w", encoding="utf-8") as lines:
            for frame in progress(render_clip(stage, plan), total=plan.count, label="rendering"):
                encoder.write(frame.rendered.image)
                lines.write(clip_record(frame, name, plan.rate).model_dump_json(exclude_defaults=True) + "\n")
    finally:
        cv2.setNumThreads(threads)


def clip_record(frame: ClipFrame, name: str, rate: int) -> Record:
    """Return the truth of a frame; its image names the clip and, after the sign #, the frame."""
    category = categorise(frame.rendered, frame.scene, frame.match)
    record = record_of(frame.rendered, frame.match, f"{name}#{frame.index:06d}", frame.match.name, category)
    return record.model_copy(update={"shot": frame.shot, "frame_index": frame.index, "time_s": frame.index / rate})


def render_clip(stage: Stage, plan: ClipPlan) -> Iterator[ClipFrame]:
    """Yield the clip frame by frame."""
    for index, (shot, scene) in enumerate(clip_scenes(stage.match, plan)):
        yield ClipFrame(index, shot, scene, render(stage, scene), stage.match)


def clip_scenes(match: Match, plan: ClipPlan) -> Iterator[tuple[int, Scene]]:
    """Yield shot number and scene of every frame; play goes on over hard cuts and starts anew under a wipe."""
    rng = rng_for(*match.key, CLIP_STREAM)
    state, aim = _fresh_play(rng, match)
    segments = list(_cut(rng, match, plan))
    for shot, segment in enumerate(segments):
        wiped = segment.is_replay or (shot > 0 and segments[shot - 1].is_replay)
        if shot > 0 and wiped:
            state, aim = _fresh_play(rng, match)
        shutter_s = float(rng.uniform(1 / 500, 1 / 120)) * segment.speed
        for index in range(segment.first, segment.stop):
            state = advance(state, rng, match.sheet, match.cast, segment.speed / plan.rate)
            aim = follow(aim, np.asarray(state.puck.position_m[:2]), segment.operator, 1 / plan.rate)
            yield (
                shot,
                Scene(
                    key=(*match.key, CLIP_STREAM, index),
                    size=plan.size,
                    category=Category.STANDARD,
                    state=state,
                    operator=segment.operator,
                    aim=aim,
                    shutter_s=shutter_s,
                    has_puck=True,
                    graphics=_graphics(index, segments, shot, plan),
                    interlaced=False,
                    crf=None,  # the whole clip is compressed at once
                    predicted=False,
                    quality=95,
                ),
            )


def _fresh_play(rng: np.random.Generator, match: Match) -> tuple[PlayState, Aim]:
    focus = sample_focus(rng, match.sheet, Category.STANDARD)
    state = start_play(rng, match.sheet, focus)
    return state, Aim((float(focus[0]), float(focus[1])), (0.0, 0.0))


def _cut(rng: np.random.Generator, match: Match, plan: ClipPlan) -> Iterator[_Segment]:
    """Yield the shots: mostly the main camera, cutaways, and replays that a wipe leads into and out of."""
    first, after_main = 0, False
    while first < plan.count:
        draw = rng.random()
        is_replay = after_main and draw < 0.3
        if not after_main:
            view, length_s = View.MAIN, rng.uniform(6, 14)
        elif is_replay:
            view, length_s = (View.CLOSE if rng.random() < 0.6 else View.END), rng.uniform(4, 7)
        else:
            view, length_s = (View.CLOSE if rng.random() < 0.6 else View.ICE_LEVEL), rng.uniform(2.5, 5)
        operator = sample_operator(rng, match, float(rng.choice([-1.0, 1.0])), view)
        stop = min(first + max(int(length_s * plan.rate), 1), plan.count)
        yield _Segment(first, stop, operator, REPLAY_SPEED if is_replay else 1.0, is_replay)
        first, after_main = stop, not after_main


def _graphics(index: int, segments: list[_Segment], shot: int, plan: ClipPlan) -> Graphics:
    segment = segments[shot]
    clock = 1200 - int(index / plan.rate) - 97 * (plan.seed % 7)
    graphics = Graphics(
        bug=not segment.is_replay, logo=True, clock_s=max(clock, 0), score=(plan.seed % 4, plan.seed % 3)
    )
    starts = [segments[k].first for k in range(1, len(segments)) if segments[k].is_replay or segments[k - 1].is_replay]
    for start in starts:
        progress = (index - start) / (WIPE_S * plan.rate) + 0.5
        if 0 <= progress <= 1:
            return replace(graphics, wipe=progress)
    return graphics


class _Encoder:
    """Writes H.264 so that the same frames give the same bytes: with one thread, and without macroblock trees.

    On CPUs with AVX-512 x264 (core 165) makes other trees of the same frames now and then.
    """

    def __init__(self, path: Path, plan: ClipPlan, crf: int) -> None:
        self._container: Any = av.open(str(path), "w", options={"fflags": "+bitexact", "movflags": "+faststart"})
        self._stream: Any = self._container.add_stream("libx264", rate=Fraction(plan.rate))
        self._stream.width, self._stream.height, self._stream.pix_fmt = plan.size.width, plan.size.height, "yuv420p"
        reproducible = {"threads": "1", "x264-params": "mbtree=0"}
        self._stream.options = {"crf": str(min(crf, 26)), "preset": "veryfast", **reproducible}
        self._stream.codec_context.thread_count = 1

    def __enter__(self) -> "_Encoder":
        return self

    def write(self, image: ImageArray) -> None:
        self._container.mux(self._stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            self._container.mux(self._stream.encode(None))
        self._container.close()
