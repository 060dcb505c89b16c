import numpy as np
import pytest

from plucc.data.findings import Action
from plucc.data.importers.cvat import read_cvat
from plucc.data.masks import decode_mask
from plucc.types import Box, Category, DataError, PlayerRole, Point

PUCK = '<box label="puck" xtl="76" ytl="43" xbr="84" ybr="47" occluded="0"/>'
COACH = '<box label="player" xtl="1" ytl="1" xbr="9" ybr="9"><attribute name="role">coach</attribute></box>'
META = "<meta><task><name>semi-final</name>{}</task></meta>"


@pytest.fixture
def images(tmp_path, draw_frame):
    """A task of images: give what is inside each <image>."""

    def make(*bodies):
        root = tmp_path / "source"
        lines = ['<?xml version="1.0" encoding="utf-8"?>', "<annotations>", META.format("")]
        for number, body in enumerate(bodies):
            draw_frame(root / "images" / f"{number}.png", number)
            lines.append(f'<image id="{number}" name="{number}.png" width="160" height="90">\n{body}\n</image>')
        (root / "annotations.xml").write_text("\n".join([*lines, "</annotations>"]))
        return root / "annotations.xml"

    return make


def untold(intake):
    intake.match = lambda _: None
    return intake


def test_boxes_become_records_and_the_task_is_the_match(images, make_intake):
    player = '<box label="Player" xtl="10" ytl="20" xbr="30" ybr="60" occluded="1"/>'
    (record,) = read_cvat(images(f"{PUCK}\n{player}"), untold(make_intake()))
    assert (record.image, record.match) == ("../source/images/0.png", "semi-final")
    assert record.puck.box_px == Box(76, 43, 84, 47)
    assert record.players[0].box_px == Box(10, 20, 30, 60)
    assert record.category is None  # an occluded player says nothing about the puck


def test_a_told_match_wins(images, make_intake):
    (record,) = read_cvat(images(PUCK), make_intake())
    assert record.match == "m0"


def test_attributes_and_occlusion_are_read(images, make_intake):
    puck = (
        '<points label="puck" points="79.5,44.25" occluded="1">'
        '<attribute name="airborne">true</attribute><attribute name="visible_fraction">0.25</attribute></points>'
    )
    player = (
        '<box label="player" xtl="1" ytl="2" xbr="3" ybr="4"><attribute name="role">Goaltender</attribute>'
        '<attribute name="team">away</attribute></box>'
    )
    (record,) = read_cvat(images(puck + player), make_intake())
    assert record.puck.point_px == Point(79.5, 44.25)
    assert (record.puck.airborne, record.puck.visible_fraction) == (True, 0.25)
    assert record.category is Category.OCCLUDED
    assert (record.players[0].role, record.players[0].team) == (PlayerRole.GOALTENDER, "away")


def test_a_tag_says_that_there_is_no_puck(images, make_intake):
    tagged, untagged = read_cvat(images('<tag label="no-puck"/>', ""), make_intake())
    assert tagged.no_puck
    assert not untagged.is_puck_labelled


@pytest.mark.parametrize(
    ("shape", "box"),
    [
        ('<ellipse label="puck" cx="80" cy="45" rx="4" ry="2"/>', Box(76, 43, 84, 47)),
        ('<ellipse label="puck" cx="80" cy="45" rx="4" ry="2" rotation="90"/>', Box(78, 41, 82, 49)),
        ('<box label="puck" xtl="76" ytl="43" xbr="84" ybr="47" rotation="90"/>', Box(78, 41, 82, 49)),
        ('<polygon label="puck" points="76,43;84,45;80,47"/>', Box(76, 43, 84, 47)),
    ],
)
def test_other_shapes_have_boxes_too(images, make_intake, shape, box):
    (record,) = read_cvat(images(shape), make_intake())
    found = record.puck.box_px
    assert (found.left, found.top, found.right, found.bottom) == pytest.approx(
        (box.left, box.top, box.right, box.bottom)
    )


