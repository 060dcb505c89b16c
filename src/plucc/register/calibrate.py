"""A game's camera from its own frames: registered one by one, the agreeing ones put together, and all fitted again."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from plucc.register.game import GameCamera
from plucc.register.gate import refusal
from plucc.register.registrar import Registrar
from plucc.register.run import PlayerFinder, is_pictures, pictures_of
from plucc.rink.alignment import Alignment
from plucc.rink.evidence import Evidence, read_evidence
from plucc.rink.pose import parameters
from plucc.rink.prior import CameraPrior
from plucc.rink.sheet import Sheet
from plucc.types import FloatArray, ImageArray, InputError, Progress, silent
from plucc.video import probe, read_frames, read_image

FRAMES = 40
FEWEST = 3  # frames that must agree
CONSTANT = [0, 1, 2, 5, 7]  # place, roll and k1: what a game keeps, of plucc.rink.pose.PARAMETERS
AGREE_SIGMAS = 3.0
AGREE_M = 1.5  # fits closer than this agree whatever their covariance says
# a head that turns on its tripod moves the lens by that much, and zooming changes its distortion
FLOOR = np.array([0.25, 0.3, 0.2, 0.004, 0.04])
PASSES = 2


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """What one frame says about the constants, with its covariance."""

    values: FloatArray
    covariance: FloatArray


def spread_frames(source: Path, count: int = FRAMES) -> Iterator[ImageArray]:
    """Yield pictures spread evenly over a source."""
    if is_pictures(source):
        files = pictures_of(source)
        for index in _spread(len(files), count):
            yield read_image(files[index])
        return
    total = probe(source).frame_count
    every = max(1, (total or count) // count)
    for frame in read_frames(source, start=min(every // 2, max((total or 1) - 1, 0)), every=every):
        yield frame.image


def _spread(total: int, count: int) -> list[int]:
    return [int((index + 0.5) * total / min(count, total)) for index in range(min(count, total))]


def calibrate(
    images: Iterable[ImageArray], sheet: Sheet, find_players: PlayerFinder, progress: Progress = silent
) -> GameCamera:
    """Find the camera that most frames agree on; refuses where fewer than three do."""
    seen = progress((read_evidence(image, find_players(image)) for image in images), label="looking")
    evidence = [one for one in seen if one is not None]
    registrar = Registrar(sheet)
    game: GameCamera | None = None
    for _ in range(PASSES):
        fits = [_fit(one) for one in _confident(progress(evidence, total=len(evidence), label="fitting"), registrar)]
        chosen = _largest_group(fits)
        if len(chosen) < FEWEST:
            raise InputError(
                f"only {len(chosen)} of {len(evidence)} frames agree on one camera; at least {FEWEST} must: "
                f"check --rink, or give clicked points instead"
            )
        game = _together(chosen, sheet, registrar.prior)
        registrar = Registrar(sheet, game)
    if game is None:
        raise InputError("there was no frame to calibrate from: give a video or a folder of pictures")
    return game


def _confident(evidence: Iterable[Evidence], registrar: Registrar) -> Iterator[Alignment]:
    for one in evidence:
        found = registrar.search(one)
        if found is not None and not refusal(found, registrar.sheet, registrar.prior):
            yield found


def _fit(found: Alignment) -> _Fit:
    return _Fit(parameters(found.camera)[CONSTANT], found.covariance[np.ix_(CONSTANT, CONSTANT)])


def _largest_group(fits: Sequence[_Fit]) -> list[_Fit]:
    """Return the frames that agree with the one that most others agree with: the game's main camera."""
    groups = [[other for other in fits if _agree(one, other)] for one in fits]
    return max(groups, key=len, default=[])


def _agree(one: _Fit, other: _Fit) -> bool:
    off = np.abs(one.values[:3] - other.values[:3])
    sigma = np.sqrt(np.diag(one.covariance)[:3] + np.diag(other.covariance)[:3])
    return bool((off < np.maximum(AGREE_SIGMAS * sigma, AGREE_M)).all())


def _together(fits: Sequence[_Fit], sheet: Sheet, prior: CameraPrior) -> GameCamera:
    """Return the mean camera, frames weighted by their information.

    Its spread is never below the floor, nor below what frames differ by beyond their own errors: most lenses bend
    lines more the further they zoom in, and a mean that is held too tight would spoil the wide views.
    """
    # the floor is added to every frame: no frame is sure of more than the camera itself holds still
    information = [np.linalg.inv(fit.covariance + np.diag(FLOOR**2)) for fit in fits]
    total = np.sum(information, axis=0)
    mean = np.linalg.solve(
        total, np.sum([info @ fit.values for info, fit in zip(information, fits, strict=True)], axis=0)
    )
    varies = np.var([fit.values for fit in fits], axis=0) - np.mean([np.diag(fit.covariance) for fit in fits], axis=0)
    sigma = np.sqrt(np.diag(np.linalg.inv(total)) + FLOOR**2 + np.maximum(varies, 0.0))
    x, y, z, roll, k1 = (float(value) for value in mean)
    sigma_x, sigma_y, sigma_z, sigma_roll, sigma_k1 = (float(value) for value in sigma)
    return GameCamera(
        sheet,
        replace(
            prior,
            position_m=(x, y, z),
            position_sigma_m=(sigma_x, sigma_y, sigma_z),
            roll_rad=roll,
            roll_sigma_rad=sigma_roll,
            k1=k1,
            k1_sigma=sigma_k1,
        ),
        len(fits),
    )
