"""Finding a camera from nothing: a dictionary of views, looked up in a frame's fields, and the best drawn closer.

The dictionary holds the projected template for every view in a grid of camera places, points aimed at and zooms. A
lookup scores all of them; the best few spread out into random neighbours, in rounds that narrow down while the fields
get finer.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from plucc.rink.evidence import Evidence
from plucc.rink.fields import Fields, build_fields, direction_of, field_of, read_marks
from plucc.rink.prior import CameraPrior
from plucc.rink.sheet import Sheet
from plucc.rink.template import Look, Template, ice_template, joined, template
from plucc.rink.views import FOCAL, K1, PAN, ROLL, TILT, project_all, rotations
from plucc.rink.visibility import faces
from plucc.types import Size

COARSE_STEP_M, FINE_STEP_M = 1.8, 1.0
ICE_STEP_M = 3.5
AIM_STEP, FAR_AIM_STEP = 0.07, 0.14  # between views, in view widths; across the rink the picture foreshortens
NEAREST_AIM_M, FARTHEST_AIM_M = 5.0, 7.0  # from the near boards, and beyond the far ones: half a picture may be crowd
ZOOMS = 10
NARROWEST_M = 12.0  # of the views looked up; a fit may zoom in a little more
COARSE_WIDTH_PX = 320
COARSE_REACH_PX = 8.0
SEEDS = 96
ROUNDS = ((2, 5.0, 40), (2, 3.5, 24), (1, 4.0, 16))  # the fields' shrinking and reach, and how many views survive
NARROWING = 0.55  # of the spread, from round to round
PRIOR_WORTH = 25.0  # neighbouring pixels tell the same, so scores are that much too large for the prior
CHILDREN = 20
CONSIDERED = 30
SAME_VIEW = 0.06  # picture widths between two views' corners below which they are the same
KICK_PLATE_MIDDLE_M = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A pose that the search came up with, and its score: the sum of the fields along the rink's lines."""

    pose: Float[np.ndarray, " 8"]
    score: float


class Dictionary:
    """Views of a sheet from the places that a prior allows, as lists of field cells; built once, looked up often."""

    def __init__(self, sheet: Sheet, prior: CameraPrior, aspect: float) -> None:
        self.sheet, self.prior, self.aspect = sheet, prior, aspect
        self.poses = _grid(sheet, prior)
        ice = ice_template(sheet, ICE_STEP_M)
        self._coarse, self._fine = (joined(template(sheet, step), ice) for step in (COARSE_STEP_M, FINE_STEP_M))
        self.size = Size(COARSE_WIDTH_PX, round(COARSE_WIDTH_PX / aspect))
        self._cells, self._weights, self._starts = self._list()

    def samples(self, *, fine: bool) -> Template:
        """Return the template that views are scored with."""
        return self._fine if fine else self._coarse

    def _list(self) -> tuple[Int[np.ndarray, " k"], Float[np.ndarray, " k"], Int[np.ndarray, " h"]]:
        cells, weights, counts = [], [], []
        for start in range(0, len(self.poses), 2000):
            cell, weight = look_up_cells(self.poses[start : start + 2000], self._coarse, self.sheet, self.size)
            shows = weight > 0
            cells.append(cell[shows].astype(np.int32))
            weights.append(weight[shows].astype(np.float32))
            counts.append(shows.sum(axis=1))
        starts = np.concatenate(([0], np.cumsum(np.concatenate(counts))))
        # a view that shows nothing would break the sums: it borrows one empty cell
        return np.append(np.concatenate(cells), 0), np.append(np.concatenate(weights), 0.0), starts

    def scores(self, fields: Fields) -> Float[np.ndarray, " h"]:
        """Return the score of every view."""
        terms = self._weights * fields.values.ravel()[self._cells]
        sums = np.add.reduceat(terms, np.minimum(self._starts[:-1], len(terms) - 1))
        return np.where(np.diff(self._starts) > 0, sums, -np.inf)


