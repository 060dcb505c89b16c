"""A run from end to end: resumed to the bit, stopped on NaN, refused when it cannot be right."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from plucc.config import Spec
from plucc.network.checkpoint import load_checkpoint
from plucc.training import fit
from plucc.training.dataset import Batch
from plucc.training.fit import train
from plucc.training.module import DivergenceError, PuckModule
from plucc.training.sources import open_sources
from plucc.training.validation import evaluate
from plucc.types import ConfigError, InputError

Tiny = Callable[..., Spec]


def weights(path: Path) -> dict[str, torch.Tensor]:
    return load_checkpoint(path).network.state_dict()


def assert_same(first: Path, second: Path) -> None:
    ours, theirs = weights(first), weights(second)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)


class Killed(BaseException):
    """Stands for a process that ends between two steps."""


def run_until(spec: Spec, run: Path, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Train and end abruptly after a step, with whatever state was saved before it."""
    original = PuckModule.on_train_batch_start

    def dies(self: PuckModule, batch: Batch, batch_idx: int) -> None:
        if self.global_step == step:
            raise Killed
        original(self, batch, batch_idx)

    with monkeypatch.context() as patch:
        patch.setattr(PuckModule, "on_train_batch_start", dies)
        with pytest.raises(Killed):
            train(spec, run, say=lambda _: None)


