from pathlib import Path

import numpy as np
import pytest

from plucc.data.findings import Action
from plucc.data.importers.intake import ClassMap
from plucc.data.importers.yolo import read_yolo
from plucc.data.masks import decode_mask
from plucc.types import Box, DataError, PlayerRole

PUCK = "5 0.5 0.5 0.05 0.04"  # 8 x 3.6 px around (80, 45)
PLAYER = "4 0.25 0.5 0.1 0.4"


@pytest.fixture
def source(tmp_path, draw_frame):
    """A folder as label tools write it; give the text of each picture's label file."""

    def make(*labels, pictures="frames", suffix=".jpg"):
        root = tmp_path / "source"
        for number, text in enumerate(labels):
            draw_frame(root / pictures / f"{number}{suffix}", number)
            if text is not None:
                (root / "labels").mkdir(parents=True, exist_ok=True)
                (root / "labels" / f"{number}.txt").write_text(text)
        return root

    return make


def test_boxes_become_records(source, make_intake):
    intake = make_intake("5", "3,4")
    (record,) = read_yolo(source(f"{PUCK}\n\n{PLAYER}\n0 0.5 0.5 1 1\n"), intake)
    assert record.image == "../source/frames/0.jpg"
    assert (record.size.width, record.size.height, record.match) == (160, 90, "m0")
    edges = record.puck.box_px
    assert (edges.left, edges.top, edges.right, edges.bottom) == pytest.approx((76, 43.2, 84, 46.8))
    (player,) = record.players
    assert (player.box_px.left, player.box_px.bottom) == pytest.approx((32, 63))
    assert player.role is None
    assert {str(label): count for label, count in intake.seen.items()} == {"5": 1, "4": 1, "0": 1}
    assert len(intake.findings) == 0


@pytest.mark.parametrize("pictures", ["frames", "images", "JPEGImages", "."])
def test_pictures_are_found_in_the_usual_folders(source, make_intake, pictures):
    root = source(PUCK, PUCK, pictures=pictures)
    assert [record.puck is not None for record in read_yolo(root, make_intake("5"))] == [True, True]


def test_labels_are_found_in_split_folders_and_beside_the_pictures(tmp_path, draw_frame, make_intake):
    root = tmp_path / "source"
    for picture, label in (
        ("images/train/a.png", "labels/train/a.txt"),
        ("images/b.png", "images/b.txt"),
    ):
        draw_frame(root / picture)
        (root / label).parent.mkdir(parents=True, exist_ok=True)
        (root / label).write_text(PUCK)
    draw_frame(tmp_path / "other" / "valid" / "images" / "c.png")
    (tmp_path / "other/valid/labels").mkdir()
    (tmp_path / "other/valid/labels/c.txt").write_text(PUCK)
    assert [record.puck is not None for record in read_yolo(root, make_intake("5"))] == [True, True]
    assert [record.puck is not None for record in read_yolo(tmp_path / "other", make_intake("5"))] == [True]


def test_roles_come_from_the_map_or_from_the_classes_names(source, make_intake):
    root = source(f"{PUCK}\n3 0.2 0.5 0.1 0.4\n4 0.4 0.5 0.1 0.4\n6 0.6 0.5 0.1 0.4\n")
    (root / "data.yaml").write_text("names: [a, b, c, goaltender, player, puck, Referee]\n")
    intake = make_intake()
    intake.classes = ClassMap(frozenset({"puck"}), frozenset({"3", "player", "referee"}), {"4": PlayerRole.SKATER})
    (record,) = read_yolo(root, intake)
    assert [player.role for player in record.players] == ["goaltender", "skater", "referee"]


@pytest.mark.parametrize("name", ["classes.txt", "labels/classes.txt", "obj.names"])
def test_names_are_read_from_a_list(source, make_intake, name):
    root = source("1 0.5 0.5 0.1 0.1")
    (root / name).write_text("player\npuck\n")
    (record,) = read_yolo(root, make_intake("puck"))
    assert record.puck is not None


def test_a_label_across_the_edge_is_clamped_and_noted(source, make_intake):
    intake = make_intake("5", "4")
    (record,) = read_yolo(source(f"{PUCK}\n4 0.98 0.5 0.1 0.4\n"), intake)
    assert record.players[0].box_px.right == 160
    (note,) = intake.findings
    assert (note.action, note.place.line) == (Action.CLAMPED, 2)
    assert "crossed the frame's edge by 4.8 px" in note.message


def test_floating_point_noise_at_the_edge_is_clamped_and_only_counted(source, make_intake):
    intake = make_intake("5", "4")
    (record,) = read_yolo(source(f"{PUCK}\n4 0.95 0.5 {0.1 + 1e-12} 0.4\n"), intake)
    assert record.players[0].box_px.right == 160
    assert (intake.rounded, len(intake.findings)) == (1, 0)


def test_a_player_outside_is_left_out_and_noted(source, make_intake):
    intake = make_intake("5", "4")
    (record,) = read_yolo(source(f"{PUCK}\n4 1.1 0.5 0.1 0.4\n"), intake)
    assert record.players == ()
    assert [note.action for note in intake.findings] == [Action.LEFT_OUT]


