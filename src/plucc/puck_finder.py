"""One frame -> what it says of the puck: players, context image, network, peaks, presence, and a second look."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import cv2
import numpy as np

from plucc.centring import centred
from plucc.closer import first_zoom, other_zoom
from plucc.context.image import as_rgb, context_image
from plucc.context.shipped import SHIPPED_WEIGHTS as SHIPPED_PLAYERS
from plucc.context.shipped import ShippedFinder
from plucc.heatmap import DecodeMethod, Peak, top_peaks
from plucc.loading import SHIPPED_MODEL, Judge, Models, Networks, companions, load_networks
from plucc.pooling import pooled
from plucc.runtime.base import MIN_SIDE_PX, Runtime, fitting_threads
from plucc.runtime.load import Backend
from plucc.second_look import PART_PLACES, PLACES, SecondLook
from plucc.sighting import WHOLE, Observation, View
from plucc.track import Candidate
from plucc.types import REFERENCE_HEIGHT_PX, Box, FloatArray, ImageArray, MaskArray, Point, ShapeError, Size
from plucc.weighing import Evidence

CANDIDATES = 5
MOST_AT_ONCE = 8  # looks, each of which takes some 70 MB; threads beyond that work on the same ones
VISIBLE_FROM = 0.6  # of the first look's presence: of rendered frames below it as many hide the puck as show it
SHOWS_FROM = 0.25  # of a candidate's probability: with less, a player nearby is likelier to hide the puck
UNSURE_BELOW = 0.6  # of the best place's probability: below it a picture is worth another look
_REACH_PX = 16.0  # at 720 lines: a candidate this near to a player may be hidden by one
_GRID_PX = 32  # the network's coarsest cells: a part of the frame that starts on them is seen as in the whole
_SCALES = (0.8, 1.05)  # a frame this near to the height that the network knows is taken as it is; small pucks cost more
_MOST_OF_IT = 0.6  # of the frame's area: a part this large saves nothing
_LARGEST_AREA = 2.5  # times the network's own frame
_WORTH_IT = 1.3  # times larger or smaller: another look at a very large frame would show little more


@dataclass(frozen=True, slots=True, eq=False)
class FirstLook:
    """What the heatmap network says of a frame: its peaks, and the map that they are of.

    `places` are in the frame's own pixels, highest first, each with the share of probability around it. The map has
    cells of `stride_px` frame pixels. `presence_logit` is None for a model without that output.
    """

    places: tuple[tuple[Point, float], ...]
    presence_logit: float | None
    probability: FloatArray
    stride_px: float
    log_mass: float


class Eyes:
    """Loaded networks that take up to `at_once` looks at the same time, which share `threads` evenly.

    Players are found by one search, however many looks there are. With `closely`, whole frames are looked at as often
    as they need, which takes several times as long for those that leave the networks unsure.
    """

    def __init__(
        self, models: Models, find_players: ShippedFinder, *, threads: int, at_once: int = 1, closely: bool = False
    ) -> None:
        self.at_once, self._closely = at_once, closely
        alone = models if closely else replace(models, opinion=None)
        self._networks = load_networks(alone, threads=threads, at_once=at_once)
        self._find_players = find_players

    @property
    def runtime(self) -> Runtime:
        return self._networks.first

    def players(self, image: ImageArray) -> MaskArray:
        """Return where the players are in a frame."""
        return self._find_players(image)

    def look(self, image: ImageArray, players: MaskArray | None, view: View | None = None) -> Observation:
        """Look at a frame, or at a part of it, whose players are known; None finds them first."""
        image = as_rgb(image)
        mask = self.players(image) if players is None else players
        if view is None and self._closely:
            return observe_closely(self._networks, image, mask)
        return observe(self.runtime, image, mask, self._networks.judge, view=view or WHOLE)

    def fitted(self, box: Box, size: Size) -> Box | None:
        """Return the part of a frame nearest to a box that can be looked at by itself; None where that is the whole."""
        return fitted_part(box, size, working_scale(size, self.runtime.card.heatmap.height))


class Locator:
    """Finds the puck in single frames, with the shipped models or others of the same kind.

    All threads work on one picture, so that its answer comes soonest; a video is looked at with what `for_video` gives.
    Networks are loaded when they are first needed.
    """

    def __init__(
        self,
        model: Path = SHIPPED_MODEL,
        players: Path = SHIPPED_PLAYERS,
        *,
        backend: Backend = "auto",
        threads: int | None = None,
    ) -> None:
        self._models = companions(model, backend)
        self._players = players
        self._threads = threads or fitting_threads()

    @cached_property
    def _eyes(self) -> Eyes:
        return Eyes(self._models, self._finder(self._threads), threads=self._threads, closely=True)

    @cached_property
    def _following(self) -> Eyes:
        return Eyes(self._models, self._finder(1), threads=self._threads)

    @cached_property
    def _scanning(self) -> Eyes:
        return Eyes(self._models, self._finder(1), threads=self._threads, at_once=min(self._threads, MOST_AT_ONCE))

    def _finder(self, threads: int) -> ShippedFinder:
        return ShippedFinder(self._players, threads=threads)

    def for_video(self, *, follow: bool) -> Eyes:
        """Return the networks as a video needs them.

        Frames that are scanned do not depend on each other: as many looks run at once as there are threads, which gets
        more done than all threads in one look. Following needs one look's answer before it can take the next.
        """
        return self._following if follow else self._scanning

    def frame(self, image: ImageArray) -> Observation:
        """Look for the puck in one RGB frame of any size; places are in its own pixels."""
        image = as_rgb(image)
        return self.look(image, self.players(image))

    def players(self, image: ImageArray) -> MaskArray:
        """Return where the players are in a frame."""
        return self._eyes.players(image)

    def look(self, image: ImageArray, players: MaskArray | None, view: View | None = None) -> Observation:
        """Look at a frame, or at a part of it, whose players are known; None finds them first."""
        return self._eyes.look(image, players, view)

    def first_look(self, image: ImageArray, count: int) -> FirstLook:
        """Return what the heatmap network alone says of a frame, with up to `count` of its peaks."""
        image = as_rgb(image)
        return first_look(self._eyes.runtime, image, self.players(image), count)

    def fitted(self, box: Box, size: Size) -> Box | None:
        """Return the part of a frame nearest to a box that can be looked at by itself; None where that is the whole."""
        return self._eyes.fitted(box, size)


def observe_closely(
    networks: Networks, image: ImageArray, players: MaskArray, method: DecodeMethod = "parabola"
) -> Observation:
    """Return what networks say of one RGB frame whose players are known, looking as often and as near as it needs.

    A wide shot is looked at closer up, by the size of its players. Where that leaves the networks unsure, the other
    one is asked, then small and large players are looked at from another distance; the answer is the mean of all looks.
    Networks without a second look take one look.
    """
    if not isinstance(networks.judge, SecondLook):
        return observe(networks.first, image, players, networks.judge, method)
    looks: list[Observation] = []
    for runtime, zoom in _ways_to_look(networks, image, players):
        looks.append(observe(runtime, image, players, networks.judge, method, View(zoom=zoom)))
        seen = pooled(looks)
        if seen.candidates and seen.candidates[0].probability >= UNSURE_BELOW:
            break
    return seen


def _ways_to_look(networks: Networks, image: ImageArray, players: MaskArray) -> Iterator[tuple[Runtime, float]]:
    """Yield networks and zooms in the order in which they are worth trying."""
    zoom = first_zoom(players)
    yield networks.first, zoom
    if networks.opinion is not None:
        yield networks.opinion, zoom
    other, size = other_zoom(players), Size(image.shape[1], image.shape[0])
    if other is not None and not _are_alike(size, networks.first.card.heatmap.height, zoom, other):
        yield networks.first, other


def observe(
    runtime: Runtime,
    image: ImageArray,
    players: MaskArray,
    judge: Judge,
    method: DecodeMethod = "parabola",
    view: View = WHOLE,
) -> Observation:
    """Return what a network says of one RGB frame, or of a part of it, whose players are known.

    `judge` says how sure each place is: by what this network says alone, or by looking there again.
    """
    places = PLACES if view.box_px is None else PART_PLACES
    first = first_look(runtime, image, players, places if isinstance(judge, SecondLook) else CANDIDATES, method, view)
    visible = 1.0 if first.presence_logit is None else _sigmoid(first.presence_logit)
    if isinstance(judge, SecondLook):
        found, evidence = _looked_again(judge, image, first, view)
        presence = float(judge.weighing(evidence).sum())
    else:
        share = view.share(first.log_mass)
        found, evidence = [(xy_px, judge(mass * (visible * share))) for xy_px, mass in first.places], None
        presence = visible
    candidates = tuple(Candidate(xy_px, chance, shows(xy_px, chance, visible, players)) for xy_px, chance in found)
    size = Size(image.shape[1], image.shape[0])
    return Observation(
        size, candidates, presence, first.probability, first.stride_px, players, first.log_mass, view.box_px, evidence
    )


def first_look(
    runtime: Runtime,
    image: ImageArray,
    players: MaskArray,
    count: int,
    method: DecodeMethod = "parabola",
    view: View = WHOLE,
) -> FirstLook:
    """Return the heatmap of a frame, or of a part of it, and up to `count` of its peaks."""
    scale = working_scale(Size(image.shape[1], image.shape[0]), runtime.card.heatmap.height, view.zoom)
    image, mask = _scaled(image, scale), _scaled(players.astype(np.uint8), scale)
    rows, columns = _part(image, view.box_px, scale)
    image = np.ascontiguousarray(image[rows, columns])
    context = context_image(image, mask[rows, columns] > 0, runtime.card.heatmap.height)
    heatmaps = runtime(image[None], context[None])
    logits, stride_px = heatmaps.logits[0], heatmaps.stride_px
    probability, log_mass = _softmax(logits)
    peaks = top_peaks(logits, count, method=method, sigma_px=runtime.card.heatmap.sigma_px, stride_px=stride_px)
    corner = Point(columns.start or 0, rows.start or 0)
    places = tuple((_placed(peak, corner, scale), peak.confidence) for peak in peaks)
    presence_logit = None if heatmaps.presence_logits is None else float(heatmaps.presence_logits[0])
    return FirstLook(places, presence_logit, probability, stride_px / scale, log_mass)


def _looked_again(
    second: SecondLook, image: ImageArray, first: FirstLook, view: View
) -> tuple[list[tuple[Point, float]], Evidence]:
    """Return the likeliest places with their probabilities, best first, and what they rest on.

    Places are those of the first look, moved to the middle of the dark spots that they lie on.
    """
    places_px = np.array([tuple(xy_px) for xy_px, _ in first.places]).reshape(-1, 2)
    shares = np.array([mass for _, mass in first.places]) * view.share(first.log_mass)
    evidence = second.evidence(image, places_px, shares, first.presence_logit or 0.0, view.zoom)
    chances = second.weighing(evidence)
    order = np.argsort(-chances, kind="stable")[:CANDIDATES]
    return [(centred(image, first.places[index][0]), float(chances[index])) for index in order], evidence


def shows(xy_px: Point, probability: float, visible: float, players: MaskArray) -> bool:
    """Tell a puck that shows from a place that only the players point to.

    On open ice nothing can hide it. At a player it shows where the frame as a whole seems to show a puck, by the first
    look's word (`visible`), and this place by itself is likely enough to be it.
    """
    if visible >= VISIBLE_FROM and probability >= SHOWS_FROM:
        return True
    reach = max(1, round(_REACH_PX * players.shape[0] / REFERENCE_HEIGHT_PX))
    x, y = int(xy_px.x), int(xy_px.y)
    return not players[max(0, y - reach) : y + reach + 1, max(0, x - reach) : x + reach + 1].any()


def working_scale(size: Size, lines: int = REFERENCE_HEIGHT_PX, zoom: float = 1.0) -> float:
    """Return the factor that brings a frame to the height that the network knows pucks at; 1 where it is near enough.

    `lines` is the height of the frames that the network was trained for; with a `zoom`, frames become so many times
    larger than that. Very wide frames stay smaller, so that memory does.
    """
    if min(size.width, size.height) < MIN_SIDE_PX:
        raise ShapeError(
            f"frame is {size.width}x{size.height} px; both sides must be at least {MIN_SIDE_PX}: give larger pictures"
        )
    scale = zoom * lines / size.height
    if _SCALES[0] <= scale <= _SCALES[1]:
        scale = 1.0
    most = float(np.sqrt(max(_LARGEST_AREA, zoom**2) * 1280 * 720 / (size.width * size.height)))
    return min(scale, most)


def _are_alike(size: Size, lines: int, zoom: float, other: float) -> bool:
    """Tell whether a frame is so large that both zooms show nearly the same."""
    apart = working_scale(size, lines, other) / working_scale(size, lines, zoom)
    return 1 / _WORTH_IT < apart < _WORTH_IT


def fitted_part(box: Box, size: Size, scale: float) -> Box | None:
    """Return the part of a frame nearest to a box that starts on the network's grid; None where it is most of it."""
    working = Size(round(size.width * scale), round(size.height * scale))
    left, right = _on_grid(box.left * scale, box.right * scale, working.width)
    top, bottom = _on_grid(box.top * scale, box.bottom * scale, working.height)
    if (right - left) * (bottom - top) > _MOST_OF_IT * working.width * working.height:
        return None
    return Box(left / scale, top / scale, right / scale, bottom / scale)


