"""The building around a play: ice, boards, glass and stands, painted from far to near."""

from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
from cv2.typing import MatLike

from plucc.rink.camera import Camera
from plucc.synth.ice_view import map_ice, paint_ice
from plucc.synth.layer import dim, veil
from plucc.synth.match import Match
from plucc.synth.noise import blotches, rng_for
from plucc.synth.rink_texture import IceTexture, ice_texture
from plucc.synth.stands import bench_texture, board_texture, crowd_texture, screen_texture
from plucc.synth.strip import FIXED_BITS, SeenStrip, Strip, Texture, fill_strip, paint_strip, see, to_fixed
from plucc.types import FloatArray, ImageArray, MaskArray, Size

POST_STEP_M = 0.8
APRON_M = 1.4
STAND_FOOT_M = 0.5
STAND_DEPTH_M = 21.0
SCREEN_OFFSET_M = 1.0
SCREEN_BOTTOM_M, SCREEN_TOP_M = 0.95, 2.25
BENCH_M = (2.5, 12.5)
DARK = 41  # grey
OFF_THE_ICE = -1.0e4  # metres; where the map says nothing is seen
FOLD_STREAM = 203
MIRROR_SHRINK = 4
GLASS_LEVEL = 160.0
TALL = 2


@dataclass(frozen=True, slots=True)
class Stage:
    """A match's arena ready to be filmed: posts along the boards and all textures."""

    match: Match
    posts_m: FloatArray  # (n, 2) once round, closed
    outward: FloatArray  # (n, 2)
    along_m: FloatArray  # (n,)
    ice: IceTexture
    boards: Texture
    mirror: Texture  # the boards with a fourth channel that says where they are
    screens: Texture
    screen_spans_m: list[tuple[float, float]]  # along the boards
    crowd: Texture
    benches: tuple[Texture, Texture]
    far_benches: bool
    folds: FloatArray  # shading of cloth, about one


@dataclass(slots=True)
class Backdrop:
    """The empty arena in one picture: colours, and how much of each pixel is ice."""

    canvas: ImageArray  # (h, w, 3)
    ice: ImageArray  # (h, w), 255: all of it


def build_stage(match: Match) -> Stage:
    """Return the arena of a match; this paints all textures and takes about a second."""
    posts = match.sheet.boards(POST_STEP_M)
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(posts, axis=0).T))])
    posts = posts[::-1]  # clockwise, so that what is written on the boards reads from left to right on the ice
    along = along[-1] - along[::-1]
    tangent = np.roll(posts[:-1], -1, axis=0) - np.roll(posts[:-1], 1, axis=0)
    tangent = np.concatenate([tangent, tangent[:1]])
    tangent = tangent / np.hypot(*tangent.T)[:, None]
    outward = np.stack([-tangent[:, 1], tangent[:, 0]], axis=1)
    boards = board_texture(match, along[-1])
    screens, spans = screen_texture(match, along[-1], SCREEN_TOP_M - SCREEN_BOTTOM_M)
    bench_length = BENCH_M[1] - BENCH_M[0] + 1
    return Stage(
        match=match,
        posts_m=posts,
        outward=outward,
        along_m=along,
        ice=ice_texture(match),
        boards=boards,
        mirror=Texture(
            tuple(np.asarray(cv2.cvtColor(level, cv2.COLOR_BGR2BGRA), np.uint8) for level in boards.levels),
            boards.px_per_m,
        ),
        screens=screens,
        screen_spans_m=spans,
        crowd=crowd_texture(match),
        benches=(bench_texture(match, 0, bench_length, 1.3), bench_texture(match, 1, bench_length, 1.3)),
        far_benches=bool(match.number % 2),
        folds=1 + np.float32(0.1) * blotches(rng_for(*match.key, FOLD_STREAM), (256, 256), 22.0, 3),
    )


def rails(stage: Stage, low: tuple[float, float], high: tuple[float, float]) -> Strip:
    """Return the strip between two rails given as (metres outward from the boards, height)."""
    lower = np.column_stack([stage.posts_m + low[0] * stage.outward, np.full(len(stage.posts_m), low[1])])
    upper = np.column_stack([stage.posts_m + high[0] * stage.outward, np.full(len(stage.posts_m), high[1])])
    return Strip(lower, upper, stage.along_m)


def coarse(strip: Strip, wanted: MaskArray) -> tuple[Strip, MaskArray]:
    """Return the strip with every second post, for what is far or soft, and which of its segments are wanted."""
    count = len(strip.along_m)
    kept = np.unique([*range(0, count, 2), count - 1])
    chosen = np.array([bool(wanted[a:b].all()) for a, b in pairwise(kept)])
    return Strip(strip.lower_m[kept], strip.upper_m[kept], strip.along_m[kept]), chosen


