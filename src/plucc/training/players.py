"""Fits the player-mask network: a fixed sequence of batches, a cosine of learning rates, an average of the weights.

Every batch follows from the seed and its number alone, so a run that was killed goes on from its last checkpoint and
ends with the weights of one that was not.
"""

import logging
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from plucc.context.quality import mask_iou
from plucc.files import whole_file
from plucc.network.players import PlayerNet, PlayerNetSpec
from plucc.training.mixture import Mixture, run_weights
from plucc.training.player_frames import PlayerFrames, augmented
from plucc.types import ModelError, Progress, Size, silent

log = logging.getLogger(__name__)

CHECKPOINT_VERSION = 1
EPOCH_SAMPLES = 1024  # only how the sequence is cut; nothing else follows from it
DICE_WEIGHT = 0.5
PUCK_WEIGHT = 100.0
GRADIENT_LIMIT = 2.0


@dataclass(frozen=True, slots=True)
class PlayerTraining:
    """How to fit: `shares` says how much of each batch sequence comes from which set of frames."""

    steps: int = 6000
    batch: int = 8
    learning_rate: float = 3e-3
    weight_decay: float = 1e-2
    warmup_steps: int = 200
    average_decay: float = 0.998
    checkpoint_steps: int = 100
    seed: int = 0
    shares: tuple[float, ...] = (1.0,)

    def rate(self, step: int) -> float:
        """Learning rate at a step: a linear rise, then half a cosine down to a hundredth."""
        rise = min(1.0, (step + 1) / self.warmup_steps)
        fall = 0.505 + 0.495 * math.cos(math.pi * min(1.0, step / self.steps))
        return self.learning_rate * rise * fall


def mask_loss(logits: Tensor, cover: Tensor, puck: Tensor) -> Tensor:
    """Return binary cross-entropy against how much of each pixel players cover, and a part of soft Dice.

    Players are a twentieth of the picture; Dice keeps a small figure's outline worth as much as the wide background.
    Pixels of the puck and around it count many times: a context image that shows the puck would give it away.
    """
    entropy = F.binary_cross_entropy_with_logits(logits, cover, weight=1 + PUCK_WEIGHT * puck)
    chance = logits.sigmoid()
    overlap = 2 * (chance * cover).sum((1, 2)) + 1
    total = chance.sum((1, 2)) + cover.sum((1, 2)) + 1
    return entropy + DICE_WEIGHT * (1 - overlap / total).mean()


