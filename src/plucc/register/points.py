"""Registration by hand: four to eight points that a person clicked, each with the name of a landmark or its metres."""

import json
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from plucc.register.registration import How, Registration
from plucc.rink.homography import fit_homography
from plucc.rink.sheet import Sheet
from plucc.types import DataError, InputError

CLICK_SIGMA_PX = 2.0  # how well people hit a crossing of lines
AGREEMENT_PX = 12.0  # a click further off than this from where the others put it is a mistake


class Click(BaseModel):
    """One clicked point: `landmark` names a point of the sheet, or `rink_m` gives it."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    image_px: tuple[float, float]
    landmark: str | None = None
    rink_m: tuple[float, float] | None = None

    @model_validator(mode="after")
    def _names_one_place(self) -> "Click":
        if (self.landmark is None) == (self.rink_m is None):
            raise ValueError("a click needs either landmark or rink_m")
        return self


class ClickedFrame(BaseModel):
    """The clicks of one frame: `frame` is its index in a video, or `file` the name of a picture."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    frame: int | None = None
    file: str | None = None
    points: tuple[Click, ...] = Field(min_length=4)


def read_points(path: Path) -> list[ClickedFrame]:
    """Read a JSON file: a list of frames, or one frame alone."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        entries = content if isinstance(content, list) else [content]
        return [ClickedFrame.model_validate(entry) for entry in entries]
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check the path") from error
    except (ValidationError, json.JSONDecodeError, UnicodeDecodeError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise DataError(f"{path} is not a file of clicked points ({reason}): see docs/registration.md") from error


def register_points(clicked: ClickedFrame, sheet: Sheet) -> Registration:
    """Fit the ice to clicked points; wrong clicks among five or more are outvoted."""
    image_px = np.array([click.image_px for click in clicked.points])
    rink_m = np.array([_place(click, sheet) for click in clicked.points])
    fit = fit_homography(image_px, rink_m, threshold_px=AGREEMENT_PX, noise_px=CLICK_SIGMA_PX)
    return Registration(
        True, "", covariance=fit.covariance, score=float(fit.inliers.mean()), how=How.POINTS, plane=fit.homography
    )


def _place(click: Click, sheet: Sheet) -> tuple[float, float]:
    if click.rink_m is not None:
        return click.rink_m
    known = sheet.landmarks.get(click.landmark or "")
    if known is None:
        names = ", ".join(sorted(sheet.landmarks))
        raise InputError(f"the {sheet.name} sheet has no landmark {click.landmark!r}: choose one of {names}")
    return known.x, known.y
