"""Whole jobs on drawn clips in which the puck is the only dark spot: outputs, resuming after kill -9, many inputs."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from plucc.data.rows import read_rows
from plucc.jobs import Job, RinkChoice, fan_out, run_job, run_jobs
from plucc.journal import Journal
from plucc.locator import Settings, locate
from plucc.sighting import Observation
from plucc.track import Candidate
from plucc.types import ImageArray, InputError, Point, Size, Source
from plucc.video import Span, VideoReader, write_video

WIDTH, HEIGHT, PUCK = 320, 180, 10
SHOTS, LENGTH = 6, 12


class DarkestSpot:
    """A real, if simple, detector: the centre of all pixels that are nearly black."""

    def __init__(self, pause_s: float = 0.0) -> None:
        self._pause_s = pause_s

    def frame(self, image: ImageArray) -> Observation:
        time.sleep(self._pause_s)
        rows, columns = np.nonzero(image.max(axis=2) < 40)
        found = (Candidate(Point(columns.mean() + 0.5, rows.mean() + 0.5), 0.9),) if len(rows) > 10 else ()
        height, width = image.shape[:2]
        heat = np.full((height // 2, width // 2), 1e-6)
        if found:
            heat[int(found[0].xy_px.y) // 2, int(found[0].xy_px.x) // 2] = 1
        mask = np.zeros((height, width), bool)
        return Observation(Size(width, height), found, float(bool(found)), heat / heat.sum(), 2, mask)


def ice(seed: int) -> ImageArray:
    rng = np.random.default_rng(seed)
    colour = rng.integers(90, 215, 3)
    coarse = np.clip(colour + rng.integers(-40, 40, (18, 32, 3)), 50, 255).astype(np.uint8)
    return np.asarray(cv2.resize(coarse, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC), np.uint8)


def shots() -> Iterator[ImageArray]:
    for shot in range(SHOTS):
        for step in range(LENGTH):
            image = ice(10 + 7 * shot).copy()
            x, y = 60 + 9 * step, 60 + 8 * shot
            if step not in (5, 6):
                image[y - PUCK // 2 : y + PUCK // 2, x - PUCK // 2 : x + PUCK // 2] = 0
            yield image


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("jobs") / "game.mp4"
    write_video(path, shots(), Fraction(25))
    return path


@pytest.fixture(scope="module")
def sounding(clip: Path) -> Path:
    """The clip with a second stream: a tone that rises."""
    path = clip.with_name("sounding.mp4")
    with av.open(str(clip)) as source, av.open(str(path), "w") as out:
        pictures, sound = out.add_stream_from_template(source.streams.video[0]), out.add_stream("aac", rate=48000)
        for packet in source.demux(video=0):
            if packet.size:
                packet.stream = pictures
                out.mux(packet)
        for block in range(135):
            samples = np.sin(np.arange(1024) * (0.02 + 0.001 * block)).astype(np.float32)[None].repeat(2, 0)
            frame = av.AudioFrame.from_ndarray(samples, format="fltp", layout="stereo")
            frame.sample_rate, frame.pts = 48000, 1024 * block
            out.mux(sound.encode(frame))
        out.mux(sound.encode(None))
    return path


def pictures_of(path: Path) -> list[ImageArray]:
    return [frame.image for frame in VideoReader(path).frames()]


def test_a_job_writes_all_that_it_names(clip: Path, tmp_path: Path) -> None:
    job = Job((clip,), tmp_path / "rows.csv", tmp_path / "o.mp4", tmp_path / "s.html")
    outcome = run_job(job, DarkestSpot())
    rows = list(read_rows(job.table))
    assert outcome.rows == len(rows) == SHOTS * LENGTH
    assert [row.shot for row in rows] == [shot for shot in range(SHOTS) for _ in range(LENGTH)]
    assert [row.source for row in rows[:LENGTH]] == [
        *[Source.SEEN] * 5,
        *[Source.INTERPOLATED] * 2,
        *[Source.SEEN] * 5,
    ]
    assert len(VideoReader(tmp_path / "o.mp4")) == SHOTS * LENGTH
    np.testing.assert_allclose(VideoReader(tmp_path / "o.mp4").times_s, [row.time_s for row in rows], atol=1e-4)
    assert "least certain" in (tmp_path / "s.html").read_text().lower()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["o.mp4", "rows.csv", "s.html"]
    assert {name for name, _, _ in outcome.stages} >= {"decode", "cuts", "motion", "network", "path", "overlay"}


def test_rows_of_a_job_are_those_of_locate(clip: Path, tmp_path: Path) -> None:
    settings = Settings(span=Span(0.2, 2.0, 3))
    run_job(Job((clip,), tmp_path / "rows.jsonl", settings=settings), DarkestSpot())
    written = list(read_rows(tmp_path / "rows.jsonl"))
    direct = list(locate(clip, DarkestSpot(), settings))
    assert [row.frame for row in written] == [row.frame for row in direct] == list(range(5, 50, 3))
    assert [row.source for row in written] == [row.source for row in direct]


def test_sound_is_kept_and_stays_in_step(sounding: Path, tmp_path: Path) -> None:
    settings = Settings(span=Span(0.8, 2.0))
    run_job(Job((sounding,), tmp_path / "a.csv", tmp_path / "a.mp4", settings=settings), DarkestSpot())
    with av.open(str(tmp_path / "a.mp4")) as container:
        assert len(container.streams.audio) == 1
        packets = [packet for packet in container.demux(audio=0) if packet.size]
        begins_s = float(packets[0].pts * packets[0].time_base)
        ends_s = float(packets[-1].pts * packets[-1].time_base)
    assert begins_s == pytest.approx(0, abs=0.03)
    assert ends_s == pytest.approx(1.2, abs=0.05)
    with av.open(str(sounding)) as container:
        original = [bytes(packet) for packet in container.demux(audio=0) if packet.size]
    assert bytes(packets[3]) in original


PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
from pathlib import Path
from test_jobs import DarkestSpot
from plucc.jobs import Job, run_job
run_job(Job((Path({clip!r}),), Path({table!r}), Path({overlay!r}), resume=True), DarkestSpot(0.02))
"""


