from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from plucc.context.judge import judge
from plucc.context.shipped import PlayerFacts, ShippedFinder, pixel_steps, shrunk, spread, without_specks
from plucc.data.manifest import read_dataset, write_manifest
from plucc.data.masks import encode_mask
from plucc.data.schema import DatasetInfo, LabelClass, Player, Puck, Record
from plucc.types import Box, ImageArray, ModelError, Size

FACTS = PlayerFacts(Size(64, 36), "t")


def write_red_network(path: Path, metadata: dict[str, str]) -> Path:
    """A network of one step: the logit is how much more red than green a pixel is, less 60."""
    weights = np.array([1.0, -1.0, 0.0], np.float32).reshape(3, 1)
    nodes = [
        helper.make_node("Cast", ["frames"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["floats", "weights"], ["difference"]),
        helper.make_node("Transpose", ["difference"], ["plane"], perm=[0, 3, 1, 2]),
        helper.make_node("Sub", ["plane", "level"], ["pixels"]),
        helper.make_node("SpaceToDepth", ["pixels"], ["logits"], blocksize=2),
    ]
    constants = {"weights": weights, "level": np.array(60, np.float32)}
    graph = helper.make_graph(
        nodes,
        "red",
        [helper.make_tensor_value_info("frames", TensorProto.UINT8, [1, 36, 64, 3])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 4, 18, 32])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    helper.set_model_props(model, metadata)
    onnx.save(model, path)
    return path


def red_block(size: Size, box: Box) -> ImageArray:
    frame = np.full((size.height, size.width, 3), 200, np.uint8)
    frame[int(box.top) : int(box.bottom), int(box.left) : int(box.right)] = (220, 20, 20)
    return frame


@pytest.mark.parametrize("size", [Size(1280, 720), Size(640, 360), Size(500, 500), Size(48, 27)])
def test_a_block_comes_out_where_it_is(tmp_path: Path, size: Size) -> None:
    finder = ShippedFinder(write_red_network(tmp_path / "red.onnx", FACTS.to_metadata()), threads=1)
    box = Box(size.width // 4, size.height // 4, size.width // 2, size.height // 2)
    mask = finder(red_block(size, box))
    rows, columns = np.nonzero(mask)
    step_x, step_y = max(1, size.width / 64), max(1, size.height / 36)
    assert abs(columns.min() - box.left) <= step_x
    assert abs(columns.max() + 1 - box.right) <= step_x
    assert abs(rows.min() - box.top) <= step_y
    assert abs(rows.max() + 1 - box.bottom) <= step_y
    assert mask.sum() == pytest.approx(box.width * box.height, rel=0.2)


def test_the_margin_grows_with_the_frame_and_bodies_have_none(tmp_path: Path) -> None:
    finder = ShippedFinder(
        write_red_network(tmp_path / "red.onnx", replace(FACTS, margin_px=2).to_metadata()), threads=1
    )
    for height in (720, 1440, 360):
        size = Size(height * 16 // 9, height)
        margin = 2 * height / FACTS.size.height
        frame = red_block(size, Box(size.width // 4, height // 4, size.width // 2, height // 2))
        columns = np.nonzero(finder(frame).any(axis=0))[0]
        own_columns = np.nonzero(finder.bodies(frame).any(axis=0))[0]
        assert own_columns.min() - columns.min() == columns.max() - own_columns.max() == margin


def test_the_margin_is_a_disc() -> None:
    steps = np.full((21, 31), 50, np.uint8)
    steps[10, 15] = 200
    rows, columns = np.nonzero(spread(steps, 4) == 200)
    distances = np.hypot(rows - 10, columns - 15)
    assert distances.max() == 4
    assert len(distances) == 49  # points of the lattice within 4
    np.testing.assert_array_equal(spread(steps, 0), steps)


def test_cells_are_put_in_their_places_and_steps_count_from_the_cut() -> None:
    logits = np.arange(4 * 6, dtype=np.float32).reshape(4, 6) / 4
    cells = np.stack([logits[row::2, column::2] for row in (0, 1) for column in (0, 1)])
    np.testing.assert_array_equal(pixel_steps(cells, 2.0), 128 + 16 * (logits - 2.0))
    assert pixel_steps(np.full((4, 1, 1), 99.0, np.float32), 0.0).min() == 255
    assert pixel_steps(np.full((4, 1, 1), -99.0, np.float32), 0.0).max() == 0


def test_specks_are_dropped_and_players_stay() -> None:
    steps = np.full((36, 64), 40, np.uint8)
    steps[4:20, 10:16] = 190
    steps[30:32, 40:43] = 255
    cleaned = without_specks(steps.copy(), 20)
    assert (cleaned[4:20, 10:16] == 190).all()
    assert (cleaned[28:34, 38:46] < 128).all()
    np.testing.assert_array_equal(without_specks(steps.copy(), 6), steps)
    nobody = np.full((36, 64), 40, np.uint8)
    np.testing.assert_array_equal(without_specks(nobody.copy(), 20), nobody)


def test_what_touches_a_player_at_a_corner_only_is_a_part_of_its_own() -> None:
    steps = np.full((36, 64), 40, np.uint8)
    steps[4:20, 10:16] = 190
    steps[20:23, 16:19] = 190
    cleaned = without_specks(steps, 20)
    assert (cleaned[4:20, 10:16] == 190).all()
    assert (cleaned[20:23, 16:19] < 128).all()


def test_a_close_up_drops_larger_specks() -> None:
    steps = np.full((288, 512), 40, np.uint8)
    steps[20:280, 100:200] = 190  # 26,000 pixels
    steps[100:115, 400:420] = 190  # 300
    steps[200:230, 300:330] = 190  # 900
    cleaned = without_specks(steps, 60)
    assert (cleaned[100:115, 400:420] < 128).all()
    assert (cleaned[200:230, 300:330] == 190).all()


def test_shrinking_averages_and_keeps_places() -> None:
    frame = np.random.default_rng(0).integers(0, 256, (720, 1280, 3), np.uint8)
    small = shrunk(frame, Size(512, 288))
    assert small.shape == (288, 512, 3)
    reference = cv2.resize(frame, (512, 288), interpolation=cv2.INTER_AREA).astype(float)
    assert np.corrcoef(small.ravel(), reference.ravel())[0, 1] > 0.8
    assert shrunk(small, Size(512, 288)) is small
    assert shrunk(frame[:37, :53], Size(512, 288)).shape == (288, 512, 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"plucc.kind": "puck"}, "not a player network"),
        ({"plucc.format": "9"}, "format 9"),
        ({"plucc.mask": "{}}"}, "damaged metadata"),
        ({"plucc.sizes": '{"height": 3}'}, "damaged metadata"),
    ],
)
def test_files_that_do_not_say_what_they_are_are_refused(tmp_path: Path, change: dict[str, str], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        ShippedFinder(write_red_network(tmp_path / "red.onnx", FACTS.to_metadata() | change))
    with pytest.raises(ModelError, match="not a player network"):
        ShippedFinder(write_red_network(tmp_path / "red.onnx", {}))


def test_facts_survive_the_file() -> None:
    facts = PlayerFacts(Size(512, 288), "7", -1.0, 4, 60, "{}", "frames of ice")
    assert PlayerFacts.from_metadata(facts.to_metadata(), Path("x")) == facts


def test_no_model_at_all_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.onnx").write_bytes(b"nothing")
    with pytest.raises(ModelError, match="cannot be opened"):
        ShippedFinder(tmp_path / "bad.onnx")


def test_judging_compares_boxes_with_the_margin_and_masks_without(tmp_path: Path) -> None:
    box = Box(400, 200, 600, 500)
    truth = np.zeros((720, 1280), bool)
    truth[200:500, 400:600] = True
    cv2.imwrite(str(tmp_path / "a.png"), red_block(Size(1280, 720), box)[:, :, ::-1])
    record = Record(
        image="a.png",
        size=Size(1280, 720),
        match="m",
        players=(Player(box_px=box, mask=encode_mask(truth)),),
        puck=Puck(box_px=Box(602, 300, 612, 308)),
    )
    info = DatasetInfo(name="t", classes=(LabelClass.PLAYER, LabelClass.PUCK), licence="MIT", source="test")
    write_manifest(tmp_path, info, [record])
    dataset = read_dataset(tmp_path)
    finder = ShippedFinder(
        write_red_network(tmp_path / "red.onnx", replace(FACTS, margin_px=1).to_metadata()), threads=1
    )
    quality = judge(dataset, dataset.records, finder)
    assert quality.found == 1.0
    assert quality.iou > 0.9
    assert quality.puck_share > 0.5
