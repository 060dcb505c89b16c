"""What the source of players does to the puck: one model, the same frames, context images made in several ways."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plucc.context.backends import NO_DETECTOR, WAYS, FinderChoice, open_finder
from plucc.context.finder import PlayerFinder
from plucc.context.labels import LabelFinder
from plucc.context.maskfile import MaskFile, read_masks
from plucc.context.masks import resized
from plucc.data.masks import encode_mask
from plucc.data.schema import Player, Record
from plucc.evaluate.answers import Answer
from plucc.evaluate.paired import Comparison, compare
from plucc.evaluate.scoring import Scoring
from plucc.evaluate.selection import Labelled, Selection, open_labelled
from plucc.evaluate.subjects import SHIPPED, HeatmapSubject, Opening, open_subject
from plucc.evaluate.tables import Measuring, Theme, estimates
from plucc.locator import PICTURE_ABSENT_BELOW
from plucc.rink.sheet import nhl
from plucc.types import Box, DataError, InputError, Progress, silent
from plucc.video import read_image

NOBODY = "none"
REFERENCE = SHIPPED  # what the others are compared with, where it is among them
FIGURES = ("mAP", "AP5", "AP10", "AP25", "median error")
_MASK_FILE = ".jsonl"


@dataclass(frozen=True, slots=True)
class PlayerSource:
    """One way to come by players: a finder, with a file's masks in place of the labels, or nobody at all."""

    name: str
    finder: PlayerFinder | None
    masks: MaskFile | None = None

    def can_answer(self, record: Record) -> bool:
        """Tell whether it has players of its own for this frame: labels and files do not have those of every one."""
        if self.masks is not None:
            return record.image in self.masks
        if self.name in (NOBODY, SHIPPED):
            return True
        players = record.players
        if self.name == "labels":
            return players is not None and all(player.mask is not None for player in players)
        return players is not None

    def players(self, record: Record) -> Sequence[Player] | None:
        """Return what the finder is told of a frame."""
        if self.masks is None:
            return record.players
        mask = encode_mask(resized(self.masks[record.image], record.size))
        return (Player(box_px=Box(0, 0, record.size.width, record.size.height), mask=mask),)


@dataclass(frozen=True, slots=True)
class SourceScore:
    """The figures of one source, by name, and how it differs from the reference; None for the reference itself."""

    name: str
    version: str
    figures: dict[str, float]
    against: Comparison | None


@dataclass(frozen=True, slots=True)
class SourceReport:
    """All sources on the frames that every one of them has players for."""

    model: str
    selection: str
    frames: int
    left_out: int
    reference: str
    scores: tuple[SourceScore, ...]

    def summary(self) -> str:
        """Return a table that a terminal shows and a page can take over."""
        return "\n".join(_summary_lines(self))


def open_player_source(text: str, *, threads: int | None = None) -> PlayerSource:
    """Open `none`, a way to find players, a way and its weights as `sam2-onnx=FOLDER`, or a file of masks (.jsonl)."""
    if text == NOBODY:
        return PlayerSource(text, None)
    if text.endswith(_MASK_FILE):
        path = Path(text)
        return PlayerSource(path.stem, LabelFinder(), read_masks(path))
    name, _, weights = text.partition("=")
    way = next((known for known in WAYS if known == name), None)
    if way is None:
        choices = ", ".join((*WAYS, NOBODY))
        raise InputError(f"{text} is no source of players: choose among {choices}, or give a file of masks (.jsonl)")
    return PlayerSource(name, open_finder(FinderChoice(way, weights or None, NO_DETECTOR, threads=threads)))


def usual_sources(records: Sequence[Record], *, threads: int | None = None) -> list[PlayerSource]:
    """Return what needs no further model: the dataset's masks and boxes, as far as it has them, shipped, nobody."""
    names = [SHIPPED, "labels", "boxes", NOBODY]
    sources = [open_player_source(name, threads=threads) for name in names]
    return [source for source in sources if any(source.can_answer(record) for record in records)]