@pytest.mark.parametrize("second", ["5 0.3 0.3 0.4 0.4", "5 1.2 0.5 0.01 0.01"])
@pytest.mark.parametrize("order", [1, -1])
def test_of_two_pucks_the_smallest_inside_is_kept_and_noted(source, make_intake, second, order):
    intake = make_intake("5")
    (record,) = read_yolo(source("\n".join([PUCK, second][::order])), intake)
    assert record.puck.centre_px.x == pytest.approx(80)
    (note,) = intake.findings
    assert note.action is Action.CHOSEN
    assert note.place.line == (1 if order == 1 else 2)
    assert "one of 2 pucks" in note.message


@pytest.mark.parametrize(
    ("line", "field", "problem"),
    [
        ("5 nan 0.5 0.1 0.1", "", "not finite"),
        ("5 inf 0.5 0.1 0.1", "", "not finite"),
        ("5 0.5 0.5 0.1", "", "3 numbers after the class"),
        ("5 0.5 0.5 0.1 0.1 0.9", "", "5 numbers after the class"),
        ("5 0.5 x 0.1 0.1", "", "numbers"),
        ("puck 0.5 0.5 0.1 0.1", "class", "'puck' is not a whole number"),
        ("-1 0.5 0.5 0.1 0.1", "class", "'-1' is not a whole number"),
        ("9 0.5 0.5 0.1 0.1", "class", "class 9 is unknown"),
        ("5 0.5 0.5 0 0.1", "box", "above zero"),
        ("5 0.5 0.5 0.1 -0.1", "box", "above zero"),
        ("5 1.5 0.5 0.1 0.1", "box", "outside the frame of 160x90"),
    ],
)
def test_a_bad_label_is_named_and_its_frame_left_out(source, make_intake, line, field, problem):
    root = source(PUCK, f"{PLAYER}\n{line}\n", PUCK)
    (root / "classes.txt").write_text("a\nb\nc\nd\nplayer\npuck\n")
    with pytest.raises(DataError) as caught:
        list(read_yolo(root, make_intake("5", "4")))
    place = ", ".join(filter(None, (str(root / "labels" / "1.txt"), "line 2", field)))
    assert str(caught.value).startswith(f"{place}: ")
    assert problem in str(caught.value)
    intake = make_intake("5", "4", skip_bad=True)
    assert [Path(record.image).name for record in read_yolo(root, intake)] == ["0.jpg", "2.jpg"]
    assert [finding.action for finding in intake.findings] == [Action.LEFT_OUT]


def test_an_odd_label_of_a_class_that_nobody_asked_for_is_no_fault(source, make_intake):
    (record,) = read_yolo(source(f"{PUCK}\n0 0.5 0.5 0 0\n0 2.5 0.5 0.1 0.1"), make_intake("5"))
    assert record.puck is not None


def test_a_truncated_picture_is_named(source, make_intake):
    root = source(PUCK, PUCK)
    path = root / "frames" / "1.jpg"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match=r"1\.jpg, image: image is truncated"):
        list(read_yolo(root, make_intake("5")))
    assert len(list(read_yolo(root, make_intake("5", skip_bad=True)))) == 1


def test_labels_without_a_picture_are_named(source, make_intake):
    root = source(PUCK)
    (root / "labels" / "lost.txt").write_text(PUCK)
    with pytest.raises(DataError, match=r"lost\.txt: there is no image"):
        list(read_yolo(root, make_intake("5")))
    intake = make_intake("5", skip_bad=True)
    assert len(list(read_yolo(root, intake))) == 1
    assert len(intake.findings) == 1


@pytest.mark.parametrize("means_none", [False, True])
def test_a_frame_without_a_puck_label_says_what_that_means(source, make_intake, means_none):
    intake = make_intake("5", "4", empty_means_no_puck=means_none)
    records = list(read_yolo(source(PLAYER, "", None), intake))
    assert [record.no_puck for record in records] == [means_none] * 3
    assert [record.puck for record in records] == [None] * 3
    assert [note.action for note in intake.findings] == [Action.ASSUMED]  # the picture without a label file


def test_polygons_become_masks(source, make_intake):
    polygon = "4 0.25 0.2 0.5 0.2 0.5 0.6 0.25 0.6"
    (record,) = read_yolo(source(f"{PUCK}\n{polygon}"), make_intake("5", "4"))
    (player,) = record.players
    assert player.box_px == Box(40, 18, 80, 54)
    expected = np.zeros((90, 160), dtype=bool)
    expected[18:54, 40:80] = True
    np.testing.assert_array_equal(decode_mask(player.mask), expected)


def test_players_that_were_not_asked_for_are_not_labelled(source, make_intake):
    (record,) = read_yolo(source(f"{PUCK}\n{PLAYER}"), make_intake("5", ""))
    assert record.players is None


def test_folders_without_pictures_are_refused(tmp_path, make_intake):
    with pytest.raises(DataError, match="is no folder"):
        list(read_yolo(tmp_path / "none", make_intake("5")))
    with pytest.raises(DataError, match="holds no pictures"):
        list(read_yolo(tmp_path, make_intake("5")))
