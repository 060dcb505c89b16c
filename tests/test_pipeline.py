import time
from collections.abc import Callable, Iterator
from threading import Barrier, Lock, Semaphore

import pytest

from plucc.pipeline import Stopwatch, ahead, together


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(0.05)  # and see whether it goes on


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
    wait_until(lambda: len(made) >= 5)
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


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_work_at_once_comes_out_in_order(at_once: int) -> None:
    def slow_first(item: int) -> int:
        time.sleep(0.002 * (item % 3 == 0))
        return item * item

    assert list(together(range(40), slow_first, at_once)) == [item * item for item in range(40)]
    assert list(together([], slow_first, at_once)) == []


def test_so_many_are_at_work_at_the_same_time_and_no_more() -> None:
    all_there, lock, at_work, most = Barrier(3), Lock(), 0, 0

    def meet(item: int) -> int:
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        all_there.wait(timeout=10)  # breaks where fewer than three work at once
        with lock:
            at_work -= 1
        return item

    assert list(together(range(12), meet, 3)) == list(range(12))
    assert most == 3


def test_work_at_once_runs_ahead_only_so_far() -> None:
    made: list[int] = []

    def source() -> Iterator[int]:
        for index in range(100):
            made.append(index)
            yield index

    items = together(source(), abs, 2, spare=3)
    assert next(items) == 0
    wait_until(lambda: len(made) >= 5)
    assert len(made) <= 6  # one handed out, five in hand
    items.close()


def test_work_at_once_does_not_wait_for_later_items() -> None:
    """A camera hands out the next frame when it is time; what is done by then must be there before."""
    permitted = Semaphore(1)

    def source() -> Iterator[int]:
        for index in range(5):
            assert permitted.acquire(timeout=10)
            yield index

    items = together(source(), abs, 3)
    for index in range(5):
        assert next(items) == index
        permitted.release()


@pytest.mark.parametrize("at_once", [1, 3])
def test_an_error_of_the_work_is_raised_in_its_place(at_once: int) -> None:
    done: list[int] = []

    def work(item: int) -> int:
        if item == 2:
            raise ValueError("the third is broken")
        time.sleep(0.01 * (item < 2))  # what came before ends after the error
        done.append(item)
        return item

    items = together(range(50), work, at_once)
    assert [next(items), next(items)] == [0, 1]
    with pytest.raises(ValueError, match="the third is broken"):
        next(items)
    assert len(done) < 10
    assert list(items) == []


def test_an_error_of_the_source_comes_after_the_work_before_it() -> None:
    def source() -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError("cut off")

    items = together(source(), lambda item: 10 * item, 3)
    assert [next(items), next(items)] == [10, 20]
    with pytest.raises(ValueError, match="cut off"):
        next(items)


def test_closing_work_at_once_drops_what_waits_and_closes_the_source() -> None:
    closed, done = [], []

    def source() -> Iterator[int]:
        try:
            yield from range(1000)
        finally:
            closed.append(True)

    def work(item: int) -> int:
        time.sleep(0.01)
        done.append(item)
        return item

    items = together(source(), work, 2, spare=20)
    assert next(items) == 0
    items.close()
    finished = len(done)
    assert closed == [True]
    assert finished < 10
    time.sleep(0.05)
    assert len(done) == finished


def test_the_stopwatch_adds_up_what_each_stage_took() -> None:
    watch = Stopwatch()
    for _ in range(3):
        with watch.stage("slow"):
            time.sleep(0.01)
    assert list(watch.over("items", range(4))) == [0, 1, 2, 3]
    (slow, count, seconds), (items, passed, _) = watch.table()
    assert (slow, count, items, passed) == ("slow", 3, "items", 4)
    assert 0.03 <= seconds <= watch.elapsed_s
