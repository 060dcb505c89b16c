"""The second look learns from mined places; a killed run goes on as if it had not been."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from plucc.cli.main import app
from plucc.config import SecondLookSpec
from plucc.data.manifest import read_dataset
from plucc.data.schema import Puck, Record
from plucc.export import export_second_look, merge_second_looks
from plucc.network.second_look import SecondLookNet, load_second_look
from plucc.training.second_look import (
    SecondLookFit,
    SecondLookPlan,
    SecondLookTraining,
    choice_loss,
    fit_second_look,
    train_second_look,
)
from plucc.training.second_look_samples import (
    GREY,
    Lesson,
    PeakLine,
    carried,
    collate,
    lesson,
    mine_peaks,
    sample_places,
    withhold,
)
from plucc.training.shares import SharedSource, parse_source
from plucc.types import ConfigError, DataError, FloatArray, ImageArray, ModelError, Point, Size

SPEC = SecondLookSpec(backbone="mobilenetv3_small_050", windows_px=(60.0, 180.0), side_px=64, hidden=16)


@dataclass(frozen=True)
class DarkPlaces:
    """What a simple first look finds: the darkest places of a frame, and how often it was asked."""

    places: tuple[tuple[Point, float], ...]
    presence_logit: float | None = 1.5


class Finder:
    def __init__(self, stop_after: int = 10**6) -> None:
        self.asked, self._stop_after = 0, stop_after

    def __call__(self, image: ImageArray, count: int) -> DarkPlaces:
        if self.asked == self._stop_after:
            raise KeyboardInterrupt
        self.asked += 1
        grey = image.mean(axis=2)
        height, width = (side // 16 for side in grey.shape)
        blocks = grey[: height * 16, : width * 16].reshape(height, 16, width, 16).mean(axis=(1, 3))
        darkest = np.argsort(blocks, axis=None)[:count]
        rows, columns = np.unravel_index(darkest, blocks.shape)
        return DarkPlaces(
            tuple((Point(16.0 * x + 8, 16.0 * y + 8), 0.5 / (n + 1)) for n, (y, x) in enumerate(zip(rows, columns)))  # noqa: B905
        )


def record(visible: float | None = None, *, puck: bool = True) -> Record:
    label = Puck(point_px=Point(400, 300), visible_fraction=visible) if puck else None
    return Record(image="a.png", size=Size(1920, 1080), match="m", puck=label, no_puck=not puck)


LINE = PeakLine(image="a.png", match="m", peaks=((420.0, 300.0, 0.5), (500.0, 300.0, 0.3), (422.0, 300.0, 0.1)))


def test_only_places_clear_of_the_puck_are_counter_examples() -> None:
    """At 1080 lines 14 px are 21: 20 away is the puck's own place, 22 away is not."""
    taught = lesson(record(), LINE)
    assert taught.puck_px == Point(400, 300)
    assert taught.others_px.tolist() == [[500.0, 300.0], [422.0, 300.0]]
    hidden = lesson(record(0.1), LINE)
    assert hidden.puck_px is None
    assert hidden.others_px.tolist() == [[500.0, 300.0], [422.0, 300.0]]
    assert lesson(record(puck=False), LINE).others_px.shape == (3, 2)
    assert not lesson(record(0.0), replace_peaks(()))


def replace_peaks(peaks: tuple[tuple[float, float, float], ...]) -> PeakLine:
    return LINE.model_copy(update={"peaks": peaks})


def test_samples_show_what_their_labels_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """A white puck on grey: what is labelled 1 is light at its centre, and never anything else."""
    monkeypatch.setattr("plucc.training.second_look_samples.WITHHELD", 0.0)
    image = np.full((720, 1280, 3), 90, np.uint8)
    image[292:308, 392:408] = 255
    peaks = tuple((100.0 + 60 * n, 100.0, 0.1) for n in range(12))
    taught = lesson(record().model_copy(update={"size": Size(1280, 720)}), replace_peaks(peaks))
    for seed in range(5):
        patches, labels = sample_places(image, taught, SPEC, np.random.default_rng(seed))
        assert patches.shape == (7, 2, 64, 64, 3)
        assert labels.tolist() == [0, 0, 0, 0, 0, 1, 1]
        contrast = patches[:, 0, 30:34, 30:34].mean(axis=(1, 2, 3)) - patches[:, 0, :8, :8].mean(axis=(1, 2, 3))
        assert (contrast[labels == 1] > 25).all()
        assert (contrast[labels == 0] < 25).all()
    again, _ = sample_places(image, taught, SPEC, np.random.default_rng(4))
    np.testing.assert_array_equal(again, patches)


def test_now_and_then_one_window_of_a_place_says_nothing() -> None:
    patches = np.zeros((2000, 3, 2, 2, 3), np.uint8)
    withhold(patches, np.random.default_rng(1))
    grey = (patches == GREY).all(axis=(2, 3, 4))
    assert grey.any(axis=(0,)).all()
    assert set(grey.sum(axis=1)) == {0, 1}
    assert 0.07 < grey.any(axis=1).mean() < 0.13
    lone = np.zeros((100, 1, 2, 2, 3), np.uint8)
    withhold(lone, np.random.default_rng(1))
    assert not lone.any()