def test_run_leaves_weights_scores_logs_and_its_config(drawn: Path, tiny: Tiny, tmp_path: Path) -> None:
    lines: list[str] = []
    outcome = train(tiny(drawn), tmp_path / "run", say=lines.append)
    assert outcome.steps == 12
    assert outcome.best is not None
    checkpoint = load_checkpoint(outcome.best)
    scores = [json.loads(line) for line in (tmp_path / "run" / fit.SCORES_FILE).read_text().splitlines()]
    assert [score["step"] for score in scores] == [6, 12]
    assert (
        checkpoint.meta["mAP"] == max(score["mAP"] for score in scores) == pytest.approx(outcome.best_score, abs=1e-3)
    )
    assert list((tmp_path / "run" / "logs").glob("events*"))
    assert (tmp_path / "run" / fit.CONFIG_FILE).is_file()
    assert any("12 training and 4 validation frames" in line for line in lines)


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_a_backbone_learns_at_its_share_of_the_rate(
    drawn: Path, tiny: Tiny, tmp_path: Path, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = {
        "frame": {"kind": "timm", "name": "mobilenetv3_small_050", "features": 3},
        "fused_strides": [],
        "context": None,
        "decoder_widths": [16, 8],
    }
    train_spec = {"pretrained_lr": share, "steps": 2, "ema_decay": None, "weight_decay": 0.1}
    spec = tiny(drawn, network=network, train=train_spec)
    kept: dict[str, torch.Tensor] = {}
    before = PuckModule.on_train_start

    def keeps(self: PuckModule) -> None:
        before(self)
        kept.update({name: value.detach().clone() for name, value in self.network.named_parameters()})

    monkeypatch.setattr(PuckModule, "on_train_start", keeps)
    after = weights(train(spec, tmp_path / "run", say=lambda _: None).final)
    moved = {name: float((after[name] - value).abs().max()) for name, value in kept.items()}
    backbone = max(step for name, step in moved.items() if "backbone" in name)
    others = max(step for name, step in moved.items() if "backbone" not in name)
    assert others > 0
    assert backbone == pytest.approx(share * others, rel=0.2)


@pytest.mark.parametrize("step", [4, 6, 9], ids=["mid-epoch", "epoch-end", "second-epoch"])
def test_resumed_run_ends_with_the_same_weights(
    drawn: Path, tiny: Tiny, tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = tiny(drawn, train={"checkpoint_steps": 2})
    whole = train(spec, tmp_path / "whole", say=lambda _: None)
    run_until(spec, tmp_path / "broken", step, monkeypatch)
    resumed = train(spec, tmp_path / "broken", resume=True, say=lambda _: None)
    assert resumed.steps == whole.steps
    assert_same(resumed.final, whole.final)
    assert (tmp_path / "whole" / fit.SCORES_FILE).read_text().count("\n") == 2
    assert (tmp_path / "broken" / fit.SCORES_FILE).read_text().count("\n") == 2


def test_number_of_loader_processes_does_not_change_the_weights(drawn: Path, tiny: Tiny, tmp_path: Path) -> None:
    ends = [
        train(tiny(drawn, data={"workers": workers}), tmp_path / str(workers), say=lambda _: None).final
        for workers in (0, 2)
    ]
    assert_same(*ends)


def test_plateau_survives_a_resume(drawn: Path, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = tiny(drawn, train={"schedule": "plateau", "patience_epochs": 1, "epochs": 4, "epoch_samples": 8})
    whole = train(spec, tmp_path / "whole", say=lambda _: None)
    run_until(spec, tmp_path / "broken", 5, monkeypatch)
    assert_same(train(spec, tmp_path / "broken", resume=True, say=lambda _: None).final, whole.final)


def test_accumulated_steps_resume_too(drawn: Path, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = tiny(drawn, train={"accumulate": 2, "checkpoint_steps": 1, "batch": 2})
    whole = train(spec, tmp_path / "whole", say=lambda _: None)
    assert whole.steps == 12
    run_until(spec, tmp_path / "broken", 4, monkeypatch)
    assert_same(train(spec, tmp_path / "broken", resume=True, say=lambda _: None).final, whole.final)


def test_nan_stops_the_run_and_keeps_the_batch(
    drawn: Path, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = PuckModule.training_step

    def poisoned(self: PuckModule, batch: Batch, index: int) -> torch.Tensor:
        if self.global_step == 3:
            next(self.network.parameters()).data.fill_(float("nan"))
        return original(self, batch, index)

    monkeypatch.setattr(PuckModule, "training_step", poisoned)
    with pytest.raises(DivergenceError, match="step 3 is not a number"):
        train(tiny(drawn), tmp_path / "run", say=lambda _: None)
    kept = torch.load(tmp_path / "run" / "diverged-step3-rank0.pt", weights_only=True)
    assert kept["frames"].shape == (4, 64, 64, 3)


def test_steps_end_a_run_in_the_middle_of_an_epoch_with_a_validation(drawn: Path, tiny: Tiny, tmp_path: Path) -> None:
    outcome = train(tiny(drawn, train={"steps": 8}), tmp_path / "run", say=lambda _: None)
    assert outcome.steps == 8
    assert json.loads((tmp_path / "run" / fit.SCORES_FILE).read_text().splitlines()[-1])["step"] == 8


def test_hours_end_a_run(drawn: Path, tiny: Tiny, tmp_path: Path) -> None:
    outcome = train(tiny(drawn, train={"hours": 1 / 3600}), tmp_path / "run", say=lambda _: None)
    assert outcome.steps >= 1


@pytest.mark.parametrize(
    "settings", [{"precision": "bf16-mixed"}, {"channels_last": False}, {"optimizer": "adam"}], ids=str
)
def test_other_ways_to_compute_run_too(drawn: Path, tiny: Tiny, tmp_path: Path, settings: dict[str, object]) -> None:
    spec = tiny(drawn, train={"steps": 2} | settings, network={"presence": False})
    assert train(spec, tmp_path / "run", say=lambda _: None).steps == 2


def test_whole_frames_and_several_datasets_mix(
    drawn: Path, write_set: Callable[..., Path], tiny: Tiny, tmp_path: Path
) -> None:
    other = write_set(tmp_path / "other", 4, seed=9)
    data = {
        "datasets": [{"path": drawn, "weight": 3.0}, {"path": other, "validate_on": False}],
        "crop_px": None,
        "balance_runs": True,
        "cache": tmp_path / "cache",
    }
    assert train(tiny(drawn, data=data, train={"steps": 2}), tmp_path / "run", say=lambda _: None).steps == 2


def test_second_run_in_a_folder_is_refused(drawn: Path, tiny: Tiny, tmp_path: Path) -> None:
    spec = tiny(drawn, train={"steps": 2})
    train(spec, tmp_path / "run", say=lambda _: None)
    with pytest.raises(InputError, match="--resume"):
        train(spec, tmp_path / "run", say=lambda _: None)
    with pytest.raises(ConfigError, match="differs"):
        train(tiny(drawn, train={"steps": 3}), tmp_path / "run", resume=True, say=lambda _: None)


def test_weights_of_a_similar_network_are_taken_where_they_fit(drawn: Path, tiny: Tiny, tmp_path: Path) -> None:
    spec = tiny(drawn, train={"steps": 2})
    first = train(spec, tmp_path / "first", say=lambda _: None).final
    wider = tiny(drawn, network={"decoder_widths": [16, 16, 12]}, train={"initial_weights": first})
    network = fit.initial_network(wider)
    given = weights(first)
    assert torch.equal(network.state_dict()["frame_encoder.stem.0.weight"], given["frame_encoder.stem.0.weight"])
    assert network.state_dict()["head.logits.project.weight"].shape != given["head.logits.project.weight"].shape


def test_a_grown_network_starts_with_what_the_smaller_one_says(drawn: Path, tiny: Tiny, tmp_path: Path) -> None:
    first = train(tiny(drawn, train={"steps": 2}), tmp_path / "first", say=lambda _: None).final
    detail = {"kind": "pyramid", "stem": {"width": 8}, "stages": [{"width": 8, "depth": 1, "stride": 1}]}
    grown = fit.initial_network(tiny(drawn, network={"detail": detail}, train={"initial_weights": first})).eval()
    frame, context = torch.randn(1, 3, 96, 128), torch.randn(1, 3, 48, 64)
    torch.testing.assert_close(grown(frame, context), load_checkpoint(first).network(frame, context))


def test_a_run_starts_from_the_mean_of_several_checkpoints(drawn: Path, tiny: Tiny, tmp_path: Path) -> None:
    parts = tuple(
        train(tiny(drawn, train={"steps": 1, "seed": seed}), tmp_path / str(seed), say=lambda _: None).final
        for seed in (1, 2)
    )
    mean = fit.initial_network(tiny(drawn, train={"initial_weights": parts})).state_dict()
    one, other = (weights(part) for part in parts)
    key = "head.logits.project.weight"
    assert not torch.equal(one[key], other[key])
    torch.testing.assert_close(mean[key], (one[key] + other[key]) / 2)


def test_datasets_without_frames_for_training_are_refused(drawn: Path, tiny: Tiny, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"data\.datasets is empty"):
        train(tiny(drawn, data={"datasets": []}), tmp_path / "run")
    with pytest.raises(ConfigError, match="no dataset has a match m9"):
        train(tiny(drawn, data={"validation_matches": ["m9"]}), tmp_path / "other")


def test_eight_drawn_frames_are_learnt_by_heart(write_set: Callable[..., Path], tiny: Tiny, tmp_path: Path) -> None:
    """AP^5 = 100 on the very frames, within a fixed number of steps."""
    root = write_set(tmp_path / "eight", 8)
    spec = tiny(
        root,
        data={"validation_matches": [], "crop_px": 96},
        augment={"scale": [1.0, 1.0], "anywhere": 0.0, "paint_out": 0.0, "colour": 0.0, "blur": 0.0, "noise": 0.0},
        train={"steps": 150, "batch": 8, "epoch_samples": 1200, "lr": 1e-2, "ema_decay": None, "presence_weight": 0.1},
    )
    outcome = train(spec, tmp_path / "run", say=lambda _: None)
    scores = evaluate(load_checkpoint(outcome.final).network, open_sources(spec).training, spec)
    assert scores.pixels.average_precision[0] == 1.0
    assert scores.median_px < spec.network.logit_stride  # less than a cell of the heatmap
