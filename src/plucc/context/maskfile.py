"""Player masks of a whole dataset in one file: a line an image, the union of its players as COCO run lengths.

The file says which finder made it, so that context images made from it can be told from others. Lines are appended and
flushed one by one; a run that was killed goes on after the last whole line.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from plucc.context.finder import PlayerFinder
from plucc.data.manifest import read_dataset
from plucc.data.masks import Rle, decode_mask, encode_mask
from plucc.types import DataError, MaskArray, Progress, silent
from plucc.video import read_image


class MaskLine(BaseModel):
    """The players of one image, one mask each or all in one; masks may have a lower resolution than the image."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    image: str
    masks: tuple[Rle, ...]
    finder: str = ""


@dataclass(frozen=True, slots=True)
class MaskFile:
    """The masks of many images, still compressed, by the image's path in its dataset."""

    path: Path
    lines: dict[str, MaskLine]

    def __contains__(self, image: str) -> bool:
        return image in self.lines

    def __getitem__(self, image: str) -> MaskArray:
        if image not in self.lines:
            remedy = f"plucc context DATASET --masks {self.path}"
            raise DataError(f"{self.path} has no mask of {image}: fill it with {remedy}")
        masks = [decode_mask(mask) for mask in self.lines[image].masks]
        if not masks:
            raise DataError(f"{self.path} has a line without masks for {image}: write an empty mask instead")
        return reduce(np.logical_or, masks)

    def get(self, image: str) -> MaskArray | None:
        """Return the union of the image's masks, or None where the file has no such line."""
        if image not in self.lines:
            return None
        return self[image]

    def __len__(self) -> int:
        return len(self.lines)


def read_masks(path: Path) -> MaskFile:
    """Read a mask file; only a last line that a killed run left unfinished is passed over."""
    if not path.is_file():
        raise DataError(f"{path} is missing: write it with plucc context DATASET --masks {path}")
    return MaskFile(path, {line.image: line for line in _whole_lines(path)})


def write_dataset_masks(root: Path, finder: PlayerFinder, path: Path, *, progress: Progress = silent) -> int:
    """Find the players of every image of a dataset that the file lacks, and append them; return how many there were."""
    dataset = read_dataset(root)
    done = _resume(path, finder.version)
    missing = [record for record in dataset.records if record.image not in done]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", newline="\n") as file:
        for record in progress(missing, total=len(missing), label="player masks"):
            mask = encode_mask(finder(read_image(dataset.image_path(record)), record.players))
            line = MaskLine(image=record.image, masks=(mask,), finder=finder.version)
            file.write(line.model_dump_json() + "\n")
            file.flush()
    return len(missing)


def _resume(path: Path, finder: str) -> set[str]:
    """Cut an unfinished last line off and return the images already done, all of them by the same finder."""
    if not path.is_file():
        return set()
    whole = path.read_bytes()
    kept = whole[: whole.rfind(b"\n") + 1]
    if kept != whole:
        path.write_bytes(kept)
    done = list(_whole_lines(path))
    others = {line.finder for line in done} - {finder}
    if others:
        raise DataError(f"{path} holds masks of {others.pop()}, not of {finder}: choose another file")
    return {line.image for line in done}


def _whole_lines(path: Path) -> Iterator[MaskLine]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield MaskLine.model_validate_json(line)
            except ValidationError as error:
                fault = error.errors(include_url=False)[0]["msg"]
                raise DataError(
                    f"{path}:{number} is not a mask line ({fault}): remove the line, or the file"
                ) from error