def test_a_carried_puck_shows_where_its_lesson_says() -> None:
    """A dark puck on ice moves, leaves no trace, and what lies near its new place is no counter-example."""
    rng = np.random.default_rng(2)
    image = (218 + rng.normal(0, 2, (720, 1280, 3))).astype(np.uint8)
    image[295:305, 393:407] = 30
    everywhere = np.stack(np.meshgrid(np.arange(20.0, 1280, 20), np.arange(20.0, 720, 20)), axis=-1).reshape(-1, 2)
    taught = Lesson(Point(400, 300), everywhere, (14.0, 10.0))
    moved, learnt = carried(image, taught, rng)
    assert learnt.puck_px is not None
    assert learnt.puck_px.distance(Point(400, 300)) > 10
    column, row = int(learnt.puck_px.x), int(learnt.puck_px.y)
    assert moved[row - 3 : row + 4, column - 3 : column + 4].min() < 195
    assert moved[290:310, 388:412].min() > 190
    away_px = np.hypot(*(learnt.others_px - np.array(tuple(learnt.puck_px))).T)
    assert away_px.min() > 20
    assert len(learnt.others_px) > 0.9 * len(everywhere)


def test_what_cannot_be_lifted_from_the_ice_stays() -> None:
    image = np.full((720, 1280, 3), 60, np.uint8)
    taught = Lesson(Point(400, 300), np.zeros((1, 2)), (14.0, 10.0))
    assert carried(image, taught, np.random.default_rng(0)) == (image, taught)
    nowhere = Lesson(None, np.zeros((1, 2)))
    assert carried(image, nowhere, np.random.default_rng(0)) == (image, nowhere)


def test_a_puck_is_up_against_what_else_its_own_frame_shows() -> None:
    """Two frames with a puck, one seen twice, and one without; none of the places has the odds of a logit of 0."""
    logits = torch.log(torch.tensor([3.0, 1.0, 2.0, 4.0, 1.5, 0.5]))
    labels = torch.tensor([1.0, 0.0, 1.0, 1.0, 0.0, 0.0])
    frames = torch.tensor([0, 0, 0, 1, 1, 2])
    right = torch.tensor([3 / (3 + 1 + 1), 2 / (2 + 1 + 1), 4 / (4 + 1.5 + 1), 1 / (0.5 + 1)])
    torch.testing.assert_close(choice_loss(logits, labels, frames), -torch.log(right).mean())
    only_pucks = choice_loss(logits[:1], labels[:1], frames[:1])
    torch.testing.assert_close(only_pucks, -torch.log(torch.tensor(3 / 4)))


def test_a_batch_says_of_which_frame_each_place_is() -> None:
    def places(*labels: float) -> tuple[ImageArray, FloatArray]:
        return np.zeros((len(labels), 2, 4, 4, 3), np.uint8), np.array(labels, np.float32)

    patches, labels, frames = collate([places(0, 0, 1), places(0), places(1, 1)])
    assert patches.shape == (6, 2, 4, 4, 3)
    assert labels.tolist() == [0, 0, 1, 0, 1, 1]
    assert frames.tolist() == [0, 0, 0, 1, 2, 2]


def test_mining_goes_on_where_it_was_killed(drawn: Path, tmp_path: Path) -> None:
    dataset = read_dataset(drawn)
    whole = mine_peaks(dataset, dataset.records, tmp_path / "whole.jsonl", Finder)
    broken = tmp_path / "broken.jsonl"
    with pytest.raises(KeyboardInterrupt):
        mine_peaks(dataset, dataset.records, broken, lambda: Finder(stop_after=5))
    with broken.open("a") as file:
        file.write('{"image": "half a li')
    finder = Finder()
    assert mine_peaks(dataset, dataset.records, broken, lambda: finder) == whole
    assert finder.asked == len(dataset) - 5
    assert broken.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    mine_peaks(dataset, dataset.records, broken, lambda: pytest.fail("nothing is left to find"))


def plan_of(drawn: Path, **changes: object) -> SecondLookPlan:
    training = SecondLookTraining(steps=4, batch=3, warmup_steps=1, seed=3, workers=0)
    plan = SecondLookPlan((SharedSource(drawn),), SPEC, training, frozenset({"m3"}))
    return replace(plan, **changes)  # type: ignore[arg-type]


