import pytest

from plucc.data.check import check_dataset
from plucc.data.importers.store import About, store
from plucc.data.importers.yolo import read_yolo
from plucc.data.manifest import read_dataset
from plucc.types import DataError, InputError

ABOUT = About("new", "CC0", "the tests")


@pytest.fixture
def source(tmp_path, draw_frame):
    root = tmp_path / "source"
    (root / "labels" / "deep").mkdir(parents=True)
    for number, name in enumerate(("a", "deep/b")):
        draw_frame(root / "frames" / f"{name}.png", number)
        (root / "labels" / f"{name}.txt").write_text("5 0.5 0.5 0.1 0.1\n4 0.99 0.5 0.1 0.1\n")
    return root


def test_pictures_stay_where_they_are(source, make_intake, tmp_path):
    intake = make_intake("5", "4")
    tally = store(read_yolo(source, intake), intake, ABOUT)
    assert (tally.records, tally.pucks, tally.players) == (2, 2, 2)
    dataset = read_dataset(tmp_path / "out")
    assert dataset.info.classes == ("puck", "player")
    assert [record.image for record in dataset.records] == ["../source/frames/a.png", "../source/frames/deep/b.png"]
    assert check_dataset(tmp_path / "out").sound == 2
    notes = (tmp_path / "out" / "notes.txt").read_text().splitlines()
    assert len(notes) == 2
    assert all(note.startswith("clamped: ") for note in notes)


def test_the_dataset_may_lie_deeper_and_behind_a_link(source, make_intake, tmp_path):
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real" / "deep")
    intake = make_intake("5")
    intake.base = tmp_path / "link" / "out"
    store(read_yolo(source, intake), intake, ABOUT)
    assert check_dataset(tmp_path / "link" / "out").sound == 2
    assert check_dataset(tmp_path / "real" / "deep" / "out").sound == 2


def test_pictures_are_copied_on_request(source, make_intake, tmp_path):
    intake = make_intake("5")
    store(read_yolo(source, intake), intake, ABOUT, copy_below=source)
    dataset = read_dataset(tmp_path / "out")
    assert [record.image for record in dataset.records] == ["images/a.png", "images/deep/b.png"]
    assert check_dataset(tmp_path / "out").sound == 2


def test_a_class_that_never_occurs_is_an_error_and_leaves_nothing(source, make_intake, tmp_path):
    intake = make_intake("6", "4")
    with pytest.raises(DataError, match=r"no label is of class 6; the source has 5 \(2\), 4 \(2\)"):
        store(read_yolo(source, intake), intake, ABOUT)
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_frames_that_all_lack_a_puck_may_be_imported_as_such(source, make_intake):
    intake = make_intake("6", "4", empty_means_no_puck=True)
    tally = store(read_yolo(source, intake), intake, ABOUT)
    assert (tally.pucks, tally.without_puck) == (0, 2)


def test_an_import_that_leaves_nothing_is_an_error(source, make_intake):
    for label in source.rglob("*.txt"):
        label.write_text("5 nan 0 0 0")
    intake = make_intake("5", skip_bad=True)
    with pytest.raises(DataError, match=r"no frame could be imported: .*not finite"):
        store(read_yolo(source, intake), intake, ABOUT)


def test_an_existing_folder_is_refused(source, make_intake, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("precious")
    intake = make_intake("5")
    with pytest.raises(InputError, match="exists already"):
        store(read_yolo(source, intake), intake, ABOUT)
