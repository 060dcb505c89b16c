"""The game's camera: what all its main-camera frames have in common, kept as a small JSON file beside the video."""

import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from plucc.files import whole_file
from plucc.rink.prior import CameraPrior
from plucc.rink.sheet import Sheet, sheet_by_name
from plucc.types import InputError

SUFFIX = ".camera.json"


@dataclass(frozen=True, slots=True)
class GameCamera:
    """A main camera found from a game's frames: the sheet it films, and where it stands, with how much that varies."""

    sheet: Sheet
    prior: CameraPrior
    frames: int  # how many frames it was found from


class _File(BaseModel):
    """What the file says; lengths in metres, angles in radians."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    rink: str
    width_m: float
    position_m: tuple[float, float, float]
    position_sigma_m: tuple[float, float, float]
    roll_rad: float
    roll_sigma_rad: float = Field(gt=0)
    k1: float
    k1_sigma: float = Field(gt=0)
    span_m: tuple[float, float]
    frames: int


def camera_file(video: Path) -> Path:
    """Return where a video's camera is kept: beside it."""
    return video.with_name(video.stem + SUFFIX)


def write_game_camera(path: Path, camera: GameCamera) -> None:
    """Write the file, whole or not at all."""
    prior = camera.prior
    content = _File(
        rink=camera.sheet.name,
        width_m=camera.sheet.width_m,
        frames=camera.frames,
        **{name: getattr(prior, name) for name in CameraPrior.__dataclass_fields__},
    )
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(content.model_dump(mode="json"), indent=2) + "\n", encoding="utf-8")


def read_game_camera(path: Path) -> GameCamera:
    """Read the file that `write_game_camera` wrote."""
    try:
        content = _File.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): make it with plucc calibrate") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{path} is not a game's camera ({place}: {first['msg']}): make it again") from error
    known = content.rink in ("iihf", "ncaa")
    sheet = sheet_by_name(content.rink, content.width_m if known else None)
    names = CameraPrior.__dataclass_fields__
    return GameCamera(sheet, CameraPrior(**{name: getattr(content, name) for name in names}), content.frames)
