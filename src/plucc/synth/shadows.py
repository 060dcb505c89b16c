"""How people darken the ice beneath them and show in it."""

from collections.abc import Sequence

import cv2
import numpy as np

from plucc.rink.camera import Camera
from plucc.synth.arena import Backdrop
from plucc.synth.layer import Layer, dim, lay, overlap
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
    shown = [figure.skeleton for figure in figures if figure.body is not None]
    _blobs(lens, soft, [body.pelvis[:2] + lean * 0.8 for body in shown], 0.42, 120)
    feet = [(body.ankles[side][:2] + body.toes[side][:2]) / 2 for body in shown for side in (0, 1)]
    _blobs(lens, firm, feet, 0.17, 190)
    scale = camera.focal_px / max(float(np.mean([f.body_depth_m for f in figures])), 1.0) / SHRINK
    firm_blur = cv2.GaussianBlur(firm, (0, 0), max(0.06 * scale, 0.6))
    soft_blur = cv2.GaussianBlur(soft, (0, 0), max(0.22 * scale, 1.0))
    shade = cv2.addWeighted(firm_blur, 0.34, soft_blur, 0.24, 0)
    shade = cv2.resize(shade, (width, height), interpolation=cv2.INTER_LINEAR)
    dim(backdrop.canvas, np.asarray(255 - cv2.multiply(shade, backdrop.ice, scale=1 / 255), np.uint8))


def _blobs(camera: Camera, mask: ImageArray, centres_m: Sequence[FloatArray], radius_m: float, level: int) -> None:
    """Fill circles on the ice as the camera sees them."""
    if not centres_m:
        return
    ring = radius_m * np.stack([np.cos(_RING), np.sin(_RING), np.zeros(len(_RING))], axis=1)
    centres = np.column_stack([np.array(centres_m), np.zeros(len(centres_m))])
    outlines = camera.project((centres[:, None] + ring[None]).reshape(-1, 3)).reshape(len(centres), -1, 2)
    usable = (np.abs(outlines) < 4 * camera.size.width).all(axis=(1, 2))  # NaN, behind the camera, is not
    for outline in to_fixed(outlines[usable]):
        cv2.fillConvexPoly(mask, outline, level, cv2.LINE_AA, FIXED_BITS)


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
        ice = backdrop.ice[frame].astype(np.float32) * np.float32(1 / 255)
        coverage, colour = mirrored.coverage[own] * ice, cv2.multiply(mirrored.colour[own], cv2.merge([ice, ice, ice]))
        lay(backdrop.canvas, Layer(frame[1].start, frame[0].start, np.asarray(colour, np.float32), coverage))


def _mirror(layer: Layer, feet_px: int, strength: float) -> Layer:
    rows = layer.coverage.shape[0]
    fade = strength * np.linspace(1.0, 0.1, rows, dtype=np.float32)[:, None]
    picture = cv2.merge([*cv2.split(layer.colour), layer.coverage])[::-1] * fade[..., None]
    blur = max(rows * 0.02, 0.6)
    soft = np.asarray(cv2.GaussianBlur(picture, (0, 0), 0.5 * blur, sigmaY=blur), np.float32)
    top = 2 * feet_px - layer.bottom_px
    return Layer(layer.left_px, top, np.ascontiguousarray(soft[..., :3]), np.ascontiguousarray(soft[..., 3]))
