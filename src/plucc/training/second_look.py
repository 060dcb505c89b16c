"""Fits the second look: a fixed sequence of batches, half a cosine of learning rates, an average of the weights.

Every batch follows from the seed and its number alone. A run that was killed goes on from its last checkpoint; where
its length is given in steps, it ends with the weights of one that was not killed.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from math import cos, isfinite, pi
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from plucc.config import SecondLookSpec
from plucc.data.manifest import read_dataset
from plucc.files import whole_file
from plucc.network.second_look import SecondLookNet, read_weights
from plucc.training.averaging import WeightAverage
from plucc.training.dataset import use_one_thread
from plucc.training.mixture import Mixture, MixtureBatches, ResumableLoader, run_weights
from plucc.training.norms import settle_norms
from plucc.training.restoring import restore_second_look
from plucc.training.second_look_samples import (
    Batch,
    LessonSource,
    PeakFinder,
    PlaceSamples,
    collate,
    mine_peaks,
    open_lessons,
)
from plucc.training.shares import SharedSource
from plucc.training.sources import is_mislabelled
from plucc.types import DataError, ModelError, Progress, silent

log = logging.getLogger(__name__)

CHECKPOINT_VERSION = 1
EPOCH_FRAMES = 12_000  # only how the sequence is cut, and how often loader processes start anew
CHECKPOINT_S = 60.0
LOG_STEPS = 50
GRADIENT_LIMIT = 5.0
SETTLING_BATCHES = 16  # for the norms of a network that was exported
SMOOTHING = 0.02  # of labels: no place is quite sure
FLOOR = 0.02  # the cosine ends at this share of the rate


@dataclass(frozen=True, slots=True)
class SecondLookTraining:
    """How to fit; the run ends after so many minutes of this machine's clock, or after `steps` where they are given."""

    minutes: float = 60.0
    steps: int | None = None
    batch: int = 12  # frames
    learning_rate: float = 1e-3  # of the head; the backbone's is half of it
    weight_decay: float = 0.02
    warmup_steps: int = 30
    average_decay: float = 0.998
    seed: int = 0
    workers: int = 1
    frozen_stages: int = 0  # of the backbone, and its stem with them: they stay as they start

    def rate(self, step: int, progress: float) -> float:
        """Return the learning rate at a step, a share `progress` into the run."""
        rise = min(1.0, (step + 1) / self.warmup_steps)
        return self.learning_rate * rise * (FLOOR + (1 - FLOOR) * (0.5 + 0.5 * cos(pi * min(progress, 1.0))))


@dataclass(frozen=True, slots=True)
class SecondLookPlan:
    """Everything that decides the weights; matches held out are not trained on.

    Sources name their files of peaks; what is not named lies beside the checkpoint.
    `start_from` is a file of the backbone's weights, the checkpoint of another second look, or an exported one;
    `pretrained` takes the backbone's of timm's hub instead.
    """

    sources: tuple[SharedSource, ...]
    spec: SecondLookSpec
    training: SecondLookTraining
    held_out: frozenset[str] = frozenset()
    start_from: Path | None = None
    pretrained: bool = False

    @property
    def facts(self) -> dict[str, Any]:
        """What the weights' file says of their making; of paths only the folders' names."""
        names = [source.dataset.resolve().name for source in self.sources]
        shares = [source.share for source in self.sources]
        return {"datasets": names, "shares": shares, "held_out": sorted(self.held_out)} | asdict(self.training)


def train_second_look(
    plan: SecondLookPlan, checkpoint: Path, open_finder: Callable[[], PeakFinder], *, progress: Progress = silent
) -> "SecondLookFit":
    """Mine what is not mined yet, then train, or go on training, to the end of the plan."""
    sources = []
    for source in plan.sources:
        dataset = read_dataset(source.dataset)
        records = [
            record
            for record in dataset.records
            if record.is_puck_labelled and record.match not in plan.held_out and not is_mislabelled(record)
        ]
        file = source.found or checkpoint.with_name(f"{source.dataset.resolve().name}.peaks.jsonl")
        peaks = mine_peaks(dataset, records, file, open_finder, progress=progress)
        lessons = open_lessons(dataset, records, peaks)
        if not lessons.records:
            raise DataError(f"{source.dataset} has no frame to learn from: label pucks, or hold fewer matches out")
        sources.append(lessons)
    fit = SecondLookFit(plan, sources)
    fit_second_look(fit, checkpoint, progress=progress)
    return fit


