"""All figures of a report with their intervals, for a set of frames and for each category of it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float

from plucc.metrics import detection, homography, pixels, presence, ranking, rink
from plucc.metrics.bootstrap import LEVEL, RESAMPLES, Figure, Grouping, Resampling
from plucc.metrics.frames import ScoredFrames
from plucc.metrics.ranking import RESAMPLED_BINS, masked_bins
from plucc.metrics.sums import Columns, Estimate, Finish, mean_estimate, ratio, share_estimate
from plucc.rink.sheet import Sheet

CORRECT_PX = 10.0  # what a row's confidence is the probability of: the puck within this distance at 720 lines
PCK_LIMIT_PX = 50.0

Estimator = Callable[[ScoredFrames], Iterable[Estimate]]


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A line of a plot with its band."""

    name: str
    x: Float[np.ndarray, " t"]
    value: Float[np.ndarray, " t"]
    low: Float[np.ndarray, " t"]
    high: Float[np.ndarray, " t"]


def measure(
    frames: ScoredFrames,
    estimators: Sequence[Estimator],
    rng: np.random.Generator,
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> tuple[Figure, ...]:
    """Return every figure of the estimators with a bootstrap interval.

    >>> from dataclasses import replace
    >>> from plucc.types import Size
    >>> label = np.array([[100.0, 100.0]] * 4)
    >>> frames = ScoredFrames.plain(label + [[0, 3], [0, 8], [0, 30], [0, 60]], label, Size(1280, 720))
    >>> frames = replace(frames, run=np.arange(4))
    >>> figure = measure(frames, [image_estimates], np.random.default_rng(0))[1]
    >>> figure.name, figure.value, figure.low, figure.high, figure.resampled_by
    ('AP10', 0.5, 0.0, 1.0, 'run')
    """
    resampling = Resampling.draw(Grouping.of(frames.match, frames.run), rng, resamples, level)
    return tuple(resampling.figure(estimate) for estimator in estimators for estimate in estimator(frames))


def measure_by_category(
    frames: ScoredFrames,
    estimators: Sequence[Estimator],
    rng: np.random.Generator,
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> dict[str, tuple[Figure, ...]]:
    """Return the figures of each category that occurs; how to resample is decided for each by the matches it is in."""
    return {
        str(category): measure(
            frames.select(frames.category == category), estimators, rng, resamples=resamples, level=level
        )
        for category in np.unique(frames.category)
    }


def all_estimators(sheet: Sheet) -> tuple[Estimator, ...]:
    """Return everything this module can measure, for frames of games on a sheet."""
    return (
        image_estimates,
        partial(rink_estimates, sheet=sheet),
        protocol_estimates,
        presence_estimates,
        partial(homography_estimates, sheet=sheet),
    )


def image_estimates(frames: ScoredFrames) -> Iterable[Estimate]:
    """Yield AP^τ, mAP^τ, D_pixel and the area under the PCK curve up to 50 px."""
    distances_px = pixels.pixel_distances(frames.predicted_px, frames.target_px)
    hits = pixels.within_thresholds(distances_px, frames.height_px)
    for column, tau_px in enumerate(pixels.TAU_PX):
        yield share_estimate(f"AP{tau_px:g}", hits[:, column], frames.has_puck)
    mean_hits = hits.mean(axis=1)
    yield mean_estimate("mAP", "share", np.where(frames.has_puck, mean_hits, np.nan))
    reference_px = pixels.at_reference_height(distances_px, frames.height_px)
    yield mean_estimate("D_pixel", "px", reference_px)
    gains = pixels.pck_gains(reference_px, PCK_LIMIT_PX)
    yield mean_estimate(f"PCK area to {PCK_LIMIT_PX:g} px", "share", np.where(frames.has_puck, gains, np.nan))


def rink_estimates(frames: ScoredFrames, sheet: Sheet) -> Iterable[Estimate]:
    """Yield AP^r, AP^2r, AP^4r, mean and median RSLE, zone accuracy, and the share of labels without a homography."""
    distances_m = rink.rink_distances(frames.predicted_px, frames.target_px, frames.to_rink)
    scored = rink.can_be_scored(frames.target_px, frames.to_rink)
    hits = rink.within_radii(distances_m)
    for column, name in enumerate(("APr", "AP2r", "AP4r")):
        yield share_estimate(name, hits[:, column], scored)
    yield mean_estimate("RSLE mean", "m", distances_m)
    yield median_estimate("RSLE median", "m", distances_m)
    guess = rink.zone_indices(rink.project_each(frames.predicted_px, frames.to_rink), sheet)
    truth = rink.zone_indices(rink.project_each(frames.target_px, frames.to_rink), sheet)
    yield share_estimate("zone accuracy", guess == truth, scored)
    yield share_estimate("without homography", ~scored, frames.has_puck)


def median_estimate(name: str, unit: str, values: Float[np.ndarray, " n"]) -> Estimate:
    """Return the median of the finite values as an estimate; the other frames do not count."""
    counted = np.isfinite(values)
    bins = masked_bins(values, counted, RESAMPLED_BINS)
    exact = float(np.median(values[counted])) if counted.any() else float("nan")
    finish = partial(_median_of, tops=bins.top)
    return Estimate(name, unit, exact, int(counted.sum()), bins.columns(counted), finish)


def _median_of(sums: np.ndarray, tops: np.ndarray) -> np.ndarray:
    return ranking.median(sums, tops)


def protocol_estimates(frames: ScoredFrames) -> Iterable[Estimate]:
    """Yield WASB's and TrackNet's figures, and average precision ranked by confidence at 10 px (720 lines)."""
    wasb = detection.wasb_outcomes(frames.predicted_px, frames.target_px)
    tracknet = detection.tracknet_outcomes(frames.predicted_px, frames.target_px, frames.size_px)
    for protocol, outcomes in (("WASB", wasb), ("TrackNet", tracknet)):
        columns = outcomes.astype(np.float64)
        for figure in (detection.precision, detection.recall, detection.f1, detection.accuracy):
            name = f"{protocol} {figure.__name__.upper() if figure is detection.f1 else figure.__name__}"
            yield Estimate(name, "share", float(figure(columns.sum(axis=0))), len(frames), columns, figure)
    exact = detection.wasb_average_precision(wasb, frames.confidence)
    says = wasb[:, :3].any(axis=1)
    yield _ranked("WASB AP", exact, (wasb[:, 0], says & ~wasb[:, 0], wasb[:, 0] | wasb[:, 4]), frames, _wasb_precision)
    is_hit, is_predicted = is_correct(frames), frames.is_predicted
    exact = detection.ranked_average_precision(is_hit, is_predicted, frames.has_puck, frames.confidence)
    masks = (is_hit, is_predicted & ~is_hit, frames.has_puck)
    yield _ranked(f"ranked AP at {CORRECT_PX:g} px", exact, masks, frames, _ranked_precision)


def is_correct(frames: ScoredFrames, threshold_px: float = CORRECT_PX) -> np.ndarray:
    """Tell which frames have a puck and a prediction within a distance of it, at 720 lines."""
    distances_px = pixels.pixel_distances(frames.predicted_px, frames.target_px)
    return pixels.within_thresholds(distances_px, frames.height_px, [threshold_px])[:, 0]


def _ranked(name: str, exact: float, masks: tuple[np.ndarray, ...], frames: ScoredFrames, finish: Finish) -> Estimate:
    bins = ranking.score_bins(frames.confidence, RESAMPLED_BINS)
    return Estimate(name, "share", exact, int(np.any(masks, axis=0).sum()), bins.columns(*masks), finish)


def _wasb_precision(sums: np.ndarray) -> np.ndarray:
    hits, misses, relevant = np.split(sums, 3, axis=-1)
    return np.asarray(np.nan_to_num(ranking.stepwise_precision(hits, misses, np.asarray(relevant.sum(axis=-1)))))


def _ranked_precision(sums: np.ndarray) -> np.ndarray:
    hits, misses, relevant = np.split(sums, 3, axis=-1)
    return ranking.interpolated_precision(hits, misses, np.asarray(relevant.sum(axis=-1)))


def presence_estimates(frames: ScoredFrames) -> Iterable[Estimate]:
    """Yield how well confidence tells frames with a puck from those without, and how well it is calibrated.

    Brier score and calibration error come twice: for confidence as the probability that there is a puck, and, as a
    row of results promises, that it is within 10 px of the point. Risk and coverage are over frames with a
    prediction, which is wrong when farther off or on a frame without a puck.
    """
    confidence, has_puck, is_predicted = frames.confidence, frames.has_puck, frames.is_predicted
    exact = presence.auroc(confidence, has_puck)
    yield _ranked("presence AUROC", exact, (has_puck, ~has_puck), frames, _auroc_of)
    yield share_estimate("false alarms", is_predicted, ~has_puck)
    exact = presence.false_alarm_rate_at_recall(confidence, has_puck)
    name = f"false alarms at recall {presence.FIXED_RECALL:g}"
    yield _ranked(name, exact, (has_puck, ~has_puck), frames, _false_alarms_of)
    correct = is_correct(frames)
    for event, came_true in (("presence", has_puck), (f"within {CORRECT_PX:g} px", correct)):
        yield mean_estimate(f"Brier {event}", "", (confidence - came_true) ** 2)
        yield _calibration_estimate(f"ECE {event}", confidence, came_true)
    wrong = is_predicted & ~correct
    exact = presence.risk_coverage(confidence[is_predicted], wrong[is_predicted]).area
    yield _ranked("risk-coverage area", exact, (wrong, is_predicted), frames, _risk_area_of)


def _auroc_of(sums: np.ndarray) -> np.ndarray:
    return ranking.auroc(*np.split(sums, 2, axis=-1))


def _false_alarms_of(sums: np.ndarray) -> np.ndarray:
    positive, negative = np.split(sums, 2, axis=-1)
    return ranking.false_alarms_at_recall(positive, negative, presence.FIXED_RECALL)


def _risk_area_of(sums: np.ndarray) -> np.ndarray:
    return ranking.area_under_risk(*np.split(sums, 2, axis=-1))


def _calibration_estimate(name: str, confidence: Float[np.ndarray, " n"], came_true: np.ndarray) -> Estimate:
    index = presence.calibration_bin(confidence)
    bins = ranking.ScoreBins(index, np.arange(presence.CALIBRATION_BINS, dtype=np.float64))
    columns = bins.columns(np.ones(len(confidence)), confidence, came_true)
    exact = presence.expected_calibration_error(confidence, came_true)
    return Estimate(name, "share", exact, len(confidence), columns, _calibration_error_of)


def _calibration_error_of(sums: np.ndarray) -> np.ndarray:
    count, confidence, came_true = np.split(sums, 3, axis=-1)
    return ratio(np.abs(confidence - came_true).sum(axis=-1), count.sum(axis=-1))


def homography_estimates(frames: ScoredFrames, sheet: Sheet) -> Iterable[Estimate]:
    """Yield coverage, and over covered frames IoU_part, IoU_whole, projection and reprojection error."""
    predicted, target, size_px = frames.predicted_to_rink, frames.to_rink, frames.size_px
    field_m = homography.field_rectangle(sheet.length_m, sheet.width_m)
    points_m = homography.field_grid(sheet.length_m, sheet.width_m)
    covered, labelled = homography.has_homography(predicted), homography.has_homography(target)
    yield share_estimate("homography coverage", covered, labelled)
    yield mean_estimate("IoU part", "share", homography.iou_part(predicted, target, size_px, field_m))
    yield mean_estimate("IoU whole", "share", homography.iou_whole(predicted, target, field_m))
    errors_m = homography.projection_error_m(predicted, target, size_px, field_m)
    yield mean_estimate("projection error mean", "m", errors_m)
    yield median_estimate("projection error median", "m", errors_m)
    errors_px = homography.reprojection_error_px(predicted, target, size_px, points_m)
    yield mean_estimate("reprojection error mean", "px", errors_px)


def pck_curve(frames: ScoredFrames, thresholds_px: Float[np.ndarray, " t"], resampling: Resampling) -> Curve:
    """Return the share of labelled frames within each threshold (at 720 lines) with its band."""
    distances_px = pixels.pixel_distances(frames.predicted_px, frames.target_px)
    labelled = frames.has_puck
    hits = pixels.within_thresholds(distances_px, frames.height_px, tuple(thresholds_px))
    columns = np.concatenate((hits & labelled[:, None], labelled[:, None]), axis=1).astype(np.float64)
    return _curve("PCK", thresholds_px, columns, lambda sums: ratio(sums[..., :-1], sums[..., -1:]), resampling)


def risk_coverage_curve(frames: ScoredFrames, coverage: Float[np.ndarray, " t"], resampling: Resampling) -> Curve:
    """Return the share of wrong predictions among the surest ones, for each coverage, with its band."""
    answered = frames.is_predicted
    bins = ranking.score_bins(frames.confidence, RESAMPLED_BINS)
    columns = bins.columns(answered & ~is_correct(frames), answered)

    def finish(sums: np.ndarray) -> np.ndarray:
        wrong, taken = np.split(sums, 2, axis=-1)
        return ranking.risk_at_coverage(wrong, taken, coverage)

    return _curve("risk", coverage, columns, finish, resampling)


def _curve(name: str, x: np.ndarray, columns: Columns, finish: Finish, resampling: Resampling) -> Curve:
    low, high = resampling.bounds(columns, finish)
    value = finish(np.asarray(columns.sum(axis=0)))
    return Curve(name, x, value, low, high)
