"""Clips: every frame has its record, play moves as a puck can, cuts are where the shots change."""

import json
from itertools import pairwise

import numpy as np
import pytest

from plucc.data.schema import Record
from plucc.synth.clip import clip_scenes, plan_clip, records_path, write_clip
from plucc.synth.match import sample_match
from plucc.types import Category, InputError, Size
from plucc.video import probe, read_frames

PLAN = plan_clip(0.6, 2, Size(160, 96), 25)


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("clip") / "a.mp4"
    write_clip(path, PLAN)
    return path


def test_every_frame_has_its_record(clip):
    records = [Record.model_validate_json(line, strict=True) for line in records_path(clip).read_text().splitlines()]
    pictures = list(read_frames(clip))
    assert probe(clip).size == PLAN.size
    assert len(records) == len(pictures) == PLAN.count == 15
    assert [record.frame_index for record in records] == list(range(15))
    assert [record.time_s for record in records] == [index / 25 for index in range(15)]
    for record, picture in zip(records, pictures, strict=True):
        assert abs(picture.time_s - record.time_s) < 1e-6
        assert (record.puck is None) == (record.category is Category.NO_PUCK)
    assert len({record.image for record in records}) == 15


def test_same_seed_writes_the_same_bytes(clip, tmp_path):
    write_clip(tmp_path / "a.mp4", PLAN)
    assert (tmp_path / "a.mp4").read_bytes() == clip.read_bytes()
    assert records_path(tmp_path / "a.mp4").read_bytes() == records_path(clip).read_bytes()


def test_play_and_shots_are_continuous():
    plan = plan_clip(60, 9, Size(640, 360), 25)
    scenes = list(clip_scenes(sample_match(9, 0), plan))
    shots = [shot for shot, _ in scenes]
    assert len(scenes) == plan.count
    assert shots == sorted(shots)
    assert len(set(shots)) >= 4
    for (shot, before), (following, after) in pairwise(scenes):
        if shot == following:
            moved = np.subtract(after.puck.position_m, before.puck.position_m)
            assert np.linalg.norm(moved) <= 45 / plan.rate + 0.01
            turned = after.camera.pan_rad - before.camera.pan_rad
            assert abs(np.angle(np.exp(1j * turned))) < 0.2
        else:
            assert after.operator != before.operator


def test_wipes_cover_the_cuts_around_replays():
    plan = plan_clip(120, 4, Size(640, 360), 25)
    scenes = list(clip_scenes(sample_match(4, 0), plan))
    replay_frames = [index for index, (_, scene) in enumerate(scenes) if not scene.graphics.bug]
    assert replay_frames
    for edge in (replay_frames[0], replay_frames[0] - 1):
        assert scenes[edge][1].graphics.wipe == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize(
    ("seconds", "size", "rate"),
    [(0, Size(64, 64), 25), (1, Size(0, 0), 25), (1, Size(64, 64), 0), (1, Size(65, 64), 25)],
)
def test_impossible_clips_are_refused(seconds, size, rate):
    with pytest.raises(InputError):
        plan_clip(seconds, 0, size, rate)


def test_existing_clip_is_left_alone(tmp_path):
    (tmp_path / "a.mp4").write_bytes(b"mine")
    with pytest.raises(InputError, match="exists"):
        write_clip(tmp_path / "a.mp4", PLAN)
    assert (tmp_path / "a.mp4").read_bytes() == b"mine"
    assert len(list(tmp_path.iterdir())) == 1


def test_records_are_plain_json(clip):
    first = json.loads(records_path(clip).read_text().splitlines()[0])
    assert first["image"] == "a.mp4#000000"
    assert {"camera", "homography", "players", "shot"} <= first.keys()
