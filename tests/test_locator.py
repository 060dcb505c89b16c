"""The way from frames to rows, on drawn clips in which the puck is the only dark spot."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import pytest

from plucc.locator import Observation, count_frames, locate, write_overlay
from plucc.track import Candidate
from plucc.types import ImageArray, InputError, Point, Size, Source
from plucc.video import probe, read_frames, write_video

WIDTH, HEIGHT, PUCK = 640, 360, 14


class DarkestSpot:
    """A real, if simple, detector: the centre of all pixels that are nearly black."""

    def frame(self, image: ImageArray) -> Observation:
        rows, columns = np.nonzero(image.max(axis=2) < 40)
        found = (Candidate(Point(columns.mean() + 0.5, rows.mean() + 0.5), 0.9),) if len(rows) > 10 else ()
        heat = np.full((HEIGHT, WIDTH), 1 / (HEIGHT * WIDTH))
        return Observation(Size(WIDTH, HEIGHT), found, 1.0 if found else 0.0, heat, 1, np.zeros((HEIGHT, WIDTH), bool))


def ice(seed: int, brightness: int) -> ImageArray:
    coarse = np.random.default_rng(seed).integers(brightness - 40, brightness + 40, (36, 64, 3)).astype(np.uint8)
    return np.asarray(cv2.resize(coarse, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC), np.uint8)


def puck_at(index: int) -> Point:
    return Point(100.0 + 8 * index, 200.0 - 2 * index)


def with_puck(image: ImageArray, centre: Point) -> ImageArray:
    drawn, half = image.copy(), PUCK // 2
    x, y = round(centre.x), round(centre.y)
    drawn[y - half : y + half, x - half : x + half] = 0
    return drawn


def two_shots() -> Iterator[ImageArray]:
    """20 frames with the puck, hidden from 8 to 11; then a cut to 10 frames of another view without one."""
    for index in range(20):
        yield ice(1, 200) if 8 <= index < 12 else with_puck(ice(1, 200), puck_at(index))
    for _ in range(10):
        yield ice(2, 90)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("locate") / "clip.mp4"
    write_video(path, two_shots(), Fraction(25))
    return path


def test_every_frame_has_a_row_that_says_how_it_was_found(clip: Path) -> None:
    rows = list(locate(clip, DarkestSpot()))
    assert [row.frame for row in rows] == list(range(30))
    assert [row.shot for row in rows] == [0] * 20 + [1] * 10
    np.testing.assert_allclose([row.time_s for row in rows], np.arange(30) / 25, atol=1e-6)
    expected = [Source.SEEN] * 8 + [Source.INTERPOLATED] * 4 + [Source.SEEN] * 8 + [Source.ABSENT] * 10
    assert [row.source for row in rows] == expected
    assert {row.file for row in rows} == {"clip.mp4"}


def test_positions_are_in_the_input_s_own_pixels(clip: Path) -> None:
    for row in list(locate(str(clip), DarkestSpot()))[:20]:
        assert (row.x_px, row.y_px) == pytest.approx(tuple(puck_at(row.frame)), abs=1.0)


def test_the_overlay_marks_the_puck_and_keeps_every_frame(clip: Path, tmp_path: Path) -> None:
    rows, out = list(locate(clip, DarkestSpot())), tmp_path / "overlay.mp4"
    write_overlay(clip, rows, out)
    assert probe(out).frame_count == 30
    for plain, marked in zip(read_frames(clip), read_frames(out), strict=True):
        green = (marked.image[..., 1].astype(int) - marked.image[..., 0] > 60) & (plain.image[..., 1] < 250)
        if rows[plain.index].source is Source.SEEN:
            at_y, at_x = np.nonzero(
                green[:, max(0, int(puck_at(plain.index).x) - 12) : int(puck_at(plain.index).x) + 12]
            )
            assert len(at_x) > 10
            assert abs(np.median(at_y) - puck_at(plain.index).y) < 12


def test_pictures_are_taken_one_by_one(tmp_path: Path) -> None:
    for index, image in enumerate((with_puck(ice(1, 200), Point(300, 100)), with_puck(ice(3, 200), Point(20, 340)))):
        cv2.imwrite(str(tmp_path / f"{index}.png"), image)
    cv2.imwrite(str(tmp_path / "2.png"), ice(4, 200))
    (tmp_path / "notes.txt").write_text("not a picture")
    rows = list(locate(tmp_path, DarkestSpot()))
    assert count_frames(tmp_path) == 3
    assert [(row.file, row.frame, row.shot) for row in rows] == [("0.png", 0, 0), ("1.png", 1, 1), ("2.png", 2, 2)]
    assert [row.source for row in rows] == [Source.SEEN, Source.SEEN, Source.ABSENT]
    assert (rows[1].x_px, rows[1].y_px) == pytest.approx((20, 340), abs=1.0)


@pytest.mark.parametrize("name", ["absent", "absent.mp4", "absent.png"])
def test_what_is_not_there_is_a_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError):
        list(locate(tmp_path / name, DarkestSpot()))


def test_an_empty_folder_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no picture"):
        list(locate(tmp_path, DarkestSpot()))
