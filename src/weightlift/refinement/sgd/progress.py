"""A progress bar for long runs: on a terminal, and only once a run has taken two seconds."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

from weightlift.refinement.sgd.limits import LIMITS


class Progress:
    """`with Progress(total, label) as bar: bar.reach(done, note)`; silent in a pipe, or where `shown` is False."""

    def __init__(self, total: int, label: str, *, done: int = 0, shown: bool | None = None) -> None:
        self.total, self.label, self.done = total, label, done
        self.shown = sys.stderr.isatty() if shown is None else shown
        self.started = time.monotonic()
        self.bar: Any = None

    def reach(self, done: int, note: str) -> None:
        if self.bar is None and self.shown and time.monotonic() - self.started > LIMITS.patience:
            self._open()
        if self.bar is not None:
            self.bar.update(self.task, completed=done, note=note)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[note]}")
        self.bar = Bar(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
        self.task = self.bar.add_task(self.label, total=self.total, completed=self.done, note="")
        self.bar.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.bar is not None:
            self.bar.stop()
