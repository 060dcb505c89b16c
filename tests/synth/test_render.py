"""The truth is exact: the puck's pixels, people's masks, what each category promises."""

from dataclasses import replace

import numpy as np
import pytest

from plucc.rink.camera import Camera
from plucc.synth.arena import Stage, build_stage
from plucc.synth.camera_work import View, sample_operator
from plucc.synth.filming import film, set_up
from plucc.synth.match import sample_match
from plucc.synth.near_side import draw_near_net
from plucc.synth.noise import rng_for
from plucc.synth.render import MOSTLY_HIDDEN, MOSTLY_SHOWN, Rendered, find_scene, render
from plucc.synth.scene import BLURRY_LENGTHS, LostStick, Scene, before_kick_plate, smear_lengths
from plucc.synth.skeleton import STICK_M
from plucc.synth.truth import record_of
from plucc.types import PUCK_RADIUS_M, Category, Size

SHOWN = [c for c in Category if c not in (Category.NO_PUCK, Category.OCCLUDED)]


@pytest.fixture(scope="module")
def frames(stage: Stage, size: Size) -> dict[Category, tuple[Scene, Rendered]]:
    made = {}
    for index, category in enumerate(Category):
        scene = find_scene(stage, index, category, size)
        made[category] = (scene, render(stage, scene))
    return made


@pytest.mark.parametrize("category", [c for c in Category if c is not Category.NO_PUCK])
def test_recorded_camera_projects_the_recorded_puck(frames, stage, category):
    _, rendered = frames[category]
    record = record_of(rendered, stage.match, "a.jpg", "run", category)
    kept = record.camera
    camera = Camera(
        kept.position_m,
        kept.pan_rad,
        kept.tilt_rad,
        kept.roll_rad,
        kept.focal_px,
        record.size,
        kept.principal_px,
        kept.k1,
        kept.k2,
    )
    seen = camera.project(np.array([record.puck.position_m]))[0]
    assert np.hypot(seen[0] - record.puck.point_px.x, seen[1] - record.puck.point_px.y) < 0.05
    assert record.puck.airborne == (record.puck.position_m[2] > 0.0127 + 0.0254)


@pytest.mark.parametrize("category", list(Category))
def test_masks_lie_in_their_boxes(frames, category):
    _, rendered = frames[category]
    assert rendered.players
    taken = np.zeros(rendered.image.shape[:2], int)
    for player in rendered.players:
        rows, columns = np.nonzero(player.mask)
        assert len(rows) > 0
        assert player.box_px.left <= columns.min() < columns.max() + 1 <= player.box_px.right
        assert player.box_px.top <= rows.min() < rows.max() + 1 <= player.box_px.bottom
        taken += player.mask
    assert taken.max() <= 1  # a pixel shows one person


def test_masks_cover_where_people_are(stage, size, frames):
    # a person's colours differ from the empty arena: their masked pixels change when everybody leaves
    scene, rendered = frames[Category.STANDARD]
    shot = set_up(stage, scene)
    full = film(stage, scene, shot, with_puck=True).canvas.astype(int)
    empty = film(stage, scene, replace(shot, figures=(), items=()), with_puck=True).canvas
    changed = np.abs(full - empty).max(axis=2) > 4
    body = np.any([player.mask for player in rendered.players], axis=0)
    assert (changed & body).sum() > 0.97 * body.sum()


@pytest.mark.parametrize("category", SHOWN)
def test_puck_pixels_are_where_the_label_says(frames, stage, category):
    scene, rendered = frames[category]
    plain = replace(scene, crf=None, interlaced=False, graphics=type(scene.graphics)())
    shot = set_up(stage, plain)
    with_puck = film(stage, plain, shot, with_puck=True).canvas.astype(int)
    without = film(stage, plain, shot, with_puck=False).canvas
    change = np.abs(with_puck - without).sum(axis=2)
    rows, columns = np.nonzero(change > 0.5)
    box = rendered.puck.box_px
    assert len(rows) > 0
    assert box.left - 1 <= columns.min() < columns.max() + 1 <= box.right + 1
    assert box.top - 1 <= rows.min() < rows.max() + 1 <= box.bottom + 1
    if rendered.puck.visible_fraction > 0.95:
        y, x = np.indices(change.shape) + 0.5
        centre = np.array([(change * x).sum(), (change * y).sum()]) / change.sum()
        # the ice behind a smear is not uniform, so its centroid is a little off the centre
        tolerance = 0.4 + 0.04 * box.width
        assert np.hypot(centre[0] - rendered.puck.point_px.x, centre[1] - rendered.puck.point_px.y) < tolerance


def test_twin_without_puck_is_otherwise_the_same(frames, stage):
    scene, rendered = frames[Category.STANDARD]
    plain = replace(scene, crf=None)
    with_puck = render(stage, plain)
    twin = render(stage, plain, with_puck=False)
    differs = (with_puck.image != twin.image).any(axis=2)
    assert differs.any()
    box = rendered.puck.box_px
    reach = 8  # lens blur and sharpening
    inside = np.zeros_like(differs)
    inside[int(box.top) - reach : int(box.bottom) + reach, int(box.left) - reach : int(box.right) + reach] = True
    assert not (differs & ~inside).any()
    assert twin.puck == with_puck.puck
    assert [p.box_px for p in twin.players] == [p.box_px for p in with_puck.players]


def test_same_scene_gives_the_same_pixels(frames, stage, size):
    scene, rendered = frames[Category.BLURRY]
    again = find_scene(stage, list(Category).index(Category.BLURRY), Category.BLURRY, size)
    assert np.array_equal(render(stage, again).image, rendered.image)
    assert again.key == scene.key


