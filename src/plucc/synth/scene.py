"""One moment to be filmed: play, camera, shutter and graphics, drawn from a seed to fit a category."""

from dataclasses import dataclass, field, replace
from math import isfinite

import numpy as np

from plucc.rink.camera import Camera
from plucc.synth.camera_work import Aim, Operator, View, camera_at, follow, sample_operator
from plucc.synth.graphics import Graphics
from plucc.synth.match import Match
from plucc.synth.noise import rng_for
from plucc.synth.placing import place_puck, sample_focus
from plucc.synth.play import STEP_S, PlayState, advance, start_play
from plucc.synth.puck_flight import PuckState, nearest_inside
from plucc.synth.puck_view import Exposure, Rubber, puck_point
from plucc.types import PUCK_RADIUS_M, Category, Point, Size

SCENE_STREAM = 501
EDGE_PX = 10  # at 720 lines: a labelled puck lies at least this far inside the picture
GEOMETRY_TRIES = 40
BLURRY_LENGTHS = 1.5  # a puck smeared over this many of its own widths counts as blurry
FIELD_S = 0.02
STANDS_EVERY, NEAR_RAIL = 12, 0.86  # the near rail is lower in the picture than this, but for every twelfth frame
PAN_SHARE, PAN_M_S, FASTEST_PAN_M_S = 0.25, 6.0, 16.0
LOST_SHARE = 0.04  # of frames with a stick on the ice
CLEAR_M, LOW_M = 3.0, 4.0  # a camera lower than this has nobody nearer than that


@dataclass(frozen=True, slots=True)
class LostStick:
    """A stick on the ice: where its knob is and which way it points."""

    position_m: tuple[float, float]
    heading_rad: float


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that decides a frame's pixels, apart from the match."""

    key: tuple[int, ...]
    size: Size
    category: Category
    state: PlayState
    operator: Operator
    aim: Aim
    shutter_s: float
    has_puck: bool
    graphics: Graphics
    interlaced: bool
    crf: int | None  # None: not sent through H.264
    predicted: bool  # whether the codec predicts this picture from the one before
    quality: int
    rubber: Rubber = field(default_factory=Rubber)
    lost_stick: LostStick | None = None

    @property
    def camera(self) -> Camera:
        """The camera at the middle of the exposure."""
        return camera_at(self.operator, self.aim, self.size)

    @property
    def puck(self) -> PuckState:
        return self.state.puck

    def exposures(self, at_s: float = 0.0) -> list[Exposure]:
        """Return instants spread over the open shutter, three for every two pixels that the puck's image moves."""
        length = smear_px(self.operator, self.aim, self.size, self.puck, self.shutter_s)
        count = int(np.clip(np.ceil(1.5 * length), 1, 32))
        shifts = ((np.arange(count) + 0.5) / count - 0.5) * self.shutter_s + at_s
        return [
            Exposure(camera_at(self.operator, self.aim, self.size, s), shifted(self.puck, s)) for s in shifts.tolist()
        ]


def shifted(puck: PuckState, shift_s: float) -> PuckState:
    """Return the puck a little earlier or later, on a straight line: an exposure is too short for anything else."""
    moved = [p + v * shift_s for p, v in zip(puck.position_m, puck.velocity_m_s, strict=True)]
    return replace(
        puck,
        position_m=(moved[0], moved[1], moved[2]),
        tilt_rad=puck.tilt_rad + puck.spin_rad_s * shift_s,
    )


def smear_px(operator: Operator, aim: Aim, size: Size, puck: PuckState, shutter_s: float) -> float:
    """Return how far the puck's image moves while the shutter is open, camera motion included; 0 behind the camera."""
    ends = [puck_point(camera_at(operator, aim, size, s), shifted(puck, s)) for s in (-shutter_s / 2, shutter_s / 2)]
    length = ends[0].distance(ends[1])
    return length if isfinite(length) else 0.0


def sample_scene(match: Match, frame: int, category: Category, size: Size, attempt: int = 0) -> Scene:
    """Return the scene of one frame of a match; further attempts give other scenes for the same frame.

    Geometry is drawn again until the puck is where the category wants it; whether a puck is hidden is known only after
    rendering, so the caller asks for the next attempt when it is not.
    """
    for turn in range(GEOMETRY_TRIES):
        scene = _draw_scene(match, (*match.key, frame, attempt, turn), category, size)
        if fits(scene, match):
            return scene
    return scene