@pytest.mark.parametrize(
    "shape",
    [
        '<polygon label="player" points="30,20;33,20;33,22;30,22"/>',
        '<mask label="player" rle="0, 6" left="30" top="20" width="3" height="2"/>',
        '<mask label="player" rle="1,3,2,3,1" left="29" top="20" width="5" height="2"/>',
    ],
)
def test_polygons_and_masks_are_read(images, make_intake, shape):
    (record,) = read_cvat(images(PUCK + shape), make_intake())
    expected = np.zeros((90, 160), dtype=bool)
    expected[20:22, 30:33] = True
    np.testing.assert_array_equal(decode_mask(record.players[0].mask), expected)


@pytest.mark.parametrize(
    ("shape", "field", "problem"),
    [
        ('<box label="puck" xtl="nan" ytl="43" xbr="84" ybr="47"/>', "box.xtl", "'nan' is not a finite number"),
        ('<box label="puck" ytl="43" xbr="84" ybr="47"/>', "box.xtl", "None is not"),
        ('<box label="puck" xtl="84" ytl="43" xbr="84" ybr="47"/>', "box", "above zero"),
        ('<box label="puck" xtl="200" ytl="43" xbr="208" ybr="47"/>', "box", "outside the frame"),
        ('<box xtl="76" ytl="43" xbr="84" ybr="47"/>', "box", "no name"),
        ('<points label="puck" points="1,2;3,4"/>', "points.points", "2 points"),
        ('<points label="puck" points="1;2"/>', "points.points", "x,y;x,y"),
        ('<mask label="player" rle="0,5" left="1" top="1" width="3" height="2"/>', "mask.rle", "do not fill"),
        ('<mask label="player" rle="0,6" left="159" top="1" width="3" height="2"/>', "mask.rle", "inside the frame"),
        (COACH, "box.role", "coach"),
    ],
)  # fmt: skip
def test_a_bad_label_is_named_with_its_line(images, make_intake, shape, field, problem):
    path = images(PUCK, shape, PUCK)
    with pytest.raises(DataError) as caught:
        list(read_cvat(path, make_intake()))
    message = str(caught.value)
    assert problem in message
    assert message.startswith(f"{path}, line ")
    assert f", {field}: " in message
    intake = make_intake(skip_bad=True)
    assert [record.image[-5:] for record in read_cvat(path, intake)] == ["0.png", "2.png"]
    assert len(intake.findings) == 1


def test_an_odd_label_of_a_class_that_nobody_asked_for_is_no_fault(images, make_intake):
    intake = make_intake()
    (record,) = read_cvat(images(PUCK + '<points label="blue line" points="1,2;3,4;5,6"/>'), intake)
    assert record.puck is not None
    assert {str(label) for label in intake.seen} == {"puck", "blue line"}


def test_the_line_is_that_of_the_label(images, make_intake):
    path = images(PUCK, '<points label="puck" points="?"/>')
    line = next(
        number for number, text in enumerate(path.read_text().splitlines(), 1) if "?" in text and "xml" not in text
    )
    with pytest.raises(DataError, match=rf"annotations\.xml, line {line}, points\.points: "):
        list(read_cvat(path, make_intake()))


def test_missing_pictures_and_other_sizes_are_named(images, make_intake):
    path = images(PUCK, PUCK)
    (path.parent / "images" / "1.png").unlink()
    with pytest.raises(DataError, match=r"image\.name: image '1\.png' is missing"):
        list(read_cvat(path, make_intake()))
    path.write_text(path.read_text().replace('width="160"', 'width="320"'))
    with pytest.raises(DataError, match=r"image\.width: 0\.png is 160x90 px, its labels are for 320x90"):
        list(read_cvat(path, make_intake()))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("<annotations><image></annotations>", "line 1: not valid XML"),
        ("<other/>", "expected CVAT's <annotations>"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><annotations/>', "declares XML entities"),
    ],
)
def test_files_that_are_not_cvat_are_refused(tmp_path, make_intake, content, problem):
    (tmp_path / "a.xml").write_text(content)
    with pytest.raises(DataError, match=problem):
        list(read_cvat(tmp_path / "a.xml", make_intake()))
    with pytest.raises(DataError, match="is missing"):
        list(read_cvat(tmp_path / "b.xml", make_intake()))


