"""How people darken the ice beneath them and show in it."""

import cv2
import numpy as np

from plucc.rink.camera import Camera
from plucc.synth.arena import Backdrop
from plucc.synth.layer import Layer, overlap
from plucc.synth.people import Figure
from plucc.synth.raster import Light
from plucc.synth.strip import FIXED_BITS, to_fixed
from plucc.types import FloatArray, ImageArray, Size

SHRINK = 4
_RING = np.linspace(0, 2 * np.pi, 14, endpoint=False)


def cast_shadows(camera: Camera, backdrop: Backdrop, figures: tuple[Figure, ...], light: Light) -> None:
    """Darken the ice in place: a firm shade under each skate, a soft one under the body."""
    if not figures:
        return
    height, width = backdrop.ice.shape
    small = Size(max(width // SHRINK, 8), max(height // SHRINK, 8))
    lens = camera.resized(small)
    firm, soft = np.zeros((small.height, small.width), np.uint8), np.zeros((small.height, small.width), np.uint8)
    lean = -light.direction[:2] / light.direction[2]
    for figure in figures:
        if figure.body is None:
            continue
        pelvis = figure.skeleton.pelvis[:2] + lean * 0.8
        _blob(lens, soft, pelvis, 0.42, 120)
        for ankle, toe in zip(figure.skeleton.ankles, figure.skeleton.toes, strict=True):
            _blob(lens, firm, (ankle[:2] + toe[:2]) / 2, 0.17, 190)
    scale = camera.focal_px / max(float(np.mean([f.body_depth_m for f in figures])), 1.0) / SHRINK
    firm_blur = cv2.GaussianBlur(firm, (0, 0), max(0.06 * scale, 0.6))
    soft_blur = cv2.GaussianBlur(soft, (0, 0), max(0.22 * scale, 1.0))
    shade = firm_blur.astype(np.float32) * (0.34 / 255) + soft_blur.astype(np.float32) * (0.24 / 255)
    rows = slice(int(np.argmax(backdrop.ice.any(axis=1))), height)
    shade = cv2.resize(shade, (width, height), interpolation=cv2.INTER_LINEAR)[rows] * backdrop.ice[rows]
    backdrop.canvas[rows] *= (1 - shade)[..., None]


def _blob(camera: Camera, mask: ImageArray, centre_m: FloatArray, radius_m: float, level: int) -> None:
    ring = centre_m + radius_m * np.stack([np.cos(_RING), np.sin(_RING)], axis=1)
    outline = camera.project(np.column_stack([ring, np.zeros(len(ring))]))
    if np.isfinite(outline).all() and (np.abs(outline) < 4 * camera.size.width).all():
        cv2.fillConvexPoly(mask, to_fixed(outline), level, cv2.LINE_AA, FIXED_BITS)


def reflect(camera: Camera, backdrop: Backdrop, figures: tuple[Figure, ...], reflectivity: float) -> None:
    """Lay the bodies upside down on the ice, faint, fading away from the feet; the flatter the view the clearer."""
    strength = reflectivity * float(np.clip(1.2 - 1.6 * abs(np.sin(camera.tilt_rad)), 0.2, 1.2))
    if strength < 0.02:
        return
    size = Size(backdrop.ice.shape[1], backdrop.ice.shape[0])
    for figure in figures:
        if figure.body is None:
            continue
        feet = camera.project(np.array([[*figure.pose.position_m, 0.0]]))[0]
        if not np.isfinite(feet).all():
            continue
        mirrored = _mirror(figure.body, round(float(feet[1])), strength)
        windows = overlap(mirrored, size)
        if windows is None:
            continue
        frame, own = windows
        weight = mirrored.coverage[own] * backdrop.ice[frame]
        colour = mirrored.colour[own] * backdrop.ice[frame][..., None]
        backdrop.canvas[frame] = backdrop.canvas[frame] * (1 - weight)[..., None] + colour


def _mirror(layer: Layer, feet_px: int, strength: float) -> Layer:
    rows = layer.coverage.shape[0]
    fade = strength * np.linspace(1.0, 0.1, rows, dtype=np.float32)[:, None]
    colour, coverage = layer.colour[::-1] * fade[..., None], layer.coverage[::-1] * fade
    blur = max(rows * 0.02, 0.6)
    return Layer(
        layer.left_px,
        2 * feet_px - layer.bottom_px,
        np.asarray(cv2.GaussianBlur(colour, (0, 0), 0.5 * blur, sigmaY=blur), np.float32),
        np.asarray(cv2.GaussianBlur(coverage, (0, 0), 0.5 * blur, sigmaY=blur), np.float32),
    )
