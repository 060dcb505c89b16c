"""A training run from spec to weights: folders, loaders, trainer, checkpoints."""

import json
import logging
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
import yaml
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.strategies import DDPStrategy
from torch import Tensor
from torch.utils.data import DataLoader, Subset

from plucc.config import Spec, parse_section
from plucc.files import whole_file
from plucc.network.checkpoint import load_checkpoint, mean_weights, save_checkpoint
from plucc.network.detectors import PuckDetector, build_detector, load_detector
from plucc.network.plucc import PuckNetwork, build_plucc
from plucc.training.dataset import TrainingSamples, collate, use_one_thread
from plucc.training.detection import DetectorModule
from plucc.training.mixture import MixtureBatches, ResumableLoader
from plucc.training.module import PuckModule
from plucc.training.sources import Sources, open_sources
from plucc.training.validation import ValidationFrames, collate_frame
from plucc.types import ConfigError, InputError

CONFIG_FILE = "config.yaml"
STATE_FILE = "resume.ckpt"
BEST_FILE = "best.ckpt"
FINAL_FILE = "final.ckpt"
SCORES_FILE = "scores.jsonl"
REPORT_EVERY_S = 60.0
PARENT_EVERY_S = 1.0
CONVOLUTION_AXES = 4  # channels out, channels in, height, width
ADVICE = (
    ".*does not have many workers.*",
    ".*smaller than the logging interval.*",
    ".*have no `val_dataloader`.*",
    ".*isinstance.treespec, LeafSpec.*",
    "Grad strides do not match bucket view strides",  # of 1×1 convolutions with channels last: harmless
)

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where a finished run left its weights, and how they scored on the validation matches."""

    final: Path
    best: Path | None  # None where nothing was validated
    best_score: float  # mAP in percent
    steps: int

    def summary(self) -> str:
        """Return the run's last words."""
        best = "" if self.best is None else f"; best validation mAP {self.best_score:.1f}: {self.best}"
        return f"{self.steps} steps: {self.final}{best}"


def train(spec: Spec, run: Path, *, resume: bool = False, say: Say = print) -> Outcome:
    """Train a network in the folder `run` and return where its weights are.

    With `resume`, a run that was stopped at any moment goes on from its last saved state with the spec in its folder,
    and ends with the very weights of a run that was not stopped (of the same steps; a run by hours depends on the
    clock).
    """
    _prepare_folder(spec, run, resume=resume)
    _use_threads(spec)
    with _quiet():
        module = _fitted(spec, run, resume, say)
    best = run / BEST_FILE
    outcome = Outcome(run / FINAL_FILE, best if best.exists() else None, module.plateau.best, module.global_step)
    if module.trainer.is_global_zero:
        say(outcome.summary())
    return outcome


def _fitted(spec: Spec, run: Path, resume: bool, say: Say) -> PuckModule:
    pl.seed_everything(spec.train.seed, verbose=False)
    sources = open_sources(spec)
    module = (PuckModule if spec.detector is None else DetectorModule)(initial_network(spec), spec, run)
    if spec.train.compile:
        module.network.compile()
    batches = MixtureBatches(sources.mixture(spec), spec.train.batch, processes=spec.train.devices * spec.train.hosts)
    keepers = [Finisher(), Ender(), BestKeeper(run, say), StateKeeper(spec, run, batches), Reporter(say)]
    trainer = _trainer(spec, run, keepers)
    batches.rank = trainer.global_rank
    loaders = _loaders(sources, spec, batches)
    if trainer.is_global_zero:
        say(_opening(sources, module, spec))
    state = run / STATE_FILE
    trainer.fit(module, *loaders, ckpt_path=state if resume and state.exists() else None, weights_only=False)
    if trainer.is_global_zero:
        save_checkpoint(run / FINAL_FILE, module.used_network, spec, _meta(module))
    return module


def initial_network(spec: Spec) -> PuckNetwork | PuckDetector:
    """Build the network or detector, with the weights of `train.initial_weights` where they fit by name and shape.

    Of several checkpoints each layer starts at the mean of those that have it. A layer that reads further channels
    behind those of the checkpoint's starts deaf to them, so that a grown network starts with what the smaller one says.
    """
    given = spec.train.initial_weights
    start = () if given is None else (given,) if isinstance(given, Path) else given
    network: PuckNetwork | PuckDetector
    if spec.detector is None:
        network = build_plucc(spec.network, pretrained=not start)
    else:
        network = build_detector(spec.detector, pretrained=not start)
    own = network.state_dict()
    states = [_weights(path, spec) for path in start]
    for path, state in zip(start, states, strict=True):
        if not any(_fits(state, key, value) for key, value in own.items()):
            raise InputError(f"{path} has no layer in common with this network: give a checkpoint of a similar spec")
    for key, value in own.items():
        fitting = [_grown(state[key], value) for state in states if _fits(state, key, value)]
        if fitting:
            own[key] = mean_weights(fitting)
    network.load_state_dict(own)
    return network


