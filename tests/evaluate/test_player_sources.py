from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from plucc.context.labels import LabelFinder
from plucc.context.maskfile import write_dataset_masks
from plucc.data.manifest import read_dataset, write_manifest
from plucc.data.schema import Record
from plucc.evaluate.player_sources import SourceReport, compare_players, open_player_source
from plucc.evaluate.selection import Selection
from plucc.evaluate.tables import Theme
from plucc.synth.frames import plan_frames, write_frames
from plucc.types import DataError, InputError, Size


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rendered") / "set"
    write_frames(folder, plan_frames(3, 41, Size(320, 180), None, 3))
    return folder


@pytest.fixture(scope="module")
def report(rendered: Path, small_checkpoint: Path) -> SourceReport:
    masks = rendered.parent / "drawn.jsonl"
    write_dataset_masks(rendered, LabelFinder(), masks)
    sources = ["labels", "boxes", "shipped", "none", str(masks)]
    return compare_players(str(small_checkpoint), rendered, Selection(), sources, threads=1)


def test_every_source_is_scored_on_the_same_frames(report: SourceReport) -> None:
    assert [score.name for score in report.scores] == ["labels", "boxes", "shipped", "none", "drawn"]
    assert (report.frames, report.left_out, report.reference) == (3, 0, "shipped")
    assert [score.name for score in report.scores if score.against is None] == ["shipped"]


def test_masks_in_a_file_count_as_the_labels_that_they_were_drawn_from(report: SourceReport) -> None:
    by_name = {score.name: score.figures for score in report.scores}
    assert by_name["drawn"] == by_name["labels"]


def test_every_source_draws_its_own_players(rendered: Path, tmp_path: Path) -> None:
    record = read_dataset(rendered).records[0]
    image = np.zeros((180, 320, 3), np.uint8)
    masks = {}
    for text in ("labels", "boxes", str(_written(tmp_path / "drawn.jsonl", rendered))):
        source = open_player_source(text)
        assert source.finder is not None
        masks[source.name] = source.finder(image, source.players(record))
    np.testing.assert_array_equal(masks["drawn"], masks["labels"])
    assert not (masks["labels"] & ~masks["boxes"]).any()
    assert masks["boxes"].sum() > 1.3 * masks["labels"].sum()
    assert open_player_source("none").finder is None


def test_differences_are_those_to_the_reference(report: SourceReport) -> None:
    shipped = next(score for score in report.scores if score.name == "shipped")
    for score in report.scores:
        if score.against is not None:
            gains = {one.name: one for one in score.against.differences[Theme.IMAGE]}
            expected = score.figures["median error"] - shipped.figures["median error"]
            assert gains["median error"].value == pytest.approx(expected, abs=1e-9)


def test_the_summary_is_one_table(report: SourceReport) -> None:
    lines = report.summary().splitlines()
    assert lines[0].endswith("small.ckpt on 3 frames (all frames)")
    table = [line.strip("| ").split(" | ") for line in lines[1:]]
    assert {len(row) for row in table} == {8}
    assert table[0][:2] == ["players", "mAP"]
    assert [row[0] for row in table[2:]] == ["labels", "boxes", "shipped", "none", "drawn"]
    assert table[4][6:] == ["–", "–"]


def without_players(records: Sequence[Record]) -> list[Record]:
    """Leave the first frame its masks, the second its boxes, the third nothing."""
    boxes = [player.model_copy(update={"mask": None}) for player in records[1].players or ()]
    return [
        records[0],
        records[1].model_copy(update={"players": tuple(boxes)}),
        records[2].model_copy(update={"players": None}),
    ]


def test_frames_that_a_source_knows_nothing_of_are_left_out_of_all(
    rendered: Path, small_checkpoint: Path, tmp_path: Path
) -> None:
    dataset = read_dataset(rendered)
    (tmp_path / "frames").symlink_to(rendered / "frames")
    write_manifest(tmp_path, dataset.info, without_players(dataset.records))
    model = str(small_checkpoint)
    assert compare_players(model, tmp_path, Selection(), ["boxes", "none"], threads=1).frames == 2
    usual = compare_players(model, tmp_path, Selection(), threads=1)
    assert (usual.frames, usual.left_out) == (1, 2)
    assert [score.name for score in usual.scores] == ["shipped", "labels", "boxes", "none"]
    write_manifest(tmp_path, dataset.info, [without_players(dataset.records)[2]])
    assert [score.name for score in compare_players(model, tmp_path, Selection(), threads=1).scores] == [
        "shipped",
        "none",
    ]
    with pytest.raises(DataError, match="no frame with players of all of boxes, none"):
        compare_players(model, tmp_path, Selection(), ["boxes", "none"], threads=1)


def test_masks_of_a_lower_resolution_are_brought_to_the_frame(rendered: Path, tmp_path: Path) -> None:
    record = read_dataset(rendered).records[0]
    half = record.model_copy(update={"size": Size(160, 90)})
    path = tmp_path / "half.jsonl"
    source = open_player_source(str(_written(path, rendered)))
    (player,) = source.players(half) or ()
    drawn = LabelFinder()(np.zeros((90, 160, 3), np.uint8), (player,))
    full = LabelFinder()(np.zeros((180, 320, 3), np.uint8), record.players)
    assert drawn.shape == (90, 160)
    assert drawn.mean() == pytest.approx(full.mean(), rel=0.25)  # far players are a few pixels wide
    assert replace(source, masks=None).players(record) == record.players


def _written(path: Path, root: Path) -> Path:
    write_dataset_masks(root, LabelFinder(), path)
    return path


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("guess", "guess is no source of players: choose among shipped, labels"),
        ("absent.jsonl", r"absent\.jsonl is missing"),
        ("shipped=absent.onnx", r"absent\.onnx is missing"),
        ("sam2-onnx", "give the folder that holds the encoder and the decoder"),
    ],
)
def test_a_source_that_cannot_be_opened_says_what_to_do(text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        open_player_source(text)
