"""`plucc locate` and `plucc demo`: the main job, and the main job on footage that the demo renders itself."""

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plucc.cli.console import bar, err, out
from plucc.types import InputError

if TYPE_CHECKING:
    from plucc.jobs import Job, Outcome
    from plucc.video import Span

INCOMPLETE = 1  # some rows could not be had: an input broke off, or one of many failed
STREAM = "-"

Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT...", help="Videos, pictures, folders of either, patterns; - reads names from standard input."
    ),
]
Table = Annotated[
    Path, typer.Option("--out", help="Where the rows go: .csv, .jsonl or .parquet; a folder for many; - prints them.")
]
Overlay = Annotated[
    Path | None, typer.Option(help="Write the video again with the puck marked: .mp4, .mkv or .mov; a folder for many.")
]
SummaryPage = Annotated[
    Path | None, typer.Option(help="Write a page about the whole: .png or .html; a folder for many.")
]
Heatmaps = Annotated[Path | None, typer.Option(help="Write the heatmaps of chosen frames as pictures into a folder.")]
HeatmapFrames = Annotated[str, typer.Option(help="Which frames those are, as 120,500-520.")]
StartTime = Annotated[str | None, typer.Option("--start", help="Begin at this time, as 75.5 or 1:15.5.")]
EndTime = Annotated[str | None, typer.Option("--end", help="End before this time.")]
Every = Annotated[int, typer.Option(min=1, help="Take every n-th frame only.")]
AbsentBelow = Annotated[
    float | None,
    typer.Option(
        min=0, max=1, help="Below this confidence a frame counts as one without a puck. Default: 0.25, pictures 0.15."
    ),
]
Follow = Annotated[bool, typer.Option("--follow", help="Look only around the puck while it is in sight: faster.")]
Live = Annotated[bool, typer.Option("--live", help="Decide on each frame after a few more, not at the shot's end.")]
Delay = Annotated[int, typer.Option(min=0, help="How many frames --live waits.")]
Rink = Annotated[str | None, typer.Option(help="Also say where on the rink: nhl, nhl-pre2014, iihf or ncaa.")]
RinkWidth = Annotated[float | None, typer.Option(help="Width of the sheet in metres, for iihf and ncaa.")]
GameCameraFile = Annotated[Path | None, typer.Option("--camera", help="The game's camera, in place of --rink: surer.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on where a run that was stopped had come to.")]
Jobs = Annotated[int, typer.Option(min=1, help="How many videos to work on at once.")]
Profile = Annotated[bool, typer.Option("--profile", help="Show how long each stage worked.")]
Model = Annotated[
    Path | None, typer.Option(help="A model of plucc export, or swift-l, which ships too. Default: swift.")
]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads of the networks. Default: all cores.")]


def locate(
    sources: Sources,
    table: Table = Path("rows.csv"),
    overlay: Overlay = None,
    summary: SummaryPage = None,
    heatmaps: Heatmaps = None,
    heatmap_frames: HeatmapFrames = "0",
    start: StartTime = None,
    end: EndTime = None,
    every: Every = 1,
    absent_below: AbsentBelow = None,
    follow: Follow = False,
    live: Live = False,
    delay: Delay = 12,
    rink: Rink = None,
    rink_width: RinkWidth = None,
    camera: GameCameraFile = None,
    resume: Resume = False,
    jobs: Jobs = 1,
    profile: Profile = False,
    model: Model = None,
    threads: Threads = None,
) -> None:
    """Find the puck in every frame: where it is, how sure that is, and how it was found."""
    from plucc.inputs import expand, parse_frames
    from plucc.jobs import Job, RinkChoice
    from plucc.locator import SHIPPED_MODEL, Settings, model_file

    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    settings = Settings(absent_below, _span(start, end, every), follow, delay if live else None)
    inputs = expand(sources, sys.stdin)
    sheet = None if rink is None and camera is None else RinkChoice(rink or "", rink_width, camera)
    job = Job(inputs[0], table, overlay, summary, settings, sheet, model_file(model or SHIPPED_MODEL), threads, resume)
    wanted = parse_frames(heatmap_frames)
    _run(job, inputs, live=live, profile=profile, workers=jobs)
    if heatmaps is not None:
        _write_heatmaps(job, wanted, heatmaps)


def _span(start: str | None, end: str | None, every: int) -> "Span":
    from plucc.inputs import parse_time
    from plucc.video import Span

    start_s, end_s = (None if text is None else parse_time(text) for text in (start, end))
    return Span(start_s, end_s, every)


