"""What tracking adds, what following costs, and where the time goes; rendered clips with fixed seeds.

    python benchmarks/locate.py track                    24 clips: single frames against the path
    python benchmarks/locate.py clips --real DATASET     20 rendered clips, and pans over real frames: scanning against
                                                         following, and whether confidence means what it says
    python benchmarks/locate.py fit DATASET              the weights in plucc/trust.py, on other clips than those
    python benchmarks/locate.py video CLIP.mp4 ...       rendered clips with records: the work of every stage

`track` simulates what a detector says from the exact truth (misses, jitter, decoys on the ice, false peaks), so it
measures the tracker alone. The others run the shipped network.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from locate_clips import FIT_FIRST_FRAMES, real_clips, rendered_clips
from locate_trust import Answer, answers_of, bridges_of, diagram, fit_trust, show_trust, visits_of
from rich.console import Console
from rich.table import Table

from plucc.cli.console import bar
from plucc.data.manifest import read_dataset
from plucc.data.rows import Row
from plucc.data.schema import Record
from plucc.locator import Settings, locate, locate_pieces
from plucc.observing import Looking
from plucc.pipeline import Stopwatch, together
from plucc.puck_finder import Locator
from plucc.sighting import StagedFinder
from plucc.synth.arena import Stage, build_stage
from plucc.synth.clip import clip_scenes, plan_clip, records_path
from plucc.synth.filming import puck_shown
from plucc.synth.match import sample_match
from plucc.synth.scene import Scene
from plucc.track import Candidate, CandidateFrame, TrackPoint, track_live, track_shot
from plucc.trust import Trust
from plucc.types import FloatArray, Point, Size, Source
from plucc.video import VideoReader

SEEDS = tuple(range(201, 225))
SIZE = Size(1280, 720)
RATE = 25
FOLDER = Path("runs/locate")  # where clips are kept
app = typer.Typer(add_completion=False)
console = Console()


@dataclass(frozen=True, slots=True)
class Truth:
    """A frame of a clip: its shot, where the puck is in the picture if it is, and how much of it shows."""

    shot: int
    puck_px: Point | None
    shown: float
    scene: Scene


@dataclass(slots=True)
class Tally:
    """Hits within 25 px among frames with a puck, answers where there is none, and points that nothing supports."""

    hits: int = 0
    pucks: int = 0
    alarms: int = 0
    empty: int = 0
    unsupported: int = 0

    def add(self, truth: Truth, point: TrackPoint, frame: CandidateFrame) -> None:
        supported = point.xy_px in [candidate.xy_px for candidate in frame.candidates]
        self.unsupported += point.xy_px is not None and not supported and point.source is not Source.INTERPOLATED
        if truth.puck_px is None:
            self.empty += 1
            self.alarms += point.xy_px is not None
            return
        self.pucks += 1
        error_px = np.inf if point.xy_px is None else point.xy_px.distance(truth.puck_px)
        self.hits += error_px <= 25

    @property
    def ap25(self) -> float:
        return 100 * self.hits / max(1, self.pucks)


@app.callback(invoke_without_command=True)
def default(context: typer.Context) -> None:
    """Measure the tracker alone where nothing else is asked for."""
    if context.invoked_subcommand is None:
        track()


@app.command()
def track(
    seconds: Annotated[float, typer.Option(help="Length of each clip.")] = 10.0,
    clips: Annotated[int, typer.Option(help="How many of the seeds.")] = len(SEEDS),
) -> None:
    """Compare single frames with the path, offline and live, over clips with fixed seeds."""
    tallies = {name: Tally() for name in ("single frames", "path, whole shot", "path, live (12 frames)")}
    hidden = {name: Tally() for name in tallies}
    for seed in SEEDS[:clips]:
        truths = list(_truths(seed, seconds))
        frames = list(_simulated(truths, np.random.default_rng(seed)))
        for name, points in _answers(truths, frames).items():
            for truth, frame, point in zip(truths, frames, points, strict=True):
                tallies[name].add(truth, point, frame)
                if truth.shown < 0.2 and truth.puck_px is not None:
                    hidden[name].add(truth, point, frame)
    table = Table("", "AP25", "AP25, puck hidden", "false alarms", "unsupported", title="tracker")
    for name, tally in tallies.items():
        alarms = f"{tally.alarms}/{tally.empty}"
        row = (f"{tally.ap25:.1f}", f"{hidden[name].ap25:.1f}", alarms)
        table.add_row(name, *row, str(tally.unsupported))
    console.print(table)
    shots = sum(len({truth.shot for truth in _truths(seed, seconds, exact=False)}) for seed in SEEDS[:clips])
    console.print(f"{clips} clips, {tally.pucks + tally.empty} frames, {shots} shots")


def _answers(truths: list[Truth], frames: list[CandidateFrame]) -> dict[str, list[TrackPoint]]:
    whole: list[TrackPoint] = []
    live: list[TrackPoint] = []
    for shot in sorted({truth.shot for truth in truths}):
        group = [frame for truth, frame in zip(truths, frames, strict=True) if truth.shot == shot]
        whole += track_shot(group)
        live += list(track_live(group, delay=12))
    single = [track_shot([frame])[0] for frame in frames]
    return {"single frames": single, "path, whole shot": whole, "path, live (12 frames)": live}


def _truths(seed: int, seconds: float, *, exact: bool = True) -> Iterator[Truth]:
    plan = plan_clip(seconds, seed, SIZE, RATE)
    match = sample_match(seed, 0)
    stage: Stage | None = build_stage(match) if exact else None
    for shot, scene in clip_scenes(match, plan):
        x, y = scene.camera.project(np.array([scene.puck.position_m]))[0]
        inside = bool(np.isfinite(x + y)) and 0 <= x < SIZE.width and 0 <= y < SIZE.height
        wiped = scene.graphics.wipe is not None
        shown = puck_shown(stage, scene) if stage is not None and inside and not wiped else 0.0
        yield Truth(shot, Point(float(x), float(y)) if inside else None, shown, scene)


def _simulated(truths: list[Truth], rng: np.random.Generator) -> Iterator[CandidateFrame]:
    """Yield what a middling detector would say: it misses a third, is drawn to spots on the ice, and sees ghosts."""
    decoys_m = rng.uniform((-28, -12), (28, 12), (6, 2))
    strengths = rng.uniform(0.1, 0.75, 6)
    before: Scene | None = None
    for truth in truths:
        found: list[Candidate] = []
        if truth.puck_px is not None and rng.random() < 0.7 * min(1.0, truth.shown / 0.5):
            x, y = np.array(tuple(truth.puck_px)) + rng.normal(0, 2.0, 2)
            found.append(Candidate(Point(float(x), float(y)), float(rng.beta(6, 2))))
        spots = truth.scene.camera.project(np.column_stack([decoys_m, np.zeros(6)]))
        for (x, y), strength in zip(spots, strengths, strict=True):
            if 0 <= x < SIZE.width and 0 <= y < SIZE.height and rng.random() < 0.5:
                found.append(Candidate(Point(float(x), float(y)), float(strength * rng.uniform(0.5, 1.0))))
        if rng.random() < 0.3:
            place = rng.uniform((0, 200), (SIZE.width, SIZE.height))
            found.append(Candidate(Point(*map(float, place)), float(rng.beta(2, 3))))
        found.sort(key=lambda candidate: -candidate.probability)
        yield CandidateFrame(SIZE, tuple(found[:5]), _motion(before, truth.scene, rng), 1 / RATE)
        before = truth.scene


def _motion(before: Scene | None, now: Scene, rng: np.random.Generator) -> FloatArray:
    """Return the camera's motion as it would be measured: right to half a pixel, and not at all in one of twenty."""
    if before is None or rng.random() < 0.05:
        return np.eye(3)
    to_ice, to_picture = before.camera.homography().matrix, np.linalg.inv(now.camera.homography().matrix)
    motion = to_picture @ to_ice
    shake = np.eye(3)
    shake[:2, 2] = rng.normal(0, 0.5, 2)
    return np.asarray(shake @ motion / motion[2, 2])


