"""The reproduction end to end, smaller still: two steps a row on a dozen small rendered frames."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from plucc.explain import gaze
from plucc.export import load_eager
from plucc.reproduce.experiments import SCALES, experiments, scale_of
from plucc.reproduce.page import Findings, markdown, sigma_figure
from plucc.reproduce.rows import RowFacts
from plucc.reproduce.run import Wish, reproduce
from plucc.types import InputError

TABLES = ("Table 1", "Table 2", "Table 3", "Table 4", "Figure", "Margins", "What each row rests on")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a reproduction of two of the rows."""
    out = tmp_path_factory.mktemp("reproduce") / "report"
    reproduce(Wish("smoke", out, rows=("plucc", "context-only"), processes=1), say=lambda _: None)
    return out


def test_the_page_has_every_table_and_says_what_it_is(made: Path) -> None:
    page = (made / "reproduction.md").read_text()
    for name in TABLES:
        assert f"## {name}" in page
    assert "Its numbers mean nothing" in page
    assert "2 steps of 2 crops of 96 px" in page
    assert "not run" in page  # rows that were left out say so
    assert "(83.5)" in page  # the paper's number stands beside
    assert (made / "images" / "reproduction-gaze.png").is_file()
    assert (made / "images" / "reproduction-sigma.svg").read_text().count("<circle") == 4  # one σ, four thresholds


def test_finished_rows_are_not_run_again_and_others_are_added(made: Path) -> None:
    before = (made / "rows" / "plucc" / "run" / "final.ckpt").stat().st_mtime_ns
    heard: list[str] = []
    reproduce(Wish("smoke", made, rows=("plucc", "fcn"), processes=1), say=heard.append)
    assert heard[0] == "PLUCC (σ = 5): done before"
    assert (made / "rows" / "plucc" / "run" / "final.ckpt").stat().st_mtime_ns == before
    rows = {row["key"]: row for row in json.loads((made / "rows.json").read_text())}
    assert set(rows) == {"plucc", "fcn", "context-only"}
    assert rows["plucc"]["parameters"] > rows["fcn"]["parameters"] > 0
    assert all(row["minutes"] >= 0 and row["budget"] and row["data"].startswith("rendered: ") for row in rows.values())
    assert "PLUCC (σ = 5) over FCN (σ = 5)" in (made / "reproduction.md").read_text()


def test_another_plan_does_not_mix_with_this_one(made: Path) -> None:
    with pytest.raises(InputError, match="another scale, data or seed"):
        reproduce(Wish("smoke", made, seed=1), say=lambda _: None)


def test_gaze_of_rendered_players_is_a_share(made: Path) -> None:
    from plucc.data.manifest import read_dataset
    from plucc.video import read_image

    data = read_dataset(made / "data")
    runtime = load_eager(made / "rows" / "context-only" / "run" / "final.ckpt", threads=1)
    found = gaze(runtime, ((record, read_image(data.image_path(record))) for record in data.records[:2]))
    assert found.players > 2
    assert 0 <= found.ahead <= 1
    assert 0 <= found.by_chance <= 1


@pytest.mark.slow
def test_every_row_runs(tmp_path: Path) -> None:
    page = reproduce(Wish("smoke", tmp_path / "report", processes=1), say=lambda _: None)
    rows = [RowFacts.model_validate(row) for row in json.loads((page.parent / "rows.json").read_text())]
    assert {row.key for row in rows} == {one.key for one in experiments()}
    assert all(row.is_done or row.key == "yolov5" for row in rows)


def test_unknown_rows_scales_and_missing_data_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no row swiftest"):
        reproduce(Wish("smoke", tmp_path / "a", rows=("swiftest",)))
    with pytest.raises(InputError, match="huge is no scale"):
        scale_of("huge")
    with pytest.raises(InputError, match="needs real data"):
        reproduce(Wish("paper", tmp_path / "b"))
    with pytest.raises(InputError, match=r"splits\.yaml is missing"):
        reproduce(Wish("tiny", tmp_path / "c", data=tmp_path))


@pytest.mark.parametrize("name", SCALES)
def test_every_row_of_every_scale_is_a_valid_spec(name: str) -> None:
    scale = scale_of(name)
    specs = {one.key: one.spec(scale) for one in experiments()}
    assert specs["fcn"].network.context is None
    assert specs["context-only"].network.frame is None
    assert specs["no-dropout"].augment.frame_dropout == 0.0
    assert specs["plucc"].augment.frame_dropout == 0.01
    lines = specs["plucc"].heatmap.height
    assert specs["plucc"].heatmap.sigma_px == pytest.approx(5 * lines / 720)
    assert specs["sigma-15"].heatmap.sigma_px == pytest.approx(15 * lines / 720)
    detectors = {key: spec.detector for key, spec in specs.items() if spec.detector is not None}
    assert {key: spec.kind for key, spec in detectors.items()} == {
        "faster-rcnn": "faster-rcnn",
        "d-fine": "d-fine",
        "yolov5": "yolov5",
    }
    budgets = {(spec.train.steps, spec.train.batch, spec.train.epochs) for spec in specs.values()}
    assert len(budgets) == 1  # the same number of samples for all


def test_the_figure_draws_a_line_for_each_sigma() -> None:
    figures = dict.fromkeys(("AP5", "AP10", "AP25", "AP50"), (0.5, None, None))
    rows = {key: RowFacts(key=key, label=key, figures=figures) for key in ("plucc", "sigma-10", "sigma-15")}
    findings = Findings(scale_of("tiny"), rows, {}, None, 10.0)
    drawn = sigma_figure(findings)
    assert [f"σ = {sigma}" in drawn for sigma in (5, 10, 15, 25)] == [True, True, True, False]
    assert "50.0 (82.2)" in markdown(findings)
    assert np.isfinite(findings.players_ms)
