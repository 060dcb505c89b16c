"""Registrations on disk: JSON lines, one frame a line, refused ones too."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from plucc.data.schema import CameraRecord, Matrix3
from plucc.files import whole_file
from plucc.register.registration import How, Registration
from plucc.rink.homography import Homography
from plucc.types import DataError, FloatArray, Size

SIGNIFICANT = 9  # digits of a covariance's entries


@dataclass(frozen=True, slots=True, eq=False)
class RegisteredFrame:
    """A frame's registration and where it is: file, index from the start, time, number of the camera shot."""

    file: str
    frame: int
    time_s: float
    shot: int
    size: Size
    registration: Registration


class RegistrationLine(BaseModel):
    """One line of the file.

    `homography` maps undistorted pixels to metres on the ice, row by row, its sign such that pixels on the ice have a
    positive third coordinate. `covariance` is over x, y, z, pan, tilt, roll, focal length, k1 and k2 of `camera`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    file: str
    frame: int
    time_s: float | None
    shot: int
    size: Size
    accepted: bool
    how: How
    reason: str
    score: float
    homography: Matrix3 | None = None
    camera: CameraRecord | None = None
    covariance: tuple[tuple[float, ...], ...] | None = None


def write_registrations(path: Path, frames: Iterable[RegisteredFrame]) -> dict[str, int]:
    """Write all lines, whole or not at all; return how many frames were accepted and refused, by how and why."""
    counts: dict[str, int] = {}
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for one in frames:
            given = one.registration
            key = given.how.value if given.accepted else given.reason
            counts[key] = counts.get(key, 0) + 1
            file.write(line_of(one).model_dump_json(exclude_none=True))
            file.write("\n")
    return counts


def line_of(one: RegisteredFrame) -> RegistrationLine:
    """Return what is written of a frame; a refused one keeps no camera, so that nobody uses it by mistake."""
    given, camera = one.registration, one.registration.camera if one.registration.accepted else None
    has_covariance = camera is not None and given.covariance is not None
    return RegistrationLine(
        file=one.file,
        frame=one.frame,
        time_s=one.time_s if np.isfinite(one.time_s) else None,
        shot=one.shot,
        size=one.size,
        accepted=given.accepted,
        how=given.how,
        reason=given.reason,
        score=round(given.score, 4),
        homography=None if given.homography is None else _rows(given.homography),
        camera=None if camera is None else CameraRecord.of(camera),
        covariance=_rounded(given.covariance) if has_covariance else None,
    )


def read_registrations(path: Path) -> Iterator[RegisteredFrame]:
    """Read the lines back, in order."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.isspace():
                continue
            try:
                entry = RegistrationLine.model_validate_json(line)
            except ValidationError as error:
                first = error.errors()[0]
                field = ".".join(str(part) for part in first["loc"])
                raise DataError(f"{path}, line {number}, {field}: {first['msg']}: mend or remove the line") from error
            yield _frame_of(entry)


def _frame_of(entry: RegistrationLine) -> RegisteredFrame:
    camera = None if entry.camera is None else entry.camera.camera(entry.size)
    covariance = None if entry.covariance is None else np.array(entry.covariance)
    plane = None if entry.homography is None else Homography(np.array(entry.homography))
    given = Registration(entry.accepted, entry.reason, camera, covariance, entry.score, entry.how, plane)
    time_s = float("nan") if entry.time_s is None else entry.time_s
    return RegisteredFrame(entry.file, entry.frame, time_s, entry.shot, entry.size, given)


def _rows(homography: Homography) -> Matrix3:
    first, second, third = ((float(a), float(b), float(c)) for a, b, c in homography.matrix)
    return first, second, third


def _rounded(covariance: FloatArray | None) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(f"{entry:.{SIGNIFICANT}g}") for entry in row) for row in np.asarray(covariance))
