"""The tables of a report: every figure agrees with its pure function and carries an interval."""

from dataclasses import replace

import numpy as np
import pytest

from plucc.metrics import detection, figures, homography, pixels, presence, rink
from plucc.metrics.bootstrap import Grouping, Resampling
from plucc.metrics.frames import ScoredFrames
from plucc.rink.camera import Camera
from plucc.rink.sheet import nhl
from plucc.types import Size

SHEET = nhl()


def played(count: int, matches: int, seed: int = 0) -> ScoredFrames:
    """Return frames of broadcast views with pucks, empty frames, misses, silence and inexact registration."""
    rng = np.random.default_rng(seed)
    size = Size(1280, 720)
    views = [
        Camera.look_at((0.0, -40.0, 15.0), (x, 0.0, 0.0), 1100.0, size).homography().matrix for x in (-15.0, 0.0, 15.0)
    ]
    to_rink = np.stack(views)[rng.integers(0, 3, count)]
    label = rng.uniform([100, 300], [1180, 700], (count, 2))
    predicted = label + rng.standard_t(2, (count, 2)) * 4
    predicted[rng.uniform(size=count) < 0.1] = np.nan
    category = rng.choice(["standard", "blurry", "occluded"], count)
    empty = rng.uniform(size=count) < 0.15
    category[empty] = "no-puck"
    confidence = np.clip(rng.normal(np.where(empty, 0.35, 0.7), 0.2), 0, 1)
    registered = to_rink * (1 + rng.normal(0, 1e-3, to_rink.shape))
    registered[rng.uniform(size=count) < 0.2] = np.nan
    to_rink[rng.uniform(size=count) < 0.1] = np.nan
    return replace(
        ScoredFrames.plain(predicted, np.where(empty[:, None], np.nan, label), size),
        confidence=confidence,
        to_rink=to_rink,
        predicted_to_rink=registered,
        match=(np.arange(count) * matches // count).astype(str),
        run=np.arange(count) // 5,
        category=category,
    )


@pytest.fixture(scope="module")
def frames() -> ScoredFrames:
    return played(600, matches=12)


@pytest.fixture(scope="module")
def table(frames) -> dict[str, figures.Figure]:
    measured = figures.measure(frames, figures.all_estimators(SHEET), np.random.default_rng(0), resamples=300)
    assert len({figure.name for figure in measured}) == len(measured)
    return {figure.name: figure for figure in measured}


def test_every_figure_has_an_interval_around_it(table):
    for figure in table.values():
        assert figure.resampled_by == "match"
        assert figure.groups == 12
        assert figure.count > 0
        assert figure.low <= figure.value + 0.01, figure
        assert figure.value - 0.01 <= figure.high, figure
        assert figure.low < figure.high, figure


def test_estimates_from_sums_equal_the_exact_figures(frames):
    for estimator in figures.all_estimators(SHEET):
        for estimate in estimator(frames):
            from_sums = float(estimate.finish(np.asarray(estimate.columns.sum(axis=0))))
            assert from_sums == pytest.approx(estimate.value, abs=0.003), estimate.name


def test_image_figures_equal_their_functions(frames, table):
    scores = pixels.pixel_scores(frames.predicted_px, frames.target_px, frames.height_px)
    row = tuple(table[name].value for name in ("AP5", "AP10", "AP25", "AP50"))
    assert row == pytest.approx(scores.average_precision)
    assert table["mAP"].value == pytest.approx(scores.mean_average_precision)
    assert table["D_pixel"].value == pytest.approx(scores.distance_px)
    assert (table["D_pixel"].count, table["AP5"].count) == (scores.measured, scores.labelled)
    reference_px = pixels.pixel_distances(frames.predicted_px, frames.target_px)
    assert table["PCK area to 50 px"].value == pytest.approx(pixels.pck_area(reference_px, frames.has_puck, 50.0))


def test_rink_figures_equal_their_functions(frames, table):
    scores = rink.rink_scores(frames.predicted_px, frames.target_px, frames.to_rink)
    assert tuple(table[name].value for name in ("APr", "AP2r", "AP4r")) == pytest.approx(scores.average_precision)
    assert table["RSLE mean"].value == pytest.approx(scores.mean_m)
    assert table["RSLE median"].value == pytest.approx(scores.median_m)
    assert table["without homography"].value == pytest.approx(scores.without_homography / frames.has_puck.sum())
    points_m = [rink.project_each(points, frames.to_rink) for points in (frames.predicted_px, frames.target_px)]
    assert table["zone accuracy"].value == pytest.approx(rink.zone_accuracy(*points_m, SHEET))
    assert table["RSLE mean"].unit == table["RSLE median"].unit == "m"


def test_protocol_figures_equal_their_functions(frames, table):
    wasb = detection.OutcomeScores.count(detection.wasb_outcomes(frames.predicted_px, frames.target_px))
    outcomes = detection.tracknet_outcomes(frames.predicted_px, frames.target_px, frames.size_px)
    tracknet = detection.OutcomeScores.count(outcomes)
    for name, scores in (("WASB", wasb), ("TrackNet", tracknet)):
        assert table[f"{name} precision"].value == pytest.approx(scores.precision)
        assert table[f"{name} recall"].value == pytest.approx(scores.recall)
        assert table[f"{name} F1"].value == pytest.approx(scores.f1)
        assert table[f"{name} accuracy"].value == pytest.approx(scores.accuracy)
    assert wasb.f1 != tracknet.f1


def test_presence_figures_equal_their_functions(frames, table):
    confidence, has_puck = frames.confidence, frames.has_puck
    assert table["presence AUROC"].value == pytest.approx(presence.auroc(confidence, has_puck))
    assert table["false alarms"].value == presence.false_alarm_rate(frames.is_predicted, has_puck)
    assert table["false alarms"].count == (~has_puck).sum()
    assert table["Brier presence"].value == pytest.approx(presence.brier_score(confidence, has_puck))
    correct = figures.is_correct(frames)
    error = presence.expected_calibration_error(confidence, correct)
    assert table["ECE within 10 px"].value == pytest.approx(error)
    answered = frames.is_predicted
    area = presence.risk_coverage(confidence[answered], ~correct[answered]).area
    assert table["risk-coverage area"].value == pytest.approx(area)


def test_homography_figures_equal_their_functions(frames, table):
    covered = homography.coverage(frames.predicted_to_rink, frames.to_rink)
    assert table["homography coverage"].value == pytest.approx(covered)
    field_m = homography.field_rectangle(SHEET.length_m, SHEET.width_m)
    part = homography.iou_part(frames.predicted_to_rink, frames.to_rink, frames.size_px, field_m)
    assert table["IoU part"].value == pytest.approx(np.nanmean(part))
    assert table["IoU part"].count == np.isfinite(part).sum()


def test_few_matches_are_resampled_by_run():
    few = played(300, matches=4)
    figure = figures.measure(few, [figures.image_estimates], np.random.default_rng(0), resamples=50)[0]
    assert (figure.resampled_by, figure.groups) == ("run", 60)


def test_categories_are_measured_each_on_their_own_frames(frames):
    tables = figures.measure_by_category(frames, [figures.image_estimates], np.random.default_rng(0), resamples=50)
    assert set(tables) == {"standard", "blurry", "occluded", "no-puck"}
    blurry = frames.select(frames.category == "blurry")
    scores = pixels.pixel_scores(blurry.predicted_px, blurry.target_px, blurry.height_px)
    assert tables["blurry"][0].value == pytest.approx(scores.average_precision[0])
    assert np.isnan(tables["no-puck"][0].value)
    assert tables["no-puck"][0].count == 0


def test_the_same_seed_gives_the_same_table(frames):
    first, second = (
        figures.measure(frames, [figures.presence_estimates], np.random.default_rng(5), resamples=50) for _ in range(2)
    )
    assert first == second


def test_no_frames_give_no_figures():
    nothing = played(40, matches=2).select(np.zeros(40, dtype=bool))
    for figure in figures.measure(nothing, figures.all_estimators(SHEET), np.random.default_rng(0), resamples=20):
        assert figure.count == 0
        assert np.isnan([figure.low, figure.high]).all()


def test_curves_have_bands_around_them(frames):
    resampling = Resampling.draw(Grouping.of(frames.match, frames.run), np.random.default_rng(0), 200)
    thresholds = np.array([5.0, 10.0, 25.0, 50.0])
    curve = figures.pck_curve(frames, thresholds, resampling)
    scores = pixels.pixel_scores(frames.predicted_px, frames.target_px, frames.height_px)
    np.testing.assert_allclose(curve.value, scores.average_precision)
    assert ((curve.low < curve.value) & (curve.value < curve.high)).all()
    risk = figures.risk_coverage_curve(frames, np.array([0.2, 0.5, 1.0]), resampling)
    answered = frames.is_predicted
    assert risk.value[-1] == pytest.approx(1 - figures.is_correct(frames)[answered].mean())
    assert ((risk.low < risk.value) & (risk.value < risk.high)).all()
