from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import pytest

from plucc.context.cache import MaskCache
from plucc.context.fill import fill, open_source, overlay
from plucc.context.image import ContextMaker
from plucc.data.manifest import write_manifest
from plucc.data.schema import DatasetInfo, LabelClass, Player, Record
from plucc.types import Box, ImageArray, InputError, MaskArray, Size
from plucc.video import write_video


class RedFinder:
    """Takes red pixels for players; remembers what labels it was handed."""

    version = "red-1"

    def __init__(self) -> None:
        self.labels: list[Sequence[Player] | None] = []

    def __call__(self, frame: ImageArray, players: Sequence[Player] | None = None) -> MaskArray:
        self.labels.append(players)
        return np.asarray((frame[..., 0] > 150) & (frame[..., 1] < 100), np.bool_)


def picture(number: int) -> ImageArray:
    image = np.full((64, 96, 3), 230, np.uint8)
    image[20:50, 10 + number : 30 + number] = (220, 20, 20)
    return image


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(3):
        cv2.imwrite(str(tmp_path / f"{number}.png"), picture(number)[:, :, ::-1])
    return tmp_path


def test_pictures_are_found_once_and_then_known(folder: Path, tmp_path: Path) -> None:
    finder = RedFinder()
    maker = ContextMaker(finder, MaskCache(tmp_path / "cache"))
    assert fill(maker, open_source(folder)) == 3
    assert fill(maker, open_source(folder)) == 3
    assert len(finder.labels) == 3


def test_written_pictures_show_the_players(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    fill(ContextMaker(RedFinder()), open_source(folder, step=2), pictures=out)
    assert sorted(path.name for path in out.iterdir()) == [
        "0-context.png",
        "0-overlay.png",
        "2-context.png",
        "2-overlay.png",
    ]
    context = cv2.imread(str(out / "0-context.png"))
    assert context.shape == (32, 48, 3)
    assert (context[12:23, 7:13] == (20, 20, 220)).all()
    assert not context[:, 20:].any()


def test_a_dataset_hands_its_labels_over(folder: Path) -> None:
    players = (Player(box_px=Box(10, 20, 30, 50)),)
    records = [
        Record(image="0.png", size=Size(96, 64), match="m", players=players),
        Record(image="1.png", size=Size(96, 64), match="m"),
    ]
    write_manifest(folder, DatasetInfo(name="t", classes=(LabelClass.PLAYER,), licence="MIT", source="test"), records)
    finder = RedFinder()
    assert fill(ContextMaker(finder), open_source(folder)) == 2
    assert finder.labels == [players, None]


def test_a_video_is_read_frame_by_frame(tmp_path: Path) -> None:
    path = tmp_path / "game.mp4"
    write_video(path, (picture(number) for number in range(6)), Fraction(25))
    source = open_source(path, step=2)
    assert source.count == 3
    frames = list(source.frames)
    assert [frame.name for frame in frames] == ["game-000000", "game-000002", "game-000004"]
    assert RedFinder()(frames[1].image)[22:48, 14:30].all()


def test_one_picture_is_a_source_too(folder: Path) -> None:
    assert open_source(folder / "1.png").count == 1


def test_an_overlay_dims_everything_else() -> None:
    frame = picture(0)
    mask = RedFinder()(frame)
    drawn = overlay(frame, mask)
    assert (drawn[30, 20] == frame[30, 20]).all()
    assert drawn[5, 80].max() < 100
    np.testing.assert_array_equal(frame, picture(0))


def test_an_empty_folder_and_a_bad_step_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds neither pictures nor a dataset"):
        open_source(tmp_path)
    with pytest.raises(InputError, match="1 or more"):
        open_source(tmp_path, step=0)
