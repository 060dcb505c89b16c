"""The tables of a report: figures with intervals, by theme, over all frames and over groups of them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from plucc.evaluate.scoring import Scoring, size_classes, size_labels, visibility_of
from plucc.metrics.bootstrap import RESAMPLES, Figure, Grouping, Resampling
from plucc.metrics.figures import (
    image_estimates,
    median_estimate,
    presence_estimates,
    protocol_estimates,
    rink_estimates,
)
from plucc.metrics.sums import Estimate, mean_estimate, share_estimate
from plucc.rink.sheet import Sheet
from plucc.types import FloatArray

ALL = "all frames"


class Theme(StrEnum):
    """What a table is about."""

    IMAGE = "image"
    RINK = "rink"
    METRES = "metres"
    PRESENCE = "presence"
    PROTOCOLS = "protocols"
    TRACKING = "tracking"
    SPEED = "speed"


class Protocol(StrEnum):
    """Whose rules are followed. `paper`: the highest cell of the heatmap, always answered. `full`: everything."""

    FULL = "full"
    PAPER = "paper"
    WASB = "wasb"
    TRACKNET = "tracknet"

    @property
    def themes(self) -> tuple[Theme, ...]:
        return _THEMES[self]


_THEMES: dict[Protocol, tuple[Theme, ...]] = {
    Protocol.FULL: (Theme.IMAGE, Theme.RINK, Theme.METRES, Theme.PRESENCE, Theme.PROTOCOLS),
    Protocol.PAPER: (Theme.IMAGE, Theme.RINK),
    Protocol.WASB: (Theme.PROTOCOLS,),
    Protocol.TRACKNET: (Theme.PROTOCOLS,),
}
_PREFIX = {Protocol.WASB: "WASB", Protocol.TRACKNET: "TrackNet"}
RANKED = ("WASB AP", "ranked AP")  # ranked by confidence, so that nothing is decided before


@dataclass(frozen=True, slots=True)
class FigureTable:
    """Figures of one theme for groups of frames; `by` says what groups them."""

    theme: Theme
    by: str
    groups: dict[str, tuple[Figure, ...]]

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of every figure, in order."""
        return tuple((figure.name, figure.unit) for figure in next(iter(self.groups.values()), ()))


@dataclass(frozen=True, slots=True)
class Measuring:
    """How figures are measured: the rink's sheet, the protocol, and the bootstrap's seed and draws."""

    sheet: Sheet
    protocol: Protocol = Protocol.FULL
    seed: int = 0
    resamples: int = RESAMPLES

    def resampling(self, scoring: Scoring) -> Resampling:
        frames = scoring.answered
        rng = np.random.default_rng(self.seed)
        return Resampling.draw(Grouping.of(frames.match, frames.run), rng, self.resamples)


def measured_tables(scoring: Scoring, measuring: Measuring) -> list[FigureTable]:
    """Return all tables that the frames and the protocol give."""
    themes = [theme for theme in measuring.protocol.themes if _has(scoring, theme)]
    tables = _tables(scoring, themes, ALL, measuring, lambda one: {ALL: np.ones(len(one), np.bool_)})
    place = [theme for theme in themes if theme in (Theme.IMAGE, Theme.RINK)] or themes
    tables += _tables(scoring, place, "category", measuring, _by(lambda one: one.answered.category.tolist()))
    where = [theme for theme in place if theme is not Theme.RINK]
    for name, labels, order in (
        ("match", lambda one: [record.match for record in one.records], None),
        ("source", lambda one: [str(answer.source or "") for answer in one.answers], None),
        ("visibility", lambda one: [visibility_of(record) for record in one.records], None),
        ("puck size", lambda one: size_labels(one.puck_size_px), size_classes()),
    ):
        tables += _tables(scoring, where, name, measuring, _by(labels, order))
    return tables


def estimates(scoring: Scoring, theme: Theme, measuring: Measuring) -> list[Estimate]:
    """Return the figures of a theme before their intervals."""
    if theme is Theme.IMAGE:
        return [*image_estimates(scoring.answered), median_estimate("median error", "px", scoring.error_px)]
    if theme is Theme.RINK:
        return list(rink_estimates(scoring.on_ice, measuring.sheet))
    if theme is Theme.METRES:
        return list(_metre_estimates(scoring))
    if theme is Theme.PRESENCE:
        return list(presence_estimates(scoring.decided))
    return list(_protocol_estimates(scoring, measuring.protocol))


def _metre_estimates(scoring: Scoring) -> Iterable[Estimate]:
    """Yield how far the metres that rows hold are from the puck: detection and registration together."""
    written = metres_of(scoring)
    away_m = np.hypot(*(written - scoring.target_m).T)
    scored = np.isfinite(scoring.target_m[:, 0])
    yield share_estimate("with metres", np.isfinite(away_m), scored)
    yield mean_estimate("error mean", "m", away_m)
    yield median_estimate("error median", "m", away_m)
    for limit_m in (0.5, 1.0, 2.0):
        yield share_estimate(f"within {limit_m:g} m", away_m <= limit_m, scored)


def metres_of(scoring: Scoring) -> FloatArray:
    """Return the metres that the answers themselves give, NaN where they give none."""
    places = [(np.nan, np.nan) if answer.xy_m is None else tuple(answer.xy_m) for answer in scoring.answers]
    return np.array(places, dtype=np.float64).reshape(-1, 2)


def _protocol_estimates(scoring: Scoring, protocol: Protocol) -> Iterable[Estimate]:
    prefix = _PREFIX.get(protocol, "")
    for decided, ranked in zip(protocol_estimates(scoring.decided), protocol_estimates(scoring.answered), strict=True):
        if decided.name.startswith(prefix):
            yield ranked if decided.name.startswith(RANKED) else decided


def _has(scoring: Scoring, theme: Theme) -> bool:
    """Tell whether there is anything to measure."""
    if theme is Theme.RINK:
        return bool(np.isfinite(scoring.answered.to_rink[:, 0, 0]).any())
    if theme is Theme.METRES:
        return bool(np.isfinite(metres_of(scoring)).any() and np.isfinite(scoring.target_m).any())
    return True


Groups = Callable[[Scoring], dict[str, np.ndarray]]


def _by(labels: Callable[[Scoring], list[str]], order: list[str] | None = None) -> Groups:
    """Group frames by a label; an empty label is in no group, and a single group is no grouping."""

    def groups(scoring: Scoring) -> dict[str, np.ndarray]:
        label = np.array(labels(scoring))
        names = [name for name in (order or sorted(set(label.tolist()))) if name and (label == name).any()]
        return {name: label == name for name in names} if len(names) > 1 else {}

    return groups


def _tables(
    scoring: Scoring, themes: Iterable[Theme], by: str, measuring: Measuring, groups: Groups
) -> list[FigureTable]:
    parts = {name: scoring.select(rows) for name, rows in groups(scoring).items()}
    resamplings = {name: measuring.resampling(part) for name, part in parts.items()}
    tables = []
    for theme in themes if parts else ():
        figures = {
            name: tuple(resamplings[name].figure(estimate) for estimate in estimates(part, theme, measuring))
            for name, part in parts.items()
        }
        tables.append(FigureTable(theme, by, figures))
    return tables