@app.command()
def clips(
    real: Annotated[Path | None, typer.Option(help="Folder of a dataset with real frames to pan over.")] = None,
    matches: Annotated[str, typer.Option(help="Its matches that were not trained on.")] = "g4,g9",
    pans: Annotated[int, typer.Option(help="How many real frames to pan over.")] = 12,
    picture: Annotated[Path | None, typer.Option(help="Draw the reliability on rendered clips as SVG.")] = None,
    lines: Annotated[int, typer.Option(help="Height of the rendered games.")] = 720,
    threads: Annotated[int | None, typer.Option(help="Of the networks. Default: all cores.")] = None,
) -> None:
    """Compare following with scanning, and confidence with how often it comes true."""
    finder = Locator(threads=threads)
    sets = {"rendered": rendered_clips(FOLDER, lines, bar)}
    if real is not None:
        sets["real, panned"] = real_clips(FOLDER, read_dataset(real), matches.split(","), pans)
    speed = Table("", "", "AP10", "AP25", "with a place", "parts", "follow - scan, AP10 (95 %)", title="following")
    trust = Table("", "source", "rows", "confidence", "within 10 px", "calibration error", title="confidence")
    for name, found in sets.items():
        scanned: list[Answer] = []
        followed: list[Answer] = []
        for clip in found:
            scanned += answers_of(clip, finder, follow=False)
            followed += answers_of(clip, finder, follow=True)
        speed.add_row(name, "scan", *_accuracy(scanned), "")
        speed.add_row("", "follow", *_accuracy(followed), _difference(scanned, followed))
        for label, answers in ((name, scanned), (f"{name}, followed", followed)):
            show_trust(trust, label, answers)
        if picture is not None and name == "rendered":
            picture.write_text(diagram(scanned))
    console.print(speed)
    console.print(trust)


