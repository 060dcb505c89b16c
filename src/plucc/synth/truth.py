"""A rendered frame's truth as a record of the dataset."""

from math import pi

from plucc.data.masks import encode_mask
from plucc.data.schema import CameraRecord, DatasetInfo, LabelClass, Player, Puck, Record
from plucc.rink.camera import Camera
from plucc.synth.match import Match
from plucc.synth.render import PlayerTruth, PuckTruth, Rendered
from plucc.types import Category


def dataset_info(name: str) -> DatasetInfo:
    """Return what a rendered dataset says of itself."""
    classes = (LabelClass.PUCK, LabelClass.SKATER, LabelClass.GOALTENDER, LabelClass.REFEREE)
    return DatasetInfo(name=name, classes=classes, licence="CC0-1.0", source="rendered by plucc synth")


def record_of(rendered: Rendered, match: Match, image: str, run: str, category: Category) -> Record:
    """Return the record of a frame; clips add shot, index and time with `model_copy`."""
    return Record(
        image=image,
        size=rendered.camera.size,
        match=match.name,
        run=run,
        puck=None if rendered.puck is None else _puck(rendered.puck),
        no_puck=rendered.puck is None,
        category=category,
        players=tuple(_player(player) for player in rendered.players),
        camera=_camera(rendered.camera),
        homography=_homography(rendered.camera),
    )


def _puck(truth: PuckTruth) -> Puck:
    return Puck(
        box_px=truth.box_px,
        point_px=truth.point_px,
        position_m=truth.position_m,
        visible_fraction=round(truth.visible_fraction, 4),
        airborne=truth.airborne,
    )


def _player(truth: PlayerTruth) -> Player:
    return Player(
        box_px=truth.box_px,
        mask=encode_mask(truth.mask),
        role=truth.role,
        team=truth.team,
        gaze_rad=_wrapped(truth.gaze_rad),
        orientation_rad=_wrapped(truth.orientation_rad),
    )


def _camera(camera: Camera) -> CameraRecord:
    return CameraRecord(
        position_m=camera.position_m,
        pan_rad=camera.pan_rad,
        tilt_rad=camera.tilt_rad,
        roll_rad=camera.roll_rad,
        focal_px=camera.focal_px,
        principal_px=camera.principal_px,
        k1=camera.k1,
        k2=camera.k2,
    )


def _homography(camera: Camera) -> tuple[tuple[float, float, float], ...]:
    matrix = camera.homography().matrix
    return tuple((float(row[0]), float(row[1]), float(row[2])) for row in matrix)


def _wrapped(angle_rad: float) -> float:
    """Return the same direction between -pi and pi."""
    return (angle_rad + pi) % (2 * pi) - pi
