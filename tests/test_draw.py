import cv2
import numpy as np
import pytest

from plucc.draw import PAPER, position_map, write_picture
from plucc.types import InputError, Size

SIZE = Size(1280, 720)
PLOT = (slice(60, 600), slice(80, 1040))  # where the frame lies on the canvas of a 16:9 map


def brightness(image):
    return image[PLOT].astype(float).sum(axis=2)


def test_the_map_is_brightest_where_the_pucks_are():
    rng = np.random.default_rng(0)
    places = np.clip(rng.normal((0.25, 0.75), 0.03, (300, 2)), 0, 1)
    light = cv2.GaussianBlur(brightness(position_map(places, SIZE, "test")), (0, 0), 15)
    y, x = np.unravel_index(light.argmax(), light.shape)
    assert x / light.shape[1] == pytest.approx(0.25, abs=0.03)
    assert y / light.shape[0] == pytest.approx(0.75, abs=0.03)
    assert light[: light.shape[0] // 3].max() < light.max() / 10


def test_colours_are_relative_and_the_scale_is_not():
    places = np.stack(np.meshgrid(np.linspace(0.01, 0.99, 50), np.linspace(0.02, 0.98, 40)), axis=-1).reshape(-1, 2)
    few, many = (position_map(points, SIZE, "") for points in (places, np.repeat(places, 5, axis=0)))
    assert (few[PLOT] == many[PLOT]).mean() > 0.95  # all but the rims of dots drawn over one another
    assert (few[:, 1090:] != many[:, 1090:]).any()


def test_axes_title_and_scale_are_drawn():
    image = position_map(np.array([[0.5, 0.5]]), SIZE, "a title")
    for part in (
        image[10:45, 80:300],
        image[605:630, 70:1060],
        image[600:670, 500:620],
        image[55:610, 20:70],
        image[55:610, 1100:],
    ):
        assert (part != PAPER).any()


def test_pucks_on_the_edge_are_drawn():
    image = position_map(np.array([[0.0, 0.0], [1.0, 1.0]]), SIZE, "")
    light = brightness(image)
    assert light[:20, :20].max() > 300
    assert light[-20:, -20:].max() > 300


def test_pictures_are_written_whole_in_rgb(tmp_path):
    image = np.zeros((4, 6, 3), dtype=np.uint8)
    image[..., 0] = 200
    write_picture(image, tmp_path / "new" / "a.png")
    assert cv2.imread(str(tmp_path / "new" / "a.png"))[0, 0].tolist() == [0, 0, 200]
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.png"]


def test_a_suffix_that_is_no_picture_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"\.png or \.jpg"):
        write_picture(np.zeros((4, 6, 3), dtype=np.uint8), tmp_path / "a.txt")