def _accuracy(answers: list[Answer]) -> tuple[str, str, str, str]:
    errors = np.array([answer.error_px for answer in answers if answer.has_puck])
    places = sum(answer.source is not Source.ABSENT for answer in answers)
    parts = np.mean([not answer.was_scanned for answer in answers])
    return (
        f"{100 * np.mean(errors <= 10):.1f}",
        f"{100 * np.mean(errors <= 25):.1f}",
        f"{places}/{len(answers)}",
        f"{parts:.0%}",
    )


def _difference(scanned: list[Answer], followed: list[Answer]) -> str:
    """Return how much following changes AP10, with an interval from resampling whole clips."""
    names = sorted({answer.clip for answer in scanned})
    sums = np.zeros((len(names), 2))
    for one, two in zip(scanned, followed, strict=True):
        gained = float(two.error_px <= 10) - float(one.error_px <= 10)
        sums[names.index(one.clip)] += (gained, 1.0) if one.has_puck else (0.0, 0.0)
    drawn = sums[np.random.default_rng(0).integers(len(names), size=(2000, len(names)))].sum(axis=1)
    low, high = np.quantile(100 * drawn[:, 0] / drawn[:, 1], (0.025, 0.975))
    return f"{100 * sums[:, 0].sum() / sums[:, 1].sum():+.1f} ({low:+.1f} to {high:+.1f})"


@app.command()
def fit(
    real: Annotated[Path, typer.Argument(help="Folder of a dataset with real frames to pan over.")],
    matches: Annotated[str, typer.Option(help="Its matches to pan over; the network must not know them.")] = "g0",
    pans: Annotated[int, typer.Option(help="How many real frames to pan over.")] = 24,
    lines: Annotated[int, typer.Option(help="Height of the rendered games.")] = 720,
    threads: Annotated[int | None, typer.Option(help="Of the networks. Default: all cores.")] = None,
) -> None:
    """Fit how sure a visit is to its own frame and those around; `clips` judges the outcome on other clips."""
    rendered = rendered_clips(FOLDER, lines, bar, FIT_FIRST_FRAMES)
    panned = real_clips(FOLDER, read_dataset(real), matches.split(","), pans)
    finder, clips = Locator(threads=threads), (*rendered, *panned)
    visits = visits_of(clips, finder)
    own, around, offset = fit_trust(visits)
    console.print(f"{len(visits)} visits: own {own:.2f}, around {around:.2f}, offset {offset:.2f}; now {Trust()}")
    bridged = bridges_of(clips, finder, Trust(own, around, offset, straight=1.0))
    right, expected = (sum(values) for values in zip(*bridged, strict=True))
    console.print(
        f"{len(bridged)} points between visits, {right} right, {expected:.1f} expected: straight {right / expected:.2f}"
    )


