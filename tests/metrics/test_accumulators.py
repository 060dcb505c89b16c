"""Accumulators agree with the pure functions, in batches, merged, and across processes."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import Tensor, distributed, multiprocessing  # noqa: E402
from torchmetrics import Metric  # noqa: E402

from plucc.metrics import detection, homography, pixels, presence, rink  # noqa: E402
from plucc.metrics.accumulators import (  # noqa: E402
    Outcomes,
    PixelAccuracy,
    Presence,
    RegistrationAccuracy,
    RinkAccuracy,
)
from plucc.rink.camera import Camera  # noqa: E402
from plucc.rink.sheet import nhl  # noqa: E402
from plucc.types import Size  # noqa: E402

COUNT = 60
Columns = dict[str, np.ndarray]


def scored(seed: int = 0) -> Columns:
    """Return frames with pucks, empty frames, silence, missing homographies and two frame sizes."""
    rng = np.random.default_rng(seed)
    view = Camera.look_at((0.0, -40.0, 15.0), (5.0, 0.0, 0.0), 1100.0, Size(1280, 720)).homography().matrix
    to_rink = np.repeat(view[None], COUNT, axis=0)
    registered = to_rink * (1 + rng.normal(0, 1e-3, to_rink.shape))
    target = rng.uniform([100, 300], [1180, 700], (COUNT, 2))
    predicted = target + rng.normal(0, 6, (COUNT, 2))
    for array in (target, predicted, to_rink, registered):
        array[rng.uniform(size=COUNT) < 0.15] = np.nan
    size = np.where(rng.uniform(size=(COUNT, 1)) < 0.5, [1280, 720], [1920, 1080])
    return {
        "predicted": predicted,
        "target": target,
        "confidence": rng.uniform(size=COUNT).astype(np.float32).astype(np.float64),
        "size": size,
        "height": size[:, 1].astype(np.float64),
        "to_rink": to_rink,
        "registered": registered,
    }


def pixel_figures(data: Columns) -> dict[str, float]:
    scores = pixels.pixel_scores(data["predicted"], data["target"], data["height"])
    named = dict(zip(("AP5", "AP10", "AP25", "AP50"), scores.average_precision, strict=True))
    means = {"mAP": scores.mean_average_precision, "D_pixel": scores.distance_px}
    return named | means | {"measured": scores.measured, "labelled": scores.labelled}


def rink_figures(data: Columns) -> dict[str, float]:
    scores = rink.rink_scores(data["predicted"], data["target"], data["to_rink"])
    named = dict(zip(("APr", "AP2r", "AP4r"), scores.average_precision, strict=True))
    means = {"RSLE mean": scores.mean_m, "RSLE median": scores.median_m}
    counts = {"measured": scores.measured, "scored": scores.scored, "without homography": scores.without_homography}
    return named | means | counts


def outcome_figures(outcomes: np.ndarray) -> dict[str, float]:
    scores = detection.OutcomeScores.count(outcomes)
    counts = dict(zip(detection.OUTCOMES, outcomes.sum(axis=0).tolist(), strict=True))
    return counts | {
        "precision": scores.precision,
        "recall": scores.recall,
        "F1": scores.f1,
        "accuracy": scores.accuracy,
    }


def presence_figures(data: Columns) -> dict[str, float]:
    has_puck, says = (np.isfinite(data[name]).all(axis=1) for name in ("target", "predicted"))
    return {
        "AUROC": presence.auroc(data["confidence"], has_puck),
        "false alarms": presence.false_alarm_rate(says, has_puck),
        "false alarms at recall": presence.false_alarm_rate_at_recall(data["confidence"], has_puck),
        "Brier": presence.brier_score(data["confidence"], has_puck),
        "ECE": presence.expected_calibration_error(data["confidence"], has_puck),
    }


def registration_figures(data: Columns) -> dict[str, float]:
    guess, label, size = data["registered"], data["to_rink"], data["size"]
    field_m = homography.field_rectangle(nhl().length_m, nhl().width_m)
    grid_m = homography.field_grid(nhl().length_m, nhl().width_m)
    return {
        "coverage": homography.coverage(guess, label),
        "iou_part": np.nanmean(homography.iou_part(guess, label, size, field_m)),
        "iou_whole": np.nanmean(homography.iou_whole(guess, label, field_m)),
        "projection_m": np.nanmean(homography.projection_error_m(guess, label, size, field_m)),
        "reprojection_px": np.nanmean(homography.reprojection_error_px(guess, label, size, grid_m)),
    }


CASES: dict[str, tuple[Callable[[], Metric], tuple[str, ...], Callable[[Columns], dict[str, float]]]] = {
    "pixels": (PixelAccuracy, ("predicted", "target", "height"), pixel_figures),
    "rink": (RinkAccuracy, ("predicted", "target", "to_rink"), rink_figures),
    "wasb": (
        Outcomes,
        ("predicted", "target", "size"),
        lambda data: outcome_figures(detection.wasb_outcomes(data["predicted"], data["target"])),
    ),
    "tracknet": (
        lambda: Outcomes("tracknet"),
        ("predicted", "target", "size"),
        lambda data: outcome_figures(detection.tracknet_outcomes(data["predicted"], data["target"], data["size"])),
    ),
    "presence": (Presence, ("confidence", "predicted", "target"), presence_figures),
    "registration": (
        lambda: RegistrationAccuracy(nhl()),
        ("registered", "to_rink", "size"),
        registration_figures,
    ),
}


def feed(metric: Metric, names: tuple[str, ...], data: Columns, rows: slice) -> None:
    metric.update(*(torch.from_numpy(data[name][rows]) for name in names))


def assert_equal(computed: dict[str, Tensor], expected: dict[str, float]) -> None:
    assert list(computed) == list(expected)
    for name, value in computed.items():
        assert value.item() == pytest.approx(expected[name], rel=1e-5), name


@pytest.mark.parametrize("case", CASES)
def test_batches_give_what_the_pure_function_gives(case):
    build, names, figures = CASES[case]
    data = scored()
    metric = build()
    for start in range(0, COUNT, 7):
        feed(metric, names, data, slice(start, start + 7))
    assert_equal(metric.compute(), figures(data))


@pytest.mark.parametrize("case", CASES)
def test_calling_gives_the_figures_of_the_batch_and_keeps_the_sum(case):
    build, names, figures = CASES[case]
    data = scored(1)
    metric = build()
    first = {name: array[:40] for name, array in data.items()}
    assert_equal(metric(*(torch.from_numpy(first[name]) for name in names)), figures(first))
    metric(*(torch.from_numpy(data[name][40:]) for name in names))
    assert_equal(metric.compute(), figures(data))
    metric.reset()
    feed(metric, names, first, slice(None))
    assert_equal(metric.compute(), figures(first))


@pytest.mark.parametrize("case", CASES)
def test_merged_states_give_what_one_process_gives(case):
    build, names, figures = CASES[case]
    data = scored(2)
    first, second = build(), build()
    feed(first, names, data, slice(0, 25))
    feed(second, names, data, slice(25, None))
    first.merge_state(second)
    assert_equal(first.compute(), figures(data))


def test_figures_of_no_frames_are_nan():
    with pytest.warns(UserWarning, match="before the ``update``"):
        figures = PixelAccuracy().compute()
    assert torch.isnan(figures["mAP"])
    assert figures["labelled"] == 0


def test_single_precision_predictions_are_accepted():
    metric = PixelAccuracy()
    metric.update(torch.tensor([[3.0, 4.0]]), torch.zeros(1, 2), torch.tensor([720]))
    assert metric.compute()["AP5"] == 1.0


def _work(rank: int, rendezvous: str, results: str) -> None:
    """Score one share of the frames; the third process sees none at all."""
    distributed.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=3)
    rows = (slice(0, 22), slice(22, None), None)[rank]
    data = scored(3)
    computed = {}
    for case, (build, names, _) in CASES.items():
        metric = build()
        if rows is not None:
            feed(metric, names, data, rows)
        computed[case] = metric.compute()
    torch.save(computed, f"{results}-{rank}.pt")
    distributed.destroy_process_group()


@pytest.mark.slow
def test_processes_agree_on_the_figures_of_all_frames(tmp_path: Path):
    rendezvous, results = str(tmp_path / "rendezvous"), str(tmp_path / "results")
    multiprocessing.spawn(_work, args=(rendezvous, results), nprocs=3)
    for rank in range(3):
        computed = torch.load(f"{results}-{rank}.pt")
        for case, (_, _, figures) in CASES.items():
            assert_equal(computed[case], figures(scored(3)))
