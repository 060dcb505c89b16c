"""The way from frames to rows, on drawn clips in which the puck is the only dark spot."""

import inspect
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from threading import Semaphore

import cv2
import numpy as np
import pytest

from plucc.cli.evaluate import evaluate as evaluate_command
from plucc.cli.locate import locate as locate_command
from plucc.locator import PICTURE_ABSENT_BELOW, Observation, Settings, locate
from plucc.puck_finder import Locator, shows
from plucc.runtime.load import Backend
from plucc.shots import LOOK_AHEAD
from plucc.track import Candidate, TrackLimits
from plucc.types import ImageArray, InputError, Point, Size, Source
from plucc.video import Span, write_video

WIDTH, HEIGHT, PUCK = 640, 360, 14


class DarkestSpot:
    """A real, if simple, detector: the centre of all pixels that are nearly black."""

    def frame(self, image: ImageArray) -> Observation:
        rows, columns = np.nonzero(image.max(axis=2) < 40)
        found = (Candidate(Point(columns.mean() + 0.5, rows.mean() + 0.5), 0.9),) if len(rows) > 10 else ()
        heat = np.full((HEIGHT, WIDTH), 1 / (HEIGHT * WIDTH))
        return Observation(Size(WIDTH, HEIGHT), found, 1.0 if found else 0.0, heat, 1, np.zeros((HEIGHT, WIDTH), bool))


class Paced(DarkestSpot):
    """A detector that gets to see a frame only when it is time for it, as with a camera."""

    def __init__(self, first: int) -> None:
        self.permitted = Semaphore(first)

    def frame(self, image: ImageArray) -> Observation:
        assert self.permitted.acquire(timeout=20)
        return super().frame(image)


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


def test_live_rows_say_the_same_with_a_bounded_delay(clip: Path) -> None:
    """With a delay that covers the gap, a row needs no frame later than that, and the two that tell a cut."""
    delay = 6
    finder = Paced(1 + delay + LOOK_AHEAD)
    offline = list(locate(clip, DarkestSpot()))
    for row, known in zip(locate(clip, finder, Settings(delay=delay)), offline, strict=True):
        assert row == known
        finder.permitted.release()


def test_every_other_frame_keeps_its_number_and_time(clip: Path) -> None:
    rows = list(locate(clip, DarkestSpot(), Settings(span=Span(0.1, 1.0, 2))))
    assert [row.frame for row in rows] == list(range(3, 25, 2))
    np.testing.assert_allclose([row.time_s for row in rows], np.arange(3, 25, 2) / 25, atol=1e-6)


@pytest.mark.parametrize("backend", ["onnx", "openvino"])
def test_several_looks_at_once_give_the_rows_of_one_at_a_time(small_model: Path, clip: Path, backend: Backend) -> None:
    """With networks, on every core: the same to the last digit, because every look has one thread in both."""
    pytest.importorskip({"onnx": "onnxruntime"}.get(backend, backend))
    alone, together = (Locator(small_model, backend=backend, threads=threads) for threads in (1, 3))
    assert (alone.for_video(follow=False).at_once, together.for_video(follow=False).at_once) == (1, 3)
    settings = Settings(absent_below=0.0, span=Span(every=4))
    one_by_one = list(locate(clip, alone, settings))
    assert list(locate(clip, together, settings)) == one_by_one
    assert any(row.x_px is not None for row in one_by_one)


def test_following_and_pictures_take_one_look_at_a_time(small_model: Path) -> None:
    locator = Locator(small_model, backend="onnx", threads=3)
    assert locator.for_video(follow=True).at_once == 1
    assert locator.for_video(follow=True) is locator.for_video(follow=True)  # loaded once


def test_a_span_without_frames_is_a_sentence(clip: Path) -> None:
    with pytest.raises(InputError, match="no frame in that span"):
        list(locate(clip, DarkestSpot(), Settings(span=Span(start_s=60.0))))


@pytest.mark.parametrize("threshold", [-0.1, 1.5])
def test_a_threshold_that_is_no_probability_is_a_sentence(threshold: float) -> None:
    with pytest.raises(InputError, match="from 0 to 1"):
        Settings(threshold)


def test_the_threshold_for_absence_can_be_moved(clip: Path) -> None:
    counts = [
        sum(row.source is Source.ABSENT for row in locate(clip, DarkestSpot(), Settings(level)))
        for level in (0.01, 0.25, 0.95)
    ]
    assert counts[0] <= counts[1] < counts[2] == 30


class Unsure(DarkestSpot):
    """Finds the same spots, and is sure of none."""

    def __init__(self, probability: float) -> None:
        self._probability = probability

    def frame(self, image: ImageArray) -> Observation:
        seen = super().frame(image)
        unsure = tuple(replace(each, probability=self._probability) for each in seen.candidates)
        return replace(seen, candidates=unsure)


def test_a_picture_s_unsure_place_is_named_where_nothing_around_could_tell_better(tmp_path: Path) -> None:
    """Whoever wants surer places can leave out those of little confidence; a place that is not named is lost."""
    cv2.imwrite(str(tmp_path / "0.png"), with_puck(ice(1, 200), Point(300, 100)))

    def source(probability: float, settings: Settings | None = None) -> Source:
        return next(iter(locate(tmp_path, Unsure(probability), settings))).source

    assert [source(0.2), source(0.1)] == [Source.SEEN, Source.ABSENT]
    assert source(0.2, Settings(0.25)) is Source.ABSENT
    assert source(0.1, Settings(0.05)) is Source.SEEN


def test_a_video_s_unsure_place_is_not_named_where_a_picture_s_is(clip: Path) -> None:
    def named(settings: Settings) -> bool:
        return any(row.source is not Source.ABSENT for row in locate(clip, Unsure(0.17), settings))

    assert not named(Settings())
    assert named(Settings(PICTURE_ABSENT_BELOW))


