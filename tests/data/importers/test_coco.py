import json

import numpy as np
import pytest
from pycocotools import mask as reference

from plucc.data.findings import Action
from plucc.data.importers.coco import read_coco
from plucc.data.masks import decode_mask
from plucc.types import Box, Category, DataError, PlayerRole, Point

CATEGORIES = [{"id": 1, "name": "Puck"}, {"id": 2, "name": "goaltender"}, {"id": 7, "name": "stick"}]


@pytest.fixture
def source(tmp_path, draw_frame):
    """A COCO file with a picture for every list of labels."""

    def make(*labels, folder="images", **changes):
        root = tmp_path / "source"
        images, annotations = [], []
        for number, entries in enumerate(labels):
            draw_frame(root / folder / f"{number}.png", number)
            images.append({"id": number, "file_name": f"{number}.png", "width": 160, "height": 90})
            annotations += [{"id": len(annotations), "image_id": number, "category_id": 1} | entry for entry in entries]
        content = {"images": images, "annotations": annotations, "categories": CATEGORIES} | changes
        (root / "labels.json").write_text(json.dumps(content))
        return root / "labels.json"

    return make


PUCK = {"bbox": [76, 43, 8, 4]}


def only(records):
    (record,) = records
    return record


def test_boxes_become_records(source, make_intake):
    person = {"category_id": 2, "bbox": [10.5, 20, 30, 40]}
    record = only(read_coco(source([PUCK, person, {"category_id": 7, "bbox": [0, 0, 5, 5]}]), make_intake()))
    assert record.image == "../source/images/0.png"
    assert record.puck.box_px == Box(76, 43, 84, 47)
    assert record.puck.point_px is None
    assert [(player.box_px, player.role) for player in record.players] == [
        (Box(10.5, 20, 40.5, 60), PlayerRole.GOALTENDER)
    ]


def test_classes_may_be_given_by_number(source, make_intake):
    record = only(read_coco(source([PUCK, {"category_id": 7, "bbox": [0, 0, 5, 5]}]), make_intake("1", "7")))
    assert record.puck is not None
    assert len(record.players) == 1


def test_a_keypoint_is_a_pixel_whose_centre_is_half_a_pixel_on(source, make_intake):
    record = only(read_coco(source([{"keypoints": [0, 0, 0, 79, 44, 2]}]), make_intake()))
    assert record.puck.point_px == Point(79.5, 44.5)
    assert record.puck.box_px is None
    assert record.category is None


def test_a_hidden_keypoint_makes_the_frame_occluded(source, make_intake):
    record = only(read_coco(source([{"keypoints": [79, 44, 1], "bbox": [79, 44, 0, 0]}]), make_intake()))
    assert record.category is Category.OCCLUDED
    assert record.puck.box_px is None


def test_attributes_are_taken_where_their_names_are_known(source, make_intake):
    puck = PUCK | {"attributes": {"Category": "Goal Line", "airborne": "true", "occluded": True, "colour": "black"}}
    person = {"category_id": 2, "bbox": [1, 1, 5, 5], "attributes": {"team": "home", "role": "Referee"}}
    record = only(read_coco(source([puck, person]), make_intake()))
    assert record.category is Category.GOAL_LINE
    assert record.puck.airborne is True
    assert (record.players[0].team, record.players[0].role) == ("home", PlayerRole.REFEREE)


def player_mask():
    mask = np.zeros((90, 160), dtype=bool)
    mask[20:60, 30:50] = True
    mask[40:45, 50:58] = True
    return mask


def compressed(mask):
    packed = reference.encode(np.asfortranarray(mask.astype(np.uint8)))
    return {"size": packed["size"], "counts": packed["counts"].decode()}


def uncompressed(mask):
    flat = mask.ravel(order="F").astype(int)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flat, [1 - flat[-1]]))))
    return {"size": list(mask.shape), "counts": np.diff(np.concatenate(([0], edges))).tolist()}


def polygons(mask):
    return [[30, 20, 50, 20, 50, 60, 30, 60], [50, 40, 58, 40, 58, 45, 50, 45]]


@pytest.mark.parametrize("form", [compressed, uncompressed, polygons])
@pytest.mark.parametrize("has_box", [True, False])
def test_masks_are_read_in_every_form(source, make_intake, form, has_box):
    person = {"category_id": 2, "segmentation": form(player_mask())}
    if has_box:
        person["bbox"] = [30, 20, 28, 40]
    (player,) = only(read_coco(source([PUCK, person]), make_intake())).players
    np.testing.assert_array_equal(decode_mask(player.mask), player_mask())
    assert player.box_px == Box(30, 20, 58, 60)


