"""What a frame shows of the rink: how far every pixel's colour is from the ice around it, and where the ice is.

Paint on ice is faint, and light, tint and wear differ from place to place; so colours are taken relative to the bare
ice nearby. Everything is at one working size, whatever the frame's own.
"""

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from jaxtyping import Bool, Float, UInt8

from plucc.types import Size

RED, BLUE, YELLOW = 0, 1, 2  # the planes' order
WORKING_WIDTH_PX = 1280
BACKGROUND_SHRINK = 8  # the bare ice varies slowly
BACKGROUND_SIGMA_PX = 3.5  # of the shrunk picture
REGROUNDINGS = 1  # how often the ice is told from paint anew
ICE_DARKEST = 22.0  # how much darker than the frame's ice, in Lab L, ice may be
ICE_CHROMA = 9.0  # how far from the frame's ice colour, in Lab a and b
BARE_LIGHTNESS, BARE_CHROMA = 6.0, 5.0  # nearer than this to its surroundings, ice carries no paint
LEAST_ICE_SHARE = 0.12  # of the picture
DARKNESS = 0.35  # of a unit of lightness counts as much as one of chroma
KICK_PLATE_CHROMA = 12.0
THICKEST_PLATE_PX = 25
KICK_PLATE_LENGTH = 0.08  # of the picture's width: shorter yellow things are not the boards
PAINT_LIGHTNESS = 0.4  # of the ice's: darker things are not on it
PAINT_WINDOW_PX, PAINT_SHARE = 25, 0.75
THINNEST_PIECE_PX = 40  # mean height of a piece of ice; the white of the boards is thinner
FOOT_WINDOW_PX, FOOT_SHARE = 21, 0.5  # how much ice lies right below the boards


@dataclass(frozen=True, eq=False)
class Evidence:
    """A frame at working size, as paint: each plane tells how much of a colour a pixel has over bare ice (Lab units).

    `usable` is where the ice or the foot of the boards may show: not on players. `ice` has the colour of ice. What only
    a search needs is made when it is asked for: a frame that is followed does without.
    """

    size: Size
    planes: Float[np.ndarray, "h w 3"]  # red, blue, yellow
    lightness: Float[np.ndarray, "h w"]
    ice: Bool[np.ndarray, "h w"]
    usable: Bool[np.ndarray, "h w"]

    @cached_property
    def kick_plate(self) -> Bool[np.ndarray, "h w"]:
        """The yellow foot of the boards."""
        return _kick_plate(self.yellow, self.lightness, ~self.usable)

    @cached_property
    def on_ice(self) -> Bool[np.ndarray, "h w"]:
        """The ice with whatever is painted on it."""
        return _region(self.ice, self.kick_plate, ~self.usable, self.lightness)

    @property
    def bare(self) -> Bool[np.ndarray, "h w"]:
        """What has the colour of ice and is not the kick plate."""
        return np.asarray(self.ice & ~self.kick_plate)

    @property
    def red(self) -> Float[np.ndarray, "h w"]:
        return np.asarray(self.planes[..., RED])

    @property
    def blue(self) -> Float[np.ndarray, "h w"]:
        return np.asarray(self.planes[..., BLUE])

    @property
    def yellow(self) -> Float[np.ndarray, "h w"]:
        return np.asarray(self.planes[..., YELLOW])


def working_size(size: Size) -> Size:
    """Return the size at which a frame is looked at: always as wide, in its own shape."""
    return Size(WORKING_WIDTH_PX, max(16, round(size.height * WORKING_WIDTH_PX / size.width)))