def _run(job: "Job", inputs: list[tuple[Path, ...]], *, live: bool, profile: bool, workers: int) -> None:
    if str(job.table) == STREAM or live:
        _stream(job, inputs)
    elif len(inputs) == 1 and not _is_folder(job.table):
        _one(job, profile=profile)
    else:
        _many(job, inputs, workers)


def _one(job: "Job", *, profile: bool) -> None:
    from plucc.jobs import run_job

    outcome = run_job(job, progress=bar)
    out.print(f"{job.table}: {outcome.rows} rows", markup=False)
    for path, what in ((job.overlay, "the same with the puck marked"), (job.summary, "the whole on one page")):
        if path is not None:
            out.print(f"{path}: {what}", markup=False)
    if profile:
        _show_profile(outcome)
    if outcome.breaks_off:
        err.print(f"warning: {job.sources[0]} breaks off; the rows end where it does", markup=False)
        raise typer.Exit(INCOMPLETE)


def _many(job: "Job", inputs: list[tuple[Path, ...]], workers: int) -> None:
    from plucc.jobs import fan_out, run_jobs

    failed = 0
    queued = fan_out(job, inputs)
    for done in run_jobs(queued, workers, progress=bar):
        if done.outcome is None:
            failed += 1
            err.print(f"error: {done.job.sources[0]}: {done.fault}", markup=False)
            continue
        failed += done.outcome.breaks_off
        note = " (it breaks off; the rows end where it does)" if done.outcome.breaks_off else ""
        out.print(f"{done.job.table}: {done.outcome.rows} rows{note}", markup=False)
    if failed:
        err.print(f"{failed} of {len(queued)} inputs could not be read to their end", markup=False)
        raise typer.Exit(INCOMPLETE)


def _stream(job: "Job", inputs: list[tuple[Path, ...]]) -> None:
    """Hand on rows as they are decided: printed as JSON lines, or into a table."""
    from plucc.data.rows import check_table, json_line, write_rows
    from plucc.jobs import stream_rows

    if len(inputs) > 1 or job.overlay is not None or job.summary is not None or job.resume:
        raise InputError("rows that stream come from one input, without overlay, summary or --resume: leave those out")
    if str(job.table) == STREAM:
        for row in stream_rows(job):
            sys.stdout.write(json_line(row))
            sys.stdout.flush()
        return
    check_table(job.table)
    count = write_rows(job.table, bar(stream_rows(job), label="locating"))
    out.print(f"{job.table}: {count} rows", markup=False)


def _write_heatmaps(job: "Job", wanted: list[int], folder: Path) -> None:
    from plucc.jobs import write_heatmaps

    count = write_heatmaps(job, wanted, folder)
    out.print(f"{folder}: {count} heatmaps", markup=False)


def _is_folder(path: Path) -> bool:
    return path.is_dir() or not path.suffix


def _show_profile(outcome: "Outcome") -> None:
    from rich.table import Table as Grid

    grid = Grid(
        "stage", "times", "ms each", "s", "of the time", title="work by stage; stages run at once, some more than once"
    )
    for name, count, busy_s in outcome.stages:
        share = busy_s / outcome.elapsed_s
        grid.add_row(name, str(count), f"{1000 * busy_s / count:.1f}", f"{busy_s:.2f}", f"{share:.0%}")
    rate = outcome.rows / outcome.elapsed_s
    grid.add_row(
        "end to end", str(outcome.rows), f"{1000 / rate:.1f}", f"{outcome.elapsed_s:.2f}", f"{rate:.1f} frames/s"
    )
    out.print(grid)


def demo(
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for what the demo makes.")] = Path("out"),
    seconds: Annotated[float, typer.Option(help="Length of the rendered clip.")] = 4.0,
    seed: Annotated[int, typer.Option(help="Another seed, another match.")] = 7,
) -> None:
    """Render a short broadcast with exact truth, locate the puck in it, and score the result."""
    from plucc.demo import run_demo

    result = run_demo(folder, seconds=seconds, seed=seed, progress=bar)
    shares = ", ".join(f"{source.value} {count}" for source, count in result.sources.items() if count)
    out.print(f"{result.frames} frames: {shares}", markup=False)
    precise = "  ".join(f"{name} {100 * result.figures[name]:.1f}" for name in ("AP5", "AP10", "AP25", "AP50", "mAP"))
    out.print(f"against the exact truth: {precise}  mean error {result.figures['D_pixel']:.1f} px", markup=False)
    out.print(
        f"rows: {result.rows}\npictures to look at: {result.overlay}\nthe whole on one page: {result.summary}\n"
        f"the clip itself: {result.clip}",
        markup=False,
    )
