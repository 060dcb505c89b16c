"""Why the heatmap is where it is: which players moved it, and where the players alone would put the puck."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from plucc.context.image import as_rgb, context_image
from plucc.context.masks import blank, body, ellipse_mask, union
from plucc.data.masks import decode_mask
from plucc.data.schema import Player, Record
from plucc.heatmap import decode, pixel_centres
from plucc.overlay import draw_heatmap
from plucc.puck_finder import working_scale
from plucc.runtime.base import Runtime
from plucc.types import DataError, FloatArray, ImageArray, InputError, MaskArray, Point, Size

LEAST_SHARE = 0.0004  # of the frame's area: smaller parts of a mask are no player
TINT_RGB = (255, 90, 40)
RING_RGB = (40, 220, 90)
MOVED_RGB = (80, 170, 255)


@dataclass(frozen=True, slots=True)
class Influence:
    """What the heatmap does when one player is taken out of the context image.

    `moved` is the share of its mass that goes elsewhere (total variation, 0 to 1), `lost` how much less of it lies
    within 10 px (at 720 lines) of where the peak was, `shift_px` how far the peak jumps.
    """

    centre_px: Point
    moved: float
    lost: float
    shift_px: float


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """One frame: its heatmap and peak, the influence of every player, and the heatmap of the players alone."""

    image: ImageArray
    masks: tuple[MaskArray, ...]
    heat: FloatArray
    peak_px: Point
    influences: tuple[Influence, ...]
    heat_of_players: FloatArray
    peak_of_players_px: Point


@dataclass(frozen=True, slots=True)
class Gaze:
    """How much of the heatmap of single players lies on the side that they look at, over all of them.

    `by_chance` is the same for the heatmap of a context image without anybody: where the network looks anyway.
    """

    players: int
    ahead: float
    by_chance: float
    ahead_more_often: float  # share of players with more mass ahead than by chance


def masks_of(image: ImageArray, players: Sequence[Player] | None, found: MaskArray) -> tuple[MaskArray, ...]:
    """Return one mask for each player: the labelled ones, else the separate parts of what a finder found.

    A labelled box without a mask takes what was found in it, or an ellipse where nothing was.
    """
    size = Size(image.shape[1], image.shape[0])
    if players is not None:
        return tuple(_mask_of(player, found, size) for player in players)
    count, parts, facts, _ = cv2.connectedComponentsWithStats(found.astype(np.uint8), connectivity=4)
    least = LEAST_SHARE * found.size
    return tuple(parts == part for part in range(1, count) if facts[part, cv2.CC_STAT_AREA] >= least)


def explain(runtime: Runtime, image: ImageArray, masks: Sequence[MaskArray]) -> Explanation:
    """Take each player out of the context image in turn and see what the heatmap does."""
    if not runtime.card.uses_context:
        raise InputError("this model looks at no players, so there is nothing to take out: give one with a context")
    image = as_rgb(image)
    look = _Look(runtime, image)
    everybody = union(masks, look.size)
    heat, peak = look(everybody)
    influences = []
    for index, mask in enumerate(masks):
        others = union((other for place, other in enumerate(masks) if place != index), look.size)
        influences.append(_influence(mask, (heat, peak), look(others), look))
    alone, peak_alone = look(everybody, blind=True)
    return Explanation(image, tuple(masks), heat, peak, tuple(influences), alone, peak_alone)


def draw_influences(explanation: Explanation) -> ImageArray:
    """Draw the heatmap, and the players in the strength of their influence with its number."""
    canvas = (explanation.image * 0.55).astype(np.uint8)
    most = max((influence.moved for influence in explanation.influences), default=0.0) or 1.0
    for mask, influence in zip(explanation.masks, explanation.influences, strict=True):
        share = 0.75 * influence.moved / most
        canvas[mask] = np.asarray(canvas[mask] * (1 - share) + np.array(TINT_RGB) * share, np.uint8)
    canvas = _ring(draw_heatmap(canvas, explanation.heat), explanation.peak_px, RING_RGB)
    unit = canvas.shape[0] / 720
    for influence in explanation.influences:
        place = (int(influence.centre_px.x - 12 * unit), int(influence.centre_px.y))
        cv2.putText(canvas, f"{influence.moved:.2f}", place, cv2.FONT_HERSHEY_SIMPLEX, 0.5 * unit, (255, 255, 255), 1)
    return canvas


def draw_players_alone(explanation: Explanation) -> ImageArray:
    """Draw where the players alone put the puck, over what the network then sees: them, and no ice."""
    size = Size(explanation.image.shape[1], explanation.image.shape[0])
    shown = np.where(union(explanation.masks, size)[..., None], explanation.image, 24).astype(np.uint8)
    heated = draw_heatmap(shown, explanation.heat_of_players)
    return _ring(heated, explanation.peak_of_players_px, MOVED_RGB)


def gaze(runtime: Runtime, frames: Iterable[tuple[Record, ImageArray]]) -> Gaze:
    """Show the network one rendered player at a time, and measure how much of its heatmap lies where he looks.

    Ahead is the half of the ice in front of his body along his gaze; what lies above the horizon does not count.
    """
    ahead, chance = [], []
    for record, image in frames:
        look = _Look(runtime, as_rgb(image))
        ice_m = look.ice(record)
        nobody = look(blank(look.size), blind=True)[0]
        for player in record.players or ():
            if player.gaze_rad is None or player.mask is None:
                continue
            side = _is_ahead(player, record, ice_m)
            if side is None:
                continue
            alone = look(decode_mask(player.mask), blind=True)[0]
            ahead.append(_mass_on(alone, side, ice_m))
            chance.append(_mass_on(nobody, side, ice_m))
    if not ahead:
        raise DataError("no player of these frames has a gaze and a mask: use frames that plucc synth rendered")
    more = float(np.mean(np.array(ahead) > np.array(chance)))
    return Gaze(len(ahead), float(np.mean(ahead)), float(np.mean(chance)), more)


class _Look:
    """Runs a network on one frame with any players in its context, at the size that it was trained for."""

    def __init__(self, runtime: Runtime, image: ImageArray) -> None:
        self._runtime, self._image = runtime, image
        self.size = Size(image.shape[1], image.shape[0])
        self._scale = working_scale(self.size, runtime.card.heatmap.height)
        self.stride_px = runtime.card.spec.logit_stride / self._scale  # of the heatmap's cells, in frame pixels
        width, height = round(self.size.width * self._scale), round(self.size.height * self._scale)
        self._frame = np.asarray(cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA), np.uint8)
        mean = [round(255 * value) for value in runtime.card.spec.mean]
        self._blank = np.full_like(self._frame, np.array(mean, np.uint8))  # what a withheld frame is after normalising

    def __call__(self, players: MaskArray, *, blind: bool = False) -> tuple[FloatArray, Point]:
        """Return the heatmap and its peak in the frame's own pixels; blind withholds the frame."""
        shape = (self._frame.shape[1], self._frame.shape[0])
        mask = cv2.resize(players.astype(np.uint8), shape, interpolation=cv2.INTER_NEAREST) > 0
        context = context_image(self._frame, np.asarray(mask, np.bool_), self._runtime.card.heatmap.height)
        maps = self._runtime((self._blank if blind else self._frame)[None], context[None])
        logits = maps.logits[0].astype(np.float64)
        peak = decode(logits, sigma_px=self._runtime.card.heatmap.sigma_px, stride_px=maps.stride_px).xy_px
        raised = np.exp(logits - logits.max())
        return raised / raised.sum(), Point(peak.x / self._scale, peak.y / self._scale)

    def ice(self, record: Record) -> FloatArray:
        """Return where on the ice every cell of the heatmap looks, in metres; NaN above the horizon."""
        if record.camera is None:
            raise DataError(f"{record.image} has no camera: use frames that plucc synth rendered")
        stride = self._runtime.card.spec.logit_stride
        cells = Size(-(-self._frame.shape[1] // stride), -(-self._frame.shape[0] // stride))
        places = pixel_centres(cells, self.stride_px).reshape(-1, 2)
        return np.asarray(record.camera.camera(record.size).back_project(places))


def _influence(
    mask: MaskArray, whole: tuple[FloatArray, Point], without: tuple[FloatArray, Point], look: _Look
) -> Influence:
    (heat, peak), (other, moved_peak) = whole, without
    rows, columns = np.nonzero(mask)
    centre = Point(float(columns.mean()), float(rows.mean())) if len(rows) else Point(0.0, 0.0)
    cells = pixel_centres(Size(heat.shape[1], heat.shape[0]), look.stride_px)
    near = np.hypot(cells[..., 0] - peak.x, cells[..., 1] - peak.y) <= 10 / look.size.reference_scale
    return Influence(
        centre_px=centre,
        moved=float(np.abs(heat - other).sum() / 2),
        lost=float(heat[near].sum() - other[near].sum()),
        shift_px=peak.distance(moved_peak) * look.size.reference_scale,
    )


def _is_ahead(player: Player, record: Record, ice_m: FloatArray) -> MaskArray | None:
    """Tell which cells lie before the player along his gaze; None where his feet are not on the visible ice."""
    if record.camera is None or player.gaze_rad is None:
        return None
    feet_px = np.array([[(player.box_px.left + player.box_px.right) / 2, player.box_px.bottom]])
    feet_m = record.camera.camera(record.size).back_project(feet_px)[0]
    if not np.isfinite(feet_m).all():
        return None
    along = np.array([np.cos(player.gaze_rad), np.sin(player.gaze_rad)])
    return np.asarray(((ice_m - feet_m) @ along) > 0)


def _mass_on(heat: FloatArray, side: MaskArray, ice_m: FloatArray) -> float:
    mass = heat.ravel()
    on_ice = np.isfinite(ice_m).all(axis=1)
    return float(mass[side & on_ice].sum() / max(float(mass[on_ice].sum()), 1e-12))


def _mask_of(player: Player, found: MaskArray, size: Size) -> MaskArray:
    if player.mask is not None:
        return decode_mask(player.mask)
    inside = body(found, player.box_px)
    return inside if inside.any() else ellipse_mask(player.box_px, size)


def _ring(image: ImageArray, place: Point, colour: tuple[int, int, int]) -> ImageArray:
    radius = max(6, round(15 * image.shape[0] / 720))
    return np.asarray(cv2.circle(image.copy(), (int(place.x), int(place.y)), radius, colour, 2, cv2.LINE_AA), np.uint8)