def interrupted(clip: Path, folder: Path, pieces: int, pause_s: float) -> int:
    """Start the job in a process of its own, kill it some time after so many pieces, and return how many were kept."""
    table, overlay = folder / "rows.csv", folder / "o.mp4"
    program = PROGRAM.format(folder=str(Path(__file__).parent), clip=str(clip), table=str(table), overlay=str(overlay))
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([sys.executable, "-c", program], env=environment)
    journal = Journal(table).folder
    deadline = time.monotonic() + 120
    while len(list(journal.glob("[0-9]*.json"))) < pieces and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(pause_s)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return len(list(journal.glob("[0-9]*.json")))


def test_killed_and_resumed_is_the_same_as_never_killed(clip: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    run_job(Job((clip,), whole / "rows.csv", whole / "o.mp4"), DarkestSpot())
    rng = np.random.default_rng(3)
    for attempt, pieces in enumerate((1, 3)):
        folder = tmp_path / f"killed{attempt}"
        kept = interrupted(clip, folder, pieces, float(rng.uniform(0, 0.2)))
        assert pieces <= kept < SHOTS
        assert not (folder / "rows.csv").exists()
        assert not (folder / "o.mp4").exists()
        seen = CountingSpot()
        run_job(Job((clip,), folder / "rows.csv", folder / "o.mp4", resume=True), seen)
        assert seen.count == (SHOTS - kept) * LENGTH
        assert (folder / "rows.csv").read_bytes() == (whole / "rows.csv").read_bytes()
        for one, two in zip(pictures_of(folder / "o.mp4"), pictures_of(whole / "o.mp4"), strict=True):
            assert (one == two).all()
        assert sorted(path.name for path in folder.iterdir()) == ["o.mp4", "rows.csv"]


class CountingSpot(DarkestSpot):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def frame(self, image: ImageArray) -> Observation:
        self.count += 1
        return super().frame(image)


class FailsLater(CountingSpot):
    """A finder that meets a full disk, or whatever else ends a run, after so many frames."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self._after = after

    def frame(self, image: ImageArray) -> Observation:
        if self.count == self._after:
            raise OSError(28, "No space left on device", "somewhere")
        return super().frame(image)


@pytest.mark.parametrize("after", [20, 60])
def test_a_run_that_fails_anywhere_goes_on_to_the_same_rows(
    clip: Path, tmp_path: Path, after: int, caplog: pytest.LogCaptureFixture
) -> None:
    run_job(Job((clip,), tmp_path / "whole.csv"), DarkestSpot())
    with pytest.raises(OSError, match="No space"):
        run_job(Job((clip,), tmp_path / "rows.csv"), FailsLater(after))
    assert not (tmp_path / "rows.csv").exists()
    assert "--resume goes on" in caplog.text
    finder = CountingSpot()
    run_job(Job((clip,), tmp_path / "rows.csv", resume=True), finder)
    assert (tmp_path / "rows.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert finder.count <= SHOTS * LENGTH - after + LENGTH


def test_resuming_other_work_is_refused(clip: Path, tmp_path: Path) -> None:
    job = Job((clip,), tmp_path / "rows.csv")
    with pytest.raises(OSError, match="No space"):
        run_job(job, FailsLater(30))
    with pytest.raises(InputError, match="another input, model or setting"):
        run_job(Job((clip,), tmp_path / "rows.csv", settings=Settings(0.5), resume=True), DarkestSpot())
    run_job(job, DarkestSpot())  # without resume it begins anew
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("table", "rows.txt", "no known table format"),
        ("overlay", "o.gif", "no known video format"),
        ("summary", "s.pdf", "no known format for a summary"),
        ("rink", RinkChoice("olympic"), "no sheet called"),
        ("rink", RinkChoice("nhl", 30.0), "always 25.9 m"),
    ],
)
def test_outputs_that_cannot_be_are_refused_before_the_work(
    clip: Path, tmp_path: Path, name: str, value: str | RinkChoice, words: str
) -> None:
    finder = CountingSpot()
    given = {"table": tmp_path / "rows.csv"} | {name: tmp_path / value if isinstance(value, str) else value}
    with pytest.raises(InputError, match=words):
        run_job(Job((clip,), **given), finder)
    assert finder.count == 0


def test_a_folder_that_may_not_be_written_is_a_sentence(clip: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="cannot be written"):
        run_job(Job((clip,), tmp_path / "file" / "rows.csv"), DarkestSpot())


def test_outputs_of_many_are_named_after_them(tmp_path: Path) -> None:
    inputs = [(Path("a/game.mp4"),), (Path("b/game.mp4"),), (Path("b/other.mkv"),)]
    jobs = fan_out(Job(inputs[0], tmp_path, tmp_path, None), inputs)
    assert [job.table.name for job in jobs] == ["a_game.csv", "b_game.csv", "b_other.csv"]
    assert [job.overlay.name for job in jobs if job.overlay] == ["a_game.mp4", "b_game.mp4", "b_other.mp4"]
    with pytest.raises(InputError, match="name a folder"):
        fan_out(Job(inputs[0], Path("rows.csv")), inputs)


def test_a_bad_input_does_not_stop_the_others(tmp_path: Path) -> None:
    for name in ("one.mp4", "two.mp4"):
        (tmp_path / name).write_bytes(b"not a video")
    jobs = fan_out(Job((tmp_path,), tmp_path / "out"), [(tmp_path / "one.mp4",), (tmp_path / "two.mp4",)])
    for workers in (1, 2):
        done = list(run_jobs(jobs, workers))
        assert len(done) == 2
        assert all("cannot be opened as a video" in each.fault for each in done)


def test_a_file_that_breaks_off_gives_rows_up_to_there(clip: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.mkv"
    with av.open(str(clip)) as source, av.open(str(cut), "w") as out:
        stream = out.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            if packet.size:
                packet.stream = stream
                out.mux(packet)
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    outcome = run_job(Job((cut,), tmp_path / "rows.jsonl"), DarkestSpot())
    assert outcome.breaks_off
    lines = (tmp_path / "rows.jsonl").read_text().splitlines()
    assert 10 < len(lines) < SHOTS * LENGTH
    assert [json.loads(line)["frame"] for line in lines] == list(range(len(lines)))


def test_pictures_make_one_table(tmp_path: Path) -> None:
    for index in range(3):
        image = ice(index)
        image[50:60, 100 + 20 * index : 110 + 20 * index] = 0
        cv2.imwrite(str(tmp_path / f"{index}.png"), image)
    files = tuple(tmp_path / f"{index}.png" for index in range(3))
    for number, sources in enumerate((files, (tmp_path,))):
        table = tmp_path / "out" / f"{number}.csv"
        run_job(Job(sources, table, summary=table.with_suffix(".png")), DarkestSpot())
        assert [(row.file, row.frame, row.source) for row in read_rows(table)] == [
            (f"{index}.png", index, Source.SEEN) for index in range(3)
        ]
    with pytest.raises(InputError, match="for videos"):
        run_job(Job((tmp_path,), tmp_path / "rows.csv", tmp_path / "o.mp4"), DarkestSpot())