@app.command()
def video(clips: Annotated[list[Path], typer.Argument(help="Rendered clips with their records beside them.")]) -> None:
    """Locate in rendered clips by scanning, following and live, and print accuracy and the work of every stage."""
    finder = Locator()
    for clip in clips:
        lines = records_path(clip).read_text().splitlines()
        truth = {record.frame_index: record for record in map(Record.model_validate_json, lines)}
        _compare(clip.name, clip, finder, lambda row, known=truth: _true_point(known[row.frame]))  # type: ignore[misc]


def _true_point(record: Record) -> Point | None:
    return None if record.puck is None else record.puck.centre_px


def _compare(name: str, clip: Path, finder: Locator, true_point: Callable[[Row], Point | None]) -> None:
    table = Table("", "AP10", "AP25", "located", "frames/s", title=name)
    for label, settings in (("scan", Settings()), ("follow", Settings(follow=True))):
        alone_s = _network_alone_s(clip, finder.for_video(follow=settings.follow))
        watch = Stopwatch()
        pieces = locate_pieces(VideoReader(clip), finder, settings, Looking(settings.follow), None, watch)
        rows = [row for piece in pieces for row in piece.rows]
        table.add_row(label, *_scores(rows, true_point), f"{len(rows) / watch.elapsed_s:.1f}")
        _show_stages(f"{name}, {label}", watch, len(rows), alone_s)
    rows = list(locate(clip, finder, Settings(delay=12)))
    table.add_row("live", *_scores(rows, true_point), "")
    console.print(table)


def _scores(rows: list[Row], true_point: Callable[[Row], Point | None]) -> tuple[str, str, str]:
    pairs = [(row, truth) for row in rows if (truth := true_point(row)) is not None]
    errors = [
        np.inf if row.x_px is None or row.y_px is None else truth.distance(Point(row.x_px, row.y_px))
        for row, truth in pairs
    ]
    hit = [100 * np.mean([error <= limit for error in errors]) for limit in (10, 25)]
    located = sum(row.x_px is not None for row in rows)
    return f"{hit[0]:.1f}", f"{hit[1]:.1f}", f"{located}/{len(rows)}"


def _network_alone_s(clip: Path, finder: StagedFinder, count: int = 16) -> float:
    """Return the seconds a whole frame takes when nothing but the network runs, players known beforehand.

    As many frames are looked at once as in the run that this is compared with.
    """
    frames = [frame.image for frame, _ in zip(VideoReader(clip).frames(), range(count), strict=False)]
    pairs = [(image, finder.players(image)) for image in frames]
    list(together(pairs[: finder.at_once], lambda pair: finder.look(*pair), finder.at_once))  # wakes the network up
    begun = time.perf_counter()
    list(together(pairs, lambda pair: finder.look(*pair), finder.at_once))
    return (time.perf_counter() - begun) / len(frames)


def _show_stages(title: str, watch: Stopwatch, frames: int, alone_s: float) -> None:
    """Print the work of every stage; one that runs several times at once works more than all of the time."""
    elapsed_s, processor_s = watch.elapsed_s, watch.processor_s
    table = Table("stage", "times", "ms each", "ms a frame", "of the time", title=title)
    for name, count, busy_s in watch.table():
        milliseconds = f"{1000 * busy_s / count:.1f}", f"{1000 * busy_s / frames:.1f}"
        table.add_row(name, str(count), *milliseconds, f"{busy_s / elapsed_s:.0%}")
    table.add_row("processor", "", "", f"{1000 * processor_s / frames:.1f}", f"{processor_s / elapsed_s:.0%}")
    table.add_row("end to end", str(frames), "", f"{1000 * elapsed_s / frames:.1f}", "100%")
    console.print(table)
    console.print(
        f"network alone {1000 * alone_s:.1f} ms a frame; end to end at {alone_s * frames / elapsed_s:.2f} of its rate"
    )


if __name__ == "__main__":
    app()