def _scaled(image: ImageArray, scale: float) -> ImageArray:
    if scale == 1.0:
        return image
    size = (round(image.shape[1] * scale), round(image.shape[0] * scale))
    way = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, size, interpolation=way), np.uint8)


def _part(image: ImageArray, box: Box | None, scale: float) -> tuple[slice, slice]:
    """Return rows and columns of the scaled frame that a box covers."""
    if box is None:
        return slice(None), slice(None)
    top, bottom, left, right = (round(edge * scale) for edge in (box.top, box.bottom, box.left, box.right))
    return slice(top, min(bottom, image.shape[0])), slice(left, min(right, image.shape[1]))


def _placed(peak: Peak, corner: Point, scale: float) -> Point:
    return Point((peak.xy_px.x + corner.x) / scale, (peak.xy_px.y + corner.y) / scale)


def _on_grid(low: float, high: float, length: int) -> tuple[int, int]:
    """Return an interval of about the same length, moved inside the frame, that starts on the network's grid."""
    span = max(_GRID_PX, round((high - low) / _GRID_PX) * _GRID_PX)
    if span >= length:
        return 0, length
    start = round((low + high - span) / 2 / _GRID_PX) * _GRID_PX
    start = min(max(start, 0), (length - span) // _GRID_PX * _GRID_PX)
    end = length if length - start - span < _GRID_PX else start + span
    return start, end


def _softmax(logits: FloatArray) -> tuple[FloatArray, float]:
    """Return the heatmap, and the logarithm of what it was divided by."""
    highest = float(logits.max())
    raised = np.exp(logits.astype(np.float32, copy=False) - highest)
    total = float(raised.sum(dtype=np.float64))
    return np.asarray(raised / total), highest + float(np.log(total))


def _sigmoid(logit: float) -> float:
    return float(1 / (1 + np.exp(-np.clip(logit, -60, 60))))
