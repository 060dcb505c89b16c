"""All rows one after the other, and the page that they make."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plucc.context.shipped import ShippedFinder
from plucc.data.manifest import read_dataset
from plucc.data.masks import decode_mask
from plucc.data.splits import SPLITS_FILE, Split, count_origins, read_split, split_by_name, write_splits
from plucc.draw import write_picture
from plucc.evaluate.answers import answers_from_rows
from plucc.evaluate.paired import Difference, compare
from plucc.evaluate.scoring import Scoring
from plucc.evaluate.selection import Selection, open_labelled
from plucc.evaluate.tables import Measuring, Protocol, Theme
from plucc.explain import Gaze, draw_players_alone, explain, gaze
from plucc.files import whole_file
from plucc.reproduce.experiments import Experiment, Rendering, Scale, experiments, scale_of
from plucc.reproduce.page import GAZE_PICTURE, Findings, write_page
from plucc.reproduce.rows import ANSWERS_FILE, Ground, RowFacts, Say, finished, run_row, write_all
from plucc.rink.sheet import nhl
from plucc.synth.frames import plan_frames, write_frames
from plucc.types import DataError, InputError, Progress, require, silent
from plucc.video import read_image

PLAN_FILE = "plan.json"
PAIRS = (("plucc", "fcn"), ("plucc", "faster-rcnn"), ("plucc", "no-dropout"))
GAZE_FRAMES = 12
TIMED_FRAMES = 5


@dataclass(frozen=True, slots=True)
class Wish:
    """What to reproduce: on which data (None renders it), how large, where to, and which rows (none named: all)."""

    scale: str
    out: Path
    data: Path | None = None
    seed: int = 0
    rows: tuple[str, ...] = ()
    device: str | None = None
    processes: int = 2


def reproduce(wish: Wish, *, say: Say = print, progress: Progress = silent) -> Path:
    """Train and score every row and write the page; rows that an earlier run finished are taken as they are."""
    for module in ("torch", "lightning", "timm", "torchvision", "transformers"):
        require(module, "train")
    scale = scale_of(wish.scale)
    chosen = _chosen(wish.rows)
    data = _data(wish, scale, progress)
    ground = Ground(scale, data, wish.out, wish.seed, wish.device or scale.device)
    _settle(ground)
    rows = [run_row(ground, experiment, say, progress) for experiment in chosen]
    rows += [row for one in experiments() if one not in chosen and (row := finished(ground, one)) is not None]
    write_all(wish.out / "rows.json", rows)
    findings = Findings(
        scale=scale,
        rows={row.key: row for row in rows},
        margins=_margins(ground, rows),
        gaze=_gaze(ground, rows),
        players_ms=_players_ms(ground),
    )
    return write_page(findings, wish.out)


def _chosen(names: Sequence[str]) -> tuple[Experiment, ...]:
    known = experiments()
    unknown = sorted(set(names) - {one.key for one in known})
    if unknown:
        raise InputError(f"there is no row {unknown[0]}: choose among {', '.join(one.key for one in known)}")
    return tuple(one for one in known if not names or one.key in names)


def _data(wish: Wish, scale: Scale, progress: Progress) -> Path:
    if wish.data is not None:
        if not (wish.data / SPLITS_FILE).is_file():
            raise DataError(f"{wish.data / SPLITS_FILE} is missing: make it with plucc data split, with a test split")
        return wish.data
    if scale.rendering is None:
        raise InputError(f"the scale {scale.name} needs real data: name a dataset's folder with --data")
    return rendered(wish.out / "data", scale.rendering, wish.processes, progress)


def rendered(folder: Path, rendering: Rendering, processes: int = 1, progress: Progress = silent) -> Path:
    """Render the frames of a scale and split them by match: every third match is the test."""
    if not folder.exists():
        plan = plan_frames(rendering.count, rendering.seed, rendering.size, frames_per_match=rendering.frames_per_match)
        write_frames(folder, plan, processes=processes, progress=progress)
    if not (folder / SPLITS_FILE).is_file():
        origins = count_origins(read_dataset(folder).records)
        matches = sorted({match for match, _ in origins})
        write_splits(folder, split_by_name(origins, val=matches[1::15], test=matches[::3]))
    return folder


def _settle(ground: Ground) -> None:
    """Refuse to mix results of different plans in one folder."""
    plan = {"scale": ground.scale.name, "data": str(ground.data.resolve()), "seed": ground.seed}
    path = ground.out / PLAN_FILE
    if path.is_file() and json.loads(path.read_text(encoding="utf-8")) != plan:
        raise InputError(f"{ground.out} holds a reproduction with another scale, data or seed: choose another --out")
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(plan), encoding="utf-8")


def _margins(ground: Ground, rows: Sequence[RowFacts]) -> dict[tuple[str, str], Difference]:
    """Compare PLUCC with the others on the same frames."""
    done = {row.key: row for row in rows if row.is_done}
    labelled = open_labelled(ground.data, Selection(split=Split.TEST))
    measuring = Measuring(nhl(), Protocol.PAPER)
    margins = {}
    for pair in PAIRS:
        if set(pair) <= set(done):
            first, second = (
                Scoring(labelled.records, answers_from_rows(_answers(ground, key), labelled), 0.0) for key in pair
            )
            differences = compare(first, second, measuring, (Theme.IMAGE,)).differences[Theme.IMAGE]
            margins[pair] = next(one for one in differences if one.name == "mAP")
    return margins


def _answers(ground: Ground, key: str) -> Path:
    return ground.out / "rows" / key / ANSWERS_FILE


def _gaze(ground: Ground, rows: Sequence[RowFacts]) -> Gaze | None:
    """Measure where the context-only network looks and draw the paper's figure, where gaze is known."""
    run = ground.out / "rows" / "context-only" / "run" / "final.ckpt"
    if not run.is_file() or not any(row.key == "context-only" and row.is_done for row in rows):
        return None
    from plucc.export import load_eager  # noqa: PLC0415  # torch loads when there is something to look into

    runtime = load_eager(run, device=ground.device)
    test = read_split(ground.data, Split.TEST)
    seen = [
        record
        for record in test.records
        if record.camera is not None and any(player.gaze_rad is not None for player in record.players or ())
    ][:GAZE_FRAMES]
    if not seen:
        return None
    record = seen[0]
    image = read_image(test.image_path(record))
    masks = [decode_mask(player.mask) for player in record.players or () if player.mask is not None]
    single = sorted(masks, key=lambda mask: -int(mask.sum()))[:1]  # the paper shows one player
    write_picture(draw_players_alone(explain(runtime, image, single)), ground.out / GAZE_PICTURE)
    return gaze(runtime, ((one, read_image(test.image_path(one))) for one in seen))


def _players_ms(ground: Ground) -> float:
    """Time the shipped player network on a few test frames: what a context image costs in use."""
    test = read_split(ground.data, Split.TEST)
    finder = ShippedFinder()
    images = [read_image(test.image_path(record)) for record in test.records[: TIMED_FRAMES + 1]]
    finder(images[0])
    started = time.perf_counter()
    for image in images:
        finder(image)
    return 1e3 * (time.perf_counter() - started) / len(images)
