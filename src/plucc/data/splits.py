"""Splits by match: no match, and no run of near-duplicates, may lie in two of them.

Matches that share a run are bound together and move as one. `splits.yaml` in the dataset's folder lists the matches.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Self, TypeAlias

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from plucc.data.manifest import Dataset, explain, read_dataset
from plucc.data.schema import FieldError, Name, Record
from plucc.files import whole_file
from plucc.types import DataError, InputError, Progress, silent

SPLITS_FILE = "splits.yaml"

Origins: TypeAlias = Counter[tuple[str, str | None]]  # frames by match and run


class Split(StrEnum):
    """A part of a dataset."""

    TRAIN = "train"
    VAL = "val"
    TEST = "test"


class Splits(BaseModel):
    """Which matches are in which split."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    train: tuple[Name, ...] = ()
    val: tuple[Name, ...] = ()
    test: tuple[Name, ...] = ()

    @model_validator(mode="after")
    def _are_apart(self) -> Self:
        for split in Split:
            for match in self.matches(split):
                if self.of(match) is not split:
                    raise FieldError(split, f"match {match} is in {self.of(match)} too: keep it in one split")
        return self

    def matches(self, split: Split) -> tuple[str, ...]:
        return {Split.TRAIN: self.train, Split.VAL: self.val, Split.TEST: self.test}[split]

    def of(self, match: str) -> Split | None:
        """Return the split that a match is in; None for a match that no split names."""
        return next((split for split in Split if match in self.matches(split)), None)


def count_origins(records: Iterable[Record]) -> Origins:
    """Count the frames of every match and run: all that splitting needs to know of the records."""
    return Counter((record.match, record.run) for record in records)


def bound_matches(origins: Origins) -> list[tuple[str, ...]]:
    """Return the groups of matches that share runs, each group and the list in order of name."""
    group_of = {match: {match} for match, _ in origins}
    first_of_run: dict[str, str] = {}
    for match, run in origins:
        if run is None:
            continue
        merged = group_of[first_of_run.setdefault(run, match)] | group_of[match]
        for member in merged:
            group_of[member] = merged
    return sorted({tuple(sorted(group)) for group in group_of.values()})


def split_by_name(origins: Origins, val: Iterable[str], test: Iterable[str]) -> Splits:
    """Put the named matches into validation and test and the others into training; refuse a leak."""
    known = {match for match, _ in origins}
    chosen_val, chosen_test = tuple(sorted(set(val))), tuple(sorted(set(test)))
    unknown = sorted({*chosen_val, *chosen_test} - known)
    if unknown:
        raise InputError(f"no match is called {', '.join(unknown)}: choose among {', '.join(sorted(known))}")
    both = sorted(set(chosen_val) & set(chosen_test))
    if both:
        raise InputError(f"match {', '.join(both)} cannot be in validation and test: name it once")
    train = tuple(sorted(known - {*chosen_val, *chosen_test}))
    if not train:
        raise InputError("no match is left for training: name fewer for validation and test")
    splits = Splits(train=train, val=chosen_val, test=chosen_test)
    check_leaks(origins, splits)
    return splits


def split_by_fraction(origins: Origins, val: float, test: float, rng: np.random.Generator) -> Splits:
    """Draw bound groups of matches until validation and test are as near to their share of the frames as they get."""
    if val < 0 or test < 0 or val + test >= 1:
        raise InputError(f"shares of {val:g} and {test:g} leave nothing to train on: together they must be below 1")
    groups = bound_matches(origins)
    wanted = [split for split, share in ((Split.VAL, val), (Split.TEST, test)) if share > 0]
    if len(groups) <= len(wanted):
        raise DataError(
            f"{len(groups)} independent matches cannot make {len(wanted) + 1} splits (matches that share a run count "
            f"as one): add matches, or ask for fewer splits"
        )
    frames = {group: sum(count for (match, _), count in origins.items() if match in group) for group in groups}
    left = [groups[index] for index in rng.permutation(len(groups))]
    chosen: dict[Split, list[str]] = {split: [] for split in Split}
    for split in wanted:
        target = (val if split is Split.VAL else test) * origins.total()
        still_needed = len(wanted) - wanted.index(split)
        taken = _draw(left, frames, target, len(left) - still_needed)
        chosen[split] = sorted(match for group in taken for match in group)
        left = [group for group in left if group not in taken]
    chosen[Split.TRAIN] = sorted(match for group in left for match in group)
    return Splits.model_validate(chosen)


def check_leaks(origins: Origins, splits: Splits) -> None:
    """Refuse splits that leave a match out or have frames of one run on both sides."""
    split_of_run: dict[str, tuple[Split, str]] = {}
    for match, run in origins:
        split = splits.of(match)
        if split is None:
            raise DataError(f"match {match} is in no split of {SPLITS_FILE}: run plucc data split again")
        if run is None:
            continue
        other, other_match = split_of_run.setdefault(run, (split, match))
        if other is not split:
            raise DataError(
                f"run {run} of near-duplicate frames would lie in {other} (match {other_match}) and in {split} (match "
                f"{match}): put both matches into the same split"
            )


def write_splits(root: Path, splits: Splits) -> None:
    """Write `splits.yaml`."""
    with whole_file(root / SPLITS_FILE) as path:
        path.write_text(yaml.safe_dump(splits.model_dump(mode="json"), sort_keys=False), encoding="utf-8")


def read_splits(root: Path) -> Splits:
    """Read `splits.yaml`."""
    path = root / SPLITS_FILE
    if not path.is_file():
        raise DataError(f"{path} is missing: make it with plucc data split")
    try:
        return Splits.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not valid YAML: make it again with plucc data split") from error
    except ValidationError as error:
        raise DataError(str(explain(error, path))) from error


def read_split(root: Path, split: Split, *, skip_bad: bool = False, progress: Progress = silent) -> Dataset:
    """Read the records of one split, after checking that nothing leaks between the splits."""
    dataset, splits = read_dataset(root, skip_bad=skip_bad, progress=progress), read_splits(root)
    check_leaks(count_origins(dataset.records), splits)
    return replace(dataset, records=tuple(record for record in dataset.records if splits.of(record.match) is split))


def _draw(
    groups: Sequence[tuple[str, ...]], frames: dict[tuple[str, ...], int], target: float, limit: int
) -> list[tuple[str, ...]]:
    """Take groups in order while each brings the frames nearer to the target: one at least, `limit` at most."""
    taken: list[tuple[str, ...]] = []
    total = 0
    for group in groups:
        if len(taken) < limit and abs(total + frames[group] - target) < abs(total - target):
            taken.append(group)
            total += frames[group]
    return taken or [min(groups, key=lambda group: frames[group])]
