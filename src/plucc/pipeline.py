"""Stages that run at the same time, and how long each of them works."""

import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import Empty, Full, Queue
from threading import Event, Lock, Thread
from typing import TypeVar

from plucc.types import T

R = TypeVar("R")

_POLL_S = 0.1


class Stopwatch:
    """Adds up the time that each stage works.

    Stages run at once, and some several times at once, so together, or one alone, they may work longer than it takes.
    """

    def __init__(self) -> None:
        self._busy_s: defaultdict[str, float] = defaultdict(float)
        self._count: defaultdict[str, int] = defaultdict(int)
        self._lock = Lock()
        self._started = time.perf_counter()
        self._processor_started = time.process_time()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        begun = time.perf_counter()
        try:
            yield
        finally:
            self._add(name, time.perf_counter() - begun)

    def over(self, name: str, items: Iterable[T]) -> Iterator[T]:
        """Pass items through and count the time that it takes to get each of them."""
        source = iter(items)
        while True:
            begun = time.perf_counter()
            try:
                item = next(source)
            except StopIteration:
                return
            self._add(name, time.perf_counter() - begun)
            yield item

    @property
    def elapsed_s(self) -> float:
        return time.perf_counter() - self._started

    @property
    def processor_s(self) -> float:
        """Seconds that all cores together have worked for this process; unlike the others, not longer on a busy one."""
        return time.process_time() - self._processor_started

    def table(self) -> list[tuple[str, int, float]]:
        """Return name, number of times and seconds of work of every stage, in the order in which they first ran."""
        with self._lock:
            return [(name, self._count[name], busy_s) for name, busy_s in self._busy_s.items()]

    def _add(self, name: str, seconds: float) -> None:
        with self._lock:
            self._busy_s[name] += seconds
            self._count[name] += 1


def together(items: Iterable[T], work: Callable[[T], R], at_once: int, *, spare: int = 2) -> Generator[R, None, None]:
    """Yield `work(item)` for every item, in their order, with up to `at_once` of them at work at the same time.

    At most `spare` further items are finished or waiting, so memory stays bounded. A result comes as soon as it and all
    before it are there. An error of the items or of the work is raised in its place, after the results before it.
    """
    with ThreadPoolExecutor(at_once) as pool:
        begun = ahead(_submitted(items, work, pool), depth=max(1, at_once + spare - 2))  # and one at either end of it
        try:
            for future in begun:
                yield future.result()
        finally:
            begun.close()
            pool.shutdown(cancel_futures=True)


def _submitted(
    items: Iterable[T], work: Callable[[T], R], pool: ThreadPoolExecutor
) -> Generator[Future[R], None, None]:
    source = iter(items)
    try:
        for item in source:
            yield pool.submit(work, item)
    finally:
        if isinstance(source, Generator):
            source.close()


def ahead(items: Iterable[T], depth: int = 4) -> Generator[T, None, None]:
    """Yield items that a thread gets ahead of time, at most `depth` of them; its errors are raised here, in order."""
    ready: Queue[tuple[T | None, BaseException | None, bool]] = Queue(depth)
    stopped = Event()
    thread = Thread(target=_feed, args=(items, ready, stopped), daemon=True)
    thread.start()
    try:
        while True:
            item, error, is_last = ready.get()
            if error is not None:
                raise error
            if is_last:
                return
            yield item  # type: ignore[misc]
    finally:
        stopped.set()
        while thread.is_alive():
            try:
                ready.get(timeout=_POLL_S)
            except Empty:
                continue
        thread.join()


def _feed(items: Iterable[T], ready: "Queue[tuple[T | None, BaseException | None, bool]]", stopped: Event) -> None:
    source = iter(items)
    try:
        for item in source:
            if not _put(ready, (item, None, False), stopped):
                break
        else:
            _put(ready, (None, None, True), stopped)
    except BaseException as error:
        _put(ready, (None, error, True), stopped)
    finally:
        if isinstance(source, Generator):
            source.close()


def _put(ready: "Queue[T]", item: T, stopped: Event) -> bool:
    while not stopped.is_set():
        try:
            ready.put(item, timeout=_POLL_S)
        except Full:
            continue
        return True
    return False
