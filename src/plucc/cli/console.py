"""What every command prints with: the consoles, the progress bar, the closing words."""

import sys
from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from plucc.types import T

out = Console(highlight=False, soft_wrap=True)
err = Console(highlight=False, soft_wrap=True, stderr=True)


def bar(items: Iterable[T], *, total: int | None = None, label: str = "") -> Iterator[T]:
    """Pass items through under a progress bar on standard error; silent when that is not a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as progress:
        yield from progress.track(items, total=total, description=label)
