"""Homographies that people already have, as registrations: metres from centre ice, or the paper's template."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from plucc.register.registration import How, Registration
from plucc.rink.homography import Homography, from_paper_template
from plucc.types import DataError, FloatArray, InputError


def _rink_m(matrix: FloatArray) -> Homography:
    return Homography.from_matrix(matrix)


def _from_rink_m(matrix: FloatArray) -> Homography:
    return Homography.from_matrix(np.linalg.inv(matrix))


CONVENTIONS: dict[str, Callable[[FloatArray], Homography]] = {
    "metres": _rink_m,  # pixels -> metres from centre ice
    "to-pixels": _from_rink_m,  # metres from centre ice -> pixels
    "paper": from_paper_template,  # pixels -> the paper's 1280x720 template
}


def read_homographies(path: Path, convention: str = "metres") -> dict[str, Registration]:
    """Read homographies by frame index or file name.

    .json holds {name: 3x3}, .jsonl lines with "frame" or "file" and "homography", .npz an array for every name.
    """
    if convention not in CONVENTIONS:
        raise InputError(f"there is no convention {convention!r}: choose one of {', '.join(CONVENTIONS)}")
    read = _READERS.get(path.suffix)
    if read is None:
        raise InputError(f"{path} has no known format: homographies come as {', '.join(_READERS)}")
    try:
        matrices = read(path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path} does not hold 3x3 homographies by frame ({error}): see docs/registration.md"
        ) from error
    convert = CONVENTIONS[convention]
    return {
        name: Registration(True, "", score=1.0, how=How.IMPORTED, plane=convert(matrix))
        for name, matrix in matrices.items()
    }


def _matrix(entry: object) -> FloatArray:
    matrix = np.asarray(entry, dtype=np.float64)
    if matrix.size != 9:
        raise ValueError(f"an entry has {matrix.size} numbers, not 9")
    return matrix.reshape(3, 3)


def _json(path: Path) -> dict[str, FloatArray]:
    return {str(name): _matrix(entry) for name, entry in json.loads(path.read_text(encoding="utf-8")).items()}


def _json_lines(path: Path) -> dict[str, FloatArray]:
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return {
        str(entry["file"] if "file" in entry and "frame" not in entry else entry["frame"]): _matrix(entry["homography"])
        for entry in entries
        if entry.get("homography") is not None
    }


def _npz(path: Path) -> dict[str, FloatArray]:
    with np.load(path) as arrays:
        return {name: _matrix(arrays[name]) for name in arrays.files}


_READERS: dict[str, Callable[[Path], dict[str, FloatArray]]] = {".json": _json, ".jsonl": _json_lines, ".npz": _npz}
