"""A small random second look beside a small random puck model: both answer as torch does, and are weighed as said."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from plucc.calibration import Calibration
from plucc.centring import centred
from plucc.cli.main import app
from plucc.config import SecondLookSpec
from plucc.context.image import context_image
from plucc.data.schema import Puck, Record
from plucc.evaluate.answers import Answer
from plucc.evaluate.run import Result, calibrate
from plucc.evaluate.scoring import Scoring
from plucc.evaluate.subjects import HeatmapSubject, Opening, open_subject
from plucc.heatmap import top_peaks
from plucc.patches import patches_around
from plucc.pooling import pooled
from plucc.puck_finder import CANDIDATES, Locator, observe
from plucc.runtime.load import Backend, load_runtime
from plucc.runtime.onnx import read_card
from plucc.runtime.second_card import read_second_card
from plucc.second_look import BATCH, PART_PLACES, PLACES, SecondLook, second_look_file
from plucc.sighting import View
from plucc.types import Box, ImageArray, ModelError, PluccError, Point, Size
from plucc.weighing import Evidence, Weighing

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")

from plucc.export import attach_second_look, export_second_look, merge_second_looks, write_card  # noqa: E402
from plucc.network.second_look import SecondLookNet  # noqa: E402

SPEC = SecondLookSpec(backbone="mobilenetv3_small_050", windows_px=(40.0, 90.0), side_px=64, hidden=16)
RUNNER = CliRunner()


@pytest.fixture(scope="module")
def net() -> SecondLookNet:
    """Return a network whose statistics have settled, as after training."""
    torch.manual_seed(2)
    network = SecondLookNet(SPEC).train()
    with torch.no_grad():
        for _ in range(6):
            network(torch.randint(0, 256, (4, 2, 64, 64, 3), dtype=torch.uint8))
    return network.eval()


@pytest.fixture(scope="module")
def weights(net: SecondLookNet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return its weights as somebody else might keep them, without a spec."""
    path = tmp_path_factory.mktemp("second") / "elsewhere.pt"
    torch.save({"model": net.state_dict(), "args": {"seed": 1}}, path)
    return path


@pytest.fixture(scope="module")
def second(weights: Path) -> Path:
    path = weights.with_name("small-second.onnx")
    export_second_look(weights, path, SPEC)
    return path


@pytest.fixture(scope="module")
def model(small_model: Path, second: Path) -> Path:
    """Return a puck model with the second look attached."""
    path = second.with_name("small.onnx")
    shutil.copy(small_model, path)
    attach_second_look(path, second)
    return path


@pytest.fixture(scope="module")
def image() -> ImageArray:
    return np.random.default_rng(3).integers(0, 256, (200, 280, 3), np.uint8)


@pytest.mark.parametrize("backend", ["onnx", "openvino"])
@pytest.mark.parametrize("count", [0, 3, PLACES, PLACES + 1])
def test_a_second_look_answers_as_torch_does(
    second: Path, net: SecondLookNet, image: ImageArray, backend: Backend, count: int
) -> None:
    pytest.importorskip("onnxruntime" if backend == "onnx" else backend)
    places = np.random.default_rng(count).uniform((0, 0), (280, 200), (count, 2))
    found = SecondLook(second, backend=backend, threads=1)(image, places)
    with torch.inference_mode():
        patches = torch.from_numpy(patches_around(image, places, SPEC.windows_px, SPEC.side_px))
        expected = net(patches).numpy() if count else np.empty(0)
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_the_card_says_what_the_file_is(second: Path) -> None:
    card = read_second_card(second)
    assert card.spec == SPEC
    assert card.weighing == {}