@pytest.mark.parametrize("frame", range(100, 103))
@pytest.mark.parametrize("category", list(Category))
def test_categories_keep_their_promise(stage, size, category, frame):
    scene = find_scene(stage, frame, category, size)
    sight = set_up(stage, scene).puck_sight()
    if category is Category.NO_PUCK:
        assert sight is None or sight.visible_fraction(size) == 0
        return
    shown = sight.visible_fraction(size)
    x = abs(scene.puck.position_m[0])
    if category is Category.OCCLUDED:
        assert shown <= MOSTLY_HIDDEN
    else:
        assert shown >= MOSTLY_SHOWN
    if category is Category.BLURRY:
        assert smear_lengths(scene) >= BLURRY_LENGTHS
    if category is Category.STANDARD:
        assert smear_lengths(scene) < BLURRY_LENGTHS
    if category is Category.GOAL_LINE:
        assert abs(x - stage.match.sheet.goal_line_x_m) <= PUCK_RADIUS_M
    if category is Category.YELLOW_LINE:
        assert before_kick_plate(scene, stage.match)


@pytest.mark.parametrize("view", list(View))
def test_every_view_renders_with_the_puck_in_it(stage, view):
    size = Size(320, 180)
    scene = find_scene(stage, 7, Category.STANDARD, size)
    side = float(np.sign(scene.puck.position_m[0]))
    operator = sample_operator(rng_for(3, list(View).index(view)), stage.match, side, view)
    rendered = render(stage, replace(scene, operator=operator))
    assert rendered.image.shape == (180, 320, 3)
    assert rendered.image.std() > 10


def test_puck_behind_the_camera_is_no_puck(stage, size):
    scene = find_scene(stage, 7, Category.STANDARD, size)
    x, y, _ = scene.operator.position_m
    behind = replace(scene.puck, position_m=(x, y - 5.0, 0.0127), velocity_m_s=(3.0, 0.0, 0.0))
    rendered = render(stage, replace(scene, state=replace(scene.state, puck=behind)))
    assert rendered.puck is None


@pytest.mark.slow
@pytest.mark.parametrize("number", range(12))
def test_many_matches_render_in_all_categories(number):
    stage = build_stage(sample_match(99, number))
    for frame in range(6):
        for category in Category:
            scene = find_scene(stage, frame, category, Size(160, 90))
            record_of(render(stage, scene), stage.match, "a.jpg", "run", category)


def test_odd_and_upright_pictures_render(stage):
    for size in (Size(333, 217), Size(180, 320), Size(64, 64)):
        scene = find_scene(stage, 3, Category.ARTIFACT, size)
        assert render(stage, scene).image.shape == (size.height, size.width, 3)


def test_pan_smears_what_stands_still(stage, frames):
    scene, _ = frames[Category.STANDARD]
    rough = []
    for speed_m_s in (0.0, 14.0):
        panned = replace(scene, aim=replace(scene.aim, velocity_m_s=(speed_m_s, 0.0)), shutter_s=1 / 60)
        shot = set_up(stage, panned)
        canvas = film(stage, panned, replace(shot, figures=(), items=()), with_puck=False).canvas.astype(int)
        rough.append([np.abs(np.diff(canvas, axis=axis)).mean() for axis in (0, 1)])
    still, moving = rough
    assert moving[1] < 0.8 * still[1]  # along the pan
    assert moving[1] / still[1] < moving[0] / still[0]  # and less across it


def test_lost_stick_lies_where_the_scene_says(stage, frames):
    scene, _ = frames[Category.STANDARD]
    x, y = scene.aim.point_m
    lying = replace(scene, lost_stick=LostStick((x, y), 0.8))
    shot, bare = set_up(stage, lying), set_up(stage, replace(scene, lost_stick=None))
    assert len(shot.items) == len(bare.items) + 1
    layers = [item.layer for item in shot.items if all(item.depth_m != other.depth_m for other in bare.items)]
    ends = np.array([[x, y, 0.02], [x + STICK_M * np.cos(0.8), y + STICK_M * np.sin(0.8), 0.03]])
    for end in shot.camera.project(ends) - np.array([layers[0].left_px, layers[0].top_px]):
        assert layers[0].coverage[int(end[1]) - 1 : int(end[1]) + 2, int(end[0]) - 1 : int(end[0]) + 2].max() > 0.3


def test_safety_net_hangs_before_the_corners_only(stage):
    match = replace(stage.match, arena=replace(stage.match.arena, net_density=0.25))
    stage = replace(stage, match=match)
    sheet, size = match.sheet, Size(640, 360)
    target = np.array([sheet.length_m / 2 - 3.0, -sheet.width_m / 2 + 4.0, 0.0])
    corner = Camera.look_at((0.0, -38.0, 14.0), tuple(target), 1200.0, size)
    middle = Camera.look_at((0.0, -38.0, 14.0), (0.0, 0.0, 0.0), 1200.0, size)
    inside = replace(corner, position_m=(0.0, -8.0, 14.0))
    hidden = []
    for camera in (corner, middle, inside):
        canvas = np.full((size.height, size.width, 3), 240, np.uint8)
        draw_near_net(stage, camera, canvas)
        hidden.append((canvas < 238).mean())
    assert hidden[0] > 0.02
    assert hidden[1:] == [0, 0]


def test_interlaced_lines_come_from_two_moments(stage, size, frames):
    scene, _ = frames[Category.BLURRY]
    moving = replace(scene, crf=None, interlaced=True)
    woven = render(stage, moving).image.astype(int)
    plain = render(stage, replace(moving, interlaced=False)).image.astype(int)
    assert np.array_equal(woven[::2], plain[::2])
    assert np.abs(woven[1::2] - plain[1::2]).mean() > 0.1
