"""Whether confidence means what it says after tracking, and the fit that makes it so; for `benchmarks/locate.py`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from locate_clips import Clip
from rich.table import Table
from scipy.optimize import minimize

from plucc.evaluate.svg import Axes, Line, line_chart
from plucc.locator import Settings, locate_pieces
from plucc.marking import picture_point
from plucc.metrics.presence import expected_calibration_error, reliability
from plucc.observing import Looking
from plucc.puck_finder import Locator
from plucc.track import TrackLimits, track_shot
from plucc.trust import Trust, log_odds
from plucc.types import FloatArray, MaskArray, Source
from plucc.video import VideoReader

OWN, AROUND = Trust(1.0, 0.0, 0.0), Trust(0.0, 1.0, 0.0)
_PRIOR = 1e-3  # keeps weights finite where few clips leave them open


@dataclass(frozen=True, slots=True)
class Answer:
    """A row beside the truth: how far off it is at 720 lines, infinitely where it should have no place or has none."""

    clip: str
    source: Source
    confidence: float
    error_px: float
    has_puck: bool
    was_scanned: bool


def answers_of(clip: Clip, finder: Locator, *, follow: bool) -> Iterator[Answer]:
    """Yield the rows of a clip beside its truth."""
    video, settings = VideoReader(clip.path), Settings(span=clip.span, follow=follow)
    for piece in locate_pieces(video, finder, settings, Looking(follow)):
        for row, seen in zip(piece.rows, piece.observed, strict=True):
            truth, place = clip.pucks_px[row.frame], picture_point(row)
            scale = seen.candidates.size.reference_scale
            error_px = np.inf if truth is None or place is None else truth.distance(place) * scale
            yield Answer(
                clip.name, row.source, row.confidence, float(error_px), truth is not None, seen.was_scanned
            )  # fmt: skip


def show_trust(table: Table, name: str, answers: list[Answer]) -> None:
    """Add confidence, how often it came true, and the mean gap between the two, for all rows and by source."""
    placed = [answer for answer in answers if answer.source is not Source.ABSENT]
    groups = {"all": placed} | {
        source.value: [answer for answer in placed if answer.source is source]
        for source in (Source.SEEN, Source.INFERRED, Source.INTERPOLATED)
    }
    for label, group in groups.items():
        if group:
            confidence, is_right = _confidence(group)
            error = expected_calibration_error(confidence, is_right, bins=10)
            shares = f"{confidence.mean():.3f}", f"{is_right.mean():.3f}", f"{error:.3f}"
            table.add_row(name if label == "all" else "", label, str(len(group)), *shares)


def _confidence(answers: list[Answer]) -> tuple[FloatArray, MaskArray]:
    confidence = np.array([answer.confidence for answer in answers])
    return confidence, np.array([answer.error_px <= 10 for answer in answers])


def diagram(answers: list[Answer]) -> str:
    """Return the reliability diagram as SVG; bins with fewer than five rows are left out."""
    lines = []
    for source in (Source.SEEN, Source.INFERRED, Source.INTERPOLATED):
        confidence, is_right = _confidence([answer for answer in answers if answer.source is source])
        bins = reliability(confidence, is_right, bins=10)
        shown = bins.count >= 5
        if shown.any():
            lines.append(Line(source.value, bins.confidence[shown], bins.frequency[shown], dots=True))
    return line_chart(Axes("After tracking", "confidence", "share within 10 px", (0, 1)), lines, diagonal=True)


@dataclass(frozen=True, slots=True)
class Visit:
    """A candidate on a path: log-odds of its own frame, their mean over the others nearby, and whether it is right."""

    own: float
    around: float
    is_right: bool


def visits_of(clips: Iterable[Clip], finder: Locator) -> list[Visit]:
    """Return the visits of the paths through clips, the parts of their confidence kept apart."""
    visits: list[Visit] = []
    for clip in clips:
        settings = Settings(span=clip.span)
        for piece in locate_pieces(VideoReader(clip.path), finder, settings, Looking()):
            frames = [seen.candidates for seen in piece.observed]
            own, around = (track_shot(frames, replace(TrackLimits(), trust=part)) for part in (OWN, AROUND))
            scale = frames[0].size.reference_scale
            for row, one, two in zip(piece.rows, own, around, strict=True):
                if one.xy_px is None or one.xy_px != two.xy_px or one.source is Source.INTERPOLATED:
                    continue
                truth = clip.pucks_px[row.frame]
                is_right = truth is not None and truth.distance(one.xy_px) * scale <= 10
                visits.append(Visit(log_odds(one.confidence), log_odds(two.confidence), is_right))
    return visits


def bridges_of(clips: Iterable[Clip], finder: Locator, trust: Trust) -> list[tuple[bool, float]]:
    """Return of each point between visits whether it is right, and how sure of it `trust` is."""
    found: list[tuple[bool, float]] = []
    for clip in clips:
        for piece in locate_pieces(VideoReader(clip.path), finder, Settings(span=clip.span), Looking()):
            frames = [seen.candidates for seen in piece.observed]
            scale = frames[0].size.reference_scale
            for row, point in zip(piece.rows, track_shot(frames, replace(TrackLimits(), trust=trust)), strict=True):
                if point.source is Source.INTERPOLATED and point.xy_px is not None:
                    truth = clip.pucks_px[row.frame]
                    is_right = truth is not None and truth.distance(point.xy_px) * scale <= 10
                    found.append((is_right, point.confidence))
    return found


def fit_trust(visits: list[Visit]) -> tuple[float, float, float]:
    """Return the weights of a visit's own frame and of those around, and the offset, by maximum likelihood."""
    values = np.array([(visit.own, visit.around, 1.0) for visit in visits])
    is_right = np.array([visit.is_right for visit in visits])

    def loss(weights: FloatArray) -> float:
        scores = values @ weights
        return float(np.mean(np.logaddexp(0.0, scores) - is_right * scores) + _PRIOR * (weights[:2] ** 2).sum())

    own, around, offset = minimize(loss, np.zeros(3)).x
    return float(own), float(around), float(offset)
