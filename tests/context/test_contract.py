"""What every way to find players must keep to."""

import logging
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from plucc.context.backends import WAYS, FinderChoice, Way, open_finder
from plucc.context.cache import MaskCache
from plucc.context.finder import BoxedFinder, PlayerFinder
from plucc.context.image import ContextMaker
from plucc.context.labels import LabelFinder
from plucc.data.masks import encode_mask
from plucc.data.schema import Player
from plucc.types import Box, ImageArray, InputError, MaskArray, MissingExtraError, ModelError, ShapeError

FRAME = np.random.default_rng(1).integers(0, 256, (90, 160, 3), np.uint8)
PLAYERS = (Player(box_px=Box(20, 10, 60, 80)), Player(box_px=Box(100.5, 30, 130, 90)))


@pytest.fixture(params=WAYS)
def finder(request: pytest.FixtureRequest) -> PlayerFinder:
    way: Way = request.param
    weights = {"sam2": "sam2_folder", "sam2-onnx": "sam2_onnx_folder", "instances": "instances_folder"}
    folder = str(request.getfixturevalue(weights[way])) if way in weights else None
    return open_finder(FinderChoice(way, folder, detector="labels", device="cpu", threads=1))


def test_a_mask_of_the_frame_comes_out(finder: PlayerFinder) -> None:
    before = FRAME.copy()
    mask = finder(FRAME, PLAYERS)
    assert mask.shape == (90, 160)
    assert mask.dtype == bool
    np.testing.assert_array_equal(FRAME, before)
    np.testing.assert_array_equal(finder(FRAME, PLAYERS), mask)


@pytest.mark.parametrize("shape", [(64, 64, 3), (97, 131, 3), (211, 75, 3)])
def test_any_aspect_and_odd_sides(finder: PlayerFinder, shape: tuple[int, int, int]) -> None:
    frame = np.random.default_rng(2).integers(0, 256, shape, np.uint8)
    assert finder(frame, [Player(box_px=Box(5, 5, 40, 60))]).shape == shape[:2]


def test_nobody_on_a_blank_frame_is_a_black_context_image(finder: PlayerFinder) -> None:
    blank = np.full((90, 160, 3), 235, np.uint8)
    image = ContextMaker(finder)(blank, ())
    assert image.shape == (45, 80, 3)
    if not finder.version.startswith("instances"):  # random weights see people everywhere
        assert not image.any()


def test_grey_and_alpha_frames_are_taken(finder: PlayerFinder) -> None:
    maker = ContextMaker(finder)
    assert maker(FRAME[:, :, 0], PLAYERS).shape == (45, 80, 3)
    assert maker(np.dstack([FRAME, FRAME[:, :, :1]]), PLAYERS).shape == (45, 80, 3)


@pytest.mark.parametrize("shape", [(90, 160, 2), (90, 160, 5), (0, 160, 3), (160,)])
def test_other_frames_are_refused_before_any_model_sees_them(finder: PlayerFinder, shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="expected"):
        ContextMaker(finder)(np.zeros(shape, np.uint8), PLAYERS)


