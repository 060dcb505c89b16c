import csv
import json

import numpy as np
import pytest
import yaml
from pycocotools.coco import COCO

from plucc.data.exporters.coco import export_coco
from plucc.data.exporters.yolo import export_yolo
from plucc.data.findings import Action
from plucc.data.importers.coco import read_coco
from plucc.data.importers.origins import find_origins
from plucc.data.importers.yolo import read_yolo
from plucc.data.manifest import read_dataset
from plucc.data.masks import encode_mask
from plucc.data.schema import CameraRecord, Player, Puck
from plucc.data.splits import Splits
from plucc.types import Box, DataError, Point

SPLITS = Splits(train=("a", "c"), val=("b",))


def mask():
    pixels = np.zeros((90, 160), dtype=bool)
    pixels[10:40, 20:31] = True
    pixels[15:20, 22:25] = False
    return encode_mask(pixels)


@pytest.fixture
def dataset(make_dataset, make_record):
    """Records that use every field, and one whose puck nobody labelled."""
    camera = CameraRecord(position_m=(0.0, -40.0, 18.0), pan_rad=0.1, tilt_rad=-0.3, focal_px=2000.5, k1=0.02)
    people = (
        Player(box_px=Box(20, 10, 31, 40), role="goaltender", mask=mask(), team="home", gaze_rad=1.25),
        Player(box_px=Box(0.1, 0.2, 160, 90), role="skater", orientation_rad=-0.5),
    )
    rich = {"shot": 3, "frame_index": 77, "time_s": 2.56, "category": "blurry", "camera": camera, "players": people}
    puck = Puck(box_px=Box(70.3, 41.7, 81.9, 49.1), point_px=Point(75.55, 45.45), airborne=True, visible_fraction=0.4)
    return read_dataset(
        make_dataset(
            make_record(0, "a", "1", puck=puck, **rich),
            make_record(1, "a", "1", homography=((0.05, 0.001, -30), (0.002, -0.06, 20), (1e-5, 2e-4, 1))),
            make_record(2, "b", puck=None, no_puck=True, category="no-puck", players=()),
            make_record(3, "c", puck=Puck(point_px=Point(159.5, 0.25), position_m=(1, 2, 0.5), visible_fraction=0.0)),
            make_record(4, "c", players=None),
            make_record(5, "c", puck=None),
        )
    )


def in_order(records):
    return sorted(records, key=lambda record: record.image[-7:])


def without(record, *fields):
    return record.model_dump(exclude={"image", *fields})


@pytest.mark.parametrize("splits", [None, SPLITS])
def test_coco_gives_the_same_records_back(dataset, make_intake, tmp_path, splits):
    report = export_coco(dataset, tmp_path / "coco", splits)
    assert report.frames == 5
    intake = make_intake(match=lambda _: None)
    files = sorted((tmp_path / "coco").glob("annotations*.json"))
    assert len(files) == (1 if splits is None else 2)
    records = in_order(record for file in files for record in read_coco(file, intake))
    assert len(intake.findings) == 0
    for found, expected in zip(records, dataset.records[:5], strict=True):
        np.testing.assert_allclose(boxes(found), boxes(expected), atol=1e-9)
        assert without(found, "puck", "players") == without(expected, "puck", "players")
        assert beyond_boxes(found) == beyond_boxes(expected)


def boxes(record):
    found = [record.puck.box_px] if record.puck and record.puck.box_px else []
    found += [player.box_px for player in record.players or ()]
    return np.array([(box.left, box.top, box.right, box.bottom) for box in found]).reshape(-1, 4)


def beyond_boxes(record):
    puck = None if record.puck is None else record.puck.model_dump(exclude={"box_px"})
    people = None if record.players is None else [player.model_dump(exclude={"box_px"}) for player in record.players]
    return puck, people


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # pycocotools' own
def test_pycocotools_reads_what_we_write(dataset, tmp_path):
    export_coco(dataset, tmp_path / "coco")
    coco = COCO(tmp_path / "coco" / "annotations.json")
    assert [category["name"] for category in coco.loadCats(coco.getCatIds())] == ["puck", "skater", "goaltender"]
    (goaltender,) = coco.loadAnns(coco.getAnnIds(catIds=coco.getCatIds(["goaltender"])))
    assert coco.annToMask(goaltender).sum() == goaltender["area"] == 30 * 11 - 15
    (puck,) = coco.loadAnns(coco.getAnnIds(imgIds=[1], catIds=coco.getCatIds(["puck"])))
    assert puck["bbox"] == pytest.approx([70.3, 41.7, 11.6, 7.4])
    assert puck["keypoints"] == pytest.approx([75.05, 44.95, 2])
    assert coco.getAnnIds(imgIds=[3]) == []