def test_training_lowers_the_loss_and_is_exported_with_its_facts(drawn: Path, tmp_path: Path) -> None:
    fit = train_second_look(plan_of(drawn), tmp_path / "run.pt", Finder)
    assert fit.step == 4
    assert {record.match for record in fit.sources[0].records} == {"m0", "m1", "m2"}
    peaks = (tmp_path / "drawn.peaks.jsonl").read_text()
    assert '"m3"' not in peaks
    longer = SecondLookFit(
        plan_of(drawn, training=replace(fit.plan.training, steps=60, learning_rate=4e-3)), fit.sources
    )
    batch = next(longer.batches())
    losses = [longer.advance(batch) for _ in range(8)]
    assert min(losses[4:]) < 0.8 * losses[0]
    net, data = load_second_look(tmp_path / "run.pt")
    assert net.spec == SPEC
    assert (data["datasets"], data["held_out"], data["steps"]) == (["drawn"], ["m3"], 4)


def test_training_goes_on_from_an_exported_second_look(drawn: Path, tmp_path: Path) -> None:
    """Of a mean of several, stored in 16 bits, the one on the plan's backbone; it says what it said."""
    first = train_second_look(plan_of(drawn), tmp_path / "first.pt", Finder)
    other = SecondLookNet(SPEC.model_copy(update={"backbone": "mobilenetv3_small_075"}))
    torch.save({"spec": other.spec.model_dump(mode="json"), "model": other.state_dict()}, tmp_path / "other.pt")
    for name in ("first", "other"):
        export_second_look(tmp_path / f"{name}.pt", tmp_path / f"{name}.onnx")
    merge_second_looks([tmp_path / "other.onnx", tmp_path / "first.onnx"], tmp_path / "mean.onnx", halved=True)
    again = SecondLookFit(plan_of(drawn, start_from=tmp_path / "mean.onnx"), first.sources)
    (patches, _, _) = next(again.batches())
    with torch.inference_mode():
        torch.testing.assert_close(again.net.eval()(patches), first.average.network(patches), atol=0.02, rtol=0.02)
    norms = [part for part in again.net.modules() if isinstance(part, torch.nn.BatchNorm2d)]
    assert all(part.running_mean.abs().max() > 0 for part in norms)
    unlike = SPEC.model_copy(update={"backbone": "efficientnet_lite0"})
    with pytest.raises(ModelError, match="holds no second look on efficientnet_lite0 with 2 windows"):
        SecondLookFit(plan_of(drawn, spec=unlike, start_from=tmp_path / "mean.onnx"), first.sources)


def test_frozen_stages_stay_as_they_start(drawn: Path, tmp_path: Path) -> None:
    training = replace(plan_of(drawn).training, frozen_stages=2)
    fit = train_second_look(plan_of(drawn, training=training), tmp_path / "run.pt", Finder)
    torch.manual_seed(training.seed)
    started, ended = SecondLookNet(SPEC).state_dict(), fit.net.state_dict()
    moved = {key for key in started if not torch.equal(started[key], ended[key])}
    frozen = ("body.conv_stem.", "body.bn1.", "body.blocks.0.", "body.blocks.1.")
    assert not any(key.startswith(frozen) for key in moved)  # nor the statistics of their norms
    assert {"body.blocks.2.0.conv_pw.weight", "body.blocks.2.0.bn1.running_mean", "head.0.weight"} <= moved
    assert load_second_look(tmp_path / "run.pt")[1]["frozen_stages"] == 2


def test_a_killed_run_ends_as_one_that_was_not(drawn: Path, tmp_path: Path) -> None:
    whole = train_second_look(plan_of(drawn), tmp_path / "whole.pt", Finder)
    broken = tmp_path / "broken.pt"

    def killed(items: object, *, total: int | None = None, label: str = "") -> object:
        for count, item in enumerate(items):  # type: ignore[arg-type, var-annotated]
            if label == "training" and count == 2:
                fit.save(broken)
                raise KeyboardInterrupt
            yield item

    fit = SecondLookFit(plan_of(drawn), whole.sources)
    with pytest.raises(KeyboardInterrupt):
        fit_second_look(fit, broken, progress=killed)  # type: ignore[arg-type]
    resumed = SecondLookFit(plan_of(drawn), whole.sources)
    fit_second_look(resumed, broken)
    assert resumed.step == 4
    for key, value in whole.average.network.state_dict().items():
        torch.testing.assert_close(resumed.average.network.state_dict()[key], value, rtol=0, atol=0)


def test_what_cannot_be_trained_is_a_sentence(drawn: Path, tmp_path: Path, write_set: Callable[..., Path]) -> None:
    held = frozenset({"m0", "m1", "m2", "m3"})
    with pytest.raises(DataError, match="no frame to learn from"):
        train_second_look(plan_of(drawn, held_out=held), tmp_path / "a.pt", Finder)
    torch.save({"model": {}}, tmp_path / "other.pt")
    with pytest.raises(ModelError, match="holds another network's training"):
        train_second_look(plan_of(drawn), tmp_path / "other.pt", Finder)
    with pytest.raises(ConfigError, match="is no source"):
        parse_source("real@much", "peaks")
    outcome = CliRunner().invoke(app, ["second-look", "train", "x.pt", "--data", str(drawn), "--windows", "64,wide"])
    assert isinstance(outcome.exception, ConfigError)
    assert "windows_px" in str(outcome.exception)
