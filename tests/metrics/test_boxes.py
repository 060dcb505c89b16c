"""COCO's average precision against pycocotools on random frames."""

import io
from contextlib import redirect_stdout

import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from plucc.metrics.bootstrap import Grouping, Resampling
from plucc.metrics.boxes import IOU_THRESHOLDS, Boxes, box_average_precision, box_estimates, box_iou, match_boxes
from plucc.types import ShapeError


def random_boxes(rng: np.random.Generator, frames: int, most: int, size_px: float = 40.0) -> Boxes:
    counts = rng.integers(0, most + 1, frames)
    frame = np.repeat(np.arange(frames), counts)
    corner = rng.uniform(0, 60, (len(frame), 2))
    edges = np.concatenate((corner, corner + rng.uniform(size_px / 2, size_px, (len(frame), 2))), axis=1)
    return Boxes(edges, frame, np.ones(len(frame)))


def shaken(rng: np.random.Generator, targets: Boxes, copies: int) -> Boxes:
    """Return detections near the labels and anywhere, in random order, with scores that all differ."""
    stray = random_boxes(rng, int(targets.frame.max()) + 3, 3)
    edges = np.concatenate((np.repeat(targets.edges_px, copies, axis=0), stray.edges_px))
    edges = edges + rng.normal(0, 2.5, edges.shape)
    frame = np.concatenate((np.repeat(targets.frame, copies), stray.frame))
    score = rng.permutation(len(frame)) / len(frame)
    order = rng.permutation(len(frame))
    return Boxes(edges[order], frame[order], score[order])


def by_pycocotools(detections: Boxes, targets: Boxes) -> np.ndarray:
    frames = range(int(max(detections.frame.max(initial=0), targets.frame.max(initial=0))) + 1)
    left, top, right, bottom = targets.edges_px.T
    labels = COCO()
    labels.dataset = {
        "images": [{"id": number} for number in frames],
        "categories": [{"id": 1, "name": "puck"}],
        "annotations": [
            {
                "id": number + 1,
                "image_id": int(targets.frame[number]),
                "category_id": 1,
                "bbox": [left[number], top[number], right[number] - left[number], bottom[number] - top[number]],
                "area": float((right[number] - left[number]) * (bottom[number] - top[number])),
                "iscrowd": 0,
            }
            for number in range(len(targets))
        ],
    }
    rows = [
        [frame, edges[0], edges[1], edges[2] - edges[0], edges[3] - edges[1], score, 1]
        for frame, edges, score in zip(detections.frame, detections.edges_px, detections.score, strict=True)
    ]
    with redirect_stdout(io.StringIO()):
        labels.createIndex()
        run = COCOeval(labels, labels.loadRes(np.array(rows)), "bbox")
        run.evaluate()
        run.accumulate()
    return run.eval["precision"][:, :, 0, 0, 2].mean(axis=1)  # all areas, 100 detections


@pytest.mark.parametrize("seed", range(6))
def test_average_precision_equals_pycocotools(seed):
    rng = np.random.default_rng(seed)
    targets = random_boxes(rng, frames=40, most=4)
    detections = shaken(rng, targets, copies=2)
    expected = by_pycocotools(detections, targets)
    assert 0.05 < expected.mean() < 0.95
    np.testing.assert_allclose(box_average_precision(match_boxes(detections, targets)), expected, atol=1e-12)


def test_only_the_hundred_surest_of_a_frame_take_part():
    rng = np.random.default_rng(9)
    targets = random_boxes(rng, frames=3, most=4)
    crowd = shaken(rng, targets, copies=60)
    assert np.bincount(crowd.frame).max() > 100
    expected = by_pycocotools(crowd, targets)
    np.testing.assert_allclose(box_average_precision(match_boxes(crowd, targets)), expected, atol=1e-12)


def test_each_label_is_given_once_to_the_surest():
    targets = Boxes(np.array([[0.0, 0.0, 10.0, 10.0]]), np.array([0]), np.ones(1))
    twice = Boxes(np.array([[0.0, 0.0, 10.0, 10.0], [0.0, 0.0, 10.0, 9.0]]), np.array([0, 0]), np.array([0.3, 0.8]))
    matches = match_boxes(twice, targets, [0.5])
    assert matches.score.tolist() == [0.8, 0.3]
    assert matches.matched.tolist() == [[True, False]]
    assert box_average_precision(matches).tolist() == [1.0]


def test_iou_of_hand_computed_boxes():
    first = np.array([[0.0, 0.0, 4.0, 4.0]] * 3)
    second = np.array([[2.0, 2.0, 6.0, 6.0], [4.0, 0.0, 8.0, 4.0], [1.0, 1.0, 3.0, 3.0]])
    np.testing.assert_allclose(box_iou(first, second), [4 / 28, 0.0, 0.25])


def test_no_detections_and_no_labels():
    nothing = Boxes(np.zeros((0, 4)), np.zeros(0, dtype=np.int64), np.zeros(0))
    one = Boxes(np.array([[0.0, 0.0, 4.0, 4.0]]), np.array([0]), np.ones(1))
    assert box_average_precision(match_boxes(nothing, one)).tolist() == [0.0] * 10
    assert np.isnan(box_average_precision(match_boxes(one, nothing))).all()
    silent = next(iter(box_estimates(match_boxes(nothing, one), frames=2)))
    assert float(silent.finish(np.asarray(silent.columns.sum(axis=0)))) == 0.0


@pytest.mark.usefixtures("without_shape_checks")
def test_boxes_need_a_frame_and_a_score_each():
    with pytest.raises(ShapeError, match="2 boxes come with 1 frame numbers"):
        Boxes(np.zeros((2, 4)), np.zeros(1, dtype=np.int64), np.ones(2))


def test_estimates_carry_the_exact_values_and_an_interval_around_them():
    rng = np.random.default_rng(4)
    targets = random_boxes(rng, frames=60, most=3)
    matches = match_boxes(shaken(rng, targets, copies=1), targets)
    frames = 64
    estimates = list(box_estimates(matches, frames))
    exact = box_average_precision(matches)
    assert [estimate.name for estimate in estimates][:3] == ["box AP", "box AP50", "box AP55"]
    assert estimates[0].value == pytest.approx(exact.mean())
    for estimate in estimates:
        assert float(estimate.finish(np.asarray(estimate.columns.sum(axis=0)))) == pytest.approx(estimate.value)
    grouping = Grouping.of(np.arange(frames) // 4, np.zeros(frames))
    figure = Resampling.draw(grouping, rng, 200).figure(estimates[1])
    assert figure.low < figure.value < figure.high
    assert len(estimates) == 1 + len(IOU_THRESHOLDS)