class PlayerFit:
    """A network in training, with all that a checkpoint must hold to go on."""

    def __init__(self, spec: PlayerNetSpec, training: PlayerTraining, sources: Sequence[PlayerFrames]) -> None:
        torch.manual_seed(training.seed)
        self.training, self.sources = training, sources
        self.net = PlayerNet(spec)
        self.average = PlayerNet(spec)
        self.average.load_state_dict(self.net.state_dict())
        self.optimizer = torch.optim.AdamW(
            self.net.parameters(), training.learning_rate, weight_decay=training.weight_decay
        )
        self.step = 0
        weights = tuple(run_weights([record.run for record in source.records]) for source in sources)
        self._mixture = Mixture(weights, training.shares, EPOCH_SAMPLES, training.seed)
        self._epoch: tuple[int, list[Any]] = (-1, [])

    def advance(self) -> float:
        """Take one step; return its loss."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.training.rate(self.step)
        frames, cover, puck = self._batch(self.step)
        self.net.train()
        loss = mask_loss(self.net(frames), cover, puck)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), GRADIENT_LIMIT)
        self.optimizer.step()
        self.step += 1
        self._update_average()
        return float(loss.detach())

    def save(self, path: Path) -> None:
        state = {
            "version": CHECKPOINT_VERSION,
            "step": self.step,
            "spec": spec_fields(self.net.spec),
            "net": self.net.state_dict(),
            "average": self.average.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }
        with whole_file(path) as temporary:
            torch.save(state, temporary)

    def load(self, path: Path) -> None:
        state = torch.load(path, map_location="cpu", weights_only=True)
        self.step = int(state["step"])
        self.net.load_state_dict(state["net"])
        self.average.load_state_dict(state["average"])
        self.optimizer.load_state_dict(state["optimizer"])

    def start_from(self, path: Path) -> None:
        """Begin with the averaged weights of another run."""
        weights = torch.load(path, map_location="cpu", weights_only=True)["average"]
        self.net.load_state_dict(weights)
        self.average.load_state_dict(weights)

    def _update_average(self) -> None:
        decay = min(self.training.average_decay, self.step / (self.step + 10))
        with torch.no_grad():
            for mean, value in zip(self.average.state_dict().values(), self.net.state_dict().values(), strict=True):
                if mean.dtype.is_floating_point:
                    mean.lerp_(value, 1 - decay)
                else:
                    mean.copy_(value)

    def _batch(self, step: int) -> tuple[Tensor, Tensor, Tensor]:
        size = self.net.spec.size
        pairs = [self._sample(step * self.training.batch + place, size) for place in range(self.training.batch)]
        frames = torch.from_numpy(np.stack([picture for picture, _ in pairs]))
        labels = torch.from_numpy(np.stack([label for _, label in pairs])).float() / 255
        return frames, labels[..., 0], labels[..., 1]

    def _sample(self, position: int, size: Size) -> tuple[Any, Any]:
        epoch, place = divmod(position, EPOCH_SAMPLES)
        if self._epoch[0] != epoch:
            self._epoch = (epoch, self._mixture.epoch(epoch))
        draw = self._epoch[1][place]
        source = self.sources[draw.source]
        rng = np.random.default_rng((self.training.seed, 3, position))
        return augmented(source.picture(draw.record), source.label(draw.record), size, rng)


def fit_players(
    fit: PlayerFit, checkpoint: Path, *, held_out: PlayerFrames | None = None, progress: Progress = silent
) -> None:
    """Train to the last step, from the checkpoint where there is one; write it again every few steps."""
    if checkpoint.is_file():
        fit.load(checkpoint)
    remaining = range(fit.step, fit.training.steps)
    losses: list[float] = []
    for _ in progress(remaining, total=len(remaining), label="steps"):
        losses.append(fit.advance())
        if fit.step % fit.training.checkpoint_steps == 0 or fit.step == fit.training.steps:
            fit.save(checkpoint)
            score = "" if held_out is None else f", held-out IoU {held_out_iou(fit.average, held_out):.3f}"
            log.info("step %d of %d: loss %.4f%s", fit.step, fit.training.steps, float(np.mean(losses)), score)
            losses.clear()


@torch.inference_mode()
def held_out_iou(net: PlayerNet, frames: PlayerFrames, limit: int = 48) -> float:
    """Return the mean IoU over evenly spaced frames, at the network's own size."""
    net.eval()
    size = (net.spec.size.width, net.spec.size.height)
    scores = []
    for index in np.unique(np.linspace(0, len(frames) - 1, min(limit, len(frames))).astype(int)):
        picture = cv2.resize(frames.picture(index), size, interpolation=cv2.INTER_LINEAR)
        truth = cv2.resize(frames.label(index)[:, :, 0], size, interpolation=cv2.INTER_LINEAR) > 127
        found = net(torch.from_numpy(picture)[None])[0] > 0
        scores.append(mask_iou(found.numpy(), np.asarray(truth, bool)))
    return float(np.mean(scores))


def spec_fields(spec: PlayerNetSpec) -> dict[str, Any]:
    """Return the spec as plain numbers, for checkpoints and exported files."""
    return asdict(spec)


def load_average(path: Path) -> PlayerNet:
    """Build the network of a checkpoint with its averaged weights."""
    if not path.is_file():
        raise ModelError(f"{path} is missing: train it with plucc players train")
    state = torch.load(path, map_location="cpu", weights_only=True)
    if state.get("version") != CHECKPOINT_VERSION:
        raise ModelError(f"{path} is not a checkpoint of this version's player network: train it again")
    fields = state["spec"]
    net = PlayerNet(PlayerNetSpec(**{**fields, "size": Size(**fields["size"])}))
    net.load_state_dict(state["average"])
    return net.eval()
