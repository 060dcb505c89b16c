"""`plucc data import`: other people's labels in, a dataset out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from plucc.cli.console import bar, out
from plucc.types import InputError, PlayerRole

if TYPE_CHECKING:
    from plucc.data.importers.intake import ClassMap, Intake
    from plucc.data.schema import Record

app = typer.Typer(help="Make a dataset of YOLO, COCO or CVAT labels.", no_args_is_help=True)

NAMED_PUCK = "puck"
NAMED_PLAYERS = "player,skater,goaltender,referee"

Out: TypeAlias = Annotated[Path, typer.Option("--out", help="The folder of the new dataset.")]
Images: TypeAlias = Annotated[
    Path | None, typer.Option("--images", help="Where the pictures are. Default: around the label file.")
]
PuckClasses: TypeAlias = Annotated[str, typer.Option("--puck", help="Class of the puck: number or name.")]
PlayerClasses: TypeAlias = Annotated[str, typer.Option("--players", help="Classes of people, with commas between.")]
Roles: TypeAlias = Annotated[
    str, typer.Option("--roles", help="What people are: 3=goaltender,4=skater,6=referee. A class named so needs none.")
]
Match: TypeAlias = Annotated[str | None, typer.Option("--match", help="All frames are from this one match.")]
MatchFrom: TypeAlias = Annotated[
    str | None,
    typer.Option("--match-from", help="Where each frame's match is told: FILE.csv:COLUMN, folder, or name:REGEX."),
]
RunFrom: TypeAlias = Annotated[
    str | None,
    typer.Option("--run-from", help="Where runs of near-duplicates are told. Default: column run of the same table."),
]
EmptyMeansNoPuck: TypeAlias = Annotated[
    bool,
    typer.Option("--empty-means-no-puck", help="A frame without a puck label shows none; else nobody labelled it."),
]
Copy: TypeAlias = Annotated[
    bool, typer.Option("--copy", help="Copy the pictures into the dataset. Default: point to them, by relative path.")
]
SkipBad: TypeAlias = Annotated[bool, typer.Option("--skip-bad", help="Go on past bad frames and list them.")]
DatasetName: TypeAlias = Annotated[
    str | None, typer.Option("--name", help="The dataset's name. Default: its folder's.")
]
Licence: TypeAlias = Annotated[str, typer.Option("--licence", help="The terms of the data.")]
Origin: TypeAlias = Annotated[str | None, typer.Option("--source", help="Where the data is from. Default: its path.")]


@dataclass(frozen=True, slots=True)
class _Request:
    """What the user asked for, whatever the format."""

    source: Path
    out: Path
    classes: "ClassMap"
    origins: tuple[str | None, str | None, str | None]  # match, match from, run from
    empty_means_no_puck: bool
    copy: bool
    skip_bad: bool
    about: tuple[str | None, str, str | None]  # name, licence, source

    @property
    def root(self) -> Path:
        return self.source if self.source.is_dir() else self.source.parent


@app.command()
def yolo(
    source: Annotated[Path, typer.Argument(help="Folder with frames/ or images/ and labels/.")],
    out_folder: Out,
    puck: PuckClasses,
    players: PlayerClasses = "",
    roles: Roles = "",
    match: Match = None,
    match_from: MatchFrom = None,
    run_from: RunFrom = None,
    empty_means_no_puck: EmptyMeansNoPuck = False,
    copy: Copy = False,
    skip_bad: SkipBad = False,
    name: DatasetName = None,
    licence: Licence = "unknown",
    origin: Origin = None,
) -> None:
    """Import YOLO text: a label file a picture, `class cx cy w h` a line."""
    from plucc.data.importers.yolo import read_yolo

    if match is None and match_from is None:
        raise InputError("every frame needs its match: give --match-from FILE.csv:COLUMN (or folder), or --match NAME")
    classes, origins, about = _classes(puck, players, roles), (match, match_from, run_from), (name, licence, origin)
    request = _Request(source, out_folder, classes, origins, empty_means_no_puck, copy, skip_bad, about)
    _import(request, lambda intake: read_yolo(source, intake))


@app.command()
def coco(
    source: Annotated[Path, typer.Argument(help="COCO JSON file.")],
    out_folder: Out,
    images: Images = None,
    puck: PuckClasses = NAMED_PUCK,
    players: PlayerClasses = NAMED_PLAYERS,
    roles: Roles = "",
    match: Match = None,
    match_from: MatchFrom = None,
    run_from: RunFrom = None,
    empty_means_no_puck: EmptyMeansNoPuck = False,
    copy: Copy = False,
    skip_bad: SkipBad = False,
    name: DatasetName = None,
    licence: Licence = "unknown",
    origin: Origin = None,
) -> None:
    """Import COCO JSON: boxes, keypoints, masks as polygons or run lengths."""
    from plucc.data.importers.coco import read_coco

    classes, origins, about = _classes(puck, players, roles), (match, match_from, run_from), (name, licence, origin)
    request = _Request(source, out_folder, classes, origins, empty_means_no_puck, copy, skip_bad, about)
    _import(request, lambda intake: read_coco(source, intake, images))


@app.command()
def cvat(
    source: Annotated[Path, typer.Argument(help="CVAT XML file, for images or for video, version 1.1.")],
    out_folder: Out,
    images: Images = None,
    puck: PuckClasses = NAMED_PUCK,
    players: PlayerClasses = NAMED_PLAYERS,
    roles: Roles = "",
    match: Match = None,
    match_from: MatchFrom = None,
    run_from: RunFrom = None,
    empty_means_no_puck: EmptyMeansNoPuck = False,
    copy: Copy = False,
    skip_bad: SkipBad = False,
    name: DatasetName = None,
    licence: Licence = "unknown",
    origin: Origin = None,
) -> None:
    """Import CVAT XML: labelled images, or tracks through the frames of a video."""
    from plucc.data.importers.cvat import read_cvat

    classes, origins, about = _classes(puck, players, roles), (match, match_from, run_from), (name, licence, origin)
    request = _Request(source, out_folder, classes, origins, empty_means_no_puck, copy, skip_bad, about)
    _import(request, lambda intake: read_cvat(source, intake, images))


def _import(request: _Request, read: Callable[["Intake"], Iterator["Record"]]) -> None:
    from plucc.cli.data_report import print_import
    from plucc.data.findings import Findings
    from plucc.data.importers.intake import Intake
    from plucc.data.importers.origins import find_origins
    from plucc.data.importers.store import About, store

    match, run = find_origins(request.root, *request.origins)
    intake = Intake(
        request.out,
        request.classes,
        match,
        run,
        request.empty_means_no_puck,
        Findings(request.skip_bad),
        bar,
    )
    name, licence, origin = request.about
    about = About(name or request.out.resolve().name, licence, origin or str(request.source))
    tally = store(read(intake), intake, about, copy_below=request.root if request.copy else None)
    print_import(out, request.out, tally, intake, copied=request.copy)


def _classes(puck: str, players: str, roles: str) -> "ClassMap":
    from plucc.data.importers.intake import ClassMap

    chosen = {}
    for pair in _words(roles):
        key, _, role = pair.partition("=")
        if role not in list(PlayerRole):
            raise InputError(f"--roles {pair!r} is not CLASS=ROLE with a role of {', '.join(PlayerRole)}")
        chosen[key.strip()] = PlayerRole(role)
    return ClassMap(frozenset(_words(puck)), frozenset(_words(players)), chosen)


def _words(text: str) -> list[str]:
    return [word.strip().lower() for word in text.split(",") if word.strip()]
