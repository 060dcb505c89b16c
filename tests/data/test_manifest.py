import tracemalloc

import pytest
import yaml

from plucc.data.findings import Findings
from plucc.data.manifest import count_lines, read_dataset, read_info, read_records, write_dataset, write_manifest
from plucc.data.schema import Player
from plucc.types import Box, DataError, InputError, PlayerRole


def write_lines(root, info, *lines):
    write_manifest(root, info, ())
    (root / "records.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return root


def test_datasets_round_trip(tmp_path, info, make_record):
    records = [make_record(0, run="r1"), make_record(1, match="m1", puck=None, no_puck=True, category="no-puck")]
    assert write_dataset(tmp_path / "new", info, iter(records)) == 2
    dataset = read_dataset(tmp_path / "new")
    assert dataset.info == info
    assert list(dataset.records) == records
    assert len(dataset) == 2
    assert dataset.left_out == ()
    assert dataset.image_path(records[0]) == tmp_path / "new" / "images" / "000.png"


def test_an_existing_dataset_is_not_overwritten(tmp_path, info, make_record):
    write_dataset(tmp_path / "new", info, [make_record()])
    with pytest.raises(InputError, match="exists already"):
        write_dataset(tmp_path / "new", info, [])
    assert len(read_dataset(tmp_path / "new")) == 1


def test_a_failed_write_leaves_nothing(tmp_path, info, make_record):
    def failing():
        yield make_record()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_dataset(tmp_path / "new", info, failing())
    assert list(tmp_path.iterdir()) == []


SIZE_JSON = '"size": {"width": 160, "height": 90}'
GOOD = f'{{"image": "a.png", {SIZE_JSON}, "match": "m"}}'


def line_with(extra, image="b.png"):
    return f'{{"image": "{image}", {SIZE_JSON}, "match": "m", {extra}}}'


def puck_line(x):
    return line_with(f'"puck": {{"point_px": {{"x": {x}, "y": 1}}}}')


FLAT_BOX = '{"box_px": {"left": 5, "top": 5, "right": 5, "bottom": 9}}'


@pytest.mark.parametrize(
    ("line", "field", "problem"),
    [
        (f'{{"image": "b.png", {SIZE_JSON}}}', "match", "required"),
        (line_with('"note": 1'), "note", "extra inputs are not permitted"),
        (line_with('"run": 7'), "run", "valid string (it is 7)"),
        (puck_line("NaN"), "puck.point_px.x", "finite"),
        (puck_line("161"), "puck.point_px", "outside the frame of 160x90"),
        (puck_line('"5"'), "puck.point_px.x", "number (it is '5')"),
        (line_with('"category": "hazy"'), "category", "(it is 'hazy')"),
        (line_with(f'"players": [{FLAT_BOX}]'), "players.0.box_px", "above zero"),
        (GOOD, "image", "a.png is the image of line 1 already"),
    ],
)
def test_a_bad_line_is_named_with_file_line_and_field(tmp_path, info, line, field, problem):
    root = write_lines(tmp_path, info, GOOD, "", line)
    with pytest.raises(DataError) as caught:
        read_dataset(root)
    message = str(caught.value)
    assert message.startswith(f"{root / 'records.jsonl'}, line 3, {field}: ")
    assert problem in message
    assert "--skip-bad" in message


@pytest.mark.parametrize("line", ["{", "[1, 2]", "null", '{"image": "b.png"', "\x00", "text"])
def test_a_line_that_is_no_json_object_is_named(tmp_path, info, line):
    root = write_lines(tmp_path, info, GOOD, line)
    with pytest.raises(DataError, match=r"records\.jsonl, line 2: (invalid JSON|input should be an object)"):
        read_dataset(root)


def test_broken_text_encoding_is_named(tmp_path, info):
    root = write_lines(tmp_path, info, GOOD)
    with (root / "records.jsonl").open("ab") as file:
        file.write(b'{"image": "\xff\xfe.png"}\n')
    with pytest.raises(DataError, match="line 2"):
        read_dataset(root)


def test_bad_lines_are_skipped_on_request_and_listed(tmp_path, info):
    root = write_lines(tmp_path, info, "{", GOOD, '{"image": 1}', GOOD.replace("a.png", "b.png"))
    dataset = read_dataset(root, skip_bad=True)
    assert [record.image for record in dataset.records] == ["a.png", "b.png"]
    assert [finding.place.line for finding in dataset.left_out] == [1, 3]


def test_classes_that_the_dataset_does_not_name_are_refused(tmp_path, info, make_record):
    referee = (Player(box_px=Box(1, 1, 2, 2), role=PlayerRole.REFEREE),)
    write_manifest(tmp_path, info, [make_record(0), make_record(1, players=referee)])
    with pytest.raises(DataError, match=r"line 2, players\.0\.role: referee is none of the classes"):
        read_dataset(tmp_path)
    write_manifest(tmp_path, info.model_copy(update={"classes": info.classes[1:]}), [make_record()])
    with pytest.raises(DataError, match="line 1, puck: puck is none of the classes"):
        read_dataset(tmp_path)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("name: [", "line 1: not valid YAML"),
        ("{}", "dataset.yaml, name: field required"),
        ("name: a\nclasses: [puck]\nlicence: b\nsource: c\nlicense: d", "license: extra inputs"),
        ("- 1", "valid dictionary"),
    ],
)
def test_a_bad_info_file_is_named(tmp_path, content, problem):
    (tmp_path / "dataset.yaml").write_text(content)
    with pytest.raises(DataError) as caught:
        read_info(tmp_path)
    assert problem in str(caught.value)


def test_missing_files_are_named(tmp_path, info):
    with pytest.raises(DataError, match=r"dataset\.yaml is missing"):
        read_dataset(tmp_path)
    (tmp_path / "dataset.yaml").write_text(yaml.safe_dump(info.model_dump(mode="json")))
    with pytest.raises(DataError, match=r"records\.jsonl is missing"):
        read_dataset(tmp_path)
    assert count_lines(tmp_path) == 0


def test_one_bad_line_in_200_000_is_found(tmp_path, info, make_record):
    bad_line, count = 123_456, 200_000
    text = make_record(0, run="r").model_dump_json(exclude_defaults=True)
    root = write_lines(
        tmp_path,
        info,
        *(text.replace("000.png", f"{n}.png", 1) if n != bad_line else "{}" for n in range(1, count + 1)),
    )
    assert count_lines(root) == count
    findings = Findings(skip_bad=True)
    good = sum(1 for _ in read_records(root, info, findings))
    assert good == count - 1
    assert [finding.place.line for finding in findings] == [bad_line]


def test_streaming_holds_no_records(tmp_path, info, make_record):
    text = make_record(0).model_dump_json(exclude_defaults=True)
    root = write_lines(tmp_path, info, *(text.replace("000.png", f"{n}.png", 1) for n in range(5_000)))
    peaks = []
    for consume in (lambda lines: sum(1 for _ in lines), list):
        tracemalloc.start()
        consume(read_records(root, info, Findings()))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] < peaks[1] / 5