def compare_players(
    model: str,
    dataset: Path,
    selection: Selection,
    sources: Sequence[str] = (),
    *,
    threads: int | None = None,
    progress: Progress = silent,
) -> SourceReport:
    """Score a model with the players of each source, on the frames that all of them have players for."""
    labelled = open_labelled(dataset, selection)
    opened = [open_player_source(text, threads=threads) for text in sources]
    opened = opened or usual_sources(labelled.records, threads=threads)
    records = tuple(one for one in labelled.records if all(source.can_answer(one) for source in opened))
    if not records:
        names = ", ".join(source.name for source in opened)
        raise DataError(f"{dataset} has no frame with players of all of {names}: leave one out, or label more players")
    subjects = _subjects(model, opened, threads)
    scorings = _scorings(subjects, opened, labelled, records, progress)
    place = next((index for index, source in enumerate(opened) if source.name == REFERENCE), 0)
    measuring = Measuring(nhl())
    scores = []
    for index, (source, scoring) in enumerate(zip(opened, scorings, strict=True)):
        figures = {one.name: one.value for one in estimates(scoring, Theme.IMAGE, measuring) if one.name in FIGURES}
        against = None if index == place else compare(scoring, scorings[place], measuring, (Theme.IMAGE,))
        version = NOBODY if source.finder is None else source.finder.version
        scores.append(SourceScore(source.name, version, figures, against))
    left_out = len(labelled) - len(records)
    return SourceReport(model, selection.words, len(records), left_out, opened[place].name, tuple(scores))


def _subjects(model: str, sources: Sequence[PlayerSource], threads: int | None) -> list[HeatmapSubject]:
    opening = Opening(players="none", threads=threads)  # each source brings its own
    subject = open_subject(model, opening)
    if not isinstance(subject, HeatmapSubject) or not subject.runtime.card.uses_context:
        raise InputError(f"{model} looks at no context image, so players make no difference: give a network that does")
    return [HeatmapSubject(source.name, subject.networks, source.finder, opening) for source in sources]


def _scorings(
    subjects: Sequence[HeatmapSubject],
    sources: Sequence[PlayerSource],
    labelled: Labelled,
    records: tuple[Record, ...],
    progress: Progress,
) -> list[Scoring]:
    answers: list[list[Answer]] = [[] for _ in sources]
    for record in progress(records, total=len(records), label="frames"):
        image = read_image(labelled.dataset.image_path(record))
        for subject, source, found in zip(subjects, sources, answers, strict=True):
            found.append(subject.look(image, source.players(record)).answer())
    return [Scoring(records, tuple(found), PICTURE_ABSENT_BELOW) for found in answers]


def _summary_lines(report: SourceReport) -> list[str]:
    left_out = f", {report.left_out} left out that some source has no players for" if report.left_out else ""
    head = ("players", *FIGURES[:-1], "median px", f"mAP less {report.reference}'s", "right only here / only there")
    lines = [f"{report.model} on {report.frames} frames ({report.selection}){left_out}"]
    lines += [_line(head), _line(["---"] * len(head))]
    for score in report.scores:
        cells = [score.name, *(f"{100 * score.figures[name]:.1f}" for name in FIGURES[:-1])]
        cells.append(f"{score.figures[FIGURES[-1]]:.1f}")
        lines.append(_line([*cells, *_difference(score.against)]))
    return lines


def _difference(against: Comparison | None) -> tuple[str, str]:
    if against is None:
        return "–", "–"
    gain = next(one for one in against.differences[Theme.IMAGE] if one.name == FIGURES[0])
    interval = "" if np.isnan(gain.low) else f" ({100 * gain.low:+.1f} to {100 * gain.high:+.1f})"
    return f"{100 * gain.value:+.1f}{interval}", f"{against.only_first} / {against.only_second}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