def test_commands_name_the_thresholds_in_use() -> None:
    scored = inspect.signature(evaluate_command).parameters["absent_below"].default
    assert scored == PICTURE_ABSENT_BELOW
    told = inspect.signature(locate_command).parameters["absent_below"].annotation.__metadata__[0].help
    assert f"Default: {TrackLimits().absent_below:g}, pictures {PICTURE_ABSENT_BELOW:g}." in told


class FlatWorld:
    """A camera straight above the ice, 10 px to the metre: the registration is exact, and refused where told."""

    def __init__(self, refused_from: int) -> None:
        self.cuts: list[int] = []
        self._count, self._refused_from = 0, refused_from

    def frame(self, image: ImageArray, player_mask: np.ndarray, *, is_cut: bool) -> "FlatPlace":
        assert player_mask.shape == image.shape[:2]
        if is_cut:
            self.cuts.append(self._count)
        self._count += 1
        return FlatPlace(self._count <= self._refused_from)


class FlatPlace:
    def __init__(self, accepted: bool) -> None:
        self.accepted, self.reason, self.camera = accepted, "" if accepted else "no ice", None

    def locate(
        self, point_px: Point, pixel_sigma_px: float, speed_m_s: float | None = None
    ) -> tuple[float, float, float] | None:
        return (point_px.x / 10, -point_px.y / 10, pixel_sigma_px / 10) if self.accepted else None


def test_registered_frames_have_metres_and_others_none(clip: Path) -> None:
    world = FlatWorld(refused_from=15)
    rows = list(locate(clip, DarkestSpot(), registrar=world))
    assert world.cuts == [0, 20]
    for row in rows[:15]:
        assert (row.x_m, row.y_m) == pytest.approx((row.x_px / 10, -row.y_px / 10))
        assert row.error_m is not None
    assert rows[9].error_m > rows[2].error_m  # interpolated is less exact than seen
    assert all(row.x_m is row.y_m is row.error_m is None for row in rows[15:])


def test_pictures_are_taken_one_by_one(tmp_path: Path) -> None:
    for index, image in enumerate((with_puck(ice(1, 200), Point(300, 100)), with_puck(ice(3, 200), Point(20, 340)))):
        cv2.imwrite(str(tmp_path / f"{index}.png"), image)
    cv2.imwrite(str(tmp_path / "2.png"), ice(4, 200))
    (tmp_path / "notes.txt").write_text("not a picture")
    rows = list(locate(tmp_path, DarkestSpot()))
    assert [(row.file, row.frame, row.shot) for row in rows] == [("0.png", 0, 0), ("1.png", 1, 1), ("2.png", 2, 2)]
    assert [row.source for row in rows] == [Source.SEEN, Source.SEEN, Source.ABSENT]
    assert (rows[1].x_px, rows[1].y_px) == pytest.approx((20, 340), abs=1.0)


def test_every_picture_is_registered_on_its_own(tmp_path: Path) -> None:
    for index, place in enumerate((Point(300, 100), Point(20, 340))):
        cv2.imwrite(str(tmp_path / f"{index}.png"), with_puck(ice(index, 200), place))
    world = FlatWorld(refused_from=1)
    rows = list(locate(tmp_path, DarkestSpot(), registrar=world))
    assert world.cuts == [0, 1]
    assert (rows[0].x_m, rows[0].y_m) == pytest.approx((rows[0].x_px / 10, -rows[0].y_px / 10))
    assert rows[1].x_m is None


class ReadsPlayers:
    """Sees the puck as a dark spot; where it shows none, it points faintly at the feet of the red player."""

    def frame(self, image: ImageArray) -> Observation:
        players = (image[..., 0] > 200) & (image[..., 1] < 60)
        rows, columns = np.nonzero(image.max(axis=2) < 40)
        presence, chance = (0.95, 0.95) if len(rows) > 100 else (0.2, 0.2)
        if presence < 0.5:
            rows, columns = np.nonzero(players)
        place = Point(columns.mean() + 0.5, (rows.max() - 20 if presence < 0.5 else rows.mean()) + 0.5)
        found = (Candidate(place, chance, shows(place, chance, presence, players)),)
        heat = np.full((HEIGHT, WIDTH), 1 / (HEIGHT * WIDTH))
        return Observation(Size(WIDTH, HEIGHT), found, presence, heat, 1, players)


def test_a_puck_behind_a_player_is_inferred(tmp_path: Path) -> None:
    """A player skates before a puck that glides the same way, and for five frames it is out of sight."""
    path = tmp_path / "hidden.mp4"
    hidden = range(8, 13)

    def film() -> Iterator[ImageArray]:
        for index in range(24):
            image = with_puck(ice(1, 200), Point(100 + 8 * index, 200)) if index not in hidden else ice(1, 200)
            if index in hidden:
                x = 100 + 8 * index
                image[120:220, x - 15 : x + 15] = (230, 20, 20)
            yield image

    write_video(path, film(), Fraction(25))
    rows = list(locate(path, ReadsPlayers()))
    assert [row.source for row in rows] == [Source.INFERRED if i in hidden else Source.SEEN for i in range(24)]
    assert all(row.x_px == pytest.approx(100 + 8 * row.frame, abs=2) for row in rows)
    assert max(rows[index].confidence for index in hidden) < rows[3].confidence


@pytest.mark.parametrize("name", ["absent", "absent.mp4", "absent.png"])
def test_what_is_not_there_is_a_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError):
        list(locate(tmp_path / name, DarkestSpot()))


def test_an_empty_folder_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no picture"):
        list(locate(tmp_path, DarkestSpot()))
