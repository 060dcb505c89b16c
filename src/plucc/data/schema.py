"""The record: everything known about one frame. Validated when made, frozen after.

Pixels are continuous (the centre of pixel (0, 0) is (0.5, 0.5)) and belong to the picture as stored; metres and radians
are the rink's: origin at centre ice, angles from +x towards +y.
"""

from enum import StrEnum
from typing import Annotated, Self, TypeAlias, cast

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from plucc.data.masks import Rle
from plucc.rink.camera import Camera
from plucc.rink.homography import Homography
from plucc.types import Box, Category, PlayerRole, Point, Size

Name: TypeAlias = Annotated[str, Field(min_length=1)]
Vector3: TypeAlias = tuple[float, float, float]
Matrix3: TypeAlias = tuple[Vector3, Vector3, Vector3]

SINGULAR = 1e-15  # determinant over the cube of the largest entry; a broadcast homography stays far above


class FieldError(ValueError):
    """A value that contradicts another one; says at which field, because the check spans several."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Puck(_Part):
    """The puck in this frame, hidden or not; its position is the puck's centre."""

    box_px: Box | None = None
    point_px: Point | None = None
    position_m: Vector3 | None = None
    visible_fraction: Annotated[float, Field(ge=0, le=1)] | None = None
    airborne: bool | None = None

    @model_validator(mode="after")
    def _is_in_the_picture(self) -> Self:
        if self.box_px is None and self.point_px is None:
            raise ValueError("a puck needs box_px or point_px; a frame without one says no_puck: true")
        return self

    @property
    def centre_px(self) -> Point:
        """The labelled point, or else the centre of the box."""
        if self.point_px is not None:
            return self.point_px
        return cast(Box, self.box_px).centre


class Player(_Part):
    """A person on the ice. Gaze is where the head points, orientation where the body does."""

    box_px: Box
    mask: Rle | None = None
    role: PlayerRole | None = None
    team: Name | None = None
    gaze_rad: float | None = None
    orientation_rad: float | None = None


class CameraRecord(_Part):
    """The pan-tilt-zoom camera that took the frame; fields as in `plucc.rink.camera.Camera`."""

    position_m: Vector3
    pan_rad: float
    tilt_rad: float
    roll_rad: float = 0.0
    focal_px: Annotated[float, Field(gt=0)]
    principal_px: Point | None = None  # None: the picture's centre
    k1: float = 0.0
    k2: float = 0.0
    pixel_aspect: Annotated[float, Field(gt=0)] = 1.0

    @classmethod
    def of(cls, camera: Camera) -> "CameraRecord":
        return cls(**{name: getattr(camera, name) for name in cls.model_fields})

    def camera(self, size: Size) -> Camera:
        """Return the camera of a picture of this size."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        if self.principal_px is None:
            values["principal_px"] = Point(size.width / 2, size.height / 2)
        return Camera(size=size, **values)


class Record(_Part):
    """One labelled frame.

    `puck` and `no_puck` tell three cases apart: a labelled puck; a frame that was looked at and shows none; and, with
    neither, a frame whose puck nobody labelled. `run` is an identifier of near-duplicates, unique in the whole dataset.
    `homography` maps undistorted pixels to metres on the ice.
    """

    image: Name
    size: Size
    match: Name
    run: Name | None = None
    shot: Annotated[int, Field(ge=0)] | None = None
    frame_index: Annotated[int, Field(ge=0)] | None = None
    time_s: float | None = None
    puck: Puck | None = None
    no_puck: bool = False
    category: Category | None = None
    players: tuple[Player, ...] | None = None  # None: not labelled; (): nobody on the ice
    camera: CameraRecord | None = None
    homography: Matrix3 | None = None

    @field_validator("image")
    @classmethod
    def _is_relative(cls, image: str) -> str:
        if image.startswith(("/", "\\")) or image[1:2] == ":":
            raise ValueError("an absolute path: expected one relative to the dataset's folder")
        return image

    @field_validator("size")
    @classmethod
    def _is_a_picture(cls, size: Size) -> Size:
        if size.width < 1 or size.height < 1:
            raise ValueError("width and height must be at least 1 px")
        return size

    @field_validator("homography")
    @classmethod
    def _is_invertible(cls, matrix: Matrix3 | None) -> Matrix3 | None:
        if matrix is not None and _is_singular(matrix):
            raise ValueError("a singular matrix: expected one that can be inverted")
        return matrix

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.puck is not None and self.no_puck:
            raise FieldError("no_puck", "true, though the record has a puck: keep one of the two")
        if (self.category is Category.NO_PUCK) != self.no_puck and self.category is not None:
            raise FieldError("category", f"{self.category} with no_puck {self.no_puck}".lower() + ": they must agree")
        if self.puck is not None:
            _check_puck(self.puck, self.size)
        for index, player in enumerate(self.players or ()):
            _check_player(index, player, self.size)
        return self

    @property
    def is_puck_labelled(self) -> bool:
        """Whether someone looked: the frame has a puck, or is known to show none."""
        return self.puck is not None or self.no_puck

    @property
    def to_rink(self) -> Homography | None:
        """From undistorted pixels to metres on the ice: the labelled homography, else the camera's, else None."""
        if self.homography is not None:
            return Homography.from_matrix(np.asarray(self.homography, dtype=np.float64))
        return None if self.camera is None else self.camera.camera(self.size).homography()


