"""`plucc data`: import, check, split, describe and export datasets."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from plucc.cli import data_import
from plucc.cli.console import bar, err, out
from plucc.types import DataError, InputError

if TYPE_CHECKING:
    from plucc.data.exporters.layout import ExportReport
    from plucc.data.findings import Finding
    from plucc.data.manifest import Dataset
    from plucc.data.splits import Origins, Splits

app = typer.Typer(help="Import, check, split, describe and export datasets.", no_args_is_help=True)
export_app = typer.Typer(help="Write a dataset as YOLO or COCO.", no_args_is_help=True)
app.add_typer(data_import.app, name="import")
app.add_typer(export_app, name="export")

Folder: TypeAlias = Annotated[Path, typer.Argument(help="Folder of the dataset.")]
SkipBad: TypeAlias = Annotated[bool, typer.Option("--skip-bad", help="Go on past bad records and list them.")]
Out: TypeAlias = Annotated[Path, typer.Option("--out", help="The new folder.")]
Link: TypeAlias = Annotated[bool, typer.Option("--link", help="Link to the pictures instead of copying them.")]
NoSplits: TypeAlias = Annotated[bool, typer.Option("--no-splits", help="Ignore splits.yaml; put all frames together.")]

MAP_FILE = "puck_positions.png"


@app.command()
def check(
    folder: Folder,
    no_images: Annotated[bool, typer.Option("--no-images", help="Read the text only, not the pictures.")] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="End without an error if any sound record is left.")
    ] = False,
) -> None:
    """Read every record and decode every picture; list all that is wrong, with file, line and field."""
    from plucc.data.check import check_dataset

    report = check_dataset(folder, pictures=not no_images, progress=bar)
    for finding in report.findings:
        out.print(str(finding), markup=False)
    if report.repeated:
        out.print(f"{report.repeated} pictures occur again inside their own run", markup=False)
    summary = f"{folder}: sound records: {report.sound}, faults: {len(report.findings)}"
    if report.findings and not (skip_bad and report.sound):
        raise DataError(f"{summary}; mend what is listed above, or go on without it: --skip-bad")
    out.print(summary, markup=False)


@app.command()
def split(
    folder: Folder,
    val: Annotated[str, typer.Option("--val", help="Matches for validation (g6,g7), or their share (0.15).")] = "",
    test: Annotated[str, typer.Option("--test", help="Matches for testing, or their share of the frames.")] = "",
    seed: Annotated[int, typer.Option("--seed", help="Seed of the draw, where shares are given.")] = 0,
    skip_bad: SkipBad = False,
) -> None:
    """Split by match into train, val and test, refuse leaks, and write splits.yaml into the dataset."""
    from plucc.data.findings import Findings
    from plucc.data.manifest import count_lines, read_info, read_records
    from plucc.data.splits import SPLITS_FILE, Split, count_origins, write_splits

    findings = Findings(skip_bad)
    lines = bar(read_records(folder, read_info(folder), findings), total=count_lines(folder), label="reading")
    origins = count_origins(record for _, record in lines)
    splits = _make_splits(origins, val, test, seed)
    write_splits(folder, splits)
    _say_left_out(findings)
    for part in Split:
        matches = splits.matches(part)
        frames = sum(count for (match, _), count in origins.items() if match in matches)
        share = frames / max(origins.total(), 1)
        out.print(f"{part}: {frames} frames ({share:.1%}) of {', '.join(matches) or 'no match'}", markup=False)
    out.print(f"written to {folder / SPLITS_FILE}", markup=False)


@app.command()
def stats(
    folder: Folder,
    picture: Annotated[
        Path | None, typer.Option("--map", help=f"Where to write the puck-position map. Default: {MAP_FILE} in it.")
    ] = None,
    skip_bad: SkipBad = False,
) -> None:
    """Count frames, sizes and labels, and draw a map of where the puck was."""
    from plucc.cli.data_report import stats_tables
    from plucc.data.findings import Findings
    from plucc.data.manifest import count_lines, read_info, read_records
    from plucc.data.splits import SPLITS_FILE, read_splits
    from plucc.data.stats import describe
    from plucc.draw import position_map, write_picture

    info, findings = read_info(folder), Findings(skip_bad)
    splits = read_splits(folder) if (folder / SPLITS_FILE).is_file() else None
    lines = bar(read_records(folder, info, findings), total=count_lines(folder), label="counting")
    found = describe((record for _, record in lines), splits)
    if found.total.frames == 0:
        raise DataError(f"{folder} has no records: import some first")
    out.print(f"{info.name}: {', '.join(info.classes)}; licence {info.licence}; from {info.source}", markup=False)
    for table in stats_tables(found, has_splits=splits is not None):
        out.print(table)
    _say_left_out(findings)
    if len(found.puck_places):
        target = picture or folder / MAP_FILE
        size = found.sizes.most_common(1)[0][0]
        write_picture(position_map(found.puck_places, size, f"{info.name}: {len(found.puck_places)} pucks"), target)
        out.print(f"puck positions: {target}", markup=False)


@export_app.command()
def yolo(
    folder: Folder, out_folder: Out, link: Link = False, no_splits: NoSplits = False, skip_bad: SkipBad = False
) -> None:
    """Write YOLO text: boxes only, one label file a picture, data.yaml and index.csv."""
    from plucc.data.exporters.yolo import export_yolo

    dataset, splits = _read(folder, no_splits, skip_bad)
    _say_exported(out_folder, export_yolo(dataset, out_folder, splits, link=link, progress=bar))


@export_app.command()
def coco(
    folder: Folder, out_folder: Out, link: Link = False, no_splits: NoSplits = False, skip_bad: SkipBad = False
) -> None:
    """Write COCO JSON: boxes, masks, the puck as a keypoint; one file a split."""
    from plucc.data.exporters.coco import export_coco

    dataset, splits = _read(folder, no_splits, skip_bad)
    _say_exported(out_folder, export_coco(dataset, out_folder, splits, link=link, progress=bar))


def _make_splits(origins: "Origins", val: str, test: str, seed: int) -> "Splits":
    import numpy as np

    from plucc.data.splits import split_by_fraction, split_by_name

    if not val and not test:
        raise InputError("nothing to split off: give --val or --test, as matches (g6,g7) or as a share (0.15)")
    shares = [_share(text) for text in (val, test)]
    if all(share is not None for share in shares):
        return split_by_fraction(origins, shares[0] or 0.0, shares[1] or 0.0, np.random.default_rng(seed))
    if any(share for share in shares):
        raise InputError(f"--val {val} and --test {test} mix matches and shares: give both in the same way")
    return split_by_name(origins, _names(val), _names(test))


def _share(text: str) -> float | None:
    """Return a share of the frames; None for the names of matches."""
    try:
        share = float(text or "0")
    except ValueError:
        return None
    return share if 0 <= share < 1 else None


def _names(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _read(folder: Path, no_splits: bool, skip_bad: bool) -> "tuple[Dataset, Splits | None]":
    from plucc.data.manifest import read_dataset
    from plucc.data.splits import SPLITS_FILE, check_leaks, count_origins, read_splits

    dataset = read_dataset(folder, skip_bad=skip_bad, progress=bar)
    _say_left_out(dataset.left_out)
    if no_splits or not (folder / SPLITS_FILE).is_file():
        return dataset, None
    splits = read_splits(folder)
    check_leaks(count_origins(dataset.records), splits)
    return dataset, splits


def _say_exported(folder: Path, report: "ExportReport") -> None:
    from plucc.cli.data_report import print_findings

    print_findings(out, report.findings)
    out.print(f"{folder}: {report.frames} frames", markup=False)


def _say_left_out(findings: "Iterable[Finding]") -> None:
    from plucc.cli.data_report import print_findings

    print_findings(err, findings, shown=1000)
