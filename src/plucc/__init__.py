"""Finds the puck in ice-hockey broadcast video.

The names below are the public surface. Each is loaded when it is first used, so that importing plucc costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plucc.data.manifest import Dataset, read_dataset
    from plucc.data.rows import Row, read_rows, write_rows
    from plucc.data.schema import Record
    from plucc.locator import Settings, locate
    from plucc.puck_finder import Locator
    from plucc.rink.camera import Camera
    from plucc.rink.homography import Homography
    from plucc.rink.sheet import Sheet, sheet_by_name
    from plucc.sighting import Observation
    from plucc.types import Box, Category, PluccError, Point, Size, Source
    from plucc.video import Frame, Span, read_frames, read_image

__all__ = [
    "Box",
    "Camera",
    "Category",
    "Dataset",
    "Frame",
    "Homography",
    "Locator",
    "Observation",
    "PluccError",
    "Point",
    "Record",
    "Row",
    "Settings",
    "Sheet",
    "Size",
    "Source",
    "Span",
    "locate",
    "read_dataset",
    "read_frames",
    "read_image",
    "read_rows",
    "sheet_by_name",
    "write_rows",
]

_HOMES = {
    "plucc.data.manifest": ("Dataset", "read_dataset"),
    "plucc.data.rows": ("Row", "read_rows", "write_rows"),
    "plucc.data.schema": ("Record",),
    "plucc.locator": ("Settings", "locate"),
    "plucc.puck_finder": ("Locator",),
    "plucc.rink.camera": ("Camera",),
    "plucc.rink.homography": ("Homography",),
    "plucc.rink.sheet": ("Sheet", "sheet_by_name"),
    "plucc.sighting": ("Observation",),
    "plucc.types": ("Box", "Category", "PluccError", "Point", "Size", "Source"),
    "plucc.video": ("Frame", "Span", "read_frames", "read_image"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'plucc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