def look_up_cells(
    poses: Float[np.ndarray, "h 8"], samples: Template, sheet: Sheet, size: Size
) -> tuple[Int[np.ndarray, "h n"], Float[np.ndarray, "h n"]]:
    """Return the field cell of every sample in every view, and its weight: its length in pixels, 0 out of sight."""
    height = np.where(samples.look == Look.KICK_PLATE, KICK_PLATE_MIDDLE_M, 0.0)
    points = np.column_stack((samples.points_m, height))
    ahead = points + np.column_stack((samples.tangents, np.zeros(len(points)))) * 0.2
    here = project_all(poses, points)
    along = project_all(poses, ahead) - here
    length = np.hypot(along[..., 0], along[..., 1]) * (samples.step_m / 0.2).astype(np.float32) * size.width
    across = np.floor(here[..., 0] * size.width + size.width / 2)
    down = np.floor(here[..., 1] * size.width + size.height / 2)
    inside = (across >= 0) & (across < size.width) & (down >= 0) & (down < size.height)
    inside &= faces(poses[:, :3], samples, sheet)
    row, column = np.where(inside, down, -1).astype(np.int64) + 1, np.where(inside, across, -1).astype(np.int64) + 1
    field = field_of(samples.look, direction_of(along))
    cell = (field * (size.height + 2) + row) * (size.width + 2) + column
    return cell, np.where(inside, np.nan_to_num(length), 0.0)


