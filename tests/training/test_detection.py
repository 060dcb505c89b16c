"""Every baseline detector through the same door: train two steps, save, reload, predict, score."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from plucc.config import Spec, load_preset
from plucc.network.boxes import boxes_around
from plucc.network.checkpoint import load_checkpoint
from plucc.network.detectors import DetectorRuntime, build_detector, is_detector, load_detector, load_detector_runtime
from plucc.network.yolo import has_ultralytics
from plucc.training import fit
from plucc.training.fit import train
from plucc.types import InputError, MissingExtraError, ModelError

ENCODER = {"kind": "pyramid", "stem": {"width": 8}, "stages": [{"width": 16, "depth": 1}, {"width": 24, "depth": 1}]}
DETECTORS: dict[str, dict[str, Any]] = {
    "faster-rcnn": {
        "kind": "faster-rcnn",
        "encoder": ENCODER,
        "width": 16,
        "head_width": 16,
        "proposals": 40,
        "anchor_px": 8.0,
    },
    "d-fine": {"kind": "d-fine", "stages": [16, 16, 32, 32], "width": 32, "decoder_layers": 2, "queries": 10},
    "yolov5": {"kind": "yolov5", "scale": "n"},
}
needs_ultralytics = pytest.mark.skipif(not has_ultralytics(), reason="ultralytics is the user's to install")
KINDS = [pytest.param(kind, marks=needs_ultralytics if kind == "yolov5" else ()) for kind in DETECTORS]


@pytest.fixture
def spec_of(drawn: Path, tiny: Callable[..., Spec]) -> Callable[..., Spec]:
    """Return what makes a small experiment with a detector."""

    def make(kind: str, **train_settings: object) -> Spec:
        heatmap_spec = tiny(drawn, train={"steps": 2, "ema_decay": None} | train_settings).model_dump()
        del heatmap_spec["network"]
        return Spec.model_validate(heatmap_spec | {"detector": DETECTORS[kind]})

    return make


@pytest.mark.parametrize("kind", KINDS)
def test_a_detector_trains_is_saved_and_answers_the_same_after_loading(
    kind: str, spec_of: Callable[..., Spec], tmp_path: Path
) -> None:
    outcome = train(spec_of(kind), tmp_path / "run", say=lambda _: None)
    assert outcome.steps == 2
    assert outcome.best is not None
    assert is_detector(outcome.final)
    detector, spec = load_detector(outcome.final)
    assert spec.detector is not None
    assert spec.detector.kind == kind
    picture = np.random.default_rng(0).integers(0, 256, (90, 150, 3), np.uint8)  # no multiple of any stride
    boxes, scores = DetectorRuntime(detector, kind)(picture)
    assert boxes.shape == (len(scores), 4)
    assert len(scores) <= 5
    assert (np.diff(scores) <= 0).all()
    again = load_detector_runtime(outcome.final)(picture)
    np.testing.assert_array_equal(again[0], boxes)
    np.testing.assert_array_equal(again[1], scores)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_detector_learns_one_picture(kind: str) -> None:
    """The loss of one frame falls, and the best box comes to lie on the puck: targets are where they should be."""
    torch.manual_seed(0)
    spec = Spec.model_validate({"detector": DETECTORS[kind]})
    detector = build_detector(spec.detector).train()
    frames = torch.full((2, 3, 96, 128), 0.8)
    frames[:, :, 40:48, 70:78] = 0.0
    boxes = boxes_around(torch.tensor([[74.0, 44.0], [74.0, 44.0]]), torch.full((2, 2), 8.0), 96, 128)
    optimizer = torch.optim.AdamW(detector.parameters(), lr=1e-3)
    losses = []
    for _ in range(110):
        optimizer.zero_grad()
        loss = torch.stack(list(detector.losses(frames, boxes).values())).sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(detector.parameters(), 1.0)
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.7 * losses[0]
    found, scores = detector.eval()(frames)[0]
    best = found[scores.argmax()]
    centre = (best[:2] + best[2:]) / 2
    assert torch.dist(centre, torch.tensor([74.0, 44.0])) < 8


def test_a_detector_resumes_to_the_same_weights(
    spec_of: Callable[..., Spec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = spec_of("faster-rcnn", steps=4, checkpoint_steps=1)
    whole = train(spec, tmp_path / "whole", say=lambda _: None)
    ending = fit.Finisher.on_train_batch_end

    def killed(self: fit.Finisher, trainer: Any, module: Any, *rest: Any) -> None:
        if trainer.global_step == 3:
            raise KeyboardInterrupt
        ending(self, trainer, module, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(fit.Finisher, "on_train_batch_end", killed)
        with pytest.raises((KeyboardInterrupt, SystemExit)):
            train(spec, tmp_path / "broken", say=lambda _: None)
    resumed = train(spec, tmp_path / "broken", resume=True, say=lambda _: None)
    one, other = (torch.load(path, weights_only=True)["state_dict"] for path in (whole.final, resumed.final))
    assert all(torch.equal(one[key], other[key]) for key in one)


def test_frames_without_a_puck_have_no_box() -> None:
    points = torch.tensor([[10.0, 20.0], [torch.nan, torch.nan], [99.5, 0.0]])
    boxes = boxes_around(points, torch.full((3, 2), 6.0), 64, 100)
    assert boxes[0].tolist() == [7.0, 17.0, 13.0, 23.0]
    assert boxes[1].isnan().all()
    assert boxes[2].tolist() == [96.5, 0.0, 100.0, 3.0]


def test_all_detectors_take_a_batch_without_any_puck() -> None:
    for kind in ("faster-rcnn", "d-fine"):
        spec = Spec.model_validate({"detector": DETECTORS[kind]})
        parts = build_detector(spec.detector).train().losses(torch.rand(2, 3, 64, 64), torch.full((2, 4), torch.nan))
        assert all(torch.isfinite(part) for part in parts.values())


@pytest.mark.parametrize("preset", ["faster-rcnn", "d-fine", "yolov5"])
def test_presets_name_their_detector_and_need_no_network(preset: str) -> None:
    spec = load_preset(preset)
    assert spec.detector is not None
    assert spec.detector.kind == preset
    assert spec.network.context is None


def test_local_weights_are_taken_where_they_fit_and_foreign_ones_refused(tmp_path: Path) -> None:
    spec = Spec.model_validate({"detector": DETECTORS["faster-rcnn"]})
    first = build_detector(spec.detector)
    torch.save(first.model.state_dict(), tmp_path / "weights.pth")
    told = Spec.model_validate({"detector": DETECTORS["faster-rcnn"] | {"weights_file": tmp_path / "weights.pth"}})
    second = build_detector(told.detector)
    assert all(torch.equal(one, two) for one, two in zip(first.parameters(), second.parameters(), strict=True))
    torch.save({"other": torch.zeros(3)}, tmp_path / "weights.pth")
    with pytest.raises(ModelError, match="no layer in common"):
        build_detector(told.detector)
    with pytest.raises(InputError, match="does not exist"):
        build_detector(spec.detector.model_copy(update={"weights_file": tmp_path / "absent.pth"}))


def test_a_detector_is_no_heatmap_network(spec_of: Callable[..., Spec], tmp_path: Path, small_checkpoint: Path) -> None:
    final = train(spec_of("d-fine", steps=1), tmp_path / "run", say=lambda _: None).final
    with pytest.raises(ModelError, match="d-fine detector"):
        load_checkpoint(final)
    with pytest.raises(ModelError, match="heatmap network, not a detector"):
        load_detector(small_checkpoint)


@pytest.mark.skipif(has_ultralytics(), reason="it is installed here")
def test_yolo_says_what_to_install_and_on_what_terms() -> None:
    with pytest.raises(MissingExtraError, match=r"pip install ultralytics.*AGPL"):
        build_detector(load_preset("yolov5").detector)
