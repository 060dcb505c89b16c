"""A scene before the lens: everything on the ice drawn on layers, sorted by depth, laid over the arena."""

from dataclasses import dataclass
from math import hypot

import cv2
import numpy as np

from plucc.rink.camera import Camera
from plucc.rink.sheet import Goal
from plucc.synth.arena import Stage, paint_backdrop
from plucc.synth.body import lost_stick
from plucc.synth.camera_work import camera_at
from plucc.synth.goal import draw_frame, draw_netting
from plucc.synth.layer import Layer, line_kernel
from plucc.synth.near_side import draw_near_glass, draw_near_net, near_layers
from plucc.synth.painter import Painter, PuckSight
from plucc.synth.people import Figure, Look, draw_figure, pose_of
from plucc.synth.play import PEOPLE
from plucc.synth.puck_view import puck_point, render_puck
from plucc.synth.raster import rasterise
from plucc.synth.scene import Scene, smear_px
from plucc.synth.shadows import cast_shadows, reflect
from plucc.types import Box, FloatArray, Size

PUCK = -1
LONGEST_BLUR_PX = 40.0
MARGIN_PX = 24  # half of the longest blur, and a little
TALLEST_M, REACH_M = 2.2, 2.6  # of a person with a stick
GOAL_REACH_M = 2.5  # from its middle to anything of it
GOAL_HIDES_M = 8.0  # a net hides pucks no further away than this


@dataclass(frozen=True, slots=True)
class Item:
    """A layer at its depth; `owner` is a person's row plus one, 0 for things, `PUCK` for the puck."""

    depth_m: float
    layer: Layer
    owner: int


@dataclass(frozen=True, slots=True)
class Shot:
    """All that is on the ice, the farthest first, and the camera that sees it."""

    camera: Camera
    figures: tuple[Figure, ...]
    items: tuple[Item, ...]
    still_blur: FloatArray | None  # of things that do not move

    def puck_sight(self) -> PuckSight | None:
        """Return what shows of the puck among what is on the ice; None when it is not in the picture."""
        sight: PuckSight | None = None
        for item in self.items:
            if item.owner == PUCK:
                sight = PuckSight.of(item.layer)
            elif sight is not None:
                sight.dim(item.layer)
        return sight


def set_up(stage: Stage, scene: Scene, at_s: float = 0.0, before_puck: bool = False) -> Shot:
    """Return what the camera sees on the ice, `at_s` after the scene's moment.

    Of the people in the picture it draws all, or only those who can stand before the puck.
    """
    camera = camera_at(scene.operator, scene.aim, scene.size, at_s)
    match = stage.match
    pucks = _puck_items(scene, camera, at_s)
    rows = _rows_before_puck(scene, camera) if before_puck else _rows_in_picture(scene, camera)
    look = Look(match.light, stage.folds, _window(scene.size, pucks if before_puck else []))
    figures = tuple(
        draw_figure(camera, row, pose_of(scene.state, match.cast, row), match.wardrobes[row], look) for row in rows
    )
    here, there = still_shift(scene, scene.shutter_s)
    still = line_kernel(*(there - here))
    kernels = _motion_blurs(scene)
    items = [item for figure in figures for item in _figure_items(figure, kernels[figure.row])]
    items += _goal_items(_goals_seen(stage, scene, camera, before_puck), camera, look, still)
    items += _lost_items(scene, stage, camera, look, still) + pucks
    items.sort(key=lambda item: -item.depth_m)
    return Shot(camera, figures, tuple(items), still)


def _window(size: Size, pucks: list[Item]) -> Box:
    """Return what is to be drawn, with room for blur: around the puck if one is given, else all of the picture."""
    if not pucks:
        return Box(-MARGIN_PX, -MARGIN_PX, size.width + MARGIN_PX, size.height + MARGIN_PX)
    layer = pucks[0].layer
    rows, columns = layer.coverage.shape
    left, top = layer.left_px - MARGIN_PX, layer.top_px - MARGIN_PX
    return Box(left, top, layer.left_px + columns + MARGIN_PX, layer.top_px + rows + MARGIN_PX)


