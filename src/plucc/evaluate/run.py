"""From a model or rows and a dataset to a report on disk."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from plucc.calibration import Calibration, fit_calibration
from plucc.data.rows import write_rows
from plucc.data.schema import Record
from plucc.evaluate.answers import Answer, answers_from_rows, rows_from_answers
from plucc.evaluate.gallery import galleries
from plucc.evaluate.page import write_page
from plucc.evaluate.paired import compare
from plucc.evaluate.plots import Side, charts, rink_error_map
from plucc.evaluate.report import Report, SideReport, Speed, write_csv, write_json, write_markdown
from plucc.evaluate.scoring import Scoring
from plucc.evaluate.selection import Labelled, Selection, open_labelled
from plucc.evaluate.subjects import TABLE_SUFFIXES, HeatmapSubject, Opening, Subject, open_subject
from plucc.evaluate.tables import ALL, Measuring, Protocol, Theme, measured_tables
from plucc.evaluate.tracking import is_sequence, track_scores
from plucc.locator import PICTURE_ABSENT_BELOW, locate
from plucc.metrics.figures import CORRECT_PX, is_correct
from plucc.rink.sheet import sheet_by_name
from plucc.runtime.onnx import read_card
from plucc.runtime.second_card import read_second_card
from plucc.second_look import second_look_file
from plucc.types import InputError, Point, Progress, require, silent
from plucc.video import read_image
from plucc.weighing import Evidence, Weighing, fit_weighing

FILES = ("report.json", "figures.csv", "report.md", "report.html")


@dataclass(frozen=True, slots=True)
class Request:
    """What to score, on what, and by whose rules."""

    subject: str  # a model, a table of rows, or "shipped"
    dataset: Path
    against: str | None = None
    selection: Selection = field(default_factory=Selection)
    protocol: Protocol = Protocol.FULL
    opening: Opening = field(default_factory=Opening)
    absent_below: float = PICTURE_ABSENT_BELOW
    sheet: str = "nhl"
    pictures: int = 6  # in each gallery
    resamples: int = 1000
    names: dict[str, str] = field(default_factory=dict)  # other names than the files' for the report

    def measuring(self) -> Measuring:
        return Measuring(sheet_by_name(self.sheet), self.protocol, resamples=self.resamples)


@dataclass(frozen=True, slots=True)
class Result:
    """A report, and the answers that it rests on, first model first."""

    report: Report
    scorings: tuple[Scoring, ...]


def evaluate(request: Request, *, progress: Progress = silent) -> Result:
    """Score one model or table, or two side by side."""
    labelled = open_labelled(request.dataset, request.selection)
    measuring = request.measuring()
    sources = [request.subject, *([request.against] if request.against else [])]
    opening = _opening(request)
    scorings, sides, subjects = [], [], []
    for source in sources:
        subject = None if _is_table(source) else open_subject(source, opening, name=request.names.get(source))
        answers = _answers(source, subject, labelled, progress)
        scoring = Scoring(labelled.records, answers, request.absent_below)
        sides.append(_side(request.names.get(source) or _name(source, subject), subject, scoring, measuring))
        scorings.append(scoring)
        subjects.append(subject)
    drawn = [Side(side.name, scoring) for side, scoring in zip(sides, scorings, strict=True)]
    comparison = None
    if len(scorings) == 2:
        themes = tuple(table.theme for table in sides[0].tables if table.by == ALL)
        shared = tuple(theme for theme in themes if sides[1].figures(theme))
        comparison = compare(scorings[0], scorings[1], measuring, shared)
    maps = [(side.name, rink_error_map(side.scoring, measuring.sheet)) for side in drawn]
    report = Report(
        title=" against ".join(side.name for side in sides),
        facts=_facts(request, labelled),
        notes=tuple(_notes(request, labelled, scorings[0], subjects)),
        sides=tuple(sides),
        comparison=comparison,
        charts=tuple(charts(drawn, measuring)),
        maps=tuple((f"Median error by place, {name}", picture) for name, picture in maps if picture is not None),
        galleries=tuple(
            galleries(labelled, scorings[0], subjects[0], measuring.sheet, request.pictures, progress=progress)
        ),
    )
    return Result(report, tuple(scorings))


def write_report(result: Result, folder: Path) -> None:
    """Write report and rows into a folder; each file appears whole, those of an earlier report are replaced."""
    writers = (write_json, write_csv, write_markdown, write_page)
    for name, writer in zip(FILES, writers, strict=True):
        writer(result.report, folder / name)
    for number, scoring in enumerate(result.scorings):
        rows = rows_from_answers(scoring.records, scoring.answers, scoring.absent_below)
        write_rows(folder / ("rows.csv" if number == 0 else "rows-against.csv"), rows)


def calibrate(model: Path, result: Result) -> Calibration | Weighing:
    """Fit a model's confidence on the frames of a report and write it into its card, or its second look's."""
    for module in ("torch", "onnx"):
        require(module, "train")
    from plucc.export import write_card  # noqa: PLC0415  # torch loads here, when a card is to be written

    card = read_card(model)
    scoring = result.scorings[0]
    evidence = [answer.evidence for answer in scoring.answers if answer.evidence is not None]
    second = second_look_file(model, card) if evidence else None
    if second is not None:
        weighing = fit_weighing(evidence, [_right_place(*pair) for pair in zip(evidence, scoring.records, strict=True)])
        write_card(second, read_second_card(second).model_copy(update={"weighing": weighing.to_card()}))
        return weighing
    if card.calibration:
        raise InputError(f"{model} is calibrated already: export it again first")
    frames = scoring.answered
    fitted = fit_calibration(frames.confidence, is_correct(frames))
    write_card(model, card.model_copy(update={"calibration": fitted.to_card()}))
    return fitted


def _right_place(evidence: Evidence, record: Record) -> int | None:
    """Return which of the places is the puck's: the nearest, if it is near enough for a confidence to call it right."""
    if record.puck is None or not len(evidence.places_px):
        return None
    away_px = np.hypot(*(evidence.places_px - np.array(tuple(record.puck.centre_px))).T)
    nearest = int(np.argmin(away_px))
    return nearest if away_px[nearest] * record.size.reference_scale <= CORRECT_PX else None


