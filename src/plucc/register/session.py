"""What the commands do: choose the sheet and the camera, register a source, write and draw it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from plucc.context.shipped import ShippedFinder
from plucc.register.calibrate import FRAMES, calibrate, spread_frames
from plucc.register.game import GameCamera, camera_file, read_game_camera
from plucc.register.imports import read_homographies
from plucc.register.points import read_points, register_points
from plucc.register.registrar import Registrar
from plucc.register.registration import How
from plucc.register.run import NOTHING_GIVEN, Given, is_pictures, pictures_of, register, write_overlay
from plucc.register.standard import find_sheet
from plucc.register.table import RegisteredFrame
from plucc.rink.evidence import read_evidence
from plucc.rink.sheet import Sheet, sheet_by_name
from plucc.types import InputError, Progress, silent
from plucc.video import probe

FRAMES_FOR_SHEET = 8


@dataclass(frozen=True, slots=True)
class Session:
    """One source, with everything that it takes to register it."""

    source: Path
    registrar: Registrar
    finder: ShippedFinder
    given: Given = NOTHING_GIVEN

    accepted_hows = frozenset(how.value for how in How if how is not How.REFUSED)

    @property
    def sheet_name(self) -> str:
        sheet = self.registrar.sheet
        return f"{sheet.name} ({sheet.width_m:g} m)" if sheet.name == "iihf" else sheet.name

    @property
    def count(self) -> int | None:
        return len(pictures_of(self.source)) if is_pictures(self.source) else probe(self.source).frame_count

    def with_given(self, points: Path | None, homographies: Path | None, convention: str) -> "Session":
        """Return the session with what people know already: clicked points go before imported homographies."""
        known = {} if homographies is None else read_homographies(homographies, convention)
        for clicked in [] if points is None else read_points(points):
            name = clicked.file if clicked.frame is None else str(clicked.frame)
            known[name or "0"] = register_points(clicked, self.registrar.sheet)
        return replace(self, given=Given(known))

    def frames(self) -> Iterator[RegisteredFrame]:
        return register(self.source, self.registrar, self.finder, self.given)

    def draw(self, table: Path, overlay: Path) -> None:
        write_overlay(self.source, table, self.registrar.sheet, overlay)


def open_session(
    source: Path,
    *,
    rink: str | None = None,
    width_m: float | None = None,
    camera: Path | None = None,
    threads: int | None = None,
) -> Session:
    """Open a source; the camera file beside it is used unless another sheet is asked for."""
    _check(source)
    finder = ShippedFinder(threads=threads)
    game = _game_camera(source, camera)
    if game is not None and (rink is None or sheet_by_name(rink, width_m) == game.sheet):
        return Session(source, Registrar(game.sheet, game), finder)
    if camera is not None and game is not None:
        raise InputError(
            f"{camera} is for the {game.sheet.name} sheet, and {rink} was asked for: leave one of them out"
        )
    return Session(source, Registrar(_sheet(source, rink, width_m, finder)), finder)


def calibrate_source(
    source: Path,
    *,
    rink: str | None = None,
    width_m: float | None = None,
    frames: int = FRAMES,
    threads: int | None = None,
    progress: Progress = silent,
) -> GameCamera:
    """Find a source's camera."""
    _check(source)
    finder = ShippedFinder(threads=threads)
    return calibrate(spread_frames(source, frames), _sheet(source, rink, width_m, finder), finder, progress)


def _check(source: Path) -> None:
    if not source.exists():
        raise InputError(f"{source} does not exist: give a video, a picture, or a folder of pictures")


def _game_camera(source: Path, camera: Path | None) -> GameCamera | None:
    beside = camera_file(source)
    if camera is not None:
        return read_game_camera(camera)
    return read_game_camera(beside) if beside.is_file() else None


def _sheet(source: Path, rink: str | None, width_m: float | None, finder: ShippedFinder) -> Sheet:
    """Return the sheet that was named, or find it; a width alone is one of an IIHF rink."""
    if rink is not None or width_m is not None:
        return sheet_by_name(rink or "iihf", width_m)
    pictures = islice(spread_frames(source, FRAMES_FOR_SHEET), FRAMES_FOR_SHEET)
    evidence = (read_evidence(image, finder(image)) for image in pictures)
    return find_sheet(one for one in evidence if one is not None)