def _grid(sheet: Sheet, prior: CameraPrior) -> Float[np.ndarray, "h 8"]:
    """Return views from all places, at points and zooms so dense that the next view is never far off in the picture."""
    places, reach_x, reach_y = prior.places(), sheet.length_m / 2 - 2.0, sheet.width_m / 2
    aims = []
    for span in np.geomspace(max(NARROWEST_M, prior.span_m[0]), prior.span_m[1], ZOOMS):
        x, y = (
            np.linspace(low, high, max(2, round((high - low) / (step * span)) + 1))
            for low, high, step in (
                (-reach_x, reach_x, AIM_STEP),
                (NEAREST_AIM_M - reach_y, reach_y + FARTHEST_AIM_M, FAR_AIM_STEP),
            )
        )
        aims.append(np.array([(*aim, span) for aim in np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)]))
    aim = np.tile(np.concatenate(aims), (len(places), 1))
    position = np.repeat(places, len(aim) // len(places), axis=0)
    away = np.column_stack((aim[:, :2], np.zeros(len(aim)))) - position
    across = np.hypot(away[:, 0], away[:, 1])
    poses = np.zeros((len(aim), 8))
    poses[:, :3] = position
    poses[:, PAN] = np.arctan2(away[:, 0], away[:, 1])
    poses[:, TILT] = np.arctan2(away[:, 2], across)
    poses[:, FOCAL] = np.hypot(across, away[:, 2]) / aim[:, 2]
    poses[:, ROLL], poses[:, K1] = prior.roll_rad, prior.k1
    return poses


def search(evidence: Evidence, dictionary: Dictionary, rng: np.random.Generator, count: int = 16) -> list[Found]:
    """Return the best distinct poses for a frame, best first."""
    marks = read_marks(evidence)
    coarse = build_fields(marks, marks.size.width // dictionary.size.width, COARSE_REACH_PX)
    scores = dictionary.scores(coarse)
    order = np.argsort(-scores)[: CONSIDERED * SEEDS]
    poses, kept = _distinct(dictionary.poses[order], scores[order], dictionary.aspect, SEEDS, SAME_VIEW)
    for number, (shrink, reach_px, survivors) in enumerate(ROUNDS):
        spread = NARROWING**number
        drawn = np.concatenate((poses, _spread(poses, dictionary.prior, spread, rng)))
        fields, samples = build_fields(marks, shrink, reach_px), dictionary.samples(fine=shrink == 1)
        scores = score_poses(drawn, samples, dictionary.sheet, fields)
        scores += PRIOR_WORTH * dictionary.prior.log_density(drawn)
        order = np.argsort(-scores)
        poses, kept = _distinct(drawn[order], scores[order], dictionary.aspect, survivors, SAME_VIEW * spread)
    poses, kept = _distinct(poses, kept, dictionary.aspect, count, 0.5 * SAME_VIEW)
    return [Found(pose, float(score)) for pose, score in zip(poses, kept, strict=True)]


def score_poses(
    poses: Float[np.ndarray, "h 8"], samples: Template, sheet: Sheet, fields: Fields
) -> Float[np.ndarray, " h"]:
    """Return the score of poses in a frame's fields."""
    parts = []
    for start in range(0, len(poses), 500):
        cell, weight = look_up_cells(poses[start : start + 500], samples, sheet, fields.size)
        parts.append((fields.values.ravel()[cell] * weight).sum(axis=1))
    return np.concatenate(parts) * (COARSE_WIDTH_PX / fields.size.width)


def _spread(
    poses: Float[np.ndarray, "h 8"], prior: CameraPrior, spread: float, rng: np.random.Generator
) -> Float[np.ndarray, "k 8"]:
    """Return random neighbours of poses: the camera moved, and the view shifted and zoomed, each a little."""
    count = len(poses) * CHILDREN
    drawn = np.repeat(poses, CHILDREN, axis=0)
    moved = rng.normal(size=(count, 8)) * prior.step() * spread
    # the move of the camera should not move the view: the aim is kept, then shifted on its own
    reach = drawn[:, 2] / np.maximum(-np.sin(drawn[:, TILT]), 0.05)
    aim = drawn[:, :3] + _forward(drawn) * reach[:, None]
    drawn[:, :3] += moved[:, :3]
    away = aim - drawn[:, :3]
    across = np.hypot(away[:, 0], away[:, 1])
    width = 1.0 / drawn[:, FOCAL]
    drawn[:, FOCAL] *= np.hypot(across, away[:, 2]) / reach * np.exp(moved[:, FOCAL])
    drawn[:, PAN] = np.arctan2(away[:, 0], away[:, 1]) + moved[:, PAN] * width
    drawn[:, TILT] = np.arctan2(away[:, 2], across) + moved[:, TILT] * width
    drawn[:, ROLL] += moved[:, ROLL]
    drawn[:, K1] += moved[:, K1]
    return drawn


def _forward(poses: Float[np.ndarray, "h 8"]) -> Float[np.ndarray, "h 3"]:
    pan, tilt = poses[:, PAN], poses[:, TILT]
    return np.column_stack((np.sin(pan) * np.cos(tilt), np.cos(pan) * np.cos(tilt), np.sin(tilt)))


def _distinct(
    poses: Float[np.ndarray, "h 8"], scores: Float[np.ndarray, " h"], aspect: float, count: int, apart: float
) -> tuple[Float[np.ndarray, "k 8"], Float[np.ndarray, " k"]]:
    """Return the best poses, in order, that see different parts of the rink."""
    corners = _footprints(poses, aspect)
    kept: list[int] = []
    for index in range(len(poses)):
        gap = np.abs(corners[kept] - corners[index]).max(axis=(1, 2)) if kept else np.array([np.inf])
        if (gap > apart * (1.0 / poses[index, FOCAL]) * np.linalg.norm(poses[index, :3])).all():
            kept.append(index)
            if len(kept) == count:
                break
    return poses[kept], scores[kept]


def _footprints(poses: Float[np.ndarray, "h 8"], aspect: float) -> Float[np.ndarray, "h 3 2"]:
    """Return where three points of the lower picture meet the ice, in metres."""
    turn = rotations(poses)
    picture = np.array([(-0.4, 0.1), (0.4, 0.1), (0.0, 0.4 / aspect)])
    rays = np.concatenate((picture[None] / poses[:, FOCAL, None, None], np.ones((len(poses), 3, 1))), axis=2) @ turn
    falls = np.minimum(rays[..., 2], -1e-3)
    return np.asarray(poses[:, None, :2] - rays[..., :2] * (poses[:, 2, None] / falls)[..., None])
