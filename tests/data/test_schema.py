import json
import math

import pytest
from pydantic import ValidationError

from plucc.data.masks import Rle
from plucc.data.schema import CameraRecord, DatasetInfo, FieldError, LabelClass, Player, Puck, Record
from plucc.rink.camera import Camera
from plucc.types import Box, Category, PlayerRole, Point, Size

FRAME = {"image": "a.jpg", "size": Size(1280, 720), "match": "g0"}


def faulty_field(**fields):
    with pytest.raises(ValidationError) as caught:
        Record(**FRAME | fields)
    details = caught.value.errors()[0]
    cause = details.get("ctx", {}).get("error")
    return cause.field if isinstance(cause, FieldError) else ".".join(map(str, details["loc"]))


def test_only_image_size_and_match_are_needed():
    record = Record(**FRAME)
    assert record.puck is None
    assert not record.no_puck
    assert not record.is_puck_labelled
    assert record.players is None
    assert record.to_rink is None


def test_no_puck_and_not_labelled_are_different():
    assert Record(**FRAME, no_puck=True).is_puck_labelled
    assert Record(**FRAME, no_puck=True) != Record(**FRAME)


def test_puck_and_no_puck_exclude_each_other():
    assert faulty_field(puck=Puck(point_px=Point(1, 1)), no_puck=True) == "no_puck"


@pytest.mark.parametrize(("category", "no_puck"), [("no-puck", False), ("blurry", True)])
def test_category_agrees_with_presence(category, no_puck):
    assert faulty_field(category=category, no_puck=no_puck) == "category"


def test_no_puck_category_is_accepted_with_no_puck():
    assert Record(**FRAME, category="no-puck", no_puck=True).category is Category.NO_PUCK


@pytest.mark.parametrize(
    ("point", "is_inside"),
    [((0, 0), True), ((1280, 720), True), ((1280.01, 5), False), ((5, -0.01), False), ((5, 720.5), False)],
)
def test_puck_point_must_be_in_the_frame(point, is_inside):
    if is_inside:
        Record(**FRAME, puck=Puck(point_px=Point(*point)))
    else:
        assert faulty_field(puck=Puck(point_px=Point(*point))) == "puck.point_px"


@pytest.mark.parametrize(
    "edges", [(-1, 5, 9, 9), (5, -1, 9, 9), (1270, 5, 1281, 9), (5, 700, 9, 721), (5, 5, 5, 9), (5, 9, 9, 5)]
)
def test_boxes_must_have_a_size_and_be_in_the_frame(edges):
    assert faulty_field(puck=Puck(box_px=Box(*edges))) == "puck.box_px"
    players = (Player(box_px=Box(1, 1, 2, 2)), Player(box_px=Box(*edges)))
    assert faulty_field(players=players) == "players.1.box_px"


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_must_be_finite(number):
    assert faulty_field(time_s=number) == "time_s"
    assert faulty_field(puck={"point_px": {"x": 5.0, "y": number}}) == "puck.point_px.y"
    assert faulty_field(homography=((1, 0, 0), (0, number, 0), (0, 0, 1))) == "homography.1.1"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"pucks": 1}, "pucks"),
        ({"size": {"width": 10, "height": 10, "depth": 3}}, "size.depth"),
        ({"puck": {"point_px": {"x": 1, "y": 1, "z": 1}}}, "puck.point_px.z"),
        ({"players": [{"box_px": {"left": 0, "top": 0, "right": 1, "bottom": 1}, "rôle": "skater"}]}, "players.0.rôle"),
    ],
)
def test_unknown_keys_are_refused_at_every_depth(fields, field):
    assert faulty_field(**fields) == field


@pytest.mark.parametrize("image", ["/data/a.jpg", "C:\\data\\a.jpg", "\\\\server\\a.jpg"])
def test_image_must_be_relative(image):
    assert faulty_field(image=image) == "image"


def test_size_must_be_positive():
    assert faulty_field(size=Size(0, 720)) == "size"


def test_mask_must_have_the_size_of_the_frame():
    player = Player(box_px=Box(0, 0, 9, 9), mask=Rle((1280, 720), "0"))
    assert faulty_field(players=(player,)) == "players.0.mask.size"


def test_a_puck_needs_a_place():
    with pytest.raises(ValidationError, match="box_px or point_px"):
        Puck(visible_fraction=0.5)


@pytest.mark.parametrize("fraction", [-0.1, 1.1])
def test_visible_fraction_is_a_share(fraction):
    with pytest.raises(ValidationError, match="visible_fraction"):
        Puck(point_px=Point(1, 1), visible_fraction=fraction)


def test_centre_is_the_point_or_else_the_middle_of_the_box():
    assert Puck(box_px=Box(2, 4, 6, 10)).centre_px == Point(4, 7)
    assert Puck(box_px=Box(2, 4, 6, 10), point_px=Point(3, 5)).centre_px == Point(3, 5)


@pytest.mark.parametrize("matrix", [((0, 0, 0),) * 3, ((1, 2, 3), (2, 4, 6), (0, 0, 1))])
def test_singular_homographies_are_refused(matrix):
    assert faulty_field(homography=matrix) == "homography"


def test_homography_of_a_broadcast_camera_is_accepted_and_maps_to_the_ice():
    camera = Camera.look_at((0.0, -40.0, 18.0), (10.0, 0.0, 0.0), 2500.0, FRAME["size"])
    matrix = camera.homography().matrix
    record = Record(**FRAME, homography=matrix.tolist())
    on_ice = record.to_rink.to_rink(camera.project([[12.0, 3.0, 0.0]]))
    assert on_ice[0].tolist() == pytest.approx([12.0, 3.0], abs=1e-6)


def test_camera_round_trips_and_gives_the_homography():
    camera = Camera((1.0, -40.0, 18.0), 0.2, -0.4, 0.01, 2500.0, FRAME["size"], Point(650.0, 350.0), 0.05, -0.01, 1.02)
    record = Record(**FRAME, camera=CameraRecord.of(camera))
    assert Record.model_validate_json(record.model_dump_json(), strict=True).camera.camera(record.size) == camera
    assert record.to_rink.matrix.tolist() == camera.homography().matrix.tolist()


def test_principal_point_defaults_to_the_middle():
    record = CameraRecord(position_m=(0, -40, 18), pan_rad=0.0, tilt_rad=-0.4, focal_px=2000.0)
    assert record.camera(Size(1280, 720)).principal_px == Point(640, 360)


def test_records_are_frozen():
    with pytest.raises(ValidationError, match="frozen"):
        Record(**FRAME).match = "g1"


def test_json_leaves_out_what_is_not_known_and_comes_back_equal():
    record = Record(**FRAME, puck=Puck(box_px=Box(1.5, 2.5, 3.5, 4.5), airborne=False), players=())
    text = record.model_dump_json(exclude_defaults=True)
    assert set(json.loads(text)) == {"image", "size", "match", "puck", "players"}
    assert Record.model_validate_json(text, strict=True) == record


def test_every_role_has_a_class_and_back():
    for role in (None, *PlayerRole):
        assert LabelClass.of_role(role).role is role


def test_dataset_classes_are_known_ones():
    with pytest.raises(ValidationError, match=r"classes\.0"):
        DatasetInfo(name="x", classes=("stick",), licence="MIT", source="here")
