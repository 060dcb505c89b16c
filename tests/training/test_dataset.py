"""From records to samples: crops placed fairly, masks and mistakes used, splits kept."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from plucc.config import Spec
from plucc.context.image import context_image
from plucc.context.maskfile import MaskLine, read_masks
from plucc.data.manifest import read_dataset
from plucc.data.masks import decode_mask, encode_mask
from plucc.data.splits import Splits, write_splits
from plucc.training.dataset import TrainingSamples, augmented, collate, faulty, whole_frame
from plucc.training.frames import FrameCache, FrameFiles, PlayerMasks, read_mistakes
from plucc.training.mixture import Draw
from plucc.training.placement import place_crop
from plucc.training.sample import Sample, move_point
from plucc.training.sources import open_sources
from plucc.types import DataError, InputError, Point, Size

Tiny = Callable[..., Spec]


SMALL = Size(160, 128)


def blank(point: Point | None, size: Size = SMALL) -> Sample:
    return Sample(
        np.full((size.height, size.width, 3), 180, np.uint8),
        np.zeros((size.height // 2, size.width // 2), np.uint8),
        point,
    )


def test_puck_lies_anywhere_in_its_crops(drawn: Path, tiny: Tiny) -> None:
    """Its place in the crop must tell nothing: evenly spread, and independent of its place in the frame."""
    spec = tiny(drawn, augment={"anywhere": 0.0, "scale": [0.8, 1.25]})
    rng = np.random.default_rng(0)
    places = []
    for _ in range(600):
        point = Point(float(rng.uniform(40, 120)), float(rng.uniform(40, 90)))
        moved = move_point(point, place_crop(blank(point), spec, (), rng))
        places.append((moved.x, moved.y))
    for axis in (0, 1):
        shares, _ = np.histogram([place[axis] for place in places], bins=4, range=(0, 64))
        assert shares.sum() > 590
        assert shares.min() > 90


def test_crops_anywhere_often_have_no_puck_and_never_half_of_one(drawn: Path, tiny: Tiny) -> None:
    spec = tiny(drawn, augment={"anywhere": 1.0, "scale": [1.0, 1.0]})
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(300):
        point = Point(float(rng.uniform(0, 160)), float(rng.uniform(0, 128)))
        moved = move_point(point, place_crop(blank(point), spec, (), rng))
        inside += 0 <= moved.x < 64 and 0 <= moved.y < 64
    assert 30 < inside < 150


def test_known_mistakes_are_looked_at(drawn: Path, tiny: Tiny) -> None:
    spec = tiny(drawn, augment={"hard_negative": 1.0, "scale": [1.0, 1.0]})
    mistake = Point(20.0, 100.0)
    for seed in range(50):
        matrix = place_crop(blank(Point(140.0, 20.0)), spec, (mistake,), np.random.default_rng(seed))
        seen = move_point(mistake, matrix)
        assert 0 <= seen.x <= 64
        assert 0 <= seen.y <= 64


def test_frames_of_another_height_are_brought_to_the_networks(drawn: Path, tiny: Tiny) -> None:
    spec = tiny(drawn, augment={"scale": [1.0, 1.0], "flip": 0.0})
    matrix = place_crop(blank(Point(160, 128), Size(320, 256)), spec, (), np.random.default_rng(0))
    assert np.linalg.norm(matrix[0, :2]) == pytest.approx(0.5)
    assert whole_frame(blank(None, Size(320, 256)), spec).size == Size(160, 128)


def test_sample_depends_on_its_position_alone(drawn: Path, tiny: Tiny) -> None:
    spec = tiny(drawn, augment={"colour": 1.0, "noise": 1.0, "recompress": 1.0, "transplant": 0.5, "paint_decoy": 0.5})
    samples = TrainingSamples(open_sources(spec).training, spec)
    first, again, other = samples[Draw(7, 0, 3)], samples[Draw(7, 0, 3)], samples[Draw(8, 0, 3)]
    np.testing.assert_array_equal(first.frame, again.frame)
    np.testing.assert_array_equal(first.context, again.context)
    assert first.point_px == again.point_px or np.isnan(first.point_px).all()
    assert (first.frame != other.frame).any()


def test_painted_out_sample_is_absent_and_has_no_point(drawn: Path, tiny: Tiny) -> None:
    spec = tiny(drawn, augment={"paint_out": 1.0, "anywhere": 0.0})
    samples = TrainingSamples(open_sources(spec).training, spec)
    batch = collate([samples[Draw(position, 0, position)] for position in range(8)])
    assert batch.points_px.isnan().all()
    assert not batch.present.any()
    assert batch.frames.shape == (8, 64, 64, 3)
    assert batch.contexts.shape == (8, 32, 32, 3)
    assert batch.frames.dtype == torch.uint8


def test_hidden_sample_is_absent_and_keeps_its_point(drawn: Path, tiny: Tiny) -> None:
    shown, hidden = (tiny(drawn, augment={"hide": chance, "paint_out": 0.0, "anywhere": 0.0}) for chance in (0.0, 1.0))
    before, after = (TrainingSamples(open_sources(spec).training, spec)[Draw(3, 0, 3)] for spec in (shown, hidden))
    assert after.point_px == before.point_px
    assert before.present
    assert not after.present
    assert (after.frame != before.frame).any()


@pytest.mark.parametrize("is_carried", [True, False])
def test_only_a_puck_that_players_may_look_at_is_hidden(
    is_carried: bool, drawn: Path, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    def transplant(sample: Sample, rng: np.random.Generator) -> Sample:
        return replace(sample, point_px=Point(70.0, 50.0)) if is_carried else sample

    monkeypatch.setattr("plucc.training.dataset.transplant", transplant)
    spec = tiny(drawn, augment={"hide": 1.0, "paint_out": 0.0, "transplant": 1.0, "anywhere": 0.0})
    view = augmented(blank(Point(80.0, 60.0)), spec, (), np.random.default_rng(0))
    assert view.is_visible == is_carried


def test_withheld_frames_come_at_their_rate(drawn: Path, tiny: Tiny) -> None:
    spec = tiny(drawn, augment={"frame_dropout": 0.25})
    samples = TrainingSamples(open_sources(spec).training, spec)
    count = sum(samples[Draw(position, 0, position % 12)].withheld for position in range(200))
    assert 30 <= count <= 70


def test_puck_keeps_its_place_on_the_ice_through_all_augmentation(drawn: Path, tiny: Tiny) -> None:
    spec = tiny(drawn, augment={"rotation_deg": 5.0, "scale": [0.5, 2.0], "anywhere": 0.0})
    source = open_sources(spec).training[0]
    for index in range(6):
        sample = source.sample(index)
        view = augmented(sample, spec, (), np.random.default_rng(index))
        if view.point_px is None or view.homography is None or sample.point_px is None or sample.homography is None:
            continue
        before, after = (
            matrix @ (point.x, point.y, 1.0)
            for matrix, point in ((sample.homography, sample.point_px), (view.homography, view.point_px))
        )
        np.testing.assert_allclose(after[:2] / after[2], before[:2] / before[2], atol=1e-9)


def test_cache_gives_the_very_pixels_and_survives(drawn: Path, tmp_path: Path) -> None:
    dataset = read_dataset(drawn)
    files = FrameFiles(dataset, dataset.records)
    for _ in range(2):
        cache = FrameCache(dataset, dataset.records, tmp_path / "cache")
        for index in (0, 5, 15):
            np.testing.assert_array_equal(cache[index], files[index])
    assert len(list((tmp_path / "cache").glob("*.rgb"))) == 1
    with pytest.raises(ValueError, match="read-only"):
        cache[0][0] = 0


def test_splits_share_a_cache_and_changed_pictures_replace_it(write_set: Callable[..., Path], tmp_path: Path) -> None:
    root, folder = write_set(tmp_path / "set", 8), tmp_path / "cache"
    dataset = read_dataset(root)
    FrameCache(dataset, dataset.records[::2], folder)[2]
    other = FrameCache(dataset, dataset.records[3:5], folder)
    np.testing.assert_array_equal(other[1], FrameFiles(dataset, dataset.records)[4])
    (before,) = folder.glob("*.rgb")
    os.utime(dataset.image_path(dataset.records[0]), ns=(1, 1))
    FrameCache(dataset, dataset.records, folder)
    (after,) = folder.glob("*.rgb")
    assert after != before
    assert len(list(folder.iterdir())) == 2


def test_a_cache_that_does_not_fit_is_named_before_it_is_filled(
    drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = read_dataset(drawn)
    room = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: room)
    with pytest.raises(InputError, match=r"GB free, the decoded frames take .* data.cache"):
        FrameCache(dataset, dataset.records, tmp_path / "cache")


def test_players_come_from_masks_boxes_or_a_file(drawn: Path, tmp_path: Path) -> None:
    dataset = read_dataset(drawn)
    own = PlayerMasks(dataset.records)[0]
    assert own.shape == (64, 80)
    assert own.max() == 255
    record = dataset.records[0]
    assert record.players is not None
    boxed = record.model_copy(
        update={"players": tuple(player.model_copy(update={"mask": None}) for player in record.players)}
    )
    ellipses = PlayerMasks([boxed])[0]
    overlap = np.minimum(own, ellipses).sum() / np.maximum(own, ellipses).sum()
    assert 0.6 < overlap < 1.0
    full = np.zeros((128, 160), bool)
    full[:64] = True
    path = tmp_path / "masks.jsonl"
    path.write_text(MaskLine(image=record.image, masks=(encode_mask(full),)).model_dump_json() + "\n")
    found = PlayerMasks(dataset.records, read_masks(path))
    assert (found[0][:32] == 255).all()
    assert (found[0][32:] == 0).all()
    with pytest.raises(DataError, match="no mask"):
        found[1]


def test_mistakes_are_read_and_faults_named(tmp_path: Path) -> None:
    path = tmp_path / "mistakes.jsonl"
    path.write_text('{"image": "a.png", "x": 1, "y": 2}\n{"image": "a.png", "x": 3.5, "y": 4, "score": 0.9}\n')
    assert read_mistakes(path) == {"a.png": (Point(1, 2), Point(3.5, 4))}
    path.write_text(json.dumps({"image": "a.png", "x": 1}) + "\n")
    with pytest.raises(DataError, match=r"mistakes.jsonl:1: y"):
        read_mistakes(path)


def test_splits_come_from_the_spec_or_else_from_the_dataset(
    write_set: Callable[..., Path], tiny: Tiny, tmp_path: Path
) -> None:
    root = write_set(tmp_path / "set", 8)
    named = open_sources(tiny(root, data={"validation_matches": ["m1"], "test_matches": ["m2"]}))
    assert {record.match for record in named.training[0].records} == {"m0", "m3"}
    assert {record.match for record in named.validation[0].records} == {"m1"}
    write_splits(root, Splits(train=("m2",), val=("m0",), test=("m1", "m3")))
    stored = open_sources(tiny(root, data={"validation_matches": []}))
    assert {record.match for record in stored.training[0].records} == {"m2"}
    assert {record.match for record in stored.validation[0].records} == {"m0"}


def test_faulty_masks_differ_and_stay_masks() -> None:
    players = np.zeros((64, 80), np.uint8)
    players[20:40, 30:50] = 255
    results = [faulty(players.copy(), np.random.default_rng(seed)) for seed in range(20)]
    assert all(set(np.unique(result)) <= {0, 255} for result in results)
    assert sum((result != players).any() for result in results) == 20


def test_context_is_what_the_context_room_makes_in_use(drawn: Path, tiny: Tiny) -> None:
    """A frame that is neither moved nor degraded must give the network the very context that it meets later."""
    source = open_sources(tiny(drawn)).training[0]
    record = source.records[0]
    assert record.players is not None
    masks = [decode_mask(player.mask) for player in record.players if player.mask is not None]
    sample = source.sample(0)
    in_use = context_image(np.array(sample.image), np.logical_or.reduce(masks))
    difference = np.abs(in_use.astype(int) - sample.context(720).astype(int))
    assert difference.mean() < 1.0
    assert np.percentile(difference, 99) < 40  # where a pixel is half player, the two average in another order
