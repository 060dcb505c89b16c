import time
from collections.abc import Iterator

import pytest

from plucc.pipeline import Stopwatch, ahead


def test_items_come_through_in_order() -> None:
    assert list(ahead(iter(range(100)), depth=3)) == list(range(100))
    assert list(ahead([])) == []


def test_it_runs_ahead_but_only_so_far() -> None:
    made: list[int] = []

    def source() -> Iterator[int]:
        for index in range(100):
            made.append(index)
            yield index

    items = ahead(source(), depth=3)
    assert next(items) == 0
    deadline = time.monotonic() + 5
    while len(made) < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    assert len(made) == 5  # one handed out, three waiting, one in hand
    items.close()


def test_an_error_comes_after_what_was_before_it() -> None:
    def source() -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError("broken")

    items = ahead(source())
    assert [next(items), next(items)] == [1, 2]
    with pytest.raises(ValueError, match="broken"):
        next(items)


def test_stopping_early_closes_the_source() -> None:
    closed = []

    def source() -> Iterator[int]:
        try:
            yield from range(1000)
        finally:
            closed.append(True)

    items = ahead(source(), depth=2)
    next(items)
    items.close()
    assert closed == [True]


def test_the_stopwatch_adds_up_what_each_stage_took() -> None:
    watch = Stopwatch()
    for _ in range(3):
        with watch.stage("slow"):
            time.sleep(0.01)
    assert list(watch.over("items", range(4))) == [0, 1, 2, 3]
    (slow, count, seconds), (items, passed, _) = watch.table()
    assert (slow, count, items, passed) == ("slow", 3, "items", 4)
    assert 0.03 <= seconds <= watch.elapsed_s
