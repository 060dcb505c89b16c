"""What can be scored: exported models, checkpoints, and detectors, each looking at one frame at a time."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

import numpy as np

from plucc.calibration import Calibration
from plucc.closer import CLOSER_ZOOM, FURTHER_ZOOM
from plucc.context.backends import FinderChoice, open_finder
from plucc.context.finder import PlayerFinder
from plucc.context.image import as_rgb
from plucc.data.schema import Player
from plucc.evaluate.answers import Answer
from plucc.heatmap import DecodeMethod, gaussian_target
from plucc.loading import NAMED_MODELS, SHIPPED_MODEL, Models, Networks, companions, load_networks, model_file
from plucc.puck_finder import UNSURE_BELOW, observe_closely
from plucc.runtime.base import Runtime
from plucc.second_look import SecondLook
from plucc.sighting import Observation
from plucc.track import Candidate
from plucc.types import ImageArray, InputError, MaskArray, Point, Size, Source, require

SHIPPED = "shipped"
TABLE_SUFFIXES = (".csv", ".jsonl", ".parquet")
MODEL_SUFFIXES = (".onnx", ".ckpt")
DETECTOR_STRIDE_PX = 4  # cells of the map that stands for a detector's boxes
DETECTOR_SIGMA_PX = 8.0

Players: TypeAlias = Literal["shipped", "labels", "none"]


@dataclass(frozen=True, slots=True)
class Sight:
    """One look at a frame, and the seconds that it took, of which so many went into finding players."""

    observation: Observation
    seconds: float
    player_seconds: float

    def answer(self) -> Answer:
        """Return the best candidate, however faint."""
        best = self.observation.candidates[0] if self.observation.candidates else None
        evidence = self.observation.evidence
        if best is None:
            return Answer(None, 0.0, Source.ABSENT, None, self.seconds, self.player_seconds, evidence)
        source = Source.SEEN if best.visible else Source.INFERRED
        return Answer(best.xy_px, best.probability, source, None, self.seconds, self.player_seconds, evidence)


class Subject(Protocol):
    """Looks for the puck in one frame; also a `PuckFinder`, so that a whole clip can be located with it."""

    name: str
    facts: dict[str, str]  # what a report says of it

    def look(self, image: ImageArray, players: Sequence[Player] | None = None) -> Sight: ...

    def frame(self, image: ImageArray) -> Observation: ...


@dataclass(frozen=True, slots=True)
class Opening:
    """How to open a model: where its players come from, how peaks are read, and on what it runs.

    `first_look_only` leaves the second look and the second opinion out, where the model has them.
    """

    players: Players = "shipped"
    method: DecodeMethod = "parabola"
    threads: int | None = None
    device: str = "cpu"
    first_look_only: bool = False


class HeatmapSubject:
    """PLUCC or a heatmap baseline: players, context image, network, peaks, second look, as in `plucc locate`."""

    def __init__(
        self,
        name: str,
        networks: Networks,
        find_players: PlayerFinder | None,
        opening: Opening,
    ) -> None:
        self.name, self.networks, self._opening = name, networks, opening
        runtime, opinion = networks.first, networks.opinion
        self._find_players = find_players if runtime.card.uses_context else None
        second = networks.judge if isinstance(networks.judge, SecondLook) else None
        self.facts = {
            "kind": "heatmap network",
            "trained at": f"{runtime.card.heatmap.width}x{runtime.card.heatmap.height}",
            "sigma": f"{runtime.card.heatmap.sigma_px:g} px",
            "players": "none" if self._find_players is None else self._find_players.version,
            "decoding": opening.method,
            "second look": "none" if second is None else second.path.stem,
            "second opinion": "none" if second is None or opinion is None else f"asked below {UNSURE_BELOW:g}",
            "closer look": "none"
            if second is None
            else f"{CLOSER_ZOOM:g} or {FURTHER_ZOOM:g} times as large by players' size, again below {UNSURE_BELOW:g}",
            "calibrated": "yes" if (runtime.card.calibration if second is None else second.card.weighing) else "no",
        }

    @property
    def runtime(self) -> Runtime:
        return self.networks.first

    def look(self, image: ImageArray, players: Sequence[Player] | None = None) -> Sight:
        image = as_rgb(image)
        started = time.perf_counter()
        mask = self._mask(image, players)
        found = time.perf_counter()
        seen = observe_closely(self.networks, image, mask, self._opening.method)
        return Sight(seen, time.perf_counter() - started, found - started)

    def frame(self, image: ImageArray) -> Observation:
        return self.look(image).observation

    def _mask(self, image: ImageArray, players: Sequence[Player] | None) -> MaskArray:
        if self._find_players is None:
            return np.zeros(image.shape[:2], np.bool_)
        return self._find_players(image, players)


class BoxModel(Protocol):
    """A detector that is ready to run: boxes (k, 4) as left, top, right, bottom and scores (k,), best first."""

    kind: str

    def __call__(self, image: ImageArray) -> tuple[np.ndarray, np.ndarray]: ...


class DetectorSubject:
    """A detector: boxes become points by their centres, the best-scoring one is the answer."""

    def __init__(self, name: str, model: BoxModel) -> None:
        self.name = name
        self._model = model
        self.facts = {"kind": model.kind, "players": "none", "decoding": "centre of the best box", "calibrated": "no"}

    def look(self, image: ImageArray, players: Sequence[Player] | None = None) -> Sight:  # noqa: ARG002
        image = as_rgb(image)
        started = time.perf_counter()
        boxes, scores = self._model(image)
        seconds = time.perf_counter() - started
        size = Size(image.shape[1], image.shape[0])
        centres = np.clip((boxes[:, :2] + boxes[:, 2:]) / 2, 0, (size.width, size.height))
        candidates = tuple(
            Candidate(Point(float(x), float(y)), float(score)) for (x, y), score in zip(centres, scores, strict=True)
        )
        return Sight(_as_observation(size, candidates), seconds, 0.0)

    def frame(self, image: ImageArray) -> Observation:
        return self.look(image).observation


def open_subject(source: Path | str, opening: Opening, *, name: str | None = None) -> Subject:
    """Open an exported model (.onnx), a checkpoint (.ckpt) of a network or a detector, or a shipped model by name."""
    path = model_file(source)
    title = name or (SHIPPED if path == SHIPPED_MODEL else _title(path))
    if path.suffix not in MODEL_SUFFIXES:
        raise InputError(
            f"{path} is neither a model nor a table: give .onnx or .ckpt, rows as {', '.join(TABLE_SUFFIXES)}, "
            f"or one of the words {', '.join(NAMED_MODELS)}"
        )
    if path.suffix == ".ckpt":
        return _open_checkpoint(path, title, opening)
    models = Models(path) if opening.first_look_only else companions(path)
    networks = load_networks(models, threads=opening.threads, device=opening.device)
    return HeatmapSubject(title, networks, _finder(opening), opening)


def _open_checkpoint(path: Path, title: str, opening: Opening) -> Subject:
    require("torch", "train")
    # torch loads here and not before: rows and exported models are scored without it
    from plucc.export import load_eager  # noqa: PLC0415
    from plucc.network.detectors import is_detector, load_detector_runtime  # noqa: PLC0415

    if is_detector(path):
        return DetectorSubject(title, load_detector_runtime(path, threads=opening.threads, device=opening.device))
    runtime = load_eager(path, threads=opening.threads, device=opening.device)
    networks = Networks(runtime, Calibration.from_card(runtime.card.calibration))
    return HeatmapSubject(title, networks, _finder(opening), opening)


def _finder(opening: Opening) -> PlayerFinder | None:
    if opening.players == "none":
        return None
    return open_finder(FinderChoice(opening.players, threads=opening.threads))


def _title(path: Path) -> str:
    """Name a model by its file, and by its run's folder where the file's own name says nothing."""
    return path.parent.name if path.stem in ("best", "final") else path.stem


def _as_observation(size: Size, candidates: tuple[Candidate, ...]) -> Observation:
    """Show boxes as a heatmap: a small Gaussian for each, as high as its score."""
    cells = Size(-(-size.width // DETECTOR_STRIDE_PX), -(-size.height // DETECTOR_STRIDE_PX))
    heat = np.full((cells.height, cells.width), 1e-9)
    for candidate in candidates:
        heat += candidate.probability * gaussian_target(
            candidate.xy_px, cells, DETECTOR_SIGMA_PX, stride_px=DETECTOR_STRIDE_PX
        )
    presence = candidates[0].probability if candidates else 0.0
    nobody = np.zeros((size.height, size.width), np.bool_)
    return Observation(size, candidates, presence, heat / heat.sum(), DETECTOR_STRIDE_PX, nobody)
