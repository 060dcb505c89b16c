"""A training of the player network from files: which frames, whose masks, what is held out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import torch

from plucc.context.maskfile import read_masks
from plucc.data.manifest import read_dataset
from plucc.network.players import PlayerNetSpec
from plucc.training.player_frames import PlayerFrames, load_player_frames
from plucc.training.players import PlayerFit, PlayerTraining, fit_players
from plucc.training.shares import SharedSource
from plucc.types import DataError, Progress, silent


@dataclass(frozen=True, slots=True)
class PlayerPlan:
    """Everything that decides the weights; sources name their files of masks, or their records have masks themselves.

    Matches held out are never trained on; those to validate on are watched.
    """

    sources: tuple[SharedSource, ...]
    training: PlayerTraining
    held_out: frozenset[str] = frozenset()
    validate_on: frozenset[str] = frozenset()
    start_from: Path | None = None
    threads: int | None = None


def train_players(plan: PlayerPlan, checkpoint: Path, *, progress: Progress = silent) -> PlayerFit:
    """Train, or go on training, to the last step of the plan."""
    if plan.threads is not None:
        torch.set_num_threads(plan.threads)
        cv2.setNumThreads(plan.threads)
    shut_out = plan.held_out | plan.validate_on
    sources = [_load(source, shut_out, wanted=False, progress=progress) for source in plan.sources]
    watched = [_load(source, plan.validate_on, wanted=True, progress=progress) for source in plan.sources]
    for source, frames in zip(plan.sources, sources, strict=True):
        if not len(frames):
            raise DataError(f"{source.dataset} has no frame with player masks to train on: draw them, or add masks")
    fit = PlayerFit(PlayerNetSpec(), plan.training, sources)
    if plan.start_from is not None:
        fit.start_from(plan.start_from)
    fit_players(fit, checkpoint, held_out=_first_filled(watched), progress=progress)
    return fit


def _load(source: SharedSource, matches: frozenset[str], *, wanted: bool, progress: Progress) -> PlayerFrames:
    dataset = read_dataset(source.dataset)
    masks = None if source.found is None else read_masks(source.found)
    records = [record for record in dataset.records if (record.match in matches) == wanted]
    return load_player_frames(dataset, records, masks, progress=progress)


def _first_filled(candidates: Sequence[PlayerFrames]) -> PlayerFrames | None:
    return next((frames for frames in candidates if len(frames)), None)
