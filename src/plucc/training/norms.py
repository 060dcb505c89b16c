"""Batch norms that must know other statistics than they have: of a network that was restored, or averaged."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from plucc.config import Spec
from plucc.files import whole_file
from plucc.network.checkpoint import average_checkpoints, load_checkpoint, save_checkpoint
from plucc.training.dataset import TrainingSamples, collate
from plucc.training.sources import open_sources
from plucc.training.validation import normalised
from plucc.types import ModelError

Pictures: TypeAlias = tuple[Tensor, Tensor]

SAMPLES = 512


def settle_norms(network: nn.Module, batches: Iterable[tuple[Tensor, ...]]) -> None:
    """Give every batch norm the statistics of what reaches it; the network's answers stay what they are."""
    sums = {norm: _Moments() for norm in batch_norms(network)}
    handles = [_watched(norm, moments) for norm, moments in sums.items()]
    with torch.inference_mode():
        for inputs in batches:
            network(*inputs)
    for handle in handles:
        handle.remove()
    for norm, moments in sums.items():
        _settle(norm, moments.mean, moments.variance)


def remeasure_norms(network: nn.Module, batches: Iterable[Pictures]) -> None:
    """Let every batch norm take the statistics that training would give it; scale and shift stay, answers change.

    Statistics that were averaged with the weights are those of no network.
    """
    momenta = {norm: norm.momentum for norm in batch_norms(network)}
    for norm in momenta:
        norm.reset_running_stats()
        norm.momentum = None  # the plain mean over all batches
    network.train()
    with torch.no_grad():
        for frames, contexts in batches:
            network(frames, contexts)
    network.eval()
    for norm, momentum in momenta.items():
        norm.momentum = momentum


def average_and_remeasure(parts: Sequence[Path], out: Path, spec: Spec) -> None:
    """Write the mean of several checkpoints with norms that know the training samples of `spec`."""
    with whole_file(out) as temporary:
        average_checkpoints(parts, temporary)
        loaded = load_checkpoint(temporary)
        spec = spec.model_copy(update={"network": loaded.spec, "heatmap": loaded.heatmap})
        remeasure_norms(loaded.network, first_batches(spec))
        save_checkpoint(temporary, loaded.network, spec, loaded.meta)


def first_batches(spec: Spec, samples: int = SAMPLES) -> Iterator[Pictures]:
    """Yield the first training samples of a run, as the network takes them."""
    sources = open_sources(spec)
    drawn = TrainingSamples(sources.training, spec)
    draws = sources.mixture(spec).epoch(0)[:samples]
    for start in range(0, len(draws), spec.train.batch):
        batch = collate([drawn[draw] for draw in draws[start : start + spec.train.batch]])
        yield normalised(batch.frames, spec.network), normalised(batch.contexts, spec.network)


def statistics(norm: nn.BatchNorm2d) -> tuple[Tensor, Tensor]:
    """Return the stored mean and variance themselves, to be written into."""
    if norm.running_mean is None or norm.running_var is None:
        raise ModelError("this network's norms keep no statistics: only those that do can be restored")
    return norm.running_mean, norm.running_var


def batch_norms(network: nn.Module) -> Iterator[nn.BatchNorm2d]:
    """Yield every batch norm of a network once."""
    return (part for part in network.modules() if isinstance(part, nn.BatchNorm2d))


class _Moments:
    """Sums over all pixels that passed, channel by channel."""

    def __init__(self) -> None:
        self._count, self._sum, self._squares = 0, torch.zeros(1), torch.zeros(1)

    def add(self, features: Tensor) -> None:
        values = features.double()
        self._count += features.numel() // features.shape[1]
        self._sum = self._sum + values.sum(dim=(0, 2, 3))
        self._squares = self._squares + values.square().sum(dim=(0, 2, 3))

    @property
    def mean(self) -> Tensor:
        return self._sum / self._count

    @property
    def variance(self) -> Tensor:
        return (self._squares / self._count - self.mean.square()).clamp(min=0)


def _watched(norm: nn.BatchNorm2d, moments: _Moments) -> RemovableHandle:
    return norm.register_forward_pre_hook(lambda _, inputs: moments.add(inputs[0]))


@torch.no_grad()
def _settle(norm: nn.BatchNorm2d, mean: Tensor, variance: Tensor) -> None:
    old_mean, old_variance = statistics(norm)
    slope = norm.weight.double() / (old_variance.double() + norm.eps).sqrt()
    norm.bias.add_((slope * (mean - old_mean.double())).to(norm.bias.dtype))
    norm.weight.copy_(slope * (variance + norm.eps).sqrt())
    old_mean.copy_(mean)
    old_variance.copy_(variance)