def _draw_scene(match: Match, key: tuple[int, ...], category: Category, size: Size) -> Scene:
    rng = rng_for(*key, SCENE_STREAM)
    focus = sample_focus(rng, match.sheet, category)
    state = start_play(rng, match.sheet, focus)
    operator = sample_operator(rng, match, float(np.sign(focus[0]) or 1.0))
    aim = Aim((float(focus[0]), float(focus[1])), (0.0, 0.0))
    for _ in range(int(rng.integers(5, 24))):
        state = advance(state, rng, match.sheet, match.cast)
        aim = follow(aim, np.asarray(state.puck.position_m[:2]), operator, STEP_S)
    shutter = float(np.exp(rng.uniform(np.log(1 / 400), np.log(1 / 60))))
    if category is Category.BLURRY:
        shutter = float(np.exp(rng.uniform(np.log(1 / 250), np.log(1 / 45))))
    camera = camera_at(operator, aim, size)
    state = place_puck(rng, state, match, camera, category)
    aim = _re_aim(rng, aim, state, category)
    if rng.random() < PAN_SHARE:
        aim, shutter = _pan(rng, aim, state), float(rng.uniform(1 / 160, 1 / 50))
    has_puck, aim = _hide(rng, aim, match, category)
    return Scene(
        key=key,
        size=size,
        category=category,
        state=state,
        operator=operator,
        aim=aim,
        shutter_s=shutter,
        has_puck=has_puck,
        graphics=_sample_graphics(rng, category, puck_point(camera_at(operator, aim, size), state.puck), size),
        interlaced=(match.grading.interlaced and rng.random() < 0.5)
        or (category is Category.ARTIFACT and rng.random() < 0.15),
        crf=_sample_crf(rng, match, category),
        predicted=bool(rng.random() < 0.5),
        quality=int(rng.integers(82, 96)),
        rubber=_sample_rubber(rng),
        lost_stick=_sample_lost_stick(rng, state, match) if rng.random() < LOST_SHARE else None,
    )


def _pan(rng: np.random.Generator, aim: Aim, state: PlayState) -> Aim:
    """Return the aim in a quick pan, about as fast as the puck if that moves: all that stands still is smeared."""
    velocity = rng.uniform(0.5, 1.15) * np.asarray(state.puck.velocity_m_s[:2])
    if state.puck.speed_m_s < PAN_M_S / 2:
        velocity = np.array([rng.normal(0, PAN_M_S), 0.0])
    speed = float(np.hypot(*velocity))
    velocity = velocity * min(1.0, FASTEST_PAN_M_S / max(speed, 1e-6))
    return replace(aim, velocity_m_s=(float(velocity[0]), float(velocity[1])))


def _sample_rubber(rng: np.random.Generator) -> Rubber:
    if rng.random() < 0.12:  # snow all over it
        return Rubber(face=float(rng.uniform(120, 175)), rim=float(rng.uniform(60, 115)))
    return Rubber(face=float(rng.uniform(32, 120)), rim=float(rng.uniform(16, 75)))


def _sample_lost_stick(rng: np.random.Generator, state: PlayState, match: Match) -> LostStick:
    spot, _ = nearest_inside(np.asarray(state.puck.position_m[:2]) + rng.normal(0, 4.5, 2), match.sheet, 1.0)
    return LostStick((float(spot[0]), float(spot[1])), float(rng.uniform(0, 2 * np.pi)))


def _re_aim(rng: np.random.Generator, aim: Aim, state: PlayState, category: Category) -> Aim:
    """Return the aim moved after a puck that was placed by hand, with what lag would leave between them."""
    puck = np.asarray(state.puck.position_m[:2])
    gap = puck - np.asarray(aim.point_m)
    if np.hypot(*gap) < 7.0 and category is not Category.NO_PUCK:
        return aim
    point = puck + rng.normal(0, 1.5, 2)
    return replace(aim, point_m=(float(point[0]), float(point[1])))


def _hide(rng: np.random.Generator, aim: Aim, match: Match, category: Category) -> tuple[bool, Aim]:
    """Return whether there is a puck at all, and an aim that leaves it outside when there is but must not show."""
    if category is not Category.NO_PUCK:
        return True, aim
    if rng.random() < 0.6:
        return False, aim
    x = aim.point_m[0] - np.sign(aim.point_m[0] or 1.0) * rng.uniform(16, 34)
    limit = match.sheet.length_m / 2 - 6
    return True, replace(aim, point_m=(float(np.clip(x, -limit, limit)), float(rng.uniform(-6, 8))))


def _sample_crf(rng: np.random.Generator, match: Match, category: Category) -> int | None:
    if category is Category.ARTIFACT and rng.random() < 0.4:
        return int(rng.integers(32, 42))
    if rng.random() < 0.3:
        return None
    return int(match.grading.crf + rng.integers(-3, 4))


def _sample_graphics(rng: np.random.Generator, category: Category, puck_px: Point, size: Size) -> Graphics:
    base = Graphics(
        bug=bool(rng.random() < 0.45),
        logo=bool(rng.random() < 0.5),
        lower_third=Point(0.27, float(rng.uniform(0.78, 0.86))) if rng.random() < 0.04 else None,
        clock_s=int(rng.integers(1200)),
        score=(int(rng.integers(7)), int(rng.integers(7))),
        period=int(rng.integers(1, 4)),
    )
    if category is not Category.ARTIFACT or not np.isfinite(puck_px.x + puck_px.y):
        return base
    x, y = puck_px.x / size.width, puck_px.y / size.height
    kind = rng.random()
    if kind < 0.4:
        place = Point(float(x - rng.uniform(0.02, 0.42)), float(y - rng.choice([rng.uniform(-0.03, 0.01), 0.06, 0.11])))
        return replace(base, bug=True, lower_third=place)
    if kind < 0.65:
        return replace(base, wipe=float(np.clip(x / 2.1 + rng.uniform(-0.02, 0.1), 0.05, 0.95)))
    return replace(base, bug=True)


