"""Which sample comes when: a fixed sequence, computed from the seed, that can be entered at any point."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from torch.utils.data import DataLoader

from plucc.types import FloatArray


class Draw(NamedTuple):
    """The sample at one position of the sequence: which dataset, which of its records."""

    position: int
    source: int
    record: int


@dataclass(frozen=True)
class Mixture:
    """An endless sequence of draws from several datasets, cut into epochs.

    In each epoch a dataset gets its share of the samples. Within a dataset the records go round in a fresh order each
    time; with equal weights every record comes once a round, otherwise about weight times.
    """

    record_weights: tuple[FloatArray, ...]  # for each dataset, one weight a record
    shares: tuple[float, ...]
    epoch_samples: int
    seed: int

    def epoch(self, number: int) -> list[Draw]:
        """Return the draws of one epoch; the same for the same seed, whatever came before."""
        before, after = self._drawn(number), self._drawn(number + 1)
        pairs = [
            (source, record)
            for source, (start, stop) in enumerate(zip(before, after, strict=True))
            for record in self._stretch(source, start, stop - start)
        ]
        order = np.random.default_rng((self.seed, 1, number)).permutation(len(pairs))
        first = number * self.epoch_samples
        return [Draw(first + place, *pairs[index]) for place, index in enumerate(order)]

    def _drawn(self, epochs: int) -> list[int]:
        """Return what each dataset has given after so many epochs; the largest takes what rounding leaves."""
        total = epochs * self.epoch_samples
        drawn = [int(share / sum(self.shares) * total) for share in self.shares]
        drawn[self.shares.index(max(self.shares))] += total - sum(drawn)
        return drawn

    def _stretch(self, source: int, start: int, count: int) -> list[int]:
        """Return `count` record numbers of a dataset's endless sequence of rounds, from `start` on."""
        length = len(self.record_weights[source])
        records: list[int] = []
        for round_number in range(start // length, (start + count - 1) // length + 1 if count else 0):
            records.extend(self._round(source, round_number))
        skip = start % length
        return records[skip : skip + count]

    def _round(self, source: int, number: int) -> list[int]:
        weights = self.record_weights[source]
        rng = np.random.default_rng((self.seed, 2, source, number))
        shuffled = rng.permutation(len(weights))
        # systematic sampling: one random offset, then even steps through the cumulated weights
        edges = np.cumsum(weights[shuffled]) / weights.sum() * len(weights)
        ticks = np.arange(len(weights)) + rng.random()
        chosen = shuffled[np.minimum(np.searchsorted(edges, ticks), len(weights) - 1)]
        return [int(record) for record in rng.permutation(chosen)]


def run_weights(runs: Sequence[str | None]) -> FloatArray:
    """Return a weight for each record such that near-duplicates share: 1/sqrt(length of its run)."""
    counts: dict[str, int] = {}
    for run in runs:
        if run is not None:
            counts[run] = counts.get(run, 0) + 1
    return np.array([1.0 if run is None else counts[run] ** -0.5 for run in runs])


class MixtureBatches:
    """Batches of draws for one process out of several: equal slices of each global batch.

    `served` counts batches over the whole run; iterating starts there and ends with the epoch. `rank` may be set until
    iteration starts: a process learns late which one it is.
    """

    def __init__(self, mixture: Mixture, batch: int, *, rank: int = 0, processes: int = 1) -> None:
        self._mixture, self._batch = mixture, batch
        self._processes = processes
        self.rank = rank
        self.served = 0

    def __len__(self) -> int:
        return max(self._mixture.epoch_samples // (self._batch * self._processes), 1)

    def __iter__(self) -> Iterator[list[Draw]]:
        epoch, first = divmod(self.served, len(self))
        draws = self._mixture.epoch(epoch)
        for number in range(first, len(self)):
            start = (number * self._processes + self.rank) * self._batch
            yield draws[start : start + self._batch]


class ResumableLoader(DataLoader[Any]):
    """A loader that knows how many batches it has handed out and can go on from there.

    Workers read ahead; only what was handed out counts, so a resumed run sees exactly the batches that an unbroken one
    would have seen next.
    """

    batch_sampler: MixtureBatches

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        for batch in super().__iter__():
            self.batch_sampler.served += 1
            yield batch

    def state_dict(self) -> dict[str, int]:
        return {"served": self.batch_sampler.served}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.batch_sampler.served = state["served"]