@pytest.mark.parametrize("splits", [None, SPLITS])
def test_yolo_gives_boxes_match_and_run_back(dataset, make_intake, tmp_path, splits):
    root = tmp_path / "yolo"
    report = export_yolo(dataset, root, splits)
    match, run = find_origins(root, None, "index.csv:match", None)
    intake = make_intake(match=match, run=run, empty_means_no_puck=True)
    records = in_order(read_yolo(root, intake))
    assert report.frames == len(records) == 5
    for found, expected in zip(records, dataset.records[:5], strict=True):
        assert (found.match, found.run, found.no_puck, found.size) == (
            expected.match,
            expected.run,
            expected.no_puck,
            expected.size,
        )
        assert [player.role for player in found.players] == [player.role for player in expected.players or ()]
        if expected.puck is None or expected.puck.box_px is not None:
            np.testing.assert_allclose(boxes(found), boxes(expected), atol=1e-4)


def test_a_puck_labelled_as_a_point_gets_a_usual_box_inside_the_frame(dataset, make_intake, tmp_path):
    export_yolo(dataset, tmp_path / "yolo")
    record = in_order(read_yolo(tmp_path / "yolo", make_intake()))[3]
    box = record.puck.box_px
    assert (box.left, box.top, box.right, box.bottom) == pytest.approx((158.75, 0, 160, 1.0), abs=1e-4)


def test_the_yolo_layout_is_complete(dataset, tmp_path):
    export_yolo(dataset, tmp_path / "yolo", SPLITS)
    content = yaml.safe_load((tmp_path / "yolo" / "data.yaml").read_text())
    assert content["names"] == {0: "puck", 1: "skater", 2: "goaltender"}
    assert (content["train"], content["val"], "test" in content) == ("images/train", "images/val", False)
    with (tmp_path / "yolo" / "index.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert all((tmp_path / "yolo" / row["file"]).is_file() for row in rows)
    assert (tmp_path / "yolo" / "labels" / "val" / "002.txt").read_text() == ""


@pytest.mark.parametrize("export", [export_yolo, export_coco])
def test_frames_that_nobody_labelled_are_left_out_and_said(dataset, tmp_path, export):
    (finding,) = export(dataset, tmp_path / "new").findings
    assert finding.action is Action.LEFT_OUT
    assert "images/005.png: nobody labelled its puck" in finding.message


@pytest.mark.parametrize("export", [export_yolo, export_coco])
def test_pictures_are_copied_or_linked(dataset, tmp_path, export):
    export(dataset, tmp_path / "copied")
    export(dataset, tmp_path / "linked", link=True)
    copied, linked = (tmp_path / name / "images" / "000.png" for name in ("copied", "linked"))
    assert not copied.is_symlink()
    assert linked.is_symlink()
    assert copied.read_bytes() == linked.read_bytes() == (dataset.root / "images" / "000.png").read_bytes()


def test_pictures_of_one_name_are_told_apart(make_dataset, make_record, tmp_path):
    records = [make_record(image=image) for image in ("x/a.png", "y/a.png", "z/a.jpg")]
    export_yolo(read_dataset(make_dataset(*records)), tmp_path / "yolo")
    assert sorted(path.name for path in (tmp_path / "yolo/images").iterdir()) == ["a-2.png", "a-3.jpg", "a.png"]
    assert len(list((tmp_path / "yolo/labels").iterdir())) == 3


@pytest.mark.parametrize("export", [export_yolo, export_coco])
def test_a_missing_picture_stops_the_export_and_leaves_nothing(dataset, tmp_path, export):
    (dataset.root / "images" / "003.png").unlink()
    with pytest.raises(DataError, match=r"003\.png is missing"):
        export(dataset, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_match_in_no_split_stops_the_export(dataset, tmp_path):
    with pytest.raises(DataError, match="match b is in no split"):
        export_coco(dataset, tmp_path / "new", Splits(train=("a", "c")))


def test_the_json_is_plain(dataset, tmp_path):
    export_coco(dataset, tmp_path / "coco")
    content = json.loads((tmp_path / "coco" / "annotations.json").read_text(), parse_constant=pytest.fail)
    assert content["info"]["description"] == "drawn"
    assert content["licenses"][0]["name"] == "CC0"