class Finisher(pl.Callback):
    """Ends a run that is given in steps or hours. It stands first: a state saved later in the same step must know."""

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any) -> None:
        done = _own(pl_module).progress >= 1
        trainer.should_stop = bool(trainer.strategy.broadcast(done)) if trainer.world_size > 1 else done


class Ender(pl.Callback):
    """Lets a signal end a run at once, as a kill does, all its processes with it; it goes on from its last state.

    Lightning would first agree with the other processes, from within the handler, and wait for them forever; and those
    would wait for one that is gone.
    """

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if trainer.local_rank > 0:
            threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_EVERY_S)
    os._exit(1)


class StateKeeper(pl.Callback):
    """Saves the whole state of a run every few minutes or steps, and after every epoch.

    A new state replaces the old one in one move.
    """

    def __init__(self, spec: Spec, run: Path, batches: MixtureBatches) -> None:
        self._batches = batches
        self._minutes, self._steps = spec.train.checkpoint_minutes, spec.train.checkpoint_steps
        self._accumulate = spec.train.accumulate
        self._path = run / STATE_FILE
        self._saved_s, self._saved_step = time.monotonic(), 0

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        between = (trainer.fit_loop.batch_idx + 1) % self._accumulate  # gradients half gathered are not saved
        if not between and not trainer.is_last_batch and not trainer.should_stop and self._is_due(trainer):
            self._save(trainer)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        self._save(trainer)

    def state_dict(self) -> dict[str, int]:
        return {"served": self._batches.served}

    def load_state_dict(self, state_dict: dict[str, int]) -> None:
        """Go on with the next batch; Lightning itself restores a loader's place only in the middle of an epoch."""
        self._batches.served = state_dict["served"]

    def _is_due(self, trainer: pl.Trainer) -> bool:
        if self._steps is not None:
            return trainer.global_step - self._saved_step >= self._steps
        due = time.monotonic() - self._saved_s >= 60 * self._minutes
        return bool(trainer.strategy.broadcast(due)) if trainer.world_size > 1 else due  # all save, or none

    def _save(self, trainer: pl.Trainer) -> None:
        temporary = self._path.with_suffix(".tmp")
        trainer.save_checkpoint(temporary)
        if trainer.is_global_zero:
            temporary.replace(self._path)
        self._saved_s, self._saved_step = time.monotonic(), trainer.global_step


class BestKeeper(pl.Callback):
    """After each validation writes a line of scores, and the weights if they are the best so far."""

    def __init__(self, run: Path, say: Say) -> None:
        self._run, self._say = run, say
        self._best = float("-inf")

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._best = _own(pl_module).plateau.best
        if trainer.is_global_zero:
            _drop_later_scores(self._run / SCORES_FILE, trainer.global_step)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        module = _own(pl_module)
        if not trainer.is_global_zero or module.scores is None:
            return
        line = _meta(module)
        with (self._run / SCORES_FILE).open("a") as file:
            file.write(json.dumps(line) + "\n")
        self._say("validation  " + "  ".join(f"{name} {value:.4g}" for name, value in line.items()))
        if module.scores.mean_precision > self._best:
            self._best = module.scores.mean_precision
            save_checkpoint(self._run / BEST_FILE, module.used_network, module.spec, line)


