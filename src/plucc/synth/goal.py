"""Goals: red frame, white netting that lets the ice show through."""

from itertools import pairwise

import cv2
import numpy as np

from plucc.rink.camera import Camera
from plucc.rink.sheet import Goal
from plucc.synth.layer import Layer
from plucc.synth.palette import GOAL_RED, WHITE, Colour
from plucc.synth.raster import Capsule, Light, Paint, rasterise
from plucc.synth.strip import FIXED_BITS, to_fixed
from plucc.types import Box, FloatArray, ImageArray

BOTTLE: tuple[Colour, Colour] = ((60, 140, 60), (30, 30, 30))
MESH_M = 0.055
CORDS: Colour = (198, 196, 194)  # white, in their own shade: greyer than the ice


def draw_frame(camera: Camera, goal: Goal, light: Light, within: Box) -> Layer | None:
    """Return posts, crossbar, the base that runs round the back, and the goalkeeper's bottle on top."""
    paint = Paint.plain(GOAL_RED, gloss=0.25)
    white = Paint.plain(WHITE)
    mouth = goal.mouth()
    base = _base(goal)
    top = goal.top()
    tube = goal.frame.post_diameter_m / 2
    capsules = [Capsule(mouth[i], mouth[i + 1], tube, tube, paint, "post") for i in range(3)]
    capsules += [Capsule(a, b, 0.035, 0.035, paint, "base") for a, b in pairwise(base)]
    capsules += [Capsule(top[i], top[i + 1], 0.018, 0.018, white, "top") for i in range(3)]
    bottle = np.array([goal.x_m - goal.facing * 0.3, 0.15, goal.frame.height_m])
    label = Paint.banded(BOTTLE[0], ((0.2, 0.6, BOTTLE[1]),))
    capsules.append(Capsule(bottle, bottle + np.array([0.0, 0.0, 0.2]), 0.036, 0.03, label, "bottle"))
    patch = rasterise(camera, capsules, light, 2, within)
    return None if patch is None else patch.layer()


def _base(goal: Goal) -> FloatArray:
    """Return the base bar: rounded at the back."""
    foot = goal.footprint()
    share = np.linspace(0, 1, 7)[1:-1, None]
    back = foot[1] * (1 - share) + foot[2] * share
    bulge = np.sin(np.pi * share[:, 0]) * 0.12
    back[:, 0] -= goal.facing * bulge
    flat = np.concatenate([foot[:1], foot[1:2], back, foot[2:3], foot[3:]])
    return np.column_stack([flat, np.full(len(flat), 0.035)])


def draw_netting(camera: Camera, goal: Goal, within: Box) -> Layer | None:
    """Return the netting over back, sides and top."""
    foot, top = goal.footprint(), goal.top()
    ground = np.column_stack([foot, np.full(4, 0.03)])
    panels = [
        np.stack([ground[1], ground[2], top[2], top[1]]),
        np.stack([ground[0], ground[1], top[1], top[0]]),
        np.stack([ground[2], ground[3], top[3], top[2]]),
        top,
    ]
    corners = camera.project(np.concatenate(panels))
    if (camera.depth(np.concatenate(panels)) < 0.5).any() or not np.isfinite(corners).all():
        return None
    low = np.maximum(np.floor(corners.min(axis=0)) - 2, (within.left, within.top)).astype(int)
    high = np.minimum(np.ceil(corners.max(axis=0)) + 3, (within.right, within.bottom)).astype(int)
    if (high <= low).any():
        return None
    scale = camera.focal_px / float(camera.depth(np.array([[goal.x_m, 0.0, 0.6]]))[0])
    through = np.ones((high[1] - low[1], high[0] - low[0]), np.float32)
    for panel in panels:
        mask = np.zeros(through.shape, np.uint8)
        _draw_panel(camera, panel, low, mask, MESH_M * scale)
        through *= 1 - mask.astype(np.float32) / 255
    coverage = 1 - through
    colour = cv2.merge([coverage * np.float32(level) for level in CORDS])
    return Layer(int(low[0]), int(low[1]), np.asarray(colour, np.float32), coverage)


def _draw_panel(camera: Camera, panel: FloatArray, low: FloatArray, mask: ImageArray, cell_px: float) -> None:
    fine = cell_px < 2.2
    outline = to_fixed(camera.project(panel) - low)
    cv2.fillConvexPoly(mask, outline, 120 if fine else 60, cv2.LINE_8, FIXED_BITS)
    step = MESH_M * (2 if fine else 1)
    for first in (0, 1):
        a, b, c, d = np.roll(panel, -first, axis=0)
        count = max(int(max(np.linalg.norm(b - a), np.linalg.norm(c - d)) / step), 2)
        share = np.linspace(0, 1, count + 1)[:, None]
        ends = camera.project(np.concatenate([a + (b - a) * share, d + (c - d) * share])) - low
        lines = np.stack([ends[: count + 1], ends[count + 1 :]], axis=1)
        level, width = (140, 1) if fine else (185, max(round(cell_px * 0.09), 1))
        cv2.polylines(mask, list(to_fixed(lines)), False, level, width, cv2.LINE_AA, FIXED_BITS)
