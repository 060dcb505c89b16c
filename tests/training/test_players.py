from pathlib import Path

import cv2
import numpy as np
import pytest

from plucc.context.maskfile import MaskFile, MaskLine
from plucc.data.manifest import Dataset, read_dataset, write_manifest
from plucc.data.masks import encode_mask
from plucc.data.schema import DatasetInfo, LabelClass, Player, Puck, Record
from plucc.types import Box, ModelError, Size

torch = pytest.importorskip("torch")

from plucc.context.quality import mask_iou  # noqa: E402
from plucc.context.shipped import ShippedFinder  # noqa: E402
from plucc.network.players import PlayerNet, PlayerNetSpec  # noqa: E402
from plucc.training.player_export import MaskRule, export_players  # noqa: E402
from plucc.training.player_frames import augmented, load_player_frames, puck_surroundings  # noqa: E402
from plucc.training.players import PlayerFit, PlayerTraining, fit_players, load_average, mask_loss  # noqa: E402

TINY = PlayerNetSpec(
    size=Size(128, 64),
    widths=(8, 12, 16, 16, 16),
    dense_blocks=(0, 0, 1, 0, 0),
    separable_blocks=(0, 0, 0, 1, 1),
    decoder_widths=(8, 8, 8, 8, 8),
)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Ice with a few upright figures, and a crowd of the same figures above the boards that are no players."""
    root = tmp_path_factory.mktemp("figures")
    rng = np.random.default_rng(4)
    records = []
    for number in range(6):
        image = np.full((360, 640, 3), 225, np.uint8)
        image[:110] = 60
        players = []
        for _ in range(4):
            left, top = int(rng.integers(20, 560)), int(rng.integers(130, 260))
            image[top : top + 80, left : left + 40] = (30, 40, 170)
            mask = np.zeros((360, 640), bool)
            mask[top : top + 80, left : left + 40] = True
            players.append(Player(box_px=Box(left, top, left + 40, top + 80), mask=encode_mask(mask)))
        for left in range(10, 600, 60):
            image[20:100, left : left + 40] = (30, 40, 170)
        cv2.imwrite(str(root / f"{number}.png"), image[:, :, ::-1])
        records.append(
            Record(
                image=f"{number}.png",
                size=Size(640, 360),
                match=f"m{number % 2}",
                run=str(number),
                players=tuple(players),
            )
        )
    write_manifest(root, DatasetInfo(name="f", classes=(LabelClass.PLAYER,), licence="MIT", source="test"), records)
    return read_dataset(root)


def test_frames_come_with_their_masks(dataset: Dataset) -> None:
    frames = load_player_frames(dataset, dataset.records)
    assert len(frames) == 6
    assert frames.picture(0).shape == (360, 640, 3)
    covered = frames.label(0)[:, :, 0] > 127
    assert (frames.picture(0)[covered].mean(axis=0) - (30, 40, 170)).max() < 8
    assert covered[:110].sum() == 0


def test_a_mask_file_goes_before_the_records_and_leaves_out_what_it_lacks(dataset: Dataset) -> None:
    empty = encode_mask(np.zeros((180, 320), bool))
    masks = MaskFile(Path("m.jsonl"), {"0.png": MaskLine(image="0.png", masks=(empty,))})
    frames = load_player_frames(dataset, dataset.records, masks)
    assert [record.image for record in frames.records] == ["0.png"]
    assert not frames.label(0).any()


def test_records_without_masks_are_left_out(dataset: Dataset) -> None:
    boxes_only = dataset.records[0].model_copy(update={"players": (Player(box_px=Box(0, 0, 9, 9)),)})
    assert len(load_player_frames(dataset, [boxes_only, *dataset.records[1:2]])) == 1


def test_picture_and_mask_move_together(dataset: Dataset) -> None:
    """Wherever the blue figures on the ice go, the mask goes: colours are left alone here."""
    frames = load_player_frames(dataset, dataset.records[:1])
    for seed in range(12):
        picture = np.repeat(frames.label(0)[:, :, :1], 3, axis=2)
        moved, label = augmented(picture, frames.label(0), Size(256, 144), np.random.default_rng(seed))
        mask = label[:, :, 0]
        contrast = moved[mask > 250].mean() - moved[mask < 5].mean() if (mask > 250).any() else 99.0
        assert abs(contrast) > 60, seed


def test_loss_is_low_for_the_truth_and_has_no_trouble_with_an_empty_frame() -> None:
    cover = torch.zeros(2, 8, 8)
    cover[0, 2:5, 2:5] = 1
    right = torch.where(cover > 0, 12.0, -12.0)
    nowhere = torch.zeros_like(cover)
    assert mask_loss(right, cover, nowhere) < 1e-3
    assert mask_loss(-right, cover, nowhere) > 5
    assert torch.isfinite(mask_loss(torch.zeros(2, 8, 8), nowhere, nowhere))


def test_taking_the_puck_for_a_player_costs_more_than_another_mistake() -> None:
    cover, puck = torch.zeros(1, 64, 64), torch.zeros(1, 64, 64)
    cover[0, 10:40, 10:30] = 1
    puck[0, 50:52, 50:53] = 1
    with_puck, elsewhere = torch.where(cover > 0, 12.0, -12.0), torch.where(cover > 0, 12.0, -12.0)
    with_puck[0, 50:52, 50:53] = 12.0
    elsewhere[0, 50:52, 20:23] = 12.0
    assert mask_loss(with_puck, cover, puck) > 10 * mask_loss(elsewhere, cover, puck)


def test_the_puck_is_marked_unless_it_is_hidden_or_under_a_player(dataset: Dataset) -> None:
    nobody = np.zeros((360, 640), bool)
    record = dataset.records[0].model_copy(update={"puck": Puck(box_px=Box(300, 200, 310, 206))})
    marked = puck_surroundings(record, nobody)
    assert marked[203, 305]
    assert marked.sum() == pytest.approx(np.pi / 4 * 18 * 10.8, rel=0.1)
    assert puck_surroundings(record, np.zeros((180, 320), bool))[101, 152]
    assert not puck_surroundings(record, ~nobody).any()
    hidden = record.model_copy(update={"puck": Puck(box_px=Box(300, 200, 310, 206), visible_fraction=0.0)})
    assert not puck_surroundings(hidden, nobody).any()


def test_rates_rise_and_fall() -> None:
    training = PlayerTraining(steps=1000, learning_rate=1.0, warmup_steps=100)
    assert training.rate(0) == pytest.approx(0.01)
    assert training.rate(500) == pytest.approx(0.505, abs=0.01)
    assert training.rate(1000) == pytest.approx(0.01, abs=1e-6)


def test_a_broken_run_ends_as_an_unbroken_one(dataset: Dataset, tmp_path: Path) -> None:
    frames = load_player_frames(dataset, dataset.records)
    training = PlayerTraining(steps=4, batch=2, warmup_steps=1, checkpoint_steps=2, seed=3)
    whole = PlayerFit(TINY, training, [frames])
    fit_players(whole, tmp_path / "whole.pt")
    broken = PlayerFit(TINY, training, [frames])
    for _ in range(2):
        broken.advance()
    broken.save(tmp_path / "broken.pt")
    resumed = PlayerFit(TINY, training, [frames])
    fit_players(resumed, tmp_path / "broken.pt", held_out=frames)
    for mean, other in zip(whole.average.state_dict().values(), resumed.average.state_dict().values(), strict=True):
        torch.testing.assert_close(mean, other, rtol=0, atol=0)


def test_it_learns_players_and_not_the_crowd_and_exports_what_it_learnt(dataset: Dataset, tmp_path: Path) -> None:
    frames = load_player_frames(dataset, dataset.records[:5])
    fit = PlayerFit(
        TINY, PlayerTraining(steps=90, batch=6, learning_rate=1e-2, warmup_steps=10, average_decay=0.9), [frames]
    )
    first = fit.advance()
    while fit.step < 90:
        last = fit.advance()
    assert last < 0.5 * first
    fit.save(tmp_path / "fit.pt")
    net = load_average(tmp_path / "fit.pt")
    assert export_players(net, tmp_path / "players.onnx", version="t", data="figures", mask=MaskRule(least_px=0)) < 1e-3
    assert str(Path(__file__).parents[2]).encode() not in (tmp_path / "players.onnx").read_bytes()
    finder = ShippedFinder(tmp_path / "players.onnx", threads=1)
    record = dataset.records[5]
    image = cv2.imread(str(dataset.image_path(record)))[:, :, ::-1]
    found = finder(np.ascontiguousarray(image))
    truth = np.zeros((360, 640), bool)
    for player in record.players or ():
        box = player.box_px
        truth[int(box.top) : int(box.bottom), int(box.left) : int(box.right)] = True
    assert mask_iou(found, truth) > 0.6
    assert found[:100].mean() < 0.1


def test_foreign_checkpoints_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is missing"):
        load_average(tmp_path / "none.pt")
    torch.save({"version": 0}, tmp_path / "old.pt")
    with pytest.raises(ModelError, match="train it again"):
        load_average(tmp_path / "old.pt")
    assert PlayerNet(TINY).spec.stride == 32
