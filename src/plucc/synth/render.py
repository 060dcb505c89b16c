"""A scene made into a frame with its truth: pixels, where the puck is and how much of it shows, people, camera."""

from dataclasses import dataclass

import cv2
import numpy as np

from plucc.rink.camera import Camera
from plucc.synth.arena import Stage
from plucc.synth.filming import Shot, film, puck_shown, set_up, still_shift
from plucc.synth.finish import develop, through_h264, weave
from plucc.synth.graphics import draw_graphics, sample_design
from plucc.synth.layer import lay
from plucc.synth.noise import rng_for
from plucc.synth.painter import Painter
from plucc.synth.play import PEOPLE, role_of, team_of
from plucc.synth.puck_view import puck_point
from plucc.synth.scene import FIELD_S, Scene, sample_scene
from plucc.types import Box, Category, ImageArray, MaskArray, PlayerRole, Point, Size

FINISH_STREAM = 601
MIN_PLAYER_PX = 12
PUCK_EDGE = 0.02
ATTEMPTS = 12
MOSTLY_HIDDEN = 0.45  # an occluded puck shows at most this much
MOSTLY_SHOWN = 0.7  # any other shows at least this much


@dataclass(frozen=True, slots=True)
class PlayerTruth:
    """A person who shows: the box of the whole body clipped to the picture, and the pixels that are visible."""

    role: PlayerRole
    team: str | None
    box_px: Box
    mask: MaskArray
    gaze_rad: float
    orientation_rad: float


@dataclass(frozen=True, slots=True)
class PuckTruth:
    """The puck's centre at the middle of the exposure, the box of its smear, and the share of it that shows."""

    point_px: Point
    box_px: Box | None
    position_m: tuple[float, float, float]
    visible_fraction: float
    airborne: bool


@dataclass(frozen=True, slots=True)
class Rendered:
    """A frame (RGB) and its truth."""

    image: ImageArray
    puck: PuckTruth | None
    players: tuple[PlayerTruth, ...]
    camera: Camera


def find_scene(stage: Stage, frame: int, category: Category, size: Size) -> Scene:
    """Return a frame's scene, in which the puck shows or hides as the category asks.

    The last of many attempts is taken as it is.
    """
    for attempt in range(ATTEMPTS):
        scene = sample_scene(stage.match, frame, category, size, attempt)
        if category is Category.NO_PUCK:
            break
        shown = puck_shown(stage, scene)
        if shown <= MOSTLY_HIDDEN if category is Category.OCCLUDED else shown >= MOSTLY_SHOWN:
            break
    return scene


def render(stage: Stage, scene: Scene, *, with_puck: bool = True) -> Rendered:
    """Return the frame of a scene. Without the puck everything else stays as it is, truth included."""
    shot = set_up(stage, scene)
    painter = film(stage, scene, shot, with_puck=with_puck)
    rng = rng_for(*scene.key, FINISH_STREAM)
    picture = develop(painter.canvas, stage.match.grading, rng)
    if scene.interlaced:
        second = film(stage, scene, set_up(stage, scene, FIELD_S), with_puck=with_puck)
        picture = weave(picture, develop(second.canvas, stage.match.grading, rng))
    for layer in draw_graphics(scene.graphics, stage.match, sample_design(stage.match), scene.size):
        lay(picture, layer)
        painter.cover(layer)
    if scene.crf is not None:
        picture = through_h264([*_before(scene, picture), picture], scene.crf)
    return Rendered(
        image=np.asarray(cv2.cvtColor(picture, cv2.COLOR_BGR2RGB), np.uint8),
        puck=_puck_truth(scene, painter) if scene.has_puck else None,
        players=_player_truth(stage, shot, painter),
        camera=shot.camera,
    )


def _before(scene: Scene, picture: ImageArray) -> list[ImageArray]:
    """Return the picture that the codec saw before this one: the camera was a little elsewhere."""
    if not scene.predicted:
        return []
    here, there = still_shift(scene, -1 / 25)
    matrix = np.array([[1, 0, there[0] - here[0]], [0, 1, there[1] - here[1]]], np.float32)
    size = (scene.size.width, scene.size.height)
    return [np.asarray(cv2.warpAffine(picture, matrix, size, borderMode=cv2.BORDER_REPLICATE), np.uint8)]


def _puck_truth(scene: Scene, painter: Painter) -> PuckTruth | None:
    point = puck_point(scene.camera, scene.puck)
    if not (0 <= point.x <= scene.size.width and 0 <= point.y <= scene.size.height):
        return None
    shown = 0.0 if painter.puck is None else painter.puck.visible_fraction(scene.size)
    return PuckTruth(point, _puck_box(painter), scene.puck.position_m, shown, scene.puck.airborne)


def _puck_box(painter: Painter) -> Box | None:
    if painter.puck is None:
        return None
    layer, size = painter.puck.layer, painter.size
    rows, columns = np.nonzero(layer.coverage > PUCK_EDGE)
    box = Box(
        max(float(layer.left_px + columns.min()), 0.0),
        max(float(layer.top_px + rows.min()), 0.0),
        min(float(layer.left_px + columns.max() + 1), float(size.width)),
        min(float(layer.top_px + rows.max() + 1), float(size.height)),
    )
    return box if box.width > 0 and box.height > 0 else None


def _player_truth(stage: Stage, shot: Shot, painter: Painter) -> tuple[PlayerTruth, ...]:
    counts = np.bincount(painter.owner.ravel(), minlength=PEOPLE + 1)
    players = []
    for figure in shot.figures:
        owner = figure.row + 1
        if counts[owner] < MIN_PLAYER_PX:
            continue
        team = team_of(figure.row)
        players.append(
            PlayerTruth(
                role_of(figure.row),
                None if team is None else stage.match.team_names[team],
                painter.extents[owner],
                (painter.owner == owner).T,
                figure.pose.gaze_rad,
                figure.pose.facing_rad,
            )
        )
    return tuple(players)
