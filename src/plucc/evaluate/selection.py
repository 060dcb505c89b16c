"""Which frames are scored: a split, some matches, some categories, of a dataset or of a clip's own truth."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from plucc.data.manifest import Dataset, explain, read_dataset
from plucc.data.schema import DatasetInfo, LabelClass, Record
from plucc.data.splits import Split, read_split
from plucc.types import Category, DataError, InputError

CLIP_RECORDS = ".records.jsonl"
UNCATEGORISED = "uncategorised"


@dataclass(frozen=True, slots=True)
class Selection:
    """What to score; None, or nothing named, takes all. `every` takes each n-th of the chosen frames."""

    split: Split | None = None
    matches: tuple[str, ...] = ()
    categories: tuple[Category, ...] = ()
    every: int = 1

    @property
    def words(self) -> str:
        """Say in a few words what was chosen."""
        parts = [f"split {self.split}"] if self.split else []
        parts += [f"matches {', '.join(self.matches)}"] if self.matches else []
        parts += [f"categories {', '.join(self.categories)}"] if self.categories else []
        parts += [f"one frame in {self.every}"] if self.every > 1 else []
        return "; ".join(parts) or "all frames"


@dataclass(frozen=True, slots=True)
class Labelled:
    """The labelled frames that a report rests on. `video` is the clip that they are frames of, if they are."""

    dataset: Dataset
    records: tuple[Record, ...]
    unlabelled: int  # frames of the selection whose puck nobody looked for
    video: Path | None = None

    def __len__(self) -> int:
        return len(self.records)


def open_labelled(path: Path, selection: Selection) -> Labelled:
    """Read a dataset's folder, or the records that `plucc synth clip` writes beside a clip, and choose from it."""
    if path.name.endswith(CLIP_RECORDS):
        return _chosen(_read_clip(path), selection, _video_of(path))
    dataset = read_dataset(path) if selection.split is None else read_split(path, selection.split)
    return _chosen(dataset, selection, None)


def parse_categories(text: str) -> tuple[Category, ...]:
    """Return the categories named in `blurry,goal-line`."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in set(Category)]
    if unknown:
        raise InputError(f"{unknown[0]} is no category: choose among {', '.join(Category)}")
    return tuple(Category(name) for name in names)


def _chosen(dataset: Dataset, selection: Selection, video: Path | None) -> Labelled:
    records: Sequence[Record] = dataset.records
    known = sorted({record.match for record in records})
    unknown = sorted(set(selection.matches) - set(known))
    if unknown:
        raise InputError(f"{dataset.root} has no match {unknown[0]}: choose among {', '.join(known)}")
    if selection.matches:
        records = [record for record in records if record.match in selection.matches]
    records = _of_categories(dataset.root, records, selection.categories)
    labelled = [record for record in records if record.is_puck_labelled]
    if not labelled:
        raise DataError(
            f"{dataset.root} has no labelled frame among {selection.words}: label pucks (or no_puck), or choose others"
        )
    chosen = tuple(labelled[:: selection.every])
    return Labelled(replace(dataset, records=chosen), chosen, len(records) - len(labelled), video)


def _of_categories(root: Path, records: Sequence[Record], wanted: Sequence[Category]) -> Sequence[Record]:
    found = {record.category for record in records}
    for category in wanted:
        if category not in found:
            present = ", ".join(sorted(entry.value for entry in found if entry is not None)) or "none at all"
            raise InputError(f"no record of {root} has the category {category}: the categories here are {present}")
    return [record for record in records if record.category in wanted] if wanted else records


def _read_clip(path: Path) -> Dataset:
    if not path.is_file():
        raise DataError(f"{path} is missing: give a dataset's folder, or the records beside a rendered clip")
    records = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            records.append(Record.model_validate_json(line))
        except ValidationError as error:
            raise DataError(str(explain(error, path, number))) from error
    info = DatasetInfo(name=path.name.removesuffix(CLIP_RECORDS), classes=tuple(LabelClass), licence="-", source="clip")
    return Dataset(path.parent, info, tuple(records))


def _video_of(path: Path) -> Path:
    stem = path.name.removesuffix(CLIP_RECORDS)
    found = [path.with_name(stem + suffix) for suffix in (".mp4", ".mkv", ".mov")]
    return next((video for video in found if video.is_file()), found[0])
