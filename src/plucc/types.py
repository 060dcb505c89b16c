"""Value objects that every room speaks, and the errors that users see.

Pixels are continuous: the centre of pixel (0, 0) is (0.5, 0.5). Rink coordinates are metres from centre ice.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from math import hypot
from types import ModuleType
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
FloatArray: TypeAlias = NDArray[np.floating[Any]]
ImageArray: TypeAlias = NDArray[np.uint8]
MaskArray: TypeAlias = NDArray[np.bool_]

PUCK_RADIUS_M = 0.0381
PUCK_THICKNESS_M = 0.0254
REFERENCE_HEIGHT_PX = 720  # thresholds and sigma are quoted at this frame height


class PluccError(Exception):
    """A fault the user can mend: one sentence that says what, what was expected, and what to do."""


class InputError(PluccError):
    """A file, option or argument that cannot be used as given."""


class DataError(InputError):
    """A dataset, label or record that is malformed; names file, line and field."""


class ConfigError(InputError):
    """A spec with an unknown key or an impossible value."""


class ShapeError(InputError):
    """An array of the wrong shape or size."""


class ModelError(InputError):
    """A weights file that is missing, foreign, or of another version."""


class MissingExtraError(PluccError):
    """An optional dependency that this call needs is not installed."""


@dataclass(frozen=True, slots=True)
class Point:
    """A point in the plane, in pixels or metres as the name of its variable says."""

    x: float
    y: float

    def __iter__(self) -> Iterator[float]:
        yield self.x
        yield self.y

    def distance(self, other: "Point") -> float:
        return hypot(self.x - other.x, self.y - other.y)


@dataclass(frozen=True, slots=True)
class Size:
    """Width and height of a picture in pixels."""

    width: int
    height: int

    @property
    def reference_scale(self) -> float:
        """Factor that brings lengths in this picture to the 720-line reference."""
        return REFERENCE_HEIGHT_PX / self.height


@dataclass(frozen=True, slots=True)
class Box:
    """An axis-aligned box in continuous pixels; right and bottom are exclusive edges."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def centre(self) -> Point:
        return Point((self.left + self.right) / 2, (self.top + self.bottom) / 2)


class Source(StrEnum):
    """How a row came by its position."""

    SEEN = "seen"
    INFERRED = "inferred"
    INTERPOLATED = "interpolated"
    ABSENT = "absent"


class Category(StrEnum):
    """What makes a frame hard, in the paper's terms; a frame without a puck is a category of its own."""

    STANDARD = "standard"
    BLURRY = "blurry"
    GOAL_LINE = "goal-line"
    YELLOW_LINE = "yellow-line"
    OCCLUDED = "occluded"
    ARTIFACT = "artifact"
    NO_PUCK = "no-puck"


class PlayerRole(StrEnum):
    """Who a person on the ice is."""

    SKATER = "skater"
    GOALTENDER = "goaltender"
    REFEREE = "referee"


class Progress(Protocol):
    """Passes items through and shows how far along they are; the command line hands in a bar, libraries get silence."""

    def __call__(self, items: Iterable[T], *, total: int | None = None, label: str = "") -> Iterable[T]: ...


def silent(items: Iterable[T], *, total: int | None = None, label: str = "") -> Iterable[T]:  # noqa: ARG001
    """Show nothing: the default progress of every function that takes one."""
    return items


def require(module: str, extra: str) -> ModuleType:
    """Import an optional module, or say which extra installs it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"{module} is missing: pip install 'plucc[{extra}]'") from error
