"""Finds the pictures that labels speak of, and makes sure that they are the ones."""

from dataclasses import replace
from pathlib import Path

from plucc.data.findings import Fault, Place
from plucc.data.images import PictureError, read_size
from plucc.types import Size


def folders_around(labels: Path, told: Path | None) -> tuple[Path, ...]:
    """Return where the pictures of a label file may lie: where the user says, or else in the usual places around it."""
    if told is not None:
        return (told,)
    parent = labels.resolve().parent
    return (parent, parent / "images", parent / "frames", parent.parent / "images", parent.parent)


def find_picture(name: str, folders: tuple[Path, ...], place: Place) -> Path:
    """Return the picture of this name (maybe with folders in it) in the first of the folders that has it."""
    found = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if name and found is not None:
        return found
    looked = ", ".join(str(folder) for folder in folders)
    raise Fault(place, f"image {name!r} is missing: looked in {looked}; say where with --images")


def picture_size(image: Path, told: Size | None = None, place: Place | None = None) -> Size:
    """Return the size of a picture, which must be whole and, where the labels tell a size, of that size."""
    try:
        size = read_size(image)
    except PictureError as error:
        raise Fault(Place(image, field="image"), str(error)) from error
    if told is not None and size != told:
        message = f"{image.name} is {size.width}x{size.height} px, its labels are for {told.width}x{told.height}"
        where = place or Place(image)
        raise Fault(replace(where, field=f"{where.field}.width".lstrip(".")), message)
    return size
