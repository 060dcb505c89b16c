"""Looks at everything a dataset claims: its lines, its pictures to the last pixel, its masks, its splits."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

from plucc.data.findings import Finding, Findings, Place
from plucc.data.images import PictureError, decode_size, read_picture
from plucc.data.manifest import RECORDS_FILE, count_lines, read_info, read_records
from plucc.data.masks import decode_mask
from plucc.data.schema import Record
from plucc.data.splits import SPLITS_FILE, Origins, check_leaks, read_splits
from plucc.types import DataError, Progress, silent


@dataclass(frozen=True, slots=True)
class CheckReport:
    """How many records are sound, and what is wrong with the others.

    A picture that occurs again inside its own run of near-duplicates is counted as repeated; anywhere else it is a
    fault, because it could end up on both sides of a split.
    """

    sound: int
    repeated: int
    findings: tuple[Finding, ...]


@dataclass
class _Album:
    """The pictures seen so far, by their content."""

    root: Path
    first: dict[bytes, tuple[int, str | None]]  # line and run of each picture's first record
    repeated: int = 0

    def faults(self, record: Record, place: Place) -> Iterator[Finding]:
        try:
            content = read_picture(self.root / record.image)
            size = decode_size(content)
        except PictureError as error:
            yield Finding(replace(place, field="image"), f"{record.image}: {error}")
            return
        if size != record.size:
            message = f"{record.image} is {size.width}x{size.height} px, not {record.size.width}x{record.size.height}"
            yield Finding(replace(place, field="size"), message)
        key = blake2b(content, digest_size=16).digest()
        line, run = self.first.setdefault(key, (place.line or 0, record.run))
        if line == place.line:
            return
        if run is not None and run == record.run:
            self.repeated += 1
        else:
            message = f"{record.image} is the same picture as that of line {line}, but not of one run with it"
            yield Finding(replace(place, field="image"), message)


def check_dataset(root: Path, *, pictures: bool = True, progress: Progress = silent) -> CheckReport:
    """Check a dataset to its end and return all that is wrong; without `pictures` only the text is read."""
    info = read_info(root)
    findings = Findings(skip_bad=True)
    origins: Origins = Origins()
    album = _Album(root, {})
    sound = 0
    lines = read_records(root, info, findings)
    for number, record in progress(lines, total=count_lines(root), label="checking"):
        place = Place(root / RECORDS_FILE, number)
        origins[record.match, record.run] += 1
        faults = list(_mask_faults(record, place))
        if pictures:
            faults += album.faults(record, place)
        for fault in faults:
            findings.fault(fault.place, fault.message)
        sound += not faults
    if (root / SPLITS_FILE).is_file():
        try:
            check_leaks(origins, read_splits(root))
        except DataError as error:
            findings.fault(Place(root / SPLITS_FILE), str(error))
    return CheckReport(sound, album.repeated, tuple(findings))


def _mask_faults(record: Record, place: Place) -> Iterator[Finding]:
    for index, player in enumerate(record.players or ()):
        if player.mask is None:
            continue
        try:
            decode_mask(player.mask)
        except DataError as error:
            yield Finding(replace(place, field=f"players.{index}.mask"), str(error))
