"""Solid round bodies in a small z-buffer: tapered capsules, lit, painted in bands, seen through the exact camera.

Each capsule's ends are projected exactly, lens included; between them it is drawn in weak perspective, which at a
limb's length is far below a pixel.
"""

from dataclasses import dataclass, field

import cv2
import numpy as np

from plucc.rink.camera import Camera
from plucc.synth.layer import Layer
from plucc.synth.palette import Colour
from plucc.types import Box, FloatArray, ImageArray, MaskArray

BAND_STEPS = 48
MAX_PATCH_PX = 2600
NEAREST_M = 0.3
MIN_RADIUS_PX = 0.55  # of a supersampled pixel: a thinner capsule would fall between the samples
LIGHT_STEPS = 128  # levels of light up to 1
SLENDER, SLENDER_BOX = 3.0, 3000  # a box with this many times the samples of its capsule is not gone through whole


@dataclass(frozen=True, slots=True)
class Paint:
    """Colours of a capsule in even steps along its axis, or across it (from one silhouette edge to the other)."""

    steps: ImageArray  # (BAND_STEPS, 3) BGR
    across: bool = False
    gloss: float = 0.0

    @classmethod
    def plain(cls, colour: Colour, gloss: float = 0.0) -> "Paint":
        """Paint all over in one colour."""
        return cls(np.tile(np.asarray(colour, np.uint8), (BAND_STEPS, 1)), gloss=gloss)

    @classmethod
    def banded(cls, colour: Colour, bands: tuple[tuple[float, float, Colour], ...]) -> "Paint":
        """Paint in one colour with bands (from, to, colour) in fractions of the axis."""
        steps = np.tile(np.asarray(colour, np.uint8), (BAND_STEPS, 1))
        for start, stop, band in bands:
            steps[round(start * BAND_STEPS) : max(round(stop * BAND_STEPS), round(start * BAND_STEPS) + 1)] = band
        return cls(steps)

    @classmethod
    def stripes_along(cls, first: Colour, second: Colour, count: int) -> "Paint":
        """Paint with stripes that run along the axis, as a referee's jersey."""
        index = (np.arange(BAND_STEPS) * count // BAND_STEPS) % 2
        return cls(np.where(index[:, None] == 0, np.asarray(first), np.asarray(second)).astype(np.uint8), across=True)


@dataclass(frozen=True, slots=True)
class Capsule:
    """A rounded cone between two points, in metres; `part` names the place for numbers and tests."""

    start_m: FloatArray
    stop_m: FloatArray
    start_radius_m: float
    stop_radius_m: float
    paint: Paint
    part: str = ""


@dataclass(frozen=True, slots=True)
class Light:
    """Arena light: from above, a little from one side, with much bounced back by the ice."""

    direction: FloatArray = field(default_factory=lambda: np.array([0.15, -0.35, 0.92]))
    ambient: float = 0.62
    strength: float = 0.52


@dataclass(slots=True)
class Patch:
    """The supersampled picture of one body: colours before light, light, and which capsule won each sample."""

    left_px: int
    top_px: int
    supersampling: int
    albedo: ImageArray  # (h, w, 4) BGR and 255 where there is anything
    light: FloatArray
    winner: ImageArray  # 1-based index of the capsule; 0: nothing

    def to_patch(self, points_px: FloatArray) -> FloatArray:
        """Return picture points in the patch's own supersampled coordinates."""
        return np.asarray((points_px - np.array([self.left_px, self.top_px])) * self.supersampling)

    def layer(self) -> Layer:
        """Return the picture brought to frame resolution, with its coverage."""
        light = cv2.convertScaleAbs(self.light, alpha=LIGHT_STEPS)
        full = np.full(light.shape, LIGHT_STEPS, np.uint8)
        lit = cv2.multiply(self.albedo, cv2.merge([light, light, light, full]), scale=1 / LIGHT_STEPS)
        size = (light.shape[1] // self.supersampling, light.shape[0] // self.supersampling)
        if self.supersampling > 1:
            lit = cv2.resize(lit, size, interpolation=cv2.INTER_AREA)
        colour, coverage = lit[..., :3].astype(np.float32), lit[..., 3].astype(np.float32)
        coverage *= np.float32(1 / 255)
        return Layer(self.left_px, self.top_px, colour, coverage)


@dataclass(frozen=True, slots=True)
class _Samples:
    """What is known of each sample of a patch while capsules are drawn: the nearest surface so far."""

    depth_m: FloatArray
    winner: ImageArray

    @classmethod
    def blank(cls, shape: tuple[int, int]) -> "_Samples":
        return cls(np.full(shape, np.inf, np.float32), np.zeros(shape, np.uint8))


def rasterise(camera: Camera, capsules: list[Capsule], light: Light, supersampling: int, within: Box) -> Patch | None:
    """Return the capsules drawn with their depths, or None when nothing of them is within the window (in pixels)."""
    ends_m = np.array([end for c in capsules for end in (c.start_m, c.stop_m)])
    depth_m = camera.depth(ends_m)
    if depth_m.min() < NEAREST_M:
        return None
    ends_px = camera.project(ends_m)
    radii_m = np.array([r for c in capsules for r in (c.start_radius_m, c.stop_radius_m)])
    radii_px = radii_m * camera.focal_px / depth_m
    low = np.maximum(np.floor((ends_px - radii_px[:, None]).min(axis=0)) - 1, (within.left, within.top))
    high = np.ceil((ends_px + radii_px[:, None]).max(axis=0)) + 1
    high = np.minimum(high, (within.right, within.bottom))
    if not ((high - low >= 1) & (high - low <= MAX_PATCH_PX)).all():  # NaN, beyond the lens, is neither
        return None
    left, top = int(low[0]), int(low[1])
    samples = _Samples.blank((int(high[1] - top) * supersampling, int(high[0] - left) * supersampling))
    local = (ends_px - low) * supersampling
    radii = np.maximum(radii_px * supersampling, MIN_RADIUS_PX)
    rows = np.column_stack([local, radii, depth_m, radii_m]).reshape(-1, 10)
    for index, row in enumerate(rows.tolist()):
        _draw(samples, index + 1, row)
    albedo, shade = _shade(samples.winner, rows, capsules, light, _shade_terms(camera, ends_m.reshape(-1, 2, 3), light))
    return Patch(left, top, supersampling, albedo, shade, samples.winner)


def _draw(samples: _Samples, index: int, row: list[float]) -> None:
    """Draw one capsule: for either end its place, radius (samples), depth and radius (metres)."""
    ax, ay, ra, _, _, bx, by, rb, _, _ = row
    height, width = samples.winner.shape
    left, right = max(int(min(ax - ra, bx - rb)), 0), min(int(max(ax + ra, bx + rb)) + 2, width)
    top, bottom = max(int(min(ay - ra, by - rb)), 0), min(int(max(ay + ra, by + rb)) + 2, height)
    if left >= right or top >= bottom:
        return
    x = np.arange(left, right, dtype=np.float32)[None, :] + (0.5 - ax)
    y = np.arange(top, bottom, dtype=np.float32)[:, None] + (0.5 - ay)
    depth, winner = samples.depth_m[top:bottom, left:right], samples.winner[top:bottom, left:right]
    box = (right - left) * (bottom - top)
    if box < SLENDER_BOX or box < SLENDER * (ra + rb) * (abs(bx - ax) + abs(by - ay) + ra + rb):
        wins, surface = _surface(x, y, row)
        wins &= surface < depth
        np.copyto(depth, surface, where=wins)
        np.copyto(winner, np.uint8(index), where=wins)
        return
    rows, columns = np.nonzero(_band(winner.shape, row, (left, top)))
    wins, surface = _surface(x[0, columns], y[rows, 0], row)
    wins &= surface < depth[rows, columns]
    rows, columns = rows[wins], columns[wins]
    depth[rows, columns] = surface[wins]
    winner[rows, columns] = index


def _surface(x: FloatArray, y: FloatArray, row: list[float]) -> tuple[MaskArray, FloatArray]:
    """Return which samples, relative to the capsule's start, it covers, and its depth there.

    A sample at p, with s the place along the axis d next to it, is |p - s d| from the axis; where that is less than the
    radius r there, the surface stands out from the axis towards the viewer by the root of r² - |p - s d|².
    """
    ax, ay, ra, za, ma, bx, by, rb, zb, mb = row
    dx, dy = bx - ax, by - ay
    length2 = max(dx * dx + dy * dy, 1e-4)
    dot = x * dx + y * dy
    along = dot * (1 / length2)
    np.maximum(along, 0, out=along)
    np.minimum(along, 1, out=along)
    bulge = along * -length2
    bulge += dot
    bulge += dot
    bulge *= along
    bulge -= x * x + y * y
    radius = along * (rb - ra)
    radius += ra
    radius *= radius
    bulge += radius
    inside = bulge > 0
    np.maximum(bulge, 0, out=bulge)
    np.sqrt(bulge, out=bulge)
    bulge *= -(ma + mb) / (ra + rb)
    along *= zb - za
    along += za
    along += bulge
    return inside, along


def _band(shape: tuple[int, ...], row: list[float], corner: tuple[int, int]) -> ImageArray:
    """Return where a slender capsule may be: a band along its axis a little wider than it, round at the ends."""
    ax, ay, ra, _, _, bx, by, rb, _, _ = row
    mask = np.zeros(shape, np.uint8)
    first = (round(ax - corner[0] - 0.5), round(ay - corner[1] - 0.5))
    last = (round(bx - corner[0] - 0.5), round(by - corner[1] - 0.5))
    cv2.line(mask, first, last, 1, 2 * int(max(ra, rb)) + 5)
    return mask


def _shade(
    winner: ImageArray, drawn: FloatArray, capsules: list[Capsule], light: Light, terms: FloatArray
) -> tuple[ImageArray, FloatArray]:
    """Return colours and light of all samples at once; most of a patch is empty, so only what was hit is computed."""
    rows, columns = np.nonzero(winner > 0)
    hit = rows * winner.shape[1] + columns
    owner = winner.ravel().take(hit).astype(np.intp) - 1
    x, y = columns.astype(np.float32), rows.astype(np.float32)
    gloss = np.array([c.paint.gloss for c in capsules])
    table = np.column_stack([_axes(drawn), terms, gloss]).astype(np.float32).T
    u_x, u_y, u_0, v_x, v_y, v_0, length, radius, growth, side, front, shine = table.take(owner, axis=1)
    raw = u_x * x + u_y * y + u_0
    along = np.minimum(np.maximum(raw, 0), 1)
    radius += growth * along
    across = (v_x * x + v_y * y + v_0) / radius
    beyond = (raw - along) * length / radius
    facing = np.sqrt(np.maximum(1 - across * across - beyond * beyond, 0))
    side *= across
    lit = np.maximum(facing * front + side, -0.12) + np.float32(light.ambient)
    if gloss.any():
        glance = np.maximum(facing * 0.9 + 0.2 + side, 0)
        for _ in range(3):
            glance *= glance
        lit += shine * glance
    is_across = np.array([c.paint.across for c in capsules])
    if is_across.any():
        along = np.where(is_across[owner], np.clip(across * 0.5 + 0.5, 0, 1), along)
    step = np.minimum((along * BAND_STEPS).astype(np.intp), BAND_STEPS - 1)
    paints = np.full((len(capsules), BAND_STEPS, 4), 255, np.uint8)
    paints[..., :3] = [c.paint.steps for c in capsules]
    albedo = np.zeros(winner.shape, np.uint32)
    shade = np.zeros(winner.shape, np.float32)
    albedo.ravel()[hit] = paints.view(np.uint32).ravel()[owner * BAND_STEPS + step]
    shade.ravel()[hit] = lit
    return albedo.view(np.uint8).reshape(*winner.shape, 4), shade


def _axes(rows: FloatArray) -> FloatArray:
    """Return for each capsule what gives the place of sample (column, row) relative to its axis.

    Along it, from 0 to 1: u_x x + u_y y + u_0; across it, in samples: v_x x + v_y y + v_0; then the axis' length, and
    the radius at its start and how much that grows to its stop.
    """
    ax, ay, ra, _, _, bx, by, rb, _, _ = rows.T
    dx, dy = bx - ax, by - ay
    length2 = np.maximum(dx * dx + dy * dy, 1e-4)
    length = np.sqrt(length2)
    ax, ay = ax - 0.5, ay - 0.5
    # across is signed along (axis x towards the viewer), as the shading terms have it
    u_x, u_y, v_x, v_y = dx / length2, dy / length2, -dy / length, dx / length
    return np.stack([u_x, u_y, -u_x * ax - u_y * ay, v_x, v_y, -v_x * ax - v_y * ay, length, ra, rb - ra], axis=1)


def _shade_terms(camera: Camera, ends_m: FloatArray, light: Light) -> FloatArray:
    """Return (gain across the axis, gain towards the viewer) of the Lambert term n·l for each capsule.

    On a cylinder the visible normal is n = u w + sqrt(1 - u²) v: u runs across the silhouette, v looks at the camera at
    right angles to the axis, w completes the frame.
    """
    towards = _units(np.asarray(camera.position_m) - ends_m.mean(axis=1))
    along = ends_m[:, 1] - ends_m[:, 0]
    axis = _units(np.where((along**2).sum(axis=1, keepdims=True) > 1e-12, along, np.array([0.0, 0.0, 1.0])))
    facing = towards - (towards * axis).sum(axis=1, keepdims=True) * axis
    facing = _units(np.where((facing**2).sum(axis=1, keepdims=True) > 1e-6, facing, towards))
    across = np.cross(axis, facing)
    return np.stack([across @ light.direction, facing @ light.direction], axis=1) * light.strength


def _units(vectors: FloatArray) -> FloatArray:
    return np.asarray(vectors / np.sqrt((vectors**2).sum(axis=1, keepdims=True)))