def test_a_crowd_is_left_out_and_noted(source, make_intake):
    intake = make_intake()
    crowd = {"category_id": 2, "iscrowd": 1, "segmentation": uncompressed(player_mask()), "bbox": [1, 1, 9, 9]}
    assert only(read_coco(source([PUCK, crowd]), intake)).players == ()
    assert [(note.action, note.place.field) for note in intake.findings] == [(Action.LEFT_OUT, "annotations.1")]


def masked(segmentation):
    return {"category_id": 2, "bbox": [1, 1, 5, 5], "segmentation": segmentation}


@pytest.mark.parametrize(
    ("label", "field", "problem"),
    [
        ({"bbox": [1, 2, 3]}, "annotations.1.bbox.3", "required"),
        ({"bbox": [1, 2, float("nan"), 3]}, "annotations.1.bbox.2", "finite"),
        ({"bbox": [10, 10, 0, 5]}, "annotations.1", "above zero"),
        ({"bbox": [500, 10, 5, 5]}, "annotations.1", "outside the frame"),
        ({"keypoints": [500, 10, 2]}, "annotations.1", "outside the frame"),
        ({"bbox": [1, 1, 5, 5], "category_id": 99}, "annotations.1.category_id", "no category has the id 99"),
        ({"bbox": [1, 1, 5, 5], "image_id": 99}, "annotations.1.image_id", "no image has the id 99"),
        (masked([[1, 2, 3, 4]]), "annotations.1.segmentation", "three points"),
        (masked({"size": [90, 160], "counts": [5, 5]}), "annotations.1.segmentation", "cover 10 pixels"),
        (masked({"size": [160, 90], "counts": "0"}), "annotations.1.segmentation", "height and width"),
        ({"category_id": 2}, "annotations.1", "without a box or a mask"),
        ({"bbox": [1, 1, 5, 5], "attributes": {"category": "foggy"}}, "images.1.category", "foggy"),
    ],
)  # fmt: skip
def test_a_bad_label_is_named_and_left_out(source, make_intake, label, field, problem):
    path = source([PUCK], [label], [PUCK])
    with pytest.raises(DataError) as caught:
        list(read_coco(path, make_intake()))
    assert str(caught.value).startswith(f"{path}, {field}: ")
    assert problem in str(caught.value)
    intake = make_intake(skip_bad=True)
    records = list(read_coco(path, intake))
    assert len(intake.findings) == 1
    assert {record.image[-5:] for record in records if record.puck} == {"0.png", "2.png"}


def test_our_own_key_cannot_replace_what_coco_tells(source, make_intake):
    own = {"image": "elsewhere.png", "puck": None, "match": "told", "shot": 2}
    image = {"id": 0, "file_name": "0.png", "width": 160, "height": 90, "plucc": own}
    record = only(read_coco(source([PUCK], images=[image]), make_intake(match=lambda _: None)))
    assert (record.image, record.match, record.shot) == ("../source/images/0.png", "told", 2)
    assert record.puck is not None


def test_a_missing_picture_is_named(source, make_intake):
    path = source([PUCK], [PUCK])
    (path.parent / "images" / "1.png").unlink()
    with pytest.raises(DataError, match=r"images\.1\.file_name: image '1\.png' is missing"):
        list(read_coco(path, make_intake()))
    assert len(list(read_coco(path, make_intake(skip_bad=True)))) == 1


def test_labels_for_another_size_are_refused(source, make_intake):
    image = {"id": 0, "file_name": "0.png", "width": 1920, "height": 1080}
    with pytest.raises(DataError, match=r"images\.0\.width: 0\.png is 160x90 px, its labels are for 1920x1080"):
        list(read_coco(source([PUCK], images=[image]), make_intake()))


def test_a_picture_listed_twice_is_refused(source, make_intake):
    image = {"id": 0, "file_name": "0.png", "width": 160, "height": 90}
    path = source([PUCK], images=[image, image | {"id": 1}])
    with pytest.raises(DataError, match=r"images\.1: \.\./source/images/0\.png was labelled already in .*images\.0"):
        list(read_coco(path, make_intake()))


def test_pictures_are_sought_where_the_user_says(source, make_intake, tmp_path):
    path = source([PUCK], folder="elsewhere/deep")
    assert len(list(read_coco(path, make_intake(), tmp_path / "source" / "elsewhere" / "deep"))) == 1


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"{", "line 1: not valid JSON"), (b"[]", "no list of images"), (b"\xff\xfe", "not a text file|not valid JSON")],
)
def test_files_that_are_not_coco_are_refused(tmp_path, make_intake, content, problem):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(DataError, match=problem):
        list(read_coco(tmp_path / "a.json", make_intake()))
    with pytest.raises(DataError, match="is missing"):
        list(read_coco(tmp_path / "b.json", make_intake()))