def test_a_damaged_cache_entry_is_made_again_with_one_warning(
    finder: PlayerFinder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    maker = ContextMaker(finder, MaskCache(tmp_path))
    first = maker(FRAME, PLAYERS)
    (entry,) = tmp_path.rglob("*.mask")
    entry.write_bytes(entry.read_bytes()[:-3])
    with caplog.at_level(logging.WARNING, logger="plucc.context.cache"):
        for _ in range(2):
            np.testing.assert_array_equal(maker(FRAME, PLAYERS), first)
    assert [record.getMessage() for record in caplog.records] == [f"{entry} was damaged; it is made again"]


def test_versions_name_the_way(finder: PlayerFinder) -> None:
    assert finder.version
    assert finder.version.isascii()


def test_labels_are_drawn_as_they_are() -> None:
    mask = np.zeros((90, 160), bool)
    mask[40:50, 30:90] = True
    drawn = (Player(box_px=Box(30, 40, 90, 50), mask=encode_mask(mask)), PLAYERS[0])
    found = LabelFinder()(FRAME, drawn)
    assert found[40:50, 30:90].all()
    assert found[10:80, 20:60].all()
    assert found.sum() == 70 * 40 + 10 * 30
    boxes = LabelFinder(boxes_only=True)(FRAME, PLAYERS)
    assert boxes.sum() == 70 * 40 + 60 * 30


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        (FinderChoice("shipped", weights="nowhere.onnx"), "nowhere.onnx is missing"),
        (FinderChoice("sam2-onnx"), "give the folder that holds the encoder and the decoder"),
        (FinderChoice("guess"), "choose one of shipped, labels"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_opened_says_what_to_do(choice: FinderChoice, sentence: str) -> None:
    with pytest.raises((ModelError, InputError), match=sentence):
        open_finder(choice)


@pytest.mark.parametrize(
    ("way", "sentence"),
    [
        ("sam2", "Sam2Model can read: give a folder in the hub's format"),
        ("instances", "RfDetrForInstanceSegmentation can read: give a folder in the hub's format"),
        ("sam2-onnx", r"no SAM 2 encoder .* point to the folder"),
    ],
)
def test_a_folder_without_the_model_is_named(tmp_path: Path, way: Way, sentence: str) -> None:
    with pytest.raises(ModelError, match=f"{tmp_path} holds no .*{sentence.removeprefix('no ')}"):
        open_finder(FinderChoice(way, str(tmp_path), detector="labels"))


def test_a_folder_without_the_detector_is_named(sam2_onnx_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=f"{tmp_path} holds no model that AutoModelForObjectDetection can read"):
        open_finder(FinderChoice("sam2-onnx", str(sam2_onnx_folder), detector=str(tmp_path)))


@pytest.mark.parametrize("missing", ["torch", "transformers"])
@pytest.mark.parametrize("way", ["sam2", "instances"])
def test_ways_on_torch_name_the_extra(way: Way, missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtraError, match=rf"{missing} is missing: pip install 'plucc\[train\]'"):
        open_finder(FinderChoice(way, "anywhere"))


def test_ways_that_need_labels_ask_for_them(sam2_onnx_folder: Path) -> None:
    with pytest.raises(InputError, match="no labelled players"):
        LabelFinder()(FRAME)
    prompted = open_finder(FinderChoice("sam2-onnx", str(sam2_onnx_folder), detector="labels"))
    with pytest.raises(InputError, match="name a detector"):
        prompted(FRAME)


def test_sam2_takes_labelled_boxes_before_detected_ones(sam2_onnx_folder: Path, detector_folder: Path) -> None:
    choice = FinderChoice("sam2-onnx", str(sam2_onnx_folder), detector=str(detector_folder), device="cpu")
    finder = open_finder(choice)
    labelled = finder(FRAME, PLAYERS[:1])
    assert labelled[15:75, 25:55].all()
    assert not labelled[:, 80:].any()


def test_keeping_to_the_boxes_cuts_strangers_and_fills_in_whoever_was_missed() -> None:
    class StrangerFinder:
        version = "stranger-1"

        def __call__(self, frame: ImageArray, players: Sequence[Player] | None = None) -> MaskArray:
            mask = np.zeros(frame.shape[:2], bool)
            mask[10:80, 20:90] = True  # covers the first player and goes on far to his right
            return mask

    found = BoxedFinder(StrangerFinder())(FRAME, PLAYERS)
    assert found[10:80, 20:60].all()
    assert not found[:, 65:100].any()
    assert found[60, 115]  # the second one, who was missed
    assert not found[31, 102]
    with pytest.raises(InputError, match="no labelled players to keep to"):
        BoxedFinder(StrangerFinder())(FRAME)
