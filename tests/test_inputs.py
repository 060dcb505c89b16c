from pathlib import Path

import pytest

from plucc.inputs import expand, parse_frames, parse_time
from plucc.types import InputError


@pytest.fixture
def season(tmp_path: Path) -> Path:
    for name in ("b.mp4", "a.mkv", "notes.txt", "stills/2.png", "stills/1.jpg", "empty/notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    return tmp_path


def test_files_folders_patterns_and_lists(season: Path) -> None:
    a, b = season / "a.mkv", season / "b.mp4"
    assert expand([str(b), str(a)]) == [(b,), (a,)]
    assert expand([str(season)]) == [(a,), (b,)]
    assert expand([str(season / "*.m*")]) == [(a,), (b,)]
    assert expand([str(season / "stills")]) == [(season / "stills",)]
    assert expand(["-"], [f"{a}\n", "\n", f"{b}\n"]) == [(a,), (b,)]


def test_pictures_named_one_by_one_belong_together(season: Path) -> None:
    one, two = season / "stills" / "1.jpg", season / "stills" / "2.png"
    assert expand([str(season / "stills" / "*"), str(season / "a.mkv")]) == [(season / "a.mkv",), (one, two)]


def test_a_name_with_brackets_is_a_name_first(season: Path) -> None:
    odd = season / "game [1].mp4"
    odd.touch()
    assert expand([str(odd)]) == [(odd,)]


@pytest.mark.parametrize(("name", "words"), [("*.avi", "nothing matches"), ("empty", "no picture and no video")])
def test_nothing_to_locate_in_is_a_sentence(season: Path, name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        expand([str(season / name)])
    with pytest.raises(InputError, match="nothing to locate in"):
        expand(["-"], [])


@pytest.mark.parametrize("text", ["soon", "1:2:3:4", "-5", "1:-2", ""])
def test_what_is_no_time_is_a_sentence(text: str) -> None:
    with pytest.raises(InputError, match="is not a time"):
        parse_time(text)


@pytest.mark.parametrize("text", ["a", "3-", "", "-4", "1,,2"])
def test_what_is_no_frame_is_a_sentence(text: str) -> None:
    with pytest.raises(InputError, match="is not a frame number"):
        parse_frames(text)