class LabelClass(StrEnum):
    """What a dataset may label. `player` is a person whose role is not told."""

    PUCK = "puck"
    PLAYER = "player"
    SKATER = PlayerRole.SKATER.value
    GOALTENDER = PlayerRole.GOALTENDER.value
    REFEREE = PlayerRole.REFEREE.value

    @property
    def role(self) -> PlayerRole | None:
        """The role that people of this class have; None where the class tells none."""
        return None if self in (LabelClass.PUCK, LabelClass.PLAYER) else PlayerRole(self.value)

    @classmethod
    def of_role(cls, role: PlayerRole | None) -> "LabelClass":
        return cls.PLAYER if role is None else cls(role.value)


class DatasetInfo(_Part):
    """What `dataset.yaml` says: the dataset's name, what it labels, on what terms, and where it came from."""

    name: Name
    classes: tuple[LabelClass, ...]
    licence: Name
    source: Name


def _check_puck(puck: Puck, size: Size) -> None:
    if puck.box_px is not None:
        fault = _box_fault(puck.box_px, size)
        if fault:
            raise FieldError("puck.box_px", fault)
    point = puck.point_px
    if point is not None and not (0 <= point.x <= size.width and 0 <= point.y <= size.height):
        frame = f"the frame of {size.width}x{size.height} px"
        raise FieldError("puck.point_px", f"point {point.x:g}, {point.y:g} lies outside {frame}")


def _check_player(index: int, player: Player, size: Size) -> None:
    fault = _box_fault(player.box_px, size)
    if fault:
        raise FieldError(f"players.{index}.box_px", fault)
    if player.mask is not None and player.mask.size != (size.height, size.width):
        problem = f"{player.mask.size} is not the picture's height and width, {size.height} and {size.width}"
        raise FieldError(f"players.{index}.mask.size", problem)


def _box_fault(box: Box, size: Size) -> str:
    if box.left >= box.right or box.top >= box.bottom:
        return f"a box of {box.width:g} x {box.height:g} px: both sides must be above zero"
    if box.left < 0 or box.top < 0 or box.right > size.width or box.bottom > size.height:
        edges = f"{box.left:g}, {box.top:g}, {box.right:g}, {box.bottom:g}"
        return f"box {edges} lies outside the frame of {size.width}x{size.height} px: clamp it"
    return ""


def _is_singular(matrix: Matrix3) -> bool:
    # by hand: numpy's determinant costs more than the rest of a record's validation
    scale = max(abs(entry) for row in matrix for entry in row)
    if scale == 0:
        return True
    (a, b, c), (d, e, f), (g, h, i) = matrix
    determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    return abs(determinant) < SINGULAR * scale**3