def read_evidence(image: UInt8[np.ndarray, "a b 3"], players: Bool[np.ndarray, "a b"]) -> Evidence | None:
    """Read the evidence of an RGB frame with its player mask; None where too little ice shows to be a rink."""
    size = working_size(Size(image.shape[1], image.shape[0]))
    shape = (size.width, size.height)
    shrinks = size.width <= image.shape[1]
    small = cv2.resize(image, shape, interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)
    hidden = cv2.resize(players.astype(np.uint8), shape, interpolation=cv2.INTER_NEAREST) > 0
    lab = np.asarray(cv2.cvtColor(small.astype(np.float32) / 255, cv2.COLOR_RGB2Lab))
    ice = _ice(lab, hidden)
    if ice is None:
        return None
    paint = _over_ice(lab, ice, hidden)
    redness, yellowness = paint[..., 1], paint[..., 2]
    shade = DARKNESS * np.clip(-paint[..., 0], 0.0, 30.0)
    return Evidence(
        size=size,
        planes=np.dstack((redness + shade, shade - yellowness, yellowness)),
        lightness=np.ascontiguousarray(lab[..., 0]),
        ice=ice,
        usable=~hidden,
    )


def _ice(lab: Float[np.ndarray, "h w 3"], hidden: Bool[np.ndarray, "h w"]) -> Bool[np.ndarray, "h w"] | None:
    """Return the pixels that look like bare ice, judged by the most frequent bright colour of the lower picture."""
    height = lab.shape[0]
    lower, seen = lab[height // 3 :: 4, ::4], ~hidden[height // 3 :: 4, ::4]
    bright = seen & (lower[..., 0] > 50) & (np.hypot(lower[..., 1], lower[..., 2]) < 18)
    if bright.sum() < LEAST_ICE_SHARE * bright.size / 2:
        return None
    lightness = np.percentile(lower[..., 0][bright], 60)
    tint = np.median(lower[bright][:, 1:], axis=0)
    off_tint = np.hypot(lab[..., 1] - tint[0], lab[..., 2] - tint[1])
    ice = (lab[..., 0] > lightness - ICE_DARKEST) & (off_tint < ICE_CHROMA) & ~hidden
    return np.asarray(ice) if ice.mean() >= LEAST_ICE_SHARE else None


def _over_ice(
    lab: Float[np.ndarray, "h w 3"], ice: Bool[np.ndarray, "h w"], hidden: Bool[np.ndarray, "h w"]
) -> Float[np.ndarray, "h w 3"]:
    """Return colours relative to the bare ice around; zero on players."""
    # every other pixel is enough to know the ice, which varies slowly
    sparse, covered, bare = lab[::2, ::2], hidden[::2, ::2], ice[::2, ::2]
    ground = _ground(sparse, bare)
    for _ in range(REGROUNDINGS):
        paint = sparse - _enlarged(ground, sparse)
        bare = (np.abs(paint[..., 0]) < BARE_LIGHTNESS) & (np.hypot(paint[..., 1], paint[..., 2]) < BARE_CHROMA)
        ground = _ground(sparse, bare & ~covered)
    over = lab - _enlarged(ground, lab)
    over[hidden] = 0.0
    return np.asarray(over)


def _ground(lab: Float[np.ndarray, "h w 3"], bare: Bool[np.ndarray, "h w"]) -> Float[np.ndarray, "a b 3"]:
    """Return the colour of the bare ice around every place, in a much smaller picture."""
    size = (-(-2 * lab.shape[1] // BACKGROUND_SHRINK), -(-2 * lab.shape[0] // BACKGROUND_SHRINK))
    weight = bare.astype(np.float32)
    total = cv2.resize(np.asarray(lab * weight[..., None], np.float32), size, interpolation=cv2.INTER_AREA)
    share = cv2.resize(weight, size, interpolation=cv2.INTER_AREA)
    total = cv2.GaussianBlur(total, (0, 0), BACKGROUND_SIGMA_PX)
    share = np.maximum(cv2.GaussianBlur(share, (0, 0), BACKGROUND_SIGMA_PX), 1e-3)
    return np.asarray(total / share[..., None], np.float32)


def _enlarged(ground: Float[np.ndarray, "a b 3"], like: Float[np.ndarray, "h w 3"]) -> Float[np.ndarray, "h w 3"]:
    size = (like.shape[1], like.shape[0])
    return np.asarray(cv2.resize(ground, size, interpolation=cv2.INTER_LINEAR))


def _kick_plate(
    yellowness: Float[np.ndarray, "h w"], lightness: Float[np.ndarray, "h w"], hidden: Bool[np.ndarray, "h w"]
) -> Bool[np.ndarray, "h w"]:
    """Return the yellow strips that are long enough to be the foot of the boards."""
    width = yellowness.shape[1]
    yellow = ((yellowness > KICK_PLATE_CHROMA) & (lightness > 30) & ~hidden).astype(np.uint8)
    # signs on the boards and sponsors' discs are as yellow, but thicker
    thick = cv2.morphologyEx(yellow, cv2.MORPH_OPEN, np.ones((THICKEST_PLATE_PX, THICKEST_PLATE_PX), np.uint8))
    yellow = np.where(cv2.dilate(thick, np.ones((5, 5), np.uint8)) > 0, np.uint8(0), yellow)
    joined = cv2.morphologyEx(yellow, cv2.MORPH_CLOSE, np.ones((3, 15), np.uint8))
    _, parts, facts, _ = cv2.connectedComponentsWithStats(joined)
    long = facts[:, cv2.CC_STAT_WIDTH] > KICK_PLATE_LENGTH * width
    long[0] = False
    return np.asarray(long[parts] & (yellow > 0))


def _region(
    ice: Bool[np.ndarray, "h w"],
    kick_plate: Bool[np.ndarray, "h w"],
    hidden: Bool[np.ndarray, "h w"],
    lightness: Float[np.ndarray, "h w"],
) -> Bool[np.ndarray, "h w"]:
    """Return the pieces of ice, filled column by column, with the paint below them but not the dark near side."""
    bare = cv2.morphologyEx((ice & ~kick_plate).astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    solid = cv2.morphologyEx(bare | hidden, cv2.MORPH_CLOSE, np.ones((9, 9), np.uint8)) & ~kick_plate
    _, parts, facts, _ = cv2.connectedComponentsWithStats(solid.astype(np.uint8))
    areas = facts[:, cv2.CC_STAT_AREA]
    # bands across the rink part the ice into pieces; white boards are long and thin
    thick = areas > THINNEST_PIECE_PX * facts[:, cv2.CC_STAT_WIDTH]
    thick[0] = False
    piece = thick[parts] & _below_boards(kick_plate, (bare > 0) | hidden)
    below_top = np.logical_or.accumulate(piece, axis=0)
    above_bottom = np.logical_or.accumulate(piece[::-1], axis=0)[::-1]
    # paint at the lower edge of the picture: sponsors' discs are lighter than the boards and the crowd before them
    light = (lightness > PAINT_LIGHTNESS * np.median(lightness[ice])) | hidden
    mostly = cv2.boxFilter(light.astype(np.float32), -1, (PAINT_WINDOW_PX, PAINT_WINDOW_PX)) > PAINT_SHARE
    return np.asarray(below_top & (above_bottom | mostly) & ~kick_plate)


def _below_boards(kick_plate: Bool[np.ndarray, "h w"], ice: Bool[np.ndarray, "h w"]) -> Bool[np.ndarray, "h w"]:
    """Return what lies below the foot of the far boards, column by column, interpolated where players hide it."""
    height, width = kick_plate.shape
    # a foot of the boards has ice below it; the topmost such place is the far side
    share = cv2.boxFilter(ice.astype(np.float32), -1, (1, FOOT_WINDOW_PX))
    ends = kick_plate & ~np.roll(kick_plate, -1, axis=0)
    foot = ends & (np.roll(share, -FOOT_WINDOW_PX, axis=0) > FOOT_SHARE)
    foot[height - 2 * FOOT_WINDOW_PX :] = False
    known = np.flatnonzero(foot.any(axis=0))
    if len(known) < KICK_PLATE_LENGTH * width:
        return np.ones_like(kick_plate)
    rows = np.interp(np.arange(width), known, foot.argmax(axis=0)[known])
    return np.asarray(np.arange(height)[:, None] > rows)
