"""One row of the reproduction: trained, scored, and kept in a file that says all about it."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pydantic import Field

from plucc.config import Section, Spec
from plucc.data.rows import write_rows
from plucc.data.splits import Split, read_split
from plucc.evaluate.answers import rows_from_answers
from plucc.evaluate.report import SideReport
from plucc.evaluate.run import Request, Result, evaluate
from plucc.evaluate.selection import Selection
from plucc.evaluate.subjects import Opening
from plucc.evaluate.tables import Protocol, Theme
from plucc.files import whole_file
from plucc.reproduce.experiments import Experiment, Scale, on_data
from plucc.types import DataError, MissingExtraError, Progress, silent

ROW_FILE, ANSWERS_FILE = "row.json", "rows.csv"

Say: TypeAlias = Callable[[str], None]
Triple: TypeAlias = tuple[float | None, float | None, float | None]  # value, low, high; None where there is none


class RowFacts(Section):
    """Everything that the report says of a row. Figures are shares, pixels and metres as measured."""

    key: str
    label: str
    reason: str = ""  # why it was not run; empty for a row that was
    data: str = ""
    test_frames: int = 0
    budget: str = ""
    seed: int = 0
    parameters: int = 0
    minutes: float = 0.0  # of training
    frame_ms: float | None = None  # the network alone, on the machine of the run
    figures: dict[str, Triple] = Field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        return not self.reason


@dataclass(frozen=True, slots=True)
class Ground:
    """What all rows share: the scale, the data and where results go."""

    scale: Scale
    data: Path
    out: Path
    seed: int
    device: str

    def folder(self, experiment: Experiment) -> Path:
        return self.out / "rows" / experiment.key


def finished(ground: Ground, experiment: Experiment) -> RowFacts | None:
    """Return a row that an earlier run finished; None where it is still to do."""
    path = ground.folder(experiment) / ROW_FILE
    if not path.is_file():
        return None
    try:
        return RowFacts.model_validate_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is damaged: remove it, and the row is scored again") from error


def run_row(ground: Ground, experiment: Experiment, say: Say, progress: Progress = silent) -> RowFacts:
    """Train and score a row, or go on where it stopped; a row whose library is missing says so and is left out."""
    known = finished(ground, experiment)
    if known is not None:
        say(f"{experiment.label}: done before")
        return known
    spec = on_data(experiment.spec(ground.scale), ground.data, ground.seed)
    started = time.monotonic()
    try:
        checkpoint = _trained(spec, ground.folder(experiment) / "run", say)
    except MissingExtraError as error:
        say(f"{experiment.label}: left out; {error}")
        return RowFacts(key=experiment.key, label=experiment.label, reason=str(error))
    result = scored(ground, checkpoint, experiment.label, progress)
    facts = _facts(ground, experiment, spec, checkpoint, result)
    scoring = result.scorings[0]
    write_rows(
        ground.folder(experiment) / ANSWERS_FILE, rows_from_answers(scoring.records, scoring.answers, absent_below=0.0)
    )
    with whole_file(ground.folder(experiment) / ROW_FILE) as temporary:  # last: it says that the row is done
        temporary.write_text(facts.model_dump_json(indent=1) + "\n", encoding="utf-8")
    minutes = (time.monotonic() - started) / 60
    say(f"{experiment.label}: mAP {_percent(facts.figures.get('mAP'))} after {minutes:.1f} min")
    return facts


def scored(ground: Ground, subject: Path, name: str, progress: Progress = silent) -> Result:
    """Score a checkpoint, or a table of answers, by the paper's rules on the test matches."""
    request = Request(
        subject=str(subject),
        dataset=ground.data,
        selection=Selection(split=Split.TEST),
        protocol=Protocol.PAPER,
        opening=Opening(players="labels", device=ground.device),
        pictures=0,
        names={str(subject): name},
    )
    return evaluate(request, progress=progress)


def _trained(spec: Spec, run: Path, say: Say) -> Path:
    # torch loads here: the tables of a finished reproduction are written without it
    from plucc.training.fit import FINAL_FILE, train  # noqa: PLC0415

    final = run / FINAL_FILE
    if not final.is_file():
        train(spec, run, resume=True, say=lambda line: say(f"  {line}"))
    return final


def _facts(ground: Ground, experiment: Experiment, spec: Spec, checkpoint: Path, result: Result) -> RowFacts:
    parameters, meta = _inside(checkpoint)
    side = result.report.sides[0]
    speed = side.speed
    return RowFacts(
        key=experiment.key,
        label=experiment.label,
        data=_data_words(ground, result),
        test_frames=int(result.scorings[0].answered.has_puck.sum()),
        budget=_budget(spec, meta),
        seed=ground.seed,
        parameters=parameters,
        minutes=round(60 * float(meta.get("hours", 0.0)), 2),
        frame_ms=None if speed is None else round(speed.mean_ms - speed.players_ms, 2),
        figures=_figures(side),
    )


def _data_words(ground: Ground, result: Result) -> str:
    """Say what was trained on and what was scored."""
    learnt = read_split(ground.data, Split.TRAIN)
    sizes = {f"{record.size.width}x{record.size.height}" for record in learnt.records}
    source = "rendered" if ground.scale.rendering is not None and ground.out in ground.data.parents else "given"
    matches = len({record.match for record in learnt.records})
    tested = result.report.facts["matches"]
    return f"{source}: {len(learnt)} frames of {', '.join(sorted(sizes))}, {matches} matches; {tested} test matches"


def _inside(checkpoint: Path) -> tuple[int, dict[str, float]]:
    """Return the number of parameters and the meta data of a checkpoint."""
    from plucc.network.checkpoint import load_checkpoint, read_checkpoint  # noqa: PLC0415  # torch, as above
    from plucc.network.detectors import is_detector, load_detector  # noqa: PLC0415

    network = load_detector(checkpoint)[0] if is_detector(checkpoint) else load_checkpoint(checkpoint).network
    return sum(value.numel() for value in network.parameters()), dict(read_checkpoint(checkpoint)[0]["meta"])


def _budget(spec: Spec, meta: dict[str, float]) -> str:
    steps = int(meta.get("step", 0))
    view = "whole frames" if spec.data.crop_px is None else f"crops of {spec.data.crop_px} px"
    return f"{steps} steps of {spec.train.batch} {view}"


def _figures(side: SideReport) -> dict[str, Triple]:
    found = side.figures(Theme.IMAGE) | side.figures(Theme.RINK)
    return {name: _triple(figure.value, figure.low, figure.high) for name, figure in found.items()}


def _triple(*values: float) -> Triple:
    kept = [value if abs(value) < float("inf") else None for value in values]  # a NaN is not below infinity either
    return kept[0], kept[1], kept[2]


def _percent(triple: Triple | None) -> str:
    return "–" if triple is None or triple[0] is None else f"{100 * triple[0]:.1f}"


def write_all(path: Path, rows: list[RowFacts]) -> None:
    """Write all rows as one JSON file."""
    with whole_file(path) as temporary:
        text = json.dumps([row.model_dump(mode="json") for row in rows], indent=1, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")
