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
from plucc.types import FloatArray, ImageArray

BAND_STEPS = 48
MAX_PATCH_PX = 2600
NEAREST_M = 0.3
MIN_RADIUS_PX = 0.55  # of a supersampled pixel: a thinner capsule would fall between the samples


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
    albedo: ImageArray
    light: FloatArray
    winner: ImageArray  # 1-based index of the capsule; 0: nothing

    def to_patch(self, points_px: FloatArray) -> FloatArray:
        """Return picture points in the patch's own supersampled coordinates."""
        return np.asarray((points_px - np.array([self.left_px, self.top_px])) * self.supersampling)

    def layer(self) -> Layer:
        """Return the picture brought to frame resolution, with its coverage."""
        colour = np.asarray(self.albedo * self.light[..., None], np.float32)
        np.minimum(colour, 255, out=colour)
        coverage = (self.winner > 0).astype(np.float32)
        size = (coverage.shape[1] // self.supersampling, coverage.shape[0] // self.supersampling)
        if self.supersampling > 1:
            colour = np.asarray(cv2.resize(colour, size, interpolation=cv2.INTER_AREA), np.float32)
            coverage = np.asarray(cv2.resize(coverage, size, interpolation=cv2.INTER_AREA), np.float32)
        return Layer(self.left_px, self.top_px, colour, coverage)


@dataclass(frozen=True, slots=True)
class _Samples:
    """What is known of each sample of a patch while capsules are drawn: the nearest surface so far."""

    depth_m: FloatArray
    winner: ImageArray
    along: FloatArray  # 0 to 1 from the capsule's start to its stop
    across: FloatArray  # -1 to 1 over the silhouette
    facing: FloatArray  # cosine of the angle to the viewer

    @classmethod
    def blank(cls, shape: tuple[int, int]) -> "_Samples":
        planes = (np.zeros(shape, np.float32) for _ in range(3))
        return cls(np.full(shape, np.inf, np.float32), np.zeros(shape, np.uint8), *planes)


def rasterise(
    camera: Camera, capsules: list[Capsule], light: Light, supersampling: int, margin_px: float
) -> Patch | None:
    """Return the capsules drawn with their depths, or None when nothing of them is near the picture."""
    ends_m = np.array([end for c in capsules for end in (c.start_m, c.stop_m)])
    depth_m = camera.depth(ends_m)
    if depth_m.min() < NEAREST_M:
        return None
    ends_px = camera.project(ends_m)
    radii_m = np.array([r for c in capsules for r in (c.start_radius_m, c.stop_radius_m)])
    radii_px = radii_m * camera.focal_px / depth_m
    low = np.maximum(np.floor((ends_px - radii_px[:, None]).min(axis=0)) - 1, -margin_px)
    high = np.ceil((ends_px + radii_px[:, None]).max(axis=0)) + 1
    high = np.minimum(high, np.array([camera.size.width, camera.size.height]) + margin_px)
    if not ((high - low >= 1) & (high - low <= MAX_PATCH_PX)).all():  # NaN, beyond the lens, is neither
        return None
    left, top = int(low[0]), int(low[1])
    samples = _Samples.blank((int(high[1] - top) * supersampling, int(high[0] - left) * supersampling))
    local = (ends_px - low) * supersampling
    radii = np.maximum(radii_px * supersampling, MIN_RADIUS_PX)
    rows = np.column_stack([local, radii, depth_m, radii_m]).reshape(-1, 10).tolist()
    for index, row in enumerate(rows):
        _draw(samples, index + 1, row)
    albedo, shade = _shade(samples, camera, capsules, ends_m.reshape(-1, 2, 3), light)
    return Patch(left, top, supersampling, albedo, shade, samples.winner)


def _draw(samples: _Samples, index: int, row: list[float]) -> None:
    """Draw one capsule: for either end its place, radius (samples), depth and radius (metres)."""
    ax, ay, ra, za, ma, bx, by, rb, zb, mb = row
    height, width = samples.winner.shape
    left, right = max(int(min(ax - ra, bx - rb)), 0), min(int(max(ax + ra, bx + rb)) + 2, width)
    top, bottom = max(int(min(ay - ra, by - rb)), 0), min(int(max(ay + ra, by + rb)) + 2, height)
    if left >= right or top >= bottom:
        return
    x = np.arange(left, right, dtype=np.float32)[None, :] + (0.5 - ax)
    y = np.arange(top, bottom, dtype=np.float32)[:, None] + (0.5 - ay)
    dx, dy = bx - ax, by - ay
    length2 = max(dx * dx + dy * dy, 1e-4)
    along = x * (dx / length2) + y * (dy / length2)
    np.maximum(along, 0, out=along)
    np.minimum(along, 1, out=along)
    inverse = 1 / (ra + (rb - ra) * along)
    ex, ey = (x - dx * along) * inverse, (y - dy * along) * inverse
    facing2 = 1 - ex * ex - ey * ey
    facing = np.sqrt(np.maximum(facing2, 0))
    depth = za + (zb - za) * along - (ma + (mb - ma) * along) * facing
    view = (slice(top, bottom), slice(left, right))
    wins = (facing2 > 0) & (depth < samples.depth_m[view])
    # across is signed along (axis x towards the viewer), as the shading terms have it
    norm = length2**-0.5
    np.copyto(samples.across[view], ey * (dx * norm) - ex * (dy * norm), where=wins)
    np.copyto(samples.depth_m[view], depth, where=wins)
    np.copyto(samples.along[view], along, where=wins)
    np.copyto(samples.facing[view], facing, where=wins)
    samples.winner[view][wins] = index


def _shade(
    samples: _Samples, camera: Camera, capsules: list[Capsule], ends_m: FloatArray, light: Light
) -> tuple[ImageArray, FloatArray]:
    """Return colours and light of all samples at once; most of a patch is empty, so only what was hit is computed."""
    covered = np.flatnonzero(samples.winner)
    owner = samples.winner.ravel()[covered].astype(np.intp) - 1
    across, facing = samples.across.ravel()[covered], samples.facing.ravel()[covered]
    terms = _shade_terms(camera, ends_m, light).astype(np.float32)
    side = across * terms[owner, 0]
    lit = light.ambient + np.maximum(facing * terms[owner, 1] + side, -0.12)
    gloss = np.array([c.paint.gloss for c in capsules], np.float32)
    if gloss.any():
        shine = np.maximum(facing * 0.9 + 0.2 + side, 0)
        lit += gloss[owner] * (shine * shine) ** 4
    place = samples.along.ravel()[covered]
    is_across = np.array([c.paint.across for c in capsules])
    if is_across.any():
        place = np.where(is_across[owner], across * 0.5 + 0.5, place)
    step = np.minimum((place * BAND_STEPS).astype(np.intp), BAND_STEPS - 1)
    paints = np.stack([c.paint.steps for c in capsules])
    albedo = np.zeros((*samples.winner.shape, 3), np.uint8)
    shade = np.zeros(samples.winner.shape, np.float32)
    albedo.reshape(-1, 3)[covered] = paints[owner, np.maximum(step, 0)]
    shade.reshape(-1)[covered] = lit
    return albedo, shade


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