def puck_shown(stage: Stage, scene: Scene) -> float:
    """Return how much of the puck shows, drawing only those people who can stand before it."""
    sight = set_up(stage, scene, before_puck=True).puck_sight() if scene.has_puck else None
    return 0.0 if sight is None else sight.visible_fraction(scene.size)


def _rows_before_puck(scene: Scene, camera: Camera) -> list[int]:
    low, high = _stature(scene, camera)
    x, y = puck_point(camera, scene.puck)
    depth = camera.depth(np.array([scene.puck.position_m]))[0] + REACH_M / 2
    margin = smear_px(scene.operator, scene.aim, scene.size, scene.puck, scene.shutter_s) + LONGEST_BLUR_PX / 4
    inside = (low[:, 0] - margin < x) & (x < high[:, 0] + margin) & (low[:, 1] - margin < y) & (y < high[:, 1] + margin)
    return [int(row) for row in np.flatnonzero(inside & (_depths(scene, camera) < depth))]


def _rows_in_picture(scene: Scene, camera: Camera) -> list[int]:
    low, high = _stature(scene, camera)
    size = np.array([scene.size.width, scene.size.height]) + LONGEST_BLUR_PX
    return [int(row) for row in np.flatnonzero((high > -LONGEST_BLUR_PX).all(axis=1) & (low < size).all(axis=1))]


def _depths(scene: Scene, camera: Camera) -> FloatArray:
    return camera.depth(np.column_stack([scene.state.position_m, np.zeros(PEOPLE)]))


def _stature(scene: Scene, camera: Camera) -> tuple[FloatArray, FloatArray]:
    """Return generous boxes (low, high corners in pixels) around everybody and their sticks; NaN behind the camera."""
    feet = np.column_stack([scene.state.position_m, np.zeros(PEOPLE)])
    ends = np.stack([camera.project(feet), camera.project(feet + np.array([0.0, 0.0, TALLEST_M]))])
    reach = (REACH_M * camera.focal_px / np.maximum(camera.depth(feet), 0.5))[:, None]
    return ends.min(axis=0) - reach * np.array([1.0, 0.2]), ends.max(axis=0) + reach * np.array([1.0, 0.6])


def film(stage: Stage, scene: Scene, shot: Shot, *, with_puck: bool) -> Painter:
    """Return the painted picture, before lens and codecs."""
    distance = np.linalg.norm(np.subtract(shot.camera.position_m, (*scene.aim.point_m, 0.0)))
    backdrop = paint_backdrop(stage, shot.camera, shot.camera.focal_px / max(float(distance), 1.0))
    cast_shadows(shot.camera, backdrop, shot.figures, stage.match.light)
    reflect(shot.camera, backdrop, shot.figures, stage.match.arena.reflectivity)
    canvas = backdrop.canvas if shot.still_blur is None else cv2.filter2D(backdrop.canvas, -1, shot.still_blur)
    painter = Painter.on(np.asarray(canvas, np.uint8))
    for item in shot.items:
        if item.owner == PUCK:
            painter.lay_puck(item.layer, shown=with_puck)
        else:
            painter.lay(item.layer, item.owner)
    for layer in near_layers(stage, shot.camera):
        painter.lay(layer.blurred(shot.still_blur))
    draw_near_glass(stage, shot.camera, painter.canvas)
    draw_near_net(stage, shot.camera, painter.canvas)
    return painter


