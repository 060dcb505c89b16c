"""The whole of `plucc evaluate` on ten frames whose results were worked out by hand."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from plucc.cli.main import app
from plucc.data.rows import read_rows, write_rows
from plucc.data.splits import Split, Splits, write_splits
from plucc.evaluate.run import FILES, Request, evaluate, write_report
from plucc.evaluate.selection import Selection
from plucc.evaluate.tables import Protocol, Theme
from plucc.types import Category, DataError, PluccError

RUNNER = CliRunner()


def request(rows: Path, dataset: Path, **changes: object) -> Request:
    return replace(Request(str(rows), dataset, resamples=200, pictures=1), **changes)


def test_every_figure_of_ten_frames_is_what_a_hand_gets(ten: Path, ten_rows: Path) -> None:
    """Eight pucks: 0, 4 and 5 px off are within 5; 9 within 10; 20 within 25; 40 within 50; 60 and silence in none."""
    side = evaluate(request(ten_rows, ten)).report.sides[0]
    image = {name: figure.value for name, figure in side.figures(Theme.IMAGE).items()}
    assert image["AP5"] == 3 / 8
    assert image["AP10"] == 4 / 8
    assert image["AP25"] == 5 / 8
    assert image["AP50"] == 6 / 8
    assert image["mAP"] == pytest.approx((3 + 4 + 5 + 6) / 32)
    assert image["D_pixel"] == pytest.approx((0 + 4 + 5 + 9 + 20 + 60 + 40) / 7)
    assert image["median error"] == pytest.approx(9.0)
    rink = {name: figure.value for name, figure in side.figures(Theme.RINK).items()}
    # a pixel is a centimetre on the ice; the second frame has no homography
    assert rink["APr"] == pytest.approx(1 / 7)  # 3.81 cm
    assert rink["AP2r"] == pytest.approx(2 / 7)  # 7.62 cm
    assert rink["AP4r"] == pytest.approx(3 / 7)  # 15.24 cm
    assert rink["RSLE mean"] == pytest.approx((0 + 5 + 9 + 20 + 60 + 40) / 6 / 100)
    assert rink["without homography"] == pytest.approx(1 / 8)
    presence = {name: figure.value for name, figure in side.figures(Theme.PRESENCE).items()}
    assert presence["false alarms"] == 1 / 2
    protocols = {name: figure.value for name, figure in side.figures(Theme.PROTOCOLS).items()}
    # strictly less than 4 px: one hit of eight predictions; one silent puck; one frame rightly left empty
    assert protocols["WASB precision"] == 1 / 8
    assert protocols["WASB recall"] == 1 / 2
    assert protocols["WASB accuracy"] == 2 / 10
    metres = {name: figure.value for name, figure in side.figures(Theme.METRES).items()}
    assert metres["error mean"] == pytest.approx(0.5)
    assert metres["with metres"] == pytest.approx(1 / 7)


def test_groups_hold_their_own_frames(ten: Path, ten_rows: Path) -> None:
    tables = {
        (table.theme, table.by): table.groups for table in evaluate(request(ten_rows, ten)).report.sides[0].tables
    }
    by_category = tables[Theme.IMAGE, "category"]
    assert set(by_category) == {"blurry", "standard", "no-puck"}
    blurry = {figure.name: figure for figure in by_category["blurry"]}
    assert (blurry["AP5"].value, blurry["AP25"].value, blurry["AP5"].count) == (0.5, 1.0, 2)  # frames 0 and 4
    assert np.isnan(by_category["no-puck"][0].value)
    assert set(tables[Theme.IMAGE, "match"]) == {"m0", "m1"}
    assert set(tables[Theme.IMAGE, "source"]) == {"seen", "absent"}


@pytest.mark.parametrize(
    ("protocol", "themes"),
    [
        (Protocol.PAPER, {Theme.IMAGE, Theme.RINK}),
        (Protocol.WASB, {Theme.PROTOCOLS}),
        (Protocol.TRACKNET, {Theme.PROTOCOLS}),
    ],
)
def test_protocols_show_their_own_figures(ten: Path, ten_rows: Path, protocol: Protocol, themes: set[Theme]) -> None:
    side = evaluate(request(ten_rows, ten, protocol=protocol)).report.sides[0]
    assert {table.theme for table in side.tables} == themes
    if Theme.PROTOCOLS in themes:
        assert all(name.lower().startswith(protocol) for name in side.figures(Theme.PROTOCOLS))


def test_the_report_is_written_in_four_forms_that_agree(ten: Path, ten_rows: Path, tmp_path: Path) -> None:
    result = evaluate(request(ten_rows, ten))
    write_report(result, tmp_path)
    data = json.loads((tmp_path / "report.json").read_text())
    figures = data["sides"][0]["tables"][0]["groups"]["all frames"]
    assert figures[0]["name"] == "AP5"
    assert figures[0]["value"] == 0.375
    with (tmp_path / "figures.csv").open() as file:
        lines = list(csv.DictReader(file))
    first = next(line for line in lines if line["by"] == "all frames" and line["figure"] == "AP5")
    assert (first["value"], first["frames"]) == ("0.375", "8")
    assert "| AP5 (%) | 37.5 |" in (tmp_path / "report.md").read_text()
    page = (tmp_path / "report.html").read_text()
    assert "<td>37.5</td>" in page
    assert page.count("<svg") >= 4
    assert "data:image/jpeg;base64," in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")  # nothing is loaded from elsewhere
    assert {path.name for path in tmp_path.iterdir()} == {*FILES, "rows.csv"}


def test_rows_of_a_report_score_as_the_report_did(ten: Path, ten_rows: Path, tmp_path: Path) -> None:
    first = evaluate(request(ten_rows, ten))
    write_report(first, tmp_path)
    again = evaluate(request(tmp_path / "rows.csv", ten))
    assert again.report.sides[0].figures(Theme.IMAGE) == first.report.sides[0].figures(Theme.IMAGE)


def test_two_sides_are_compared_frame_by_frame(ten: Path, ten_rows: Path, tmp_path: Path) -> None:
    better = [replace(row, x_px=600.0, y_px=400.0) if row.frame < 8 else row for row in read_rows(ten_rows)]
    write_rows(tmp_path / "better.csv", better)
    result = evaluate(request(tmp_path / "better.csv", ten, against=str(ten_rows)))
    comparison = result.report.comparison
    assert comparison is not None
    assert (comparison.both, comparison.only_first, comparison.only_second, comparison.neither) == (4, 4, 0, 0)
    by_name = {one.name: one for one in comparison.differences[Theme.IMAGE]}
    assert by_name["AP5"].value == pytest.approx(5 / 8)
    assert by_name["AP5"].low > 0
    assert by_name["AP5"].chance < 0.05
    same = evaluate(request(ten_rows, ten, against=str(ten_rows))).report.comparison
    assert same is not None
    assert all(one.chance == 1.0 for one in same.differences[Theme.IMAGE])


def test_a_model_is_scored_and_shown(ten: Path, small_checkpoint: Path, tmp_path: Path) -> None:
    """An untrained network: what counts is that it is asked, timed, and drawn with heatmap and rink."""
    result = evaluate(request(small_checkpoint, ten, selection=Selection(every=5)))
    side = result.report.sides[0]
    assert side.speed is not None
    assert side.speed.mean_ms > side.speed.players_ms > 0
    assert side.facts["players"].startswith("players-")
    gallery = result.report.galleries[0]
    assert gallery.exhibits[0].warped is not None
    write_report(result, tmp_path / "report")


def sentence(*arguments: object) -> str:
    result = RUNNER.invoke(app, [str(argument) for argument in arguments])
    assert isinstance(result.exception, PluccError), result.output
    return str(result.exception)


def test_what_cannot_be_scored_is_said_in_one_sentence(ten: Path, ten_rows: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.csv"
    broken.write_text(ten_rows.read_text().replace("0.9", "high", 1))
    assert "broken.csv:2: confidence is 'high'" in sentence("evaluate", broken, ten)
    short = tmp_path / "short.csv"
    short.write_text("\n".join(ten_rows.read_text().splitlines()[:-2]) + "\n")
    assert "has no row for 2 of 10 frames, such as frames/08.png" in sentence("evaluate", short, ten)
    twice = tmp_path / "twice.csv"
    twice.write_text(ten_rows.read_text() + ten_rows.read_text().splitlines()[1] + "\n")
    assert "two rows for 00.png" in sentence("evaluate", twice, ten)
    assert "no match m7: choose among m0, m1" in sentence("evaluate", ten_rows, ten, "--matches", "m7")
    told = sentence("evaluate", ten_rows, ten, "--categories", "artifact")
    assert "no record" in told
    assert "the categories here are blurry, no-puck, standard" in told
    assert "wobbly is no category" in sentence("evaluate", ten_rows, ten, "--categories", "wobbly")
    assert "splits.yaml is missing" in sentence("evaluate", ten_rows, ten, "--split", "test")
    assert "neither a model nor a table" in sentence("evaluate", tmp_path / "model.pt", ten)
    assert "carries no card" in sentence("evaluate", ten_rows, ten, "--calibrate")


def test_an_empty_split_is_refused(ten: Path, ten_rows: Path) -> None:
    write_splits(ten, Splits(train=("m0", "m1")))
    try:
        with pytest.raises(DataError, match="no labelled frame among split test"):
            evaluate(request(ten_rows, ten, selection=Selection(split=Split.TEST)))
    finally:
        (ten / "splits.yaml").unlink()


def test_frames_without_homographies_say_so(ten: Path, ten_rows: Path) -> None:
    report = evaluate(request(ten_rows, ten)).report
    assert any("1 frames with a puck have no homography" in note for note in report.notes)
    only = evaluate(request(ten_rows, ten, selection=Selection(categories=(Category.NO_PUCK,)))).report
    assert np.isnan(only.sides[0].figures(Theme.IMAGE)["mAP"].value)
