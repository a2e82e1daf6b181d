"""Live progress of a sweep: a bar where there is a terminal and rich, else a line now and then."""

from __future__ import annotations

import importlib.util
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from weightlift.reproduce.limits import LIMITS
from weightlift.reproduce.sweep import Pace


@contextmanager
def shown(name: str) -> Iterator[Callable[[Pace], None]]:
    """A function to report to; what it shows goes to stderr."""
    if sys.stderr.isatty() and importlib.util.find_spec("rich"):
        with _bar(name) as report:
            yield report
    else:
        yield _lines(name)


@contextmanager
def _bar(name: str) -> Iterator[Callable[[Pace], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = TextColumn(name), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}")
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)

        def report(progress: Pace) -> None:
            bar.update(task, completed=progress.done, total=progress.total, description=_left(progress))

        yield report


def _lines(name: str) -> Callable[[Pace], None]:
    last = -math.inf

    def report(progress: Pace) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= LIMITS.every or progress.done == progress.total:
            last = now
            print(f"{name}: {progress.done} of {progress.total} cells, {_left(progress)}", file=sys.stderr, flush=True)

    return report


def _left(progress: Pace) -> str:
    if math.isnan(progress.seconds_left):
        return "starting"
    if progress.done == progress.total:
        return "done"
    minutes, seconds = divmod(round(progress.seconds_left), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02} left" if hours else f"{minutes}:{seconds:02} left"
