"""The puck as the camera sees it: a cylinder's silhouette, smeared along its path while the shutter is open."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from plucc.rink.camera import Camera
from plucc.synth.layer import Layer
from plucc.synth.puck_flight import PuckState
from plucc.types import PUCK_RADIUS_M, PUCK_THICKNESS_M, FloatArray, Point

RIM_POINTS = 24
FINE = 8


@dataclass(frozen=True, slots=True)
class Exposure:
    """One instant of the open shutter: where the camera was and where the puck was."""

    camera: Camera
    puck: PuckState


def puck_rims(puck: PuckState) -> tuple[FloatArray, FloatArray]:
    """Return both rims of the cylinder in metres, (n, 3) each: the upper one first."""
    angles = np.linspace(0, 2 * np.pi, RIM_POINTS, endpoint=False)
    flat = np.stack([np.cos(angles), np.sin(angles), np.zeros(RIM_POINTS)], axis=1) * PUCK_RADIUS_M
    along = np.array([np.cos(puck.tilt_axis_rad), np.sin(puck.tilt_axis_rad), 0.0])
    aside = np.array([-along[1], along[0], 0.0])
    # tilt about the sideways axis: the face turns up along the path
    normal = np.array([0, 0, 1.0]) * np.cos(puck.tilt_rad) - along * np.sin(puck.tilt_rad)
    first = along * np.cos(puck.tilt_rad) + np.array([0, 0, 1.0]) * np.sin(puck.tilt_rad)
    rim = flat[:, :1] * first + flat[:, 1:2] * aside
    half = normal * PUCK_THICKNESS_M / 2
    centre = np.asarray(puck.position_m)
    up, down = centre + rim + half, centre + rim - half
    return (up, down) if normal[2] >= 0 else (down, up)


def puck_point(camera: Camera, puck: PuckState) -> Point:
    """Return where the puck's centre shows."""
    x, y = camera.project(np.asarray([puck.position_m], float))[0]
    return Point(float(x), float(y))


@dataclass(frozen=True, slots=True)
class Rubber:
    """How light the puck's face and rim look: black rubber, but the lamps shine in it and snow clings to it."""

    face: float = 55.0
    rim: float = 24.0


def render_puck(exposures: list[Exposure], rubber: Rubber) -> Layer | None:
    """Return the puck's layer, averaged over the exposure, or None when it is behind the camera or far outside."""
    seen = [_project_rims(exposure) for exposure in exposures]
    if any(not np.isfinite(rims).all() for rims in seen):
        return None
    everything = np.concatenate([rims.reshape(-1, 2) for rims in seen])
    low = np.floor(everything.min(axis=0)).astype(int) - 1
    high = np.ceil(everything.max(axis=0)).astype(int) + 1
    size = exposures[0].camera.size
    if (high < 0).any() or low[0] > size.width or low[1] > size.height or (high - low > 1500).any():
        return None
    shape = (int(high[1] - low[1]), int(high[0] - low[0]))
    fine = FINE if shape[0] * shape[1] < 40_000 else 4
    cover = np.zeros((shape[0] * fine, shape[1] * fine), np.float32)
    level = np.zeros_like(cover)
    for rims in seen:
        _splat((rims - low) * fine, cover, level, rubber)
    coverage = np.asarray(cv2.resize(cover, shape[::-1], interpolation=cv2.INTER_AREA) / len(seen), np.float32)
    grey = cv2.resize(level, shape[::-1], interpolation=cv2.INTER_AREA) / len(seen)
    colour = np.asarray(grey[..., None] * np.array([1.04, 1.0, 0.98]), np.float32)
    return Layer(int(low[0]), int(low[1]), colour, coverage)


def _project_rims(exposure: Exposure) -> FloatArray:
    up, down = puck_rims(exposure.puck)
    return exposure.camera.project(np.concatenate([up, down])).reshape(2, RIM_POINTS, 2)


def _splat(rims: FloatArray, cover: FloatArray, level: FloatArray, rubber: Rubber) -> None:
    """Add one instant: the hull of both rims is the side's colour, the upper face lies over it."""
    whole = np.asarray(cv2.convexHull(np.concatenate([rims[0], rims[1]]).astype(np.float32))[:, 0], np.float32)
    hull, face = _fixed(whole), _fixed(rims[0])
    low = np.maximum(np.floor(whole.min(axis=0)).astype(int) - 1, 0)
    high = np.ceil(whole.max(axis=0)).astype(int) + 2
    window = (slice(low[1], high[1]), slice(low[0], high[0]))
    mask = np.zeros(cover[window].shape, np.uint8)
    offset = (low * 16).astype(np.int32)
    cv2.fillConvexPoly(mask, hull - offset, 1, cv2.LINE_8, 4)
    top = np.zeros_like(mask)
    cv2.fillConvexPoly(top, face - offset, 1, cv2.LINE_8, 4)
    cover[window] += mask
    level[window] += np.where(top > 0, rubber.face, rubber.rim * mask).astype(np.float32)


def _fixed(points: FloatArray) -> NDArray[np.int32]:
    return np.asarray(np.round((points - 0.5) * 16), np.int32)
