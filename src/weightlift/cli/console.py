"""What the commands share: errors in plain words, progress, JSON, outputs that are not overwritten by accident."""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from weightlift.errors import WeightliftError

if TYPE_CHECKING:
    from rich.console import Console

    from weightlift.recovery import Event

USAGE, NOT_CERTIFIED, INTERRUPTED = 2, 3, 130

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing output file.")]


class Commands(TyperGroup):
    """Commands in the order of their registration, whose mistakes end in a sentence and exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # the reader has seen enough; no mistake
        except (WeightliftError, OSError, MemoryError) as error:
            typer.echo(f"Error: {_sentence(error)}", err=True)
            raise typer.Exit(USAGE) from error
        except KeyboardInterrupt as error:
            typer.echo("Stopped before the end; no result was written.", err=True)
            raise typer.Exit(INTERRUPTED) from error

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)


def console(*, err: bool = False) -> Console:
    """Where tables go; a pipe has no width of its own, and lines are not broken for it."""
    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    return Console(stderr=err, highlight=False, width=None if stream.isatty() else 120)


def print_parts(*parts: Any) -> None:
    """Tables and texts, an empty line between them."""
    out = console()
    for i, part in enumerate(parts):
        if i:
            out.print()
        out.print(part)


class Remembered:
    """A callback that remembers the last event, and the best with a network: what there is when somebody interrupts.

    A stage or width that begins has no network of its own, and events know of no other's.
    """

    def __init__(self, show: Callable[[object], object]) -> None:
        self.show, self.last, self.best = show, None, None

    last: Event | None
    best: Event | None

    def __call__(self, event: Event) -> None:
        self.last = event
        if event.network is not None and (self.best is None or event.best_risk < self.best.best_risk):
            self.best = event
        self.show(event)


@contextmanager
def working(text: str) -> Iterator[Remembered]:
    """A spinner with the time on a terminal, nothing in a pipe; warnings become sentences on stderr.

    Yields what a recovery may be given as its callback: the spinner then says where it stands.
    """
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    out = console(err=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
        progress = Progress(*columns, console=out, transient=True)
        task = progress.add_task(text, total=None)
        with progress if out.is_terminal else nullcontext():
            yield Remembered(lambda event: progress.update(task, description=f"{text}: {event}"))
    for message in dict.fromkeys(str(w.message) for w in caught):
        typer.echo(f"Warning: {message}", err=True)


def print_json(value: Any) -> None:
    """Strict JSON on one line of stdout: numbers that JSON lacks (NaN, ∞) are null."""
    typer.echo(json.dumps(_plain(value), ensure_ascii=False, allow_nan=False))


def check_output(path: Path | None, *, force: bool, suffixes: tuple[str, ...], option: str = "--out") -> None:
    """Refuse an output before any work is done: of an unknown kind, in no folder, or there already."""
    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        raise typer.BadParameter(f"{path} must end in {' or '.join(suffixes)}.", param_hint=option)
    folder = path.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise typer.BadParameter(f"the folder {folder} does not exist, or cannot be written to.", param_hint=option)
    if path.is_dir() or (path.exists() and not force):
        raise typer.BadParameter(f"{path} exists; name another, or add --force.", param_hint=option)


def failure(write: Callable[[], object]) -> OSError | None:
    """Why an output could not be written, if it could not: what was found is printed before that is raised."""
    try:
        write()
    except OSError as error:
        return error
    return None


def _sentence(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "not enough memory; use fewer rows, inputs or units."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'a file'}: {error.strerror}."
    return str(error)


def _plain(value: Any) -> Any:
    """The same of JSON's types."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # arrays and scalars of NumPy
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