def still_shift(scene: Scene, shift_s: float) -> tuple[FloatArray, FloatArray]:
    """Return where the aimed point shows now, and where it would with the camera of another instant."""
    target = np.array([[*scene.aim.point_m, scene.operator.aim_height_m]])
    here = scene.camera.project(target)[0]
    there = camera_at(scene.operator, scene.aim, scene.size, shift_s).project(target)[0]
    if not np.isfinite(here + there).all():
        return np.zeros(2), np.zeros(2)
    return here, here + np.clip(there - here, -LONGEST_BLUR_PX, LONGEST_BLUR_PX)


def _figure_items(figure: Figure, kernel: FloatArray | None) -> list[Item]:
    items = []
    if figure.body is not None:
        items.append(Item(figure.body_depth_m, figure.body.blurred(kernel), figure.row + 1))
    if figure.stick is not None:
        items.append(Item(figure.stick_depth_m, figure.stick.blurred(kernel), 0))
    return items


def _motion_blurs(scene: Scene) -> list[FloatArray | None]:
    """Return everybody's blur: their own way and the camera's during the exposure."""
    waist = np.column_stack([scene.state.position_m, np.full(PEOPLE, 0.9)])
    moved = waist.copy()
    moved[:, :2] += scene.state.velocity_m_s * scene.shutter_s
    later = camera_at(scene.operator, scene.aim, scene.size, scene.shutter_s)
    shift = np.nan_to_num(later.project(moved) - scene.camera.project(waist))
    shift = np.clip(shift, -LONGEST_BLUR_PX, LONGEST_BLUR_PX)
    return [line_kernel(dx, dy) for dx, dy in shift.tolist()]


def _goals_seen(stage: Stage, scene: Scene, camera: Camera, before_puck: bool) -> list[Goal]:
    """Return the goals that are in the picture, or only those that the puck is near."""
    goals = stage.match.sheet.goals
    if before_puck:
        x, y, _ = scene.puck.position_m
        return [goal for goal in goals if hypot(goal.x_m - x, y) < GOAL_HIDES_M]
    middle = np.array([[goal.x_m, 0.0, 0.6] for goal in goals])
    points, depths = camera.project(middle), np.maximum(camera.depth(middle), 0.5)
    reach = (GOAL_REACH_M * camera.focal_px / depths)[:, None] + LONGEST_BLUR_PX
    size = np.array([scene.size.width, scene.size.height])
    seen = ((points > -reach) & (points < size + reach)).all(axis=1)
    return [goal for goal, shows in zip(goals, seen, strict=True) if shows]


def _goal_items(goals: list[Goal], camera: Camera, look: Look, still: FloatArray | None) -> list[Item]:
    items = []
    for goal in goals:
        middle = np.array([[goal.x_m, 0.0, 0.6], [goal.x_m - goal.facing * 0.5, 0.0, 0.6]])
        layers = (draw_frame(camera, goal, look.light, look.within), draw_netting(camera, goal, look.within))
        for depth, layer in zip(camera.depth(middle), layers, strict=True):
            if layer is not None:
                items.append(Item(float(depth), layer.blurred(still), 0))
    return items


def _lost_items(scene: Scene, stage: Stage, camera: Camera, look: Look, still: FloatArray | None) -> list[Item]:
    """Return the stick that lies on the ice, if one does."""
    if scene.lost_stick is None:
        return []
    spot = scene.lost_stick
    capsules = lost_stick(spot.position_m, spot.heading_rad, stage.match.wardrobes[0])
    patch = rasterise(camera, capsules, look.light, 2, look.within)
    depth = camera.depth(np.array([[*spot.position_m, 0.0]]))[0]
    # from behind anybody who stands on it
    return [] if patch is None else [Item(float(depth) + REACH_M, patch.layer().blurred(still), 0)]


def _puck_items(scene: Scene, camera: Camera, at_s: float) -> list[Item]:
    if not scene.has_puck:
        return []
    layer = render_puck(scene.exposures(at_s), scene.rubber)
    if layer is None:
        return []
    return [Item(float(camera.depth(np.asarray([scene.puck.position_m]))[0]), layer, PUCK)]