def puck_in_picture(scene: Scene) -> bool:
    """Tell whether the puck's centre lies inside the picture, away from its edge."""
    point = puck_point(scene.camera, scene.puck)
    edge = EDGE_PX * scene.size.height / 720
    return bool(edge <= point.x <= scene.size.width - edge and edge <= point.y <= scene.size.height - edge)


def puck_near_picture(scene: Scene) -> bool:
    """Tell whether any of the puck could show in the picture."""
    point = puck_point(scene.camera, scene.puck)
    if not np.isfinite(point.x + point.y):
        return False
    edge = 60 * scene.size.height / 720
    return -edge <= point.x <= scene.size.width + edge and -edge <= point.y <= scene.size.height + edge


def behind_near_boards(scene: Scene, match: Match) -> bool:
    """Tell whether the line of sight to the puck passes below the top of the boards on the camera's side."""
    puck, eye = np.asarray(scene.puck.position_m), np.asarray(scene.operator.position_m)
    share = np.linspace(0, 1, 256)[:, None]
    sight = puck + share * (eye - puck)
    outside = np.flatnonzero(~match.sheet.contains(sight[:, :2]))
    return len(outside) > 0 and bool(sight[outside[0], 2] < match.arena.board_height_m + 0.12)


def smear_lengths(scene: Scene) -> float:
    """Return the puck's smear in widths of its own image."""
    camera = scene.camera
    depth = float(camera.depth(np.asarray([scene.puck.position_m]))[0])
    width_px = 2 * PUCK_RADIUS_M * camera.focal_px / max(depth, 0.1)
    return smear_px(scene.operator, scene.aim, scene.size, scene.puck, scene.shutter_s) / width_px


def before_kick_plate(scene: Scene, match: Match) -> bool:
    """Tell whether the line of sight through the puck ends on the kick plate, or at its very foot."""
    puck, eye = np.asarray(scene.puck.position_m), np.asarray(scene.operator.position_m)
    onward = puck - eye
    onward = onward / np.hypot(onward[0], onward[1])
    reach = puck + np.linspace(0, 0.6, 61)[:, None] * onward
    outside = np.flatnonzero(~match.sheet.contains(reach[:, :2]))
    if len(outside) == 0:
        return False
    height = float(reach[outside[0], 2])
    return -PUCK_RADIUS_M <= height <= match.arena.kick_height_m


def on_goal_line(scene: Scene, match: Match) -> bool:
    """Tell whether the puck lies on a goal line, at least in part."""
    beside = abs(abs(scene.puck.position_m[0]) - match.sheet.goal_line_x_m)
    return beside < PUCK_RADIUS_M + match.sheet.thin_line_m / 2


def fits(scene: Scene, match: Match) -> bool:
    """Tell whether the geometry is what the category asks for."""
    x, y, z = scene.operator.position_m
    nearest = np.hypot(*(scene.state.position_m - np.array([x, y])).T).min()
    if (nearest < CLEAR_M and z < LOW_M) or _looks_at_near_stands(scene, match):
        return False
    if scene.category is Category.NO_PUCK:
        return not scene.has_puck or not puck_near_picture(scene)
    if not puck_in_picture(scene):
        return False
    if scene.category is not Category.OCCLUDED and behind_near_boards(scene, match):
        return False
    return _fits_category(scene, match, smear_lengths(scene))


def _looks_at_near_stands(scene: Scene, match: Match) -> bool:
    """Tell whether the main camera shows much of its own side, which operators avoid; now and then it may."""
    if scene.operator.view is not View.MAIN or scene.key[2] % STANDS_EVERY == 0:
        return False
    camera = scene.camera
    x = float(np.clip(scene.aim.point_m[0] + scene.operator.aim_offset_m[0], *_ends(match)))
    rail = np.array([[x, -match.sheet.half_width_at(x), match.arena.board_height_m]])
    return bool(camera.project(rail)[0, 1] < NEAR_RAIL * scene.size.height)


def _ends(match: Match) -> tuple[float, float]:
    return -match.sheet.length_m / 2, match.sheet.length_m / 2


def _fits_category(scene: Scene, match: Match, smear: float) -> bool:
    if scene.category is Category.BLURRY:
        return smear >= BLURRY_LENGTHS
    if scene.category is Category.GOAL_LINE:
        return smear < BLURRY_LENGTHS and on_goal_line(scene, match)
    if scene.category is Category.YELLOW_LINE:
        return smear < 2 * BLURRY_LENGTHS and before_kick_plate(scene, match)
    plain = not (on_goal_line(scene, match) or before_kick_plate(scene, match))
    return smear < BLURRY_LENGTHS and (plain or scene.category is not Category.STANDARD)