@pytest.fixture
def video(tmp_path, draw_frame):
    """A task of a video of ten frames: give its tracks, and the numbers of the pictures that exist."""

    def make(*tracks, numbers=range(10), meta="<start_frame>0</start_frame><stop_frame>9</stop_frame>"):
        root = tmp_path / "source"
        root.mkdir()
        for number in numbers:
            draw_frame(root / "images" / f"frame_{number:06d}.png", number)
        size = "<original_size><width>160</width><height>90</height></original_size>"
        content = f"<annotations>{META.format(meta + size)}\n{''.join(tracks)}</annotations>"
        (root / "annotations.xml").write_text(content)
        return root / "annotations.xml"

    return make


def key_box(frame, x, **more):
    attributes = {"outside": "0", "occluded": "0", "keyframe": "1"} | more
    rest = " ".join(f'{name}="{value}"' for name, value in attributes.items())
    return f'<box frame="{frame}" xtl="{x}" ytl="40" xbr="{x + 8}" ybr="44" {rest}/>'


def track(*shapes, label="puck"):
    return f'<track id="0" label="{label}">{"".join(shapes)}</track>'


def centres(records):
    return [None if record.puck is None else record.puck.centre_px.x for record in records]


def test_a_track_moves_straight_between_key_frames_and_stays_after_the_last(video, make_intake):
    records = list(read_cvat(video(track(key_box(2, 20), key_box(6, 60))), untold(make_intake())))
    assert centres(records) == [None, None, 24, 34, 44, 54, 64, 64, 64, 64]
    assert [record.frame_index for record in records] == list(range(10))
    assert {record.match for record in records} == {"semi-final"}


def test_outside_means_that_there_is_nothing(video, make_intake):
    shapes = (key_box(0, 20), key_box(3, 20, outside="1"), key_box(6, 60), key_box(8, 60, outside="1"))
    records = list(read_cvat(video(track(*shapes)), make_intake()))
    assert centres(records) == [24, 24, 24, None, None, None, 64, 64, None, None]


def test_occlusion_holds_from_its_key_frame_on(video, make_intake):
    shapes = (key_box(0, 20), key_box(4, 20, occluded="1"), key_box(7, 20))
    records = list(read_cvat(video(track(*shapes)), make_intake()))
    assert [record.category for record in records] == [None] * 4 + [Category.OCCLUDED] * 3 + [None] * 3


def test_points_are_interpolated_and_masks_are_not(video, make_intake):
    points = "".join(f'<points frame="{frame}" outside="0" points="{x},30"/>' for frame, x in ((0, 10), (2, 20)))
    outline = "".join(
        f'<polygon frame="{frame}" outside="0" points="{x},20;{x + 4},20;{x + 4},24;{x},24"/>'
        for frame, x in ((0, 30), (2, 40))
    )
    path = video(track(points), track(outline, label="player"))
    records = list(read_cvat(path, make_intake()))
    assert [record.puck.point_px.x for record in records[:4]] == [10, 15, 20, 20]
    assert [record.players[0].box_px.left for record in records[:4]] == [30, 35, 40, 40]
    assert [record.players[0].mask is not None for record in records[:4]] == [True, False, True, False]


def test_frames_without_a_picture_are_noted(video, make_intake):
    intake = make_intake()
    records = list(read_cvat(video(track(key_box(0, 20)), numbers=[0, 5]), intake))
    assert [record.frame_index for record in records] == [0, 5]
    (note,) = intake.findings
    assert (note.action, note.message) == (Action.LEFT_OUT, "8 of 10 frames have no picture")


def test_a_step_between_frames_is_kept(video, make_intake):
    meta = "<start_frame>0</start_frame><stop_frame>9</stop_frame><frame_filter>step=3</frame_filter>"
    records = list(read_cvat(video(track(key_box(0, 20), key_box(9, 110)), meta=meta), make_intake()))
    assert [record.frame_index for record in records] == [0, 3, 6, 9]
    assert centres(records) == [24, 54, 84, 114]


def test_pictures_counted_from_one_are_refused(video, make_intake):
    with pytest.raises(DataError, match="numbered one too high"):
        list(read_cvat(video(track(key_box(0, 20)), numbers=range(1, 11)), make_intake()))


def test_a_video_without_pictures_says_how_to_get_them(video, make_intake):
    with pytest.raises(DataError, match="ffmpeg"):
        list(read_cvat(video(track(key_box(0, 20)), numbers=[]), make_intake()))