class Reporter(pl.Callback):
    """Says once a minute how the run goes."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._since_s, self._samples = time.monotonic(), 0

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        self._since_s, self._samples = time.monotonic(), 0  # validation is not training time

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,  # noqa: ARG002
    ) -> None:
        self._samples += len(batch.frames) * trainer.world_size
        passed_s = time.monotonic() - self._since_s
        if not trainer.is_global_zero or passed_s < REPORT_EVERY_S:
            return
        rate = trainer.optimizers[0].param_groups[0]["lr"]
        self._say(
            f"step {trainer.global_step}  {_own(pl_module).progress:6.1%}  loss {float(outputs['loss']):.3f}  "
            f"lr {rate:.2e}  {self._samples / passed_s:.1f} samples/s"
        )
        self._since_s, self._samples = time.monotonic(), 0


def _own(module: pl.LightningModule) -> PuckModule:
    if not isinstance(module, PuckModule):
        raise TypeError("these callbacks belong to a PuckModule")
    return module


def _prepare_folder(spec: Spec, run: Path, *, resume: bool) -> None:
    config, state = run / CONFIG_FILE, run / STATE_FILE
    if not resume and state.exists():
        raise InputError(
            f"{run} holds a run already: add --resume to go on with it, or choose another folder with --run"
        )
    run.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(spec.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    if resume and config.exists() and state.exists() and _stored(config) != spec:
        raise ConfigError(f"{config} differs from the given settings: resume with the same ones, or start another run")
    with whole_file(config) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _stored(config: Path) -> Spec:
    """Read the spec of a run back; settings that came later than the run count with their defaults."""
    return parse_section(Spec, yaml.safe_load(config.read_text(encoding="utf-8")), str(config))


def _trainer(spec: Spec, run: Path, callbacks: list[pl.Callback]) -> pl.Trainer:
    train = spec.train
    by_epochs = train.steps is None and train.hours is None
    many = train.devices * train.hosts > 1
    return pl.Trainer(
        accelerator=train.accelerator,
        devices=train.devices,
        num_nodes=train.hosts,
        strategy=DDPStrategy() if many else "auto",
        precision="32-true" if train.precision == "32" else train.precision,
        max_epochs=train.epochs if by_epochs else -1,
        accumulate_grad_batches=train.accumulate,
        callbacks=callbacks,
        logger=TensorBoardLogger(run, name="", version="logs"),
        log_every_n_steps=20,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=run,
    )


def _loaders(sources: Sources, spec: Spec, batches: MixtureBatches) -> tuple[ResumableLoader, DataLoader[Any] | None]:
    """Return the loaders of this process; their own sources of chance leave torch's alone."""
    workers = spec.data.workers
    training = ResumableLoader(
        TrainingSamples(sources.training, spec),
        batch_sampler=batches,
        num_workers=workers,
        collate_fn=collate,
        worker_init_fn=use_one_thread,
        persistent_workers=workers > 0,
        generator=torch.Generator(),
    )
    if not sources.validation:
        return training, None
    frames = ValidationFrames(sources.validation, spec)
    mine = Subset(frames, range(batches.rank, len(frames), spec.train.devices * spec.train.hosts))
    validation = DataLoader(
        mine,
        num_workers=min(workers, 1),
        collate_fn=collate_frame,
        worker_init_fn=use_one_thread,
        generator=torch.Generator(),
    )
    return training, validation


def _use_threads(spec: Spec) -> None:
    use_one_thread()
    if spec.train.threads is not None:
        torch.set_num_threads(spec.train.threads)


def _opening(sources: Sources, module: PuckModule, spec: Spec) -> str:
    weights = sum(value.numel() for value in module.network.parameters())
    training, validation = (sum(len(part) for part in parts) for parts in (sources.training, sources.validation))
    return (
        f"{weights / 1e6:.2f} M parameters, {training} training and {validation} validation frames, "
        f"batch {spec.train.batch}, {torch.get_num_threads()} threads"
    )


def _weights(checkpoint: Path, spec: Spec) -> dict[str, Tensor]:
    network = load_checkpoint(checkpoint).network if spec.detector is None else load_detector(checkpoint)[0]
    return network.state_dict()


def _fits(state: dict[str, Tensor], key: str, own: Tensor) -> bool:
    """Tell whether a checkpoint has a layer, in its own shape or reading fewer channels."""
    if key not in state:
        return False
    given = state[key].shape
    return given == own.shape or (
        own.ndim == CONVOLUTION_AXES
        and given[1] < own.shape[1]
        and (given[0], *given[2:]) == (own.shape[0], *own.shape[2:])
    )


def _grown(given: Tensor, own: Tensor) -> Tensor:
    if given.shape == own.shape:
        return given
    grown = torch.zeros_like(own)
    grown[:, : given.shape[1]] = given
    return grown


def _meta(module: PuckModule) -> dict[str, float]:
    scores = {} if module.scores is None else module.scores.named()
    facts = {"step": module.global_step, "hours": module.elapsed_s / 3600}
    return {name: round(float(value), 4) for name, value in (facts | scores).items()}


def _drop_later_scores(path: Path, step: int) -> None:
    """Forget scores of steps that a resumed run is about to take again."""
    if not path.exists():
        return
    lines = [line for line in path.read_text().splitlines(keepends=True) if json.loads(line)["step"] <= step]
    with whole_file(path) as temporary:
        temporary.write_text("".join(lines))


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Lightning's advice (more workers, other loggers) from the user: the spec has decided."""
    loggers = [logging.getLogger(name) for name in ("lightning.pytorch", "lightning.fabric")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    with warnings.catch_warnings():
        for advice in ADVICE:
            warnings.filterwarnings("ignore", message=advice)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