def faces_camera(stage: Stage, camera: Camera) -> MaskArray:
    """Tell for every segment whether the camera sees the inner face of its boards."""
    middle = (stage.posts_m[:-1] + stage.posts_m[1:]) / 2
    normal = stage.outward[:-1] + stage.outward[1:]
    towards = np.asarray(camera.position_m[:2]) - middle
    return np.asarray((normal * towards).sum(axis=1) < 0, np.bool_)


def paint_backdrop(stage: Stage, camera: Camera, px_per_m: float) -> Backdrop:
    """Return the arena without people, goals and what stands between camera and ice."""
    size = camera.size
    far = faces_camera(stage, camera)
    wall = rails(stage, (0.0, 0.0), (0.0, stage.match.arena.board_height_m))
    seen_wall = see(camera, wall, far)
    canvas = np.full((size.height, size.width, 3), DARK, np.uint8)
    ice = np.zeros(canvas.shape[:2], np.uint8)
    ice_map = map_ice(camera, _first_ice_row(seen_wall, camera))
    paint_ice(canvas, ice_map, stage.ice, px_per_m)
    ice[ice_map.first_row :] = cv2.inRange(ice_map.x_m, np.array(OFF_THE_ICE), np.array(-OFF_THE_ICE))
    backdrop = Backdrop(canvas, ice)
    _lay_stands(stage, camera, far, backdrop)
    _raise_boards(stage, camera, backdrop, wall, seen_wall)
    _reflect_boards(stage, camera, far, backdrop)
    draw_glass(stage, camera, far, canvas, near=False)
    return backdrop


def _first_ice_row(seen: SeenStrip, camera: Camera) -> int:
    rows = [seen.lower_px[i : i + 2, 1].min() for i in seen.segments]
    return int(np.clip(min(rows, default=0.0) - 2, 0, camera.size.height - 32))


def _raise_boards(stage: Stage, camera: Camera, backdrop: Backdrop, wall: Strip, seen: SeenStrip) -> None:
    """Paint the far boards, with twice the rows: their edges lie nearly level."""
    width = camera.size.width
    rows = seen.rows(camera.size.height)
    if rows.start >= rows.stop:
        return
    count = rows.stop - rows.start
    tall, tall_ice = np.repeat(backdrop.canvas[rows], TALL, axis=0), np.repeat(backdrop.ice[rows], TALL, axis=0)
    stretched = seen.moved(-rows.start).stretched(TALL)
    paint_strip(tall, wall, stretched, stage.boards)
    fill_strip(tall_ice, stretched, 0)
    backdrop.canvas[rows] = cv2.resize(tall, (width, count), interpolation=cv2.INTER_AREA)
    backdrop.ice[rows] = cv2.resize(tall_ice, (width, count), interpolation=cv2.INTER_AREA)


def _lay_stands(stage: Stage, camera: Camera, far: MaskArray, backdrop: Backdrop) -> None:
    """Paint all that is behind the far boards."""
    slope = stage.match.arena.stand_slope
    top = (APRON_M + STAND_DEPTH_M, STAND_FOOT_M + STAND_DEPTH_M * slope)
    # from behind the boards on, so that no dark row peeps out at their foot
    apron = see(camera, rails(stage, (0.0, 0.3), (APRON_M, STAND_FOOT_M)), far)
    roof = see(camera, rails(stage, top, (top[0] + 1.0, top[1] + 14.0)), far)
    crowd, chosen = coarse(rails(stage, (APRON_M, STAND_FOOT_M), top), far)
    seen_crowd = see(camera, crowd, chosen)
    rows = max(strip.rows(camera.size.height).stop for strip in (apron, roof, seen_crowd))
    if rows == 0:
        return
    mask = np.zeros((rows, camera.size.width), np.uint8)
    for strip in (roof, apron, seen_crowd):
        fill_strip(mask, strip, 255)
    stands = _crowd(stage, crowd, seen_crowd, mask.shape)
    if stage.match.arena.has_screens:
        low, high = (SCREEN_OFFSET_M, SCREEN_BOTTOM_M), (SCREEN_OFFSET_M, SCREEN_TOP_M)
        middle = (stage.along_m[:-1] + stage.along_m[1:]) / 2
        lit = np.any([(start <= middle) & (middle <= stop) for start, stop in stage.screen_spans_m], axis=0)
        screens, chosen = coarse(rails(stage, low, high), far & lit)
        paint_strip(stands, screens, see(camera, screens, chosen), stage.screens)
    if stage.far_benches:
        _paint_benches(stage, camera, far, stands)
    cv2.copyTo(stands, mask, backdrop.canvas[:rows])
    cv2.subtract(backdrop.ice[:rows], mask, dst=backdrop.ice[:rows])