def test_candidates_are_those_of_both_looks_best_first(
    model: Path, image: ImageArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plucc.puck_finder.UNSURE_BELOW", 0.0)
    locator = Locator(model, backend="onnx", threads=1)
    seen = locator.frame(image)
    assert seen.evidence is not None
    assert len(seen.evidence.places_px) == PLACES
    chances = [each.probability for each in seen.candidates]
    assert len(chances) == CANDIDATES
    assert chances == sorted(chances, reverse=True)
    weighed = Weighing()(seen.evidence)
    np.testing.assert_allclose(chances, np.sort(weighed)[::-1][:CANDIDATES])
    best = seen.evidence.places_px[int(weighed.argmax())]
    assert seen.candidates[0].xy_px == centred(image, Point(*best))
    assert weighed.sum() <= 1
    assert seen.presence == pytest.approx(weighed.sum())
    first = locator.first_look(image, PLACES)
    np.testing.assert_allclose(seen.evidence.shares, [mass for _, mass in first.places])
    assert seen.evidence.presence_logit == pytest.approx(first.presence_logit)


def test_places_are_looked_at_until_one_is_settled(second: Path, image: ImageArray, tmp_path: Path) -> None:
    places = np.random.default_rng(1).uniform(20, 180, (PLACES, 2))
    shares = np.linspace(0.5, 0.05, PLACES)

    def looked_at(none: float, first: float = 50.0, count: int = PLACES) -> int:
        path = tmp_path / "fitted.onnx"
        shutil.copy(second, path)
        fitted = Weighing(first=first, second=0.0, presence=0.0, none=none)
        write_card(path, read_second_card(path).model_copy(update={"weighing": fitted.to_card()}))
        look = SecondLook(path, backend="onnx", threads=1)
        evidence = look.evidence(image, places[:count], shares[:count], 0.0)
        np.testing.assert_allclose(evidence.logits, look(image, evidence.places_px), atol=1e-5)
        np.testing.assert_array_equal(evidence.shares, shares[: len(evidence.logits)])
        return len(evidence.logits)

    assert looked_at(none=-1e3) == BATCH  # the first place has it all
    assert looked_at(none=1e3) == PLACES  # none of them is likely
    assert looked_at(none=-1e3, first=0.0) == PLACES  # all are equally likely
    assert looked_at(none=1e3, count=3) == 3
    assert looked_at(none=-1e3, count=0) == 0


def test_a_part_of_a_frame_is_weighed_by_its_share_of_the_whole(model: Path, image: ImageArray) -> None:
    locator = Locator(model, backend="onnx", threads=1)
    box = Box(32, 32, 160, 160)
    shares = []
    for rest in (-1e3, 30.0):
        seen = locator.look(image, np.zeros((200, 280), bool), View(box, rest))
        assert seen.evidence is not None
        assert len(seen.evidence.places_px) == PART_PLACES
        assert all(32 <= each.xy_px.x <= 160 and 32 <= each.xy_px.y <= 160 for each in seen.candidates)
        shares.append(seen.evidence.shares.sum() / View(box, rest).share(seen.log_mass))
    assert shares[0] == pytest.approx(shares[1])


@pytest.mark.parametrize("backend", ["onnx", "openvino"])
@pytest.mark.parametrize("windows_px", [SPEC.windows_px, (300.0, *reversed(SPEC.windows_px))])
def test_merged_second_looks_say_their_mean(
    second: Path, image: ImageArray, backend: Backend, windows_px: tuple[float, ...], tmp_path: Path
) -> None:
    torch.manual_seed(9)
    spec = SPEC.model_copy(update={"windows_px": windows_px})
    torch.save({"model": SecondLookNet(spec).state_dict()}, tmp_path / "other.pt")
    other, merged = tmp_path / "other.onnx", tmp_path / "merged.onnx"
    export_second_look(tmp_path / "other.pt", other, spec)
    done = RUNNER.invoke(app, ["second-look", "merge", str(merged), str(second), str(other)])
    assert done.exit_code == 0, done.output
    places = np.array([[60.0, 40.0], [200.5, 99.0], [10.0, 150.0]])
    one, two, both = (SecondLook(path, backend=backend, threads=1)(image, places) for path in (second, other, merged))
    assert np.abs(one - two).max() > 1e-2
    np.testing.assert_allclose(both, (one + two) / 2, atol=1e-3)
    card = read_second_card(merged)
    assert card.spec.windows_px == windows_px
    assert card.weighing == {}
    assert len(card.data["mean_of"]) == 2
    half = tmp_path / "half.onnx"
    done = RUNNER.invoke(app, ["second-look", "merge", str(half), str(second), str(other), "--half"])
    assert done.exit_code == 0, done.output
    assert half.stat().st_size < 0.6 * merged.stat().st_size
    np.testing.assert_allclose(SecondLook(half, backend=backend, threads=1)(image, places), both, atol=0.05)


def test_second_looks_of_other_windows_or_sides_are_not_merged(second: Path, tmp_path: Path) -> None:
    for name, change in (("windows", {"windows_px": (40.0, 120.0)}), ("side", {"side_px": SPEC.side_px + 32})):
        spec = SPEC.model_copy(update=change)
        torch.save({"model": SecondLookNet(spec).state_dict()}, tmp_path / f"{name}.pt")
        export_second_look(tmp_path / f"{name}.pt", tmp_path / f"{name}.onnx", spec)
    for parts in ([second], [second, tmp_path / "windows.onnx"], [second, tmp_path / "side.onnx"]):
        with pytest.raises(PluccError, match="one side can be merged, of which one has the windows of all"):
            merge_second_looks(parts, tmp_path / "merged.onnx")
    with pytest.raises(PluccError, match=r"does not end in \.onnx"):
        merge_second_looks([second, second], tmp_path / "merged.txt")
    assert not list(tmp_path.glob("merged*"))


def test_without_a_second_look_nothing_changes(small_model: Path, image: ImageArray) -> None:
    """Written out as it was before there was one: same places, same order, same probabilities to the last bit."""
    runtime = load_runtime(small_model, backend="onnx", threads=1)
    calibrated, players = Calibration(0.8, 0.3), np.zeros((200, 280), bool)
    players[50:90, 100:130] = True
    scaled = np.asarray(cv2.resize(image, (1008, 720), interpolation=cv2.INTER_LINEAR), np.uint8)
    mask = np.asarray(cv2.resize(players.astype(np.uint8), (1008, 720), interpolation=cv2.INTER_LINEAR), np.uint8)
    maps = runtime(scaled[None], context_image(scaled, mask > 0)[None])
    assert maps.presence_logits is not None
    presence = float(1 / (1 + np.exp(-np.clip(float(maps.presence_logits[0]), -60, 60))))
    sigma_px = runtime.card.heatmap.sigma_px
    peaks = top_peaks(maps.logits[0], 5, method="parabola", sigma_px=sigma_px, stride_px=maps.stride_px)
    seen = observe(runtime, image, players, calibrated)
    assert seen.evidence is None
    assert [each.xy_px for each in seen.candidates] == [Point(p.xy_px.x / 3.6, p.xy_px.y / 3.6) for p in peaks]
    assert [each.probability for each in seen.candidates] == [calibrated(p.confidence * presence) for p in peaks]
    assert seen.presence == presence


def test_evaluation_uses_it_unless_told_otherwise(model: Path, image: ImageArray) -> None:
    with_it = open_subject(model, Opening(players="none", threads=1))
    without = open_subject(model, Opening(players="none", threads=1, first_look_only=True))
    assert isinstance(with_it, HeatmapSubject)
    assert with_it.facts["second look"] == "small-second"
    assert without.facts["second look"] == "none"
    assert with_it.look(image).answer().evidence is not None
    assert without.look(image).answer().evidence is None


def labelled(count: int) -> tuple[list[Record], list[Answer]]:
    """Frames whose puck is at the place that the second look prefers, and every fourth without any of them near it."""
    rng = np.random.default_rng(8)
    records, answers = [], []
    for index in range(count):
        places = rng.uniform(20, 180, (4, 2))
        logits = rng.normal(-3, 1, 4)
        logits[2] = 3.0 if index % 4 else -3.0
        puck = Point(*places[2]) if index % 4 else Point(275.0, 195.0)
        record = Record(image=f"{index}.png", size=Size(280, 200), match="m", puck=Puck(point_px=puck))
        records.append(record)
        answers.append(Answer(puck, 0.5, evidence=Evidence(places, np.full(4, 0.2), logits)))
    return records, answers


def result_of(records: Sequence[Record], answers: Sequence[Answer]) -> Result:
    return Result(cast(Any, None), (Scoring(tuple(records), tuple(answers), 0.25),))


def test_calibrating_fits_the_weighing_and_writes_it_into_the_second_look(model: Path, tmp_path: Path) -> None:
    for name in ("small.onnx", "small-second.onnx"):
        shutil.copy(model.with_name(name), tmp_path / name)
    records, answers = labelled(80)
    before = (tmp_path / "small.onnx").read_bytes()
    fitted = calibrate(tmp_path / "small.onnx", result_of(records, answers))
    assert isinstance(fitted, Weighing)
    assert SecondLook(tmp_path / "small-second.onnx", backend="onnx").weighing == fitted
    assert (tmp_path / "small.onnx").read_bytes() == before
    shown, hidden = (answers[index].evidence for index in (1, 4))
    assert shown is not None
    assert hidden is not None
    assert fitted(shown)[2] > 0.8
    assert fitted(hidden).sum() < 0.3
    again = calibrate(tmp_path / "small.onnx", result_of(records, answers))  # raw evidence: it may be fitted anew
    assert again == fitted


def test_a_named_but_missing_second_look_is_a_sentence(model: Path, tmp_path: Path) -> None:
    shutil.copy(model, tmp_path / "alone.onnx")
    with pytest.raises(ModelError, match=r"names small-second.onnx as its second look, which is not beside it"):
        Locator(tmp_path / "alone.onnx", backend="onnx")
    assert second_look_file(model, read_card(model)) == model.with_name("small-second.onnx")


def shake(model: Path, out: Path) -> None:
    """Write a model with the same card and other weights."""
    graph, rng = onnx.load(model), np.random.default_rng(4)
    for weight in graph.graph.initializer:
        values = onnx.numpy_helper.to_array(weight)
        if values.dtype == np.float32 and values.ndim == 4:
            noise = rng.normal(0, 0.5 * values.std(), values.shape).astype(np.float32)
            weight.CopyFrom(onnx.numpy_helper.from_array(values + noise, weight.name))
    onnx.save(graph, out)


def test_another_network_is_asked_where_both_looks_are_unsure(
    model: Path, image: ImageArray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to a picture is the mean of what each says; frames of a video are looked at by the first alone."""
    for name in ("small.onnx", "small-second.onnx"):
        shutil.copy(model.with_name(name), tmp_path / name)
    shake(tmp_path / "small.onnx", tmp_path / "other.onnx")
    alone = [Locator(tmp_path / name, backend="onnx", threads=1) for name in ("small.onnx", "other.onnx")]
    arguments = [str(tmp_path / name) for name in ("small.onnx", "small-second.onnx")]
    done = RUNNER.invoke(app, ["second-look", "attach", *arguments, "--opinion", str(tmp_path / "other.onnx")])
    assert done.exit_code == 0, done.output
    assert "asks other.onnx where that leaves it unsure" in done.output
    monkeypatch.setattr("plucc.closer.SMALL_PLAYERS", 0.0)
    monkeypatch.setattr("plucc.puck_finder.UNSURE_BELOW", 1.1)
    nobody = np.zeros(image.shape[:2], bool)
    one, other = (locator.look(image, nobody) for locator in alone)
    assert one.candidates != other.candidates
    together = Locator(tmp_path / "small.onnx", backend="onnx", threads=1)
    assert together.look(image, nobody).candidates == pooled([one, other]).candidates
    assert together.for_video(follow=False).look(image, nobody).candidates == one.candidates
    subject = open_subject(tmp_path / "small.onnx", Opening(players="none", threads=1))
    assert subject.facts["second opinion"] == "asked below 0.6"
    (tmp_path / "other.onnx").unlink()
    with pytest.raises(ModelError, match=r"names other.onnx as its second opinion, which is not beside it"):
        Locator(tmp_path / "small.onnx", backend="onnx")


def test_a_foreign_second_look_is_a_sentence(model: Path, small_model: Path, tmp_path: Path) -> None:
    shutil.copy(model, tmp_path / "small.onnx")
    shutil.copy(small_model, tmp_path / "small-second.onnx")
    with pytest.raises(ModelError, match="is a puck model of format 1, this plucc reads second look models"):
        Locator(tmp_path / "small.onnx", backend="onnx")


def sentence(*arguments: object) -> str:
    outcome = RUNNER.invoke(app, ["second-look", *(str(argument) for argument in arguments)])
    assert isinstance(outcome.exception, PluccError), outcome.output
    return str(outcome.exception)


def test_what_cannot_be_exported_or_attached_is_a_sentence(
    model: Path, weights: Path, second: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.onnx"
    assert "does not say what network it holds" in sentence("export", weights, out)
    assert "holds other layers" in sentence("export", weights, out, "--backbone", "efficientnet_lite0")
    assert "does not end in .onnx" in sentence("export", weights, tmp_path / "out.pt")
    assert "is missing" in sentence("export", tmp_path / "none.pt", out)
    (tmp_path / "words.pt").write_text("words")
    assert "is no checkpoint" in sentence("export", tmp_path / "words.pt", out)
    assert "resnet18 is not built as" in sentence("export", weights, out, "--backbone", "resnet18")
    assert not out.exists()
    shutil.copy(second, tmp_path / "second.onnx")
    assert "is not in the folder" in sentence("attach", model, tmp_path / "second.onnx")
    assert "this plucc reads second look models" in sentence("attach", model, model)
    assert "this plucc reads puck models" in sentence("attach", model, second, "--opinion", second)
    assert "cannot be its own second opinion" in sentence("attach", model, second, "--opinion", model)


def test_a_card_is_kept_when_another_is_written(second: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.onnx"
    shutil.copy(second, path)
    card = read_second_card(path).model_copy(update={"weighing": Weighing(none=-3.0).to_card()})
    write_card(path, card)
    assert read_second_card(path) == card
