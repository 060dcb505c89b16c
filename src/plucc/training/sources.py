"""From a spec to the frames of its datasets, split by match."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plucc.config import DatasetSpec, Spec
from plucc.context.maskfile import read_masks
from plucc.data.manifest import Dataset, read_dataset
from plucc.data.schema import Record
from plucc.data.splits import SPLITS_FILE, Split, Splits, count_origins, read_splits, split_by_name
from plucc.training.dataset import FrameSource
from plucc.training.frames import FrameCache, FrameFiles, PlayerMasks, read_mistakes
from plucc.training.mixture import Mixture, run_weights
from plucc.types import ConfigError, DataError

WIDEST_PUCK_PX = 100.0  # at 720 lines


@dataclass(frozen=True)
class Sources:
    """What a run learns from and what it is scored on."""

    training: tuple[FrameSource, ...]
    validation: tuple[FrameSource, ...]
    shares: tuple[float, ...]  # of the training sources

    def mixture(self, spec: Spec) -> Mixture:
        """Return the sequence in which the training records come."""
        return Mixture(
            tuple(_weights(source.records, spec) for source in self.training),
            self.shares,
            spec.train.epoch_samples or sum(len(source) for source in self.training),
            spec.train.seed,
        )


def open_sources(spec: Spec) -> Sources:
    """Read the spec's datasets and part them into training and validation frames; test matches are in neither."""
    if not spec.data.datasets:
        raise ConfigError(
            "data.datasets is empty: name at least one dataset folder, such as data.datasets=[runs/data/set]"
        )
    training, validation, shares = [], [], []
    datasets = [read_dataset(entry.path) for entry in spec.data.datasets]
    _check_matches(datasets, spec)
    for entry, dataset in zip(spec.data.datasets, datasets, strict=True):
        learnt, scored = _split(dataset, spec)
        if learnt:
            training.append(_source(dataset, learnt, entry, spec))
            shares.append(entry.weight)
        if scored and entry.validate_on:
            validation.append(_source(dataset, scored, entry, spec))
    if not training:
        raise DataError("the datasets hold no frame to train on: label pucks, or hold fewer matches out")
    return Sources(tuple(training), tuple(validation), tuple(shares))


def _split(dataset: Dataset, spec: Spec) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
    """Return the labelled records to learn from and those to score; frames nobody looked at are in neither."""
    splits = _splits(dataset, spec)
    usable = tuple(record for record in dataset.records if record.puck is not None or record.no_puck)
    part = {split: tuple(record for record in usable if splits.of(record.match) is split) for split in Split}
    return tuple(record for record in part[Split.TRAIN] if not is_mislabelled(record)), part[Split.VAL]


def _splits(dataset: Dataset, spec: Spec) -> Splits:
    """Return the spec's split of this dataset, or else the dataset's own; a dataset without either is all training."""
    origins = count_origins(dataset.records)
    matches = {match for match, _ in origins}
    named = spec.data.validation_matches, spec.data.test_matches
    if not any(named) and (dataset.root / SPLITS_FILE).is_file():
        return read_splits(dataset.root)
    validation, test = (sorted(matches & set(names)) for names in named)
    if len({*validation, *test}) == len(matches):  # a dataset kept for scoring alone
        return Splits(val=tuple(validation), test=tuple(test))
    return split_by_name(origins, validation, test)


def _check_matches(datasets: Sequence[Dataset], spec: Spec) -> None:
    known = {record.match for dataset in datasets for record in dataset.records}
    unknown = sorted({*spec.data.validation_matches, *spec.data.test_matches} - known)
    if unknown:
        raise ConfigError(f"no dataset has a match {unknown[0]}: choose among {', '.join(sorted(known))}")


def is_mislabelled(record: Record) -> bool:
    """Tell a box that no puck fills, not even in a close-up: its centre may be far from the puck."""
    if record.puck is None or record.puck.box_px is None:
        return False
    box = record.puck.box_px
    return max(box.width, box.height) * record.size.reference_scale > WIDEST_PUCK_PX


def _source(dataset: Dataset, records: tuple[Record, ...], entry: DatasetSpec, spec: Spec) -> FrameSource:
    cache = spec.data.cache
    frames = FrameFiles(dataset, records) if cache is None else FrameCache(dataset, records, cache)
    masks = None
    if spec.network.context is not None:
        masks = PlayerMasks(records, None if entry.masks is None else read_masks(entry.masks))
    mistakes = {} if entry.hard_negatives is None else read_mistakes(entry.hard_negatives)
    return FrameSource(dataset, records, frames, masks, mistakes)


def _weights(records: Sequence[Record], spec: Spec) -> np.ndarray:
    return run_weights([record.run for record in records]) if spec.data.balance_runs else np.ones(len(records))
