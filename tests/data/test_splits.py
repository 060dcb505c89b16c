from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plucc.data.splits import (
    Split,
    Splits,
    bound_matches,
    check_leaks,
    count_origins,
    read_split,
    read_splits,
    split_by_fraction,
    split_by_name,
    write_splits,
)
from plucc.types import DataError, InputError

ORIGINS = Counter({("a", "1"): 5, ("a", None): 2, ("b", "2"): 4, ("c", "3"): 3, ("c", "2"): 1, ("d", None): 6})

origins = st.dictionaries(
    st.tuples(st.sampled_from("abcdefgh"), st.none() | st.integers(0, 12).map(str)), st.integers(1, 50), min_size=1
).map(Counter)


def test_records_are_counted_by_match_and_run(make_record):
    records = [make_record(0, "a", "1"), make_record(1, "a", "1"), make_record(2, "b")]
    assert count_origins(records) == Counter({("a", "1"): 2, ("b", None): 1})


def test_matches_that_share_a_run_are_bound():
    assert bound_matches(ORIGINS) == [("a",), ("b", "c"), ("d",)]


def test_binding_is_transitive():
    chain = Counter({("a", "1"): 1, ("b", "1"): 1, ("b", "2"): 1, ("c", "2"): 1, ("d", "3"): 1})
    assert bound_matches(chain) == [("a", "b", "c"), ("d",)]


def test_named_matches_go_where_they_are_sent():
    splits = split_by_name(ORIGINS, val=["a"], test=["b", "c"])
    assert splits == Splits(train=("d",), val=("a",), test=("b", "c"))
    assert [splits.of(match) for match in "abcdx"] == [Split.VAL, Split.TEST, Split.TEST, Split.TRAIN, None]


@pytest.mark.parametrize(
    ("val", "test", "problem"),
    [
        (["x"], [], "no match is called x: choose among a, b, c, d"),
        (["a"], ["a"], "cannot be in validation and test"),
        (["a", "d"], ["b", "c"], "no match is left for training"),
    ],
)
def test_impossible_names_are_refused(val, test, problem):
    with pytest.raises(InputError, match=problem):
        split_by_name(ORIGINS, val, test)


def test_a_run_on_both_sides_is_a_leak():
    with pytest.raises(DataError, match=r"run 2 .* would lie in .* \(match [bc]\)"):
        split_by_name(ORIGINS, val=["c"], test=[])


def test_a_match_in_no_split_is_refused():
    with pytest.raises(DataError, match="match d is in no split"):
        check_leaks(ORIGINS, Splits(train=("a",), val=("b", "c")))


@settings(max_examples=200)
@given(origins=origins, seed=st.integers(0, 99), val=st.floats(0.05, 0.4), test=st.floats(0.05, 0.4))
def test_drawn_splits_are_complete_disjoint_and_do_not_leak(origins, seed, val, test):
    if len(bound_matches(origins)) < 3:
        with pytest.raises(DataError, match="independent matches"):
            split_by_fraction(origins, val, test, np.random.default_rng(seed))
        return
    splits = split_by_fraction(origins, val, test, np.random.default_rng(seed))
    assert sorted(splits.train + splits.val + splits.test) == sorted({match for match, _ in origins})
    assert splits.train
    assert splits.val
    assert splits.test
    check_leaks(origins, splits)
    assert splits == split_by_fraction(origins, val, test, np.random.default_rng(seed))


def test_drawn_splits_come_near_to_their_shares_and_depend_on_the_seed():
    many = Counter({(f"m{number}", None): 40 + number for number in range(60)})
    drawn = [split_by_fraction(many, 0.2, 0.1, np.random.default_rng(seed)) for seed in range(5)]
    for splits in drawn:
        share = sum(many[match, None] for match in splits.val) / many.total()
        assert share == pytest.approx(0.2, abs=0.02)
    assert len({splits.val for splits in drawn}) == 5


def test_only_one_split_may_be_asked_for():
    splits = split_by_fraction(ORIGINS, 0.3, 0.0, np.random.default_rng(0))
    assert splits.val
    assert splits.test == ()


@pytest.mark.parametrize(("val", "test"), [(0.5, 0.5), (-0.1, 0.2), (0.9, 0.3)])
def test_shares_must_leave_something_to_train_on(val, test):
    with pytest.raises(InputError, match="below 1"):
        split_by_fraction(ORIGINS, val, test, np.random.default_rng(0))


def test_splits_round_trip_and_select_records(make_dataset, make_record):
    root = make_dataset(make_record(0, "a"), make_record(1, "b"), make_record(2, "a"), make_record(3, "c"))
    splits = Splits(train=("a",), val=("b",), test=("c",))
    write_splits(root, splits)
    assert read_splits(root) == splits
    assert [record.image for record in read_split(root, Split.TRAIN).records] == ["images/000.png", "images/002.png"]
    assert [record.match for record in read_split(root, Split.TEST).records] == ["c"]


def test_reading_a_split_checks_for_leaks(make_dataset, make_record):
    root = make_dataset(make_record(0, "a", "r"), make_record(1, "b", "r"))
    write_splits(root, Splits(train=("a",), val=("b",)))
    with pytest.raises(DataError, match="run r of near-duplicate frames"):
        read_split(root, Split.VAL)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("train: [a]\nval: [a]", "val: match a is in train too"),
        ("train: [", "not valid YAML"),
        ("dev: [a]", "dev: extra"),
    ],
)
def test_a_bad_splits_file_is_named(tmp_path, content, problem):
    (tmp_path / "splits.yaml").write_text(content)
    with pytest.raises(DataError) as caught:
        read_splits(tmp_path)
    assert problem in str(caught.value)


def test_a_missing_splits_file_says_how_to_make_it(tmp_path):
    with pytest.raises(DataError, match="plucc data split"):
        read_splits(tmp_path)
