import pytest

from plucc.types import Box, MissingExtraError, Point, Size, require


def test_box_centre_and_sides() -> None:
    box = Box(10.0, 20.0, 16.0, 28.0)
    assert (box.width, box.height) == (6.0, 8.0)
    assert box.centre == Point(13.0, 24.0)


def test_reference_scale_brings_1080_lines_to_720() -> None:
    assert Size(1920, 1080).reference_scale == pytest.approx(2 / 3)


def test_missing_extra_names_its_remedy() -> None:
    with pytest.raises(MissingExtraError, match=r"pip install 'plucc\[train\]'"):
        require("a_module_that_is_not_there", "train")