def _opening(request: Request) -> Opening:
    if request.protocol is not Protocol.PAPER:
        return request.opening
    return replace(request.opening, method="argmax")


def _is_table(source: str) -> bool:
    return Path(source).suffix in TABLE_SUFFIXES


def _name(source: str, subject: Subject | None) -> str:
    return Path(source).stem if subject is None else subject.name


def _answers(source: str, subject: Subject | None, labelled: Labelled, progress: Progress) -> tuple[Answer, ...]:
    if subject is None:
        return answers_from_rows(Path(source), labelled)
    if labelled.video is not None:
        return _located(subject, labelled, progress)
    answers = []
    for record in progress(labelled.records, total=len(labelled), label=subject.name):
        image = read_image(labelled.dataset.image_path(record))
        if image.shape[:2] != (record.size.height, record.size.width):
            raise InputError(
                f"{labelled.dataset.image_path(record)} is {image.shape[1]}x{image.shape[0]}, its record says "
                f"{record.size.width}x{record.size.height}: import the dataset again"
            )
        answers.append(subject.look(image, record.players).answer())
    return tuple(answers)


def _located(subject: Subject, labelled: Labelled, progress: Progress) -> tuple[Answer, ...]:
    """Run the whole way through a clip, path included."""
    video = labelled.video
    if video is None or not video.is_file():
        raise InputError(f"{video} is missing: keep the clip beside its records, or score rows of it")
    rows = {row.frame: row for row in progress(locate(video, subject), total=None, label=subject.name)}
    answers = []
    for record in labelled.records:
        row = rows.get(record.frame_index or 0)
        if row is None:
            raise InputError(f"{video} has no frame {record.frame_index}: its records belong to another clip")
        place = None if row.x_px is None or row.y_px is None else Point(row.x_px, row.y_px)
        answers.append(Answer(place, row.confidence, row.source))
    return tuple(answers)


def _side(name: str, subject: Subject | None, scoring: Scoring, measuring: Measuring) -> SideReport:
    return SideReport(
        name=name,
        facts={"kind": "table of rows"} if subject is None else subject.facts,
        tables=tuple(measured_tables(scoring, measuring)),
        tracking=track_scores(scoring) if is_sequence(scoring) else None,
        speed=_speed(scoring.answers),
    )


def _speed(answers: Sequence[Answer]) -> Speed | None:
    times = [(answer.seconds, answer.player_seconds or 0.0) for answer in answers if answer.seconds is not None]
    if not times:
        return None
    settled = np.array(times[1:] or times) * 1e3  # the first frame pays for waking the model up
    mean_ms, players_ms = (float(value) for value in settled.mean(axis=0))
    return Speed(mean_ms, float(np.median(settled[:, 0])), players_ms, 1e3 / mean_ms)


def _facts(request: Request, labelled: Labelled) -> dict[str, str]:
    pucks = sum(record.puck is not None for record in labelled.records)
    return {
        "dataset": f"{labelled.dataset.info.name} ({request.selection.words})",
        "frames": f"{len(labelled)}, {pucks} with a puck",
        "matches": str(len({record.match for record in labelled.records})),
        "protocol": request.protocol.value,
        "absent below": f"{request.absent_below:g}",
    }


def _notes(request: Request, labelled: Labelled, scoring: Scoring, subjects: Sequence[Subject | None]) -> list[str]:
    notes = []
    if labelled.unlabelled:
        notes.append(f"{labelled.unlabelled} frames of the selection have no label of a puck and were left out")
    without = int((~np.isfinite(scoring.answered.to_rink[:, 0, 0]) & scoring.answered.has_puck).sum())
    if without and Theme.RINK in request.protocol.themes:
        notes.append(f"{without} frames with a puck have no homography: figures on the rink leave them out")
    lines = {record.size.height for record in labelled.records}
    for subject in subjects:
        trained = subject.runtime.card.heatmap.height if isinstance(subject, HeatmapSubject) else None
        if trained is not None and lines != {trained}:
            found = ", ".join(str(line) for line in sorted(lines))
            notes.append(
                f"{subject.name if subject else ''} was trained at {trained} lines, the frames have {found}: they were "
                f"scaled to it where they differ by more than a quarter, as in plucc locate"
            )
    if scoring.answered.match.size and len(set(scoring.answered.match.tolist())) < 10:
        notes.append("fewer than ten matches: intervals resample runs of near-duplicates, not matches")
    return notes
