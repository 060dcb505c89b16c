"""The training step and the validation step, for Lightning."""

import time
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
from torch import Tensor, nn

from plucc.config import Spec
from plucc.network.detectors import PuckDetector
from plucc.network.encoders import TimmEncoder
from plucc.network.plucc import PuckNetwork
from plucc.training.averaging import WeightAverage
from plucc.training.dataset import Batch
from plucc.training.depthwise import keep_depthwise_full
from plucc.training.objective import Losses, Objective
from plucc.training.schedule import Plateau, learning_rate
from plucc.training.validation import Scores, Sighting, ValidationBatch, heatmap_picture, normalised, score, sightings
from plucc.types import PluccError

BETAS = (0.9, 0.99)
PICTURES = 4  # heatmaps shown after each validation


class DivergenceError(PluccError):
    """Training met a number that is none; the batch is kept for looking into."""


class PuckModule(pl.LightningModule):
    """A network in training. `plateau`, the clock, the average and the state of chance travel with each checkpoint."""

    def __init__(self, network: PuckNetwork | PuckDetector, spec: Spec, run: Path) -> None:
        super().__init__()
        self.network = network
        self.spec = spec
        self.plateau = Plateau()
        self.scores: Scores | None = None  # of the latest validation
        self._run = run
        self._objective = Objective(
            spec.heatmap.sigma_px,
            spec.network.logit_stride,
            spec.train.presence_weight,
            spec.train.background_weight,
        )
        self._average = None if spec.train.ema_decay is None else WeightAverage(network, spec.train.ema_decay)
        self._elapsed_before_s = 0.0
        self._started_s = time.monotonic()
        self._chance: Tensor | None = None
        self._batch: Batch | None = None
        self._sightings: list[Sighting] = []
        if spec.train.channels_last:
            self.network.to(memory_format=torch.channels_last)

    @property
    def used_network(self) -> PuckNetwork | PuckDetector:
        """The weights that are scored and saved: the average where there is one."""
        return self.network if self._average is None else self._average.network

    @property
    def elapsed_s(self) -> float:
        return self._elapsed_before_s + time.monotonic() - self._started_s

    @property
    def progress(self) -> float:
        """How much of the run is done, 0 to 1."""
        train = self.spec.train
        if train.hours is not None or train.steps is not None:
            by_clock = 0.0 if train.hours is None else self.elapsed_s / (3600 * train.hours)
            by_step = 0.0 if train.steps is None else self.global_step / train.steps
            return max(by_clock, by_step)
        batches = self.trainer.num_training_batches
        return self.global_step / (train.epochs * -(-int(batches) // train.accumulate))

    def prepared(self, pixels: Tensor) -> Tensor:
        """Return bytes as the network's input, in the memory order of the spec."""
        planes = normalised(pixels, self.spec.network)
        return planes if self.spec.train.channels_last else planes.contiguous()

    def losses(self, batch: Batch) -> Losses:
        """Return the objective of a batch; a withheld frame is zeroed after normalisation, its context stays."""
        frames = self.prepared(batch.frames) * (~batch.withheld).view(-1, 1, 1, 1)
        output = self.network(frames, self.prepared(batch.contexts))
        logits, presence = output if isinstance(output, tuple) else (output, None)
        return self._objective(logits, presence, batch.points_px, batch.present)

    def training_step(self, batch: Batch, _index: int) -> Tensor:
        self._batch = batch
        losses = self.losses(batch)
        if not torch.isfinite(losses.total):
            self._stop_on_divergence("the loss")
        values = {
            f"train/{name}": getattr(losses, name).detach() for name in ("total", "heatmap", "presence", "background")
        }
        self.log_dict(values, batch_size=len(batch.frames))
        return losses.total

    def on_train_start(self) -> None:
        self._started_s = time.monotonic()
        if self.spec.train.freeze_batch_norm:
            freeze_batch_norm(self.network)
        if self._average is not None:
            self._average.network.to(self.device)
        if self.spec.train.precision == "bf16-mixed" and self.device.type == "cpu":
            keep_depthwise_full(self.network)
        if self._chance is not None:
            torch.set_rng_state(self._chance)

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:  # noqa: ARG002
        rate = learning_rate(self.spec.train, self.progress, self.plateau)
        for group in self._adam().param_groups:
            group["lr"] = rate * group.get("share", 1.0)  # a run that began before there were shares has none

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,  # noqa: ARG002
        gradient_clip_val: float | None = None,  # noqa: ARG002
        gradient_clip_algorithm: str | None = None,  # noqa: ARG002
    ) -> None:
        """Clip to the spec's norm; a norm that is no number stops the run (a loss scaler sees to its own)."""
        limit = self.spec.train.clip_norm
        norm = nn.utils.clip_grad_norm_(self.network.parameters(), float("inf") if limit is None else limit)
        if not torch.isfinite(norm) and self.spec.train.precision != "16-mixed":
            self._stop_on_divergence("the gradient")
        self.log("train/gradient_norm", norm)

    def optimizer_step(self, *arguments: Any, **settings: Any) -> None:
        """Let the average follow each step, before anything is saved."""
        super().optimizer_step(*arguments, **settings)
        if self._average is not None:
            self._average.update(self.network)

    def validation_step(self, batch: ValidationBatch, _index: int) -> None:
        network = self.used_network
        output = network(self.prepared(batch.frames), self.prepared(batch.contexts))
        logits, presence = output if isinstance(output, tuple) else (output, None)
        if len(self._sightings) < PICTURES:
            self._show(batch, logits)
        self._sightings.extend(sightings(batch, logits, presence, self.spec))

    def on_validation_epoch_end(self) -> None:
        self.scores = score(self._gathered())
        self._sightings = []
        if self.trainer.sanity_checking:
            return
        self.plateau = self.plateau.after(self.scores.mean_precision, self.spec.train)
        values = {f"val/{name}": value for name, value in self.scores.named().items()}
        self.log_dict(values, sync_dist=self.trainer.world_size > 1)  # all processes have all sightings

    def configure_optimizers(self) -> torch.optim.Optimizer:
        train = self.spec.train
        kind = torch.optim.Adam if train.optimizer == "adam" else torch.optim.AdamW
        betas = (0.9, 0.999) if train.optimizer == "adam" else BETAS
        # a fused optimiser would take the loss scale off itself, after the gradient was clipped
        fused = train.precision != "16-mixed" and self.device.type in ("cpu", "cuda")
        return kind(self._parameter_groups(), lr=train.lr, betas=betas, fused=fused)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["plucc"] = {
            "plateau": (self.plateau.best, self.plateau.epochs_without_gain, self.plateau.factor),
            "elapsed_s": self.elapsed_s,
            "chance": torch.get_rng_state(),
            "average": None if self._average is None else self._average.state_dict(),
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        kept = checkpoint["plucc"]
        self.plateau = Plateau(*kept["plateau"])
        self._elapsed_before_s = kept["elapsed_s"]
        self._chance = kept["chance"]
        if self._average is not None:
            self._average.load_state_dict(kept["average"])

    def _adam(self) -> torch.optim.Optimizer:
        optimizer = self.optimizers(use_pl_optimizer=False)
        if isinstance(optimizer, list):
            raise TypeError("one optimiser was configured")
        return optimizer

    def _parameter_groups(self) -> list[dict[str, Any]]:
        """Decay matrices only: shrinking a bias, a norm's scale or a gate would pull it from its neutral value.

        Backbones learn at a share of the rate of their own, where the spec gives them one.
        """
        train = self.spec.train
        backbones = [part for part in self.network.modules() if isinstance(part, TimmEncoder)]
        slow = {id(value) for part in backbones for value in part.backbone.parameters()}
        groups: dict[tuple[float, float], list[nn.Parameter]] = {}
        for value in self.network.parameters():
            if value.requires_grad:
                decay = train.weight_decay if value.dim() > 1 else 0.0
                share = train.pretrained_lr if id(value) in slow else 1.0
                groups.setdefault((decay, share), []).append(value)
        return [{"params": values, "weight_decay": decay, "share": share} for (decay, share), values in groups.items()]

    def _gathered(self) -> list[Sighting]:
        """Return the sightings of all processes."""
        if self.trainer.world_size == 1:
            return self._sightings
        parts: list[list[Sighting]] = [[] for _ in range(self.trainer.world_size)]
        torch.distributed.all_gather_object(parts, self._sightings)
        return [sighting for part in parts for sighting in part]

    def _show(self, batch: ValidationBatch, logits: Tensor) -> None:
        board = getattr(self.logger, "experiment", None)
        if board is None or not self.trainer.is_global_zero or not hasattr(board, "add_image"):
            return
        picture = heatmap_picture(batch.frames[0].cpu().numpy(), logits[0, 0].float().cpu().numpy(), batch.truths[0])
        board.add_image(f"val/heatmap-{len(self._sightings)}", picture, self.global_step, dataformats="HWC")

    def _stop_on_divergence(self, what: str) -> None:
        path = self._run / f"diverged-step{self.global_step}-rank{self.global_rank}.pt"
        if self._batch is not None:
            torch.save(self._batch._asdict(), path)
        raise DivergenceError(
            f"{what} of step {self.global_step} is not a number: its batch is in {path}; lower train.lr, "
            f"or resume from the last checkpoint"
        )


def freeze_batch_norm(network: nn.Module) -> None:
    """Let batch norm use and keep its stored statistics."""
    for part in network.modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            part.eval()
