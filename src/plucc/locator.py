"""Frames -> rows: players, context image, network, peaks, presence, path."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import cv2
import numpy as np

from plucc.calibration import Calibration
from plucc.context.image import as_rgb, context_image
from plucc.context.shipped import SHIPPED_WEIGHTS as SHIPPED_PLAYERS
from plucc.context.shipped import ShippedFinder
from plucc.data.rows import Row
from plucc.files import whole_file
from plucc.heatmap import top_peaks
from plucc.motion import camera_motion, small_grey
from plucc.overlay import draw_puck, draw_trail
from plucc.runtime.base import Runtime
from plucc.runtime.load import Backend, load_runtime
from plucc.track import Candidate, CandidateFrame, TrackLimits, TrackPoint, track_shot
from plucc.types import FloatArray, ImageArray, InputError, MaskArray, Point, Size, Source
from plucc.video import IMAGE_SUFFIXES, Frame, VideoWriter, probe, read_frames, read_image

SHIPPED_MODEL = Path(__file__).parent / "weights" / "swift.onnx"
CANDIDATES = 5
ABSENT_BELOW = 0.25  # of confidence
TRAIL_FRAMES = 20
_CUT_DISTANCE = 0.35  # share of the picture whose brightness class changes at a cut


@dataclass(frozen=True, slots=True)
class Observation:
    """What one frame says by itself: candidates, best first, the chance that a puck shows, and the whole heatmap.

    `probability` is the heatmap over cells of `stride_px` frame pixels; it sums to one whether a puck shows or not.
    """

    size: Size
    candidates: tuple[Candidate, ...]
    presence: float
    probability: FloatArray
    stride_px: int
    players: MaskArray


class PuckFinder(Protocol):
    """Looks for the puck in one RGB frame of any size."""

    def frame(self, image: ImageArray) -> Observation: ...


class Locator:
    """Finds the puck in single frames, with the shipped models or others of the same kind."""

    def __init__(
        self,
        model: Path = SHIPPED_MODEL,
        players: Path = SHIPPED_PLAYERS,
        *,
        backend: Backend = "auto",
        threads: int | None = None,
    ) -> None:
        self._runtime: Runtime = load_runtime(model, backend=backend, threads=threads)
        self._calibrated = Calibration.from_card(self._runtime.card.calibration)
        self._find_players = ShippedFinder(players, threads=threads)

    def frame(self, image: ImageArray) -> Observation:
        """Look for the puck in one RGB frame of any size."""
        image = as_rgb(image)
        players = self._find_players(image)
        heatmaps = self._runtime(image[None], context_image(image, players)[None])
        logits, card = heatmaps.logits[0], self._runtime.card
        presence = 1.0 if heatmaps.presence_logits is None else _sigmoid(float(heatmaps.presence_logits[0]))
        sigma_px = card.heatmap.sigma_px
        peaks = top_peaks(logits, CANDIDATES, sigma_px=sigma_px, stride_px=heatmaps.stride_px)
        visible = presence >= 0.5
        candidates = tuple(
            Candidate(peak.xy_px, self._calibrated(peak.confidence * presence), visible) for peak in peaks
        )
        size = Size(image.shape[1], image.shape[0])
        return Observation(size, candidates, presence, _softmax(logits), heatmaps.stride_px, players)


def locate(source: Path, finder: PuckFinder | None = None, *, absent_below: float = ABSENT_BELOW) -> Iterator[Row]:
    """Yield a row for every frame of a video, a picture, or a folder of pictures.

    The frames of a video are joined into one path for each camera shot; pictures are taken one by one. A video streams:
    only the candidates of the shot at hand are kept.
    """
    source, finder = Path(source), finder or Locator()
    if source.is_dir() or source.suffix.lower() in IMAGE_SUFFIXES:
        yield from _locate_pictures(source, finder, absent_below)
    else:
        yield from _locate_video(source, finder, TrackLimits(absent_below=absent_below))


def count_frames(source: Path) -> int | None:
    """Return how many frames there are to locate, as far as can be told without decoding; None where it cannot."""
    if source.is_dir() or source.suffix.lower() in IMAGE_SUFFIXES:
        return len(picture_files(source))
    return probe(source).frame_count


def write_overlay(source: Path, rows: Iterable[Row], path: Path) -> None:
    """Write the video again with what was found: the puck ringed by its source, its confidence, and its last way."""
    recent: deque[Row] = deque(maxlen=TRAIL_FRAMES)
    with whole_file(path) as temporary, VideoWriter(temporary, probe(source).frame_rate) as writer:
        for frame, row in zip(read_frames(source), rows, strict=True):
            passed = [(point, old.source) for old in recent if old.shot == row.shot and (point := _point(old))]
            writer.write(draw_puck(draw_trail(frame.image, passed), _point(row), row.source, row.confidence))
            recent.append(row)


def _point(row: Row) -> Point | None:
    return None if row.x_px is None or row.y_px is None else Point(row.x_px, row.y_px)


def picture_files(source: Path) -> list[Path]:
    """Return one picture, or the pictures of a folder in the order of their names."""
    if source.is_file():
        return [source]
    if not source.is_dir():
        raise InputError(f"{source} does not exist: give a video, a picture, or a folder of pictures")
    files = sorted(path for path in source.iterdir() if path.suffix.lower() in IMAGE_SUFFIXES)
    if not files:
        raise InputError(f"{source} holds no picture: expected files that end in {', '.join(sorted(IMAGE_SUFFIXES))}")
    return files


def _locate_pictures(source: Path, finder: PuckFinder, absent_below: float) -> Iterator[Row]:
    for index, path in enumerate(picture_files(source)):
        candidates = finder.frame(read_image(path)).candidates
        yield _row(path.name, index, 0.0, index, _single(candidates, absent_below))


def _single(candidates: tuple[Candidate, ...], absent_below: float) -> TrackPoint:
    """Decide about a picture that has no neighbours."""
    if not candidates or candidates[0].probability < absent_below:
        return TrackPoint(Source.ABSENT, candidates[0].probability if candidates else 0.0)
    best = candidates[0]
    return TrackPoint(Source.SEEN if best.visible else Source.INFERRED, best.probability, best.xy_px)


def _locate_video(source: Path, finder: PuckFinder, limits: TrackLimits) -> Iterator[Row]:
    for shot, observed in enumerate(_shots(_observed(read_frames(source), finder))):
        points = track_shot([candidates for _, _, candidates in observed], limits)
        for (index, time_s, _), point in zip(observed, points, strict=True):
            yield _row(source.name, index, time_s, shot, point)


Observed = tuple[int, float, CandidateFrame]


def _observed(frames: Iterable[Frame], finder: PuckFinder) -> Iterator[tuple[Observed, bool]]:
    """Yield the candidates of each frame with the camera's motion, and whether a new shot begins with it."""
    before: ImageArray | None = None
    for frame in frames:
        seen = finder.frame(frame.image)
        grey = small_grey(frame.image)
        motion = None if before is None else camera_motion(before, grey, frame.size.width, seen.players)
        is_cut = before is not None and motion is None and _looks_changed(before, grey)
        candidates = CandidateFrame(seen.size, seen.candidates, np.eye(3) if motion is None else motion)
        yield (frame.index, frame.time_s, candidates), is_cut
        before = grey


def _shots(observed: Iterable[tuple[Observed, bool]]) -> Iterator[list[Observed]]:
    shot: list[Observed] = []
    for one, is_cut in observed:
        if is_cut:
            yield shot
            shot = []
        shot.append(one)
    if shot:
        yield shot


def _looks_changed(before: ImageArray, after: ImageArray) -> bool:
    """Tell a cut from a fast pan: a pan keeps the arena's brightness, a cut mostly does not."""
    if before.shape != after.shape:
        return True
    one, two = (cv2.calcHist([image], [0], None, [32], [0, 256]).ravel() / image.size for image in (before, after))
    return bool(np.abs(one - two).sum() / 2 > _CUT_DISTANCE)


def _row(file: str, index: int, time_s: float, shot: int, point: TrackPoint) -> Row:
    x_px, y_px = (None, None) if point.xy_px is None else point.xy_px
    return Row(file, index, time_s, shot, point.source, point.confidence, x_px, y_px)


def _softmax(logits: FloatArray) -> FloatArray:
    raised = np.exp(logits.astype(np.float32) - logits.max())
    return np.asarray(raised / raised.sum())


def _sigmoid(logit: float) -> float:
    return float(1 / (1 + np.exp(-np.clip(logit, -60, 60))))