class SecondLookFit:
    """A network in training, with all that a checkpoint must hold to go on."""

    def __init__(self, plan: SecondLookPlan, sources: Sequence[LessonSource]) -> None:
        torch.manual_seed(plan.training.seed)
        self.plan, self.sources = plan, sources
        self.step = 0
        self.elapsed_s = 0.0
        self.net = SecondLookNet(plan.spec, pretrained=plan.pretrained)
        if plan.start_from is not None:
            self._start_from(plan.start_from)
        self.net.freeze(plan.training.frozen_stages)
        self.net.to(memory_format=torch.channels_last)
        self.average = WeightAverage(self.net, plan.training.average_decay)
        groups = [{"params": list(self.net.body.parameters())}, {"params": list(self.net.head.parameters())}]
        self.optimizer = torch.optim.AdamW(groups, plan.training.learning_rate, weight_decay=plan.training.weight_decay)

    def _start_from(self, path: Path) -> None:
        if path.suffix != ".onnx":
            self.net.start_from(path)
            return
        restore_second_look(path, self.net)
        settle_norms(self.net, ((patches,) for patches, _, _ in islice(self.batches(), SETTLING_BATCHES)))

    @property
    def progress(self) -> float:
        """How far along the run is, 0 to 1."""
        training = self.plan.training
        if training.steps is not None:
            return self.step / training.steps
        return self.elapsed_s / (60 * training.minutes)

    def batches(self) -> Iterator[Batch]:
        """Yield the batches from the current step on, without end."""
        training = self.plan.training
        weights = tuple(run_weights([record.run for record in source.records]) for source in self.sources)
        shares = tuple(source.share for source in self.plan.sources)
        order = MixtureBatches(Mixture(weights, shares, EPOCH_FRAMES, training.seed), training.batch)
        order.served = self.step
        loader = ResumableLoader(
            PlaceSamples(self.sources, self.plan.spec, training.seed),
            batch_sampler=order,
            collate_fn=collate,
            num_workers=training.workers,
            worker_init_fn=use_one_thread,
            persistent_workers=training.workers > 0,
            generator=torch.Generator(),  # its own source of chance, which leaves torch's alone
        )
        while True:
            yield from loader

    def advance(self, batch: Batch) -> float:
        """Take one step; return its loss."""
        patches, labels, frames = batch
        rate = self.plan.training.rate(self.step, self.progress)
        for group, share in zip(self.optimizer.param_groups, (0.5, 1.0), strict=True):
            group["lr"] = rate * share
        self.net.train()
        logits = self.net(patches)
        loss = place_loss(logits, labels) + choice_loss(logits, labels, frames)
        if not isfinite(float(loss.detach())):
            raise ModelError(f"the loss of step {self.step} is not a number: train with a lower learning rate")
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), GRADIENT_LIMIT)
        self.optimizer.step()
        self.average.update(self.net)
        self.step += 1
        return float(loss.detach())

    def save(self, path: Path) -> None:
        state = {
            "version": CHECKPOINT_VERSION,
            "spec": self.plan.spec.model_dump(mode="json"),
            "data": self.plan.facts | {"steps": self.step},
            "model": self.average.network.state_dict(),  # what is exported
            "net": self.net.state_dict(),
            "average": self.average.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "elapsed_s": self.elapsed_s,
            "chance": torch.get_rng_state(),
        }
        with whole_file(path) as temporary:
            torch.save(state, temporary)

    def load(self, path: Path) -> None:
        """Take up the run that a checkpoint holds; one of another network, or of another version, is refused."""
        state = read_weights(path)
        if state.get("version") != CHECKPOINT_VERSION or state.get("spec") != self.plan.spec.model_dump(mode="json"):
            raise ModelError(f"{path} holds another network's training: name another checkpoint, or remove this one")
        self.net.load_state_dict(state["net"])
        self.average.load_state_dict(state["average"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.elapsed_s = int(state["step"]), float(state["elapsed_s"])
        torch.set_rng_state(state["chance"])


def place_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Return how wrong the logits (n,) are of each place by itself."""
    return F.binary_cross_entropy_with_logits(logits, labels * (1 - SMOOTHING) + SMOOTHING / 2)


def choice_loss(logits: Tensor, labels: Tensor, frames: Tensor) -> Tensor:
    """Return how unlikely the right choice is: of a frame's places, or of none of them, whose logit is 0.

    Every view of a puck is up against all that is no puck in its frame (n,), but not against the puck's other views.
    """
    of_frame = frames == torch.arange(int(frames.max()) + 1)[:, None]
    is_puck = labels > 0.5
    rivals = torch.where(of_frame & ~is_puck, logits, -torch.inf)
    rivals = torch.logsumexp(F.pad(rivals, (1, 0)), dim=1)  # with none of them
    empty = ~(of_frame & is_puck).any(dim=1)
    return torch.cat([F.softplus(rivals[frames[is_puck]] - logits[is_puck]), rivals[empty]]).mean()


def fit_second_look(fit: SecondLookFit, checkpoint: Path, *, progress: Progress = silent) -> None:
    """Train to the end, from the checkpoint where there is one; it is written again every minute."""
    if checkpoint.is_file():
        fit.load(checkpoint)
    begun_s = time.monotonic() - fit.elapsed_s
    saved_s = fit.elapsed_s
    losses: list[float] = []
    steps = fit.plan.training.steps
    remaining = None if steps is None else max(0, steps - fit.step)
    if fit.progress >= 1:
        return
    for batch in progress(fit.batches(), total=remaining, label="training"):
        losses.append(fit.advance(batch))
        fit.elapsed_s = time.monotonic() - begun_s
        if fit.step % LOG_STEPS == 0:
            log.info("step %d, %.0f %%: loss %.4f", fit.step, 100 * fit.progress, float(np.mean(losses)))
            losses.clear()
        if fit.progress >= 1:
            break
        if fit.elapsed_s - saved_s >= CHECKPOINT_S:
            fit.save(checkpoint)
            saved_s = fit.elapsed_s
    fit.save(checkpoint)
