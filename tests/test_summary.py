"""The page about a table of rows: what it counts, which frames it shows, and that both forms say the same."""

from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import pytest

from plucc.data.rows import Row
from plucc.overlay import SOURCE_RGB
from plucc.rink.sheet import nhl
from plucc.summary import draw_summary, least_certain, summarise, write_summary
from plucc.types import InputError, Source
from plucc.video import write_video

SOURCES = [Source.SEEN] * 50 + [Source.INTERPOLATED] * 25 + [Source.ABSENT] * 25


def rows(metres: bool = False) -> list[Row]:
    made = []
    for index, source in enumerate(SOURCES):
        place = (None, None) if source is Source.ABSENT else (100.0 + index, 90.0)
        on_rink = (index / 5 - 10, 2.0, 0.2) if metres and source is not Source.ABSENT else (None, None, None)
        confidence = 0.9 if index % 10 else 0.3
        made.append(Row("a.mp4", index, index / 25, index // 60, source, confidence, *place, *on_rink))
    return made


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("summary") / "a.mp4"
    write_video(path, (np.full((180, 320, 3), 2 * index, np.uint8) for index in range(100)), Fraction(25))
    return path


def test_shares_add_up(video: Path) -> None:
    summary = summarise(rows(), video, None)
    assert summary.shares == {Source.SEEN: 0.5, Source.INFERRED: 0, Source.INTERPOLATED: 0.25, Source.ABSENT: 0.25}
    assert summary.lines[0] == "100 frames, 4.0 s, 2 shots"
    assert "not registered" in summary.lines[-1]


def test_the_least_certain_frames_are_shown_a_second_apart(video: Path) -> None:
    chosen = least_certain(rows(), 8)
    assert [row.frame for row in chosen] == [0, 30, 60]
    assert all(row.confidence == 0.3 for row in chosen)
    summary = summarise(rows(), video, None)
    for thumbnail in summary.thumbnails:  # its grey is its number
        assert np.median(thumbnail.image) == pytest.approx(2 * thumbnail.row.frame, abs=3)


def test_the_timeline_has_the_colours_of_the_sources(video: Path) -> None:
    band = summarise(rows(), video, None).timeline[158]
    widths = {source: (band == SOURCE_RGB[source]).all(axis=1).sum() for source in Source}
    total = sum(widths.values())
    assert widths[Source.SEEN] / total == pytest.approx(0.5, abs=0.02)
    assert widths[Source.ABSENT] / total == pytest.approx(0.25, abs=0.02)


def test_places_on_the_rink_are_drawn_on_the_rink(video: Path) -> None:
    with_places, without = (summarise(rows(metres), video, nhl()).map for metres in (True, False))
    changed = np.argwhere((with_places != without).any(axis=2))
    x_m = (changed[:, 1].mean() + 0.5 - 380) / (760 / (nhl().length_m + 2))
    assert x_m == pytest.approx(-2.6, abs=1.5)


@pytest.mark.parametrize("metres", [False, True])
def test_both_forms_are_written_whole(video: Path, tmp_path: Path, metres: bool) -> None:
    sheet = nhl() if metres else None
    write_summary(tmp_path / "s.png", rows(metres), video, sheet)
    write_summary(tmp_path / "s.html", rows(metres), video, sheet)
    picture = cv2.imread(str(tmp_path / "s.png"))
    assert picture.shape == draw_summary(summarise(rows(metres), video, sheet)).shape
    page = (tmp_path / "s.html").read_text()
    assert page.count("data:image/png;base64") == 2 + 3
    assert "50.0%" in page
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.html", "s.png"]


def test_a_single_row_and_no_rows() -> None:
    assert draw_summary(summarise(rows()[:1], None, None)).shape[1] == 1280
    with pytest.raises(InputError, match="without rows"):
        summarise([], None, None)