def _crowd(stage: Stage, strip: Strip, seen: SeenStrip, shape: tuple[int, ...]) -> ImageArray:
    """Return the seats and people; out of focus as they are, half as many pixels each way will do."""
    half = np.full((-(-shape[0] // 2), -(-shape[1] // 2), 3), DARK, np.uint8)
    paint_strip(half, strip, SeenStrip(seen.lower_px / 2, seen.upper_px / 2, seen.segments), stage.crowd)
    whole = cv2.resize(half, (half.shape[1] * 2, half.shape[0] * 2), interpolation=cv2.INTER_LINEAR)
    return np.ascontiguousarray(whole[: shape[0], : shape[1]])


def _paint_benches(stage: Stage, camera: Camera, far: MaskArray, canvas: ImageArray) -> None:
    x, y = stage.posts_m[:-1].T
    for team, sign in ((0, 1.0), (1, -1.0)):
        here = far & (sign * x > BENCH_M[0]) & (sign * x < BENCH_M[1]) & (y > 0)
        if not here.any():
            continue
        strip = rails(stage, (0.9, 0.9), (0.9, 2.2))
        start = stage.along_m[np.flatnonzero(here)[0]]
        local = Strip(strip.lower_m, strip.upper_m, stage.along_m - start)
        paint_strip(canvas, local, see(camera, local, here), stage.benches[team])


def _reflect_boards(stage: Stage, camera: Camera, far: MaskArray, backdrop: Backdrop) -> None:
    """Add the boards' mirror image on the ice, stronger the flatter the camera looks."""
    small = camera.resized(
        Size(max(camera.size.width // MIRROR_SHRINK, 1), max(camera.size.height // MIRROR_SHRINK, 1))
    )
    mirrored, chosen = coarse(rails(stage, (0.0, 0.0), (0.0, -1.6 * stage.match.arena.board_height_m)), far)
    seen = see(small, mirrored, chosen)
    rows = see(camera, mirrored, chosen).rows(camera.size.height)
    if rows.start >= rows.stop or not seen.segments:
        return
    colours = np.zeros((small.size.height, small.size.width, 4), np.uint8)
    paint_strip(colours, mirrored, seen, stage.mirror)
    flat = float(np.clip(1.3 - 2.0 * abs(np.sin(camera.tilt_rad)), 0.25, 1.3))
    faint = cv2.convertScaleAbs(colours, alpha=stage.match.arena.reflectivity * flat)
    blur = max(small.size.height * 0.012, 0.6)
    soft, rows = _enlarged(cv2.GaussianBlur(faint, (0, 0), 0.6 * blur, sigmaY=blur), camera.size, rows)
    ice = backdrop.ice[rows]
    soft = np.asarray(cv2.multiply(soft, cv2.merge([ice, ice, ice, ice]), scale=1 / 255), np.uint8)
    dim(backdrop.canvas[rows], 255 - soft[..., 3])
    cv2.add(backdrop.canvas[rows], cv2.cvtColor(soft, cv2.COLOR_BGRA2BGR), dst=backdrop.canvas[rows])


def _enlarged(small: MatLike, size: Size, wanted: slice) -> tuple[ImageArray, slice]:
    """Return those rows of a small picture that make up the wanted ones, in full size, and which ones they became."""
    scale = size.height / len(small)
    first, last = max(int(wanted.start / scale) - 1, 0), min(int(wanted.stop / scale) + 2, len(small))
    rows = slice(round(first * scale), round(last * scale))
    large = cv2.resize(small[first:last], (size.width, rows.stop - rows.start), interpolation=cv2.INTER_LINEAR)
    return np.asarray(large, np.uint8), rows


def draw_glass(stage: Stage, camera: Camera, wanted: MaskArray, picture: ImageArray, *, near: bool) -> None:
    """Lay haze, panel joints and the upper edge of the glass over the picture."""
    arena = stage.match.arena
    low, high = arena.board_height_m, arena.board_height_m + arena.glass_height_m
    strip = rails(stage, (0.05, low), (0.05, high))
    seen = see(camera, strip, wanted)
    rows = seen.rows(camera.size.height)
    if rows.start >= rows.stop:
        return
    alpha = np.zeros((rows.stop - rows.start, camera.size.width), np.uint8)
    moved = seen.moved(-rows.start)
    fill_strip(alpha, moved, round(255 * arena.glass_haze * (0.5 if near else 1.0)))
    every = max(round(arena.stanchion_gap_m / POST_STEP_M), 1)
    depth = camera.depth(strip.lower_m)
    outlines = to_fixed(moved.outlines())
    cv2.polylines(alpha, list(outlines[:, 2:]), False, 70, 1, cv2.LINE_AA, FIXED_BITS)
    post_level = 110 if near else 150
    for index, outline in zip(moved.segments, outlines, strict=True):
        if index % every == 0:
            width = int(np.clip(round(0.045 * camera.focal_px / depth[index]), 1, 12))
            cv2.line(alpha, outline[0].tolist(), outline[3].tolist(), post_level, width, cv2.LINE_AA, FIXED_BITS)
    veil(picture[rows], alpha, GLASS_LEVEL)
