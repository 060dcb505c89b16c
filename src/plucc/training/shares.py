"""Datasets as they are named on the command line: a folder, a file that goes with it, a share of the samples."""

from dataclasses import dataclass
from pathlib import Path

from plucc.types import ConfigError


@dataclass(frozen=True, slots=True)
class SharedSource:
    """A dataset, a file of what was found in its frames (None where none is named), and its share of the samples."""

    dataset: Path
    found: Path | None = None
    share: float = 1.0


def parse_source(text: str, content: str) -> SharedSource:
    """Read `FOLDER`, `FOLDER=FILE.jsonl`, and either with `@SHARE` at the end; `content` says what the file holds.

    >>> parse_source("real=sam2.jsonl@0.7", "masks")
    SharedSource(dataset=PosixPath('real'), found=PosixPath('sam2.jsonl'), share=0.7)
    """
    place, _, share = text.rpartition("@") if "@" in text else (text, "", "1")
    folder, _, file = place.partition("=")
    try:
        return SharedSource(Path(folder), Path(file) if file else None, float(share))
    except ValueError as error:
        name = f"{content.upper()}.jsonl"
        raise ConfigError(f"{text} is no source: expected FOLDER, FOLDER={name} or FOLDER={name}@SHARE") from error
