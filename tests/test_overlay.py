import numpy as np
import pytest

from plucc.overlay import draw_heat, draw_heatmap, draw_puck, draw_trail, rink_map
from plucc.rink.sheet import COLOURS_RGB, iihf, nhl
from plucc.types import ImageArray, Point, Source

FRAME = np.full((360, 640, 3), 90, np.uint8)


def pixels_of(image: ImageArray, colour: tuple[int, int, int]) -> np.ndarray:
    """Return continuous (x, y) of the pixels of exactly this colour."""
    rows, columns = np.nonzero((image == colour).all(axis=2))
    return np.stack((columns, rows), axis=1) + 0.5


def test_the_ring_is_centred_on_the_puck() -> None:
    below = slice(200, None)  # the label stands above
    rows, columns = np.nonzero((draw_puck(FRAME, Point(300.0, 200.0), Source.SEEN, 0.9) != FRAME)[below].any(axis=2))
    assert (columns.min() + columns.max() + 1) / 2 == pytest.approx(300, abs=0.6)
    assert rows.max() + 0.5 == pytest.approx(7.5, abs=1.6)  # radius 15 at 720 lines


@pytest.mark.parametrize("corner", [(0.0, 0.0), (640.0, 0.0), (0.0, 360.0), (640.0, 360.0)])
def test_a_puck_in_the_corner_keeps_its_label_in_the_picture(corner: tuple[float, float]) -> None:
    plate = pixels_of(draw_puck(FRAME, Point(*corner), Source.INFERRED, 0.5), (20, 20, 24))
    assert len(plate) > 100
    assert (plate.min(axis=0) >= 0).all()
    assert (plate.max(axis=0) <= (640, 360)).all()


def test_an_absent_puck_gets_words_and_no_ring() -> None:
    drawn = draw_puck(FRAME, None, Source.ABSENT, 0.1)
    assert (drawn[:300] == FRAME[:300]).all()
    assert (drawn != FRAME).any()


def test_drawing_leaves_the_input_alone() -> None:
    before = FRAME.copy()
    draw_puck(FRAME, Point(10, 10), Source.SEEN, 1.0)
    draw_trail(FRAME, [(Point(10, 10), Source.SEEN)])
    draw_heatmap(FRAME, np.ones((36, 64)))
    assert (before == FRAME).all()


def test_heat_shows_at_the_peak_and_not_elsewhere() -> None:
    heat = np.zeros((180, 320))
    heat[60, 200] = 1.0
    changed = (draw_heatmap(FRAME, heat) != FRAME).any(axis=2)
    rows, columns = np.nonzero(changed)
    assert abs((columns.mean() + 0.5) - 401) < 1
    assert abs((rows.mean() + 0.5) - 121) < 1
    assert changed.sum() < 40


@pytest.mark.parametrize("centre", [Point(400.0, 120.0), Point(2.0, 357.0), Point(639.5, 0.5)])
def test_heat_leaves_what_was_found_to_be_seen(centre: Point) -> None:
    heat = np.full((90, 160), 255, np.uint8)
    changed = (draw_heat(FRAME, heat, centre, 8.0) != FRAME).any(axis=2)
    rows, columns = np.mgrid[:360, :640] + 0.5
    away = np.hypot(columns - centre.x, rows - centre.y)
    assert not changed[away <= 8.0].any()
    assert changed[away > 8.0].all()


@pytest.mark.parametrize("sheet", [nhl(), iihf(26.0)], ids=lambda sheet: sheet.name)
def test_the_map_shows_lines_where_the_sheet_has_them(sheet) -> None:
    image, to_px = rink_map(sheet, 800)
    for x_m, colour in ((0.0, "red"), (sheet.blue_line_x_m, "blue"), (-sheet.blue_line_x_m, "blue")):
        x, y, _ = to_px @ (x_m, sheet.width_m / 3, 1.0)
        assert tuple(image[int(y), int(x)]) == COLOURS_RGB[colour]
    assert tuple(image[2, 2]) != COLOURS_RGB["white"]
