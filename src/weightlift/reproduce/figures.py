"""From a recipe to its files: the missing cells, the table as CSV, the figure as PNG and PDF, the page."""

from __future__ import annotations

import datetime
import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from weightlift.files import write_atomically
from weightlift.reproduce import progress, style, tables
from weightlift.reproduce.fingerprint import fingerprint
from weightlift.reproduce.machine import cores, machine
from weightlift.reproduce.recipe import Claim, Recipe, Row, missing
from weightlift.reproduce.store import RunRecord, Store
from weightlift.reproduce.sweep import SweepError, sweep

CELLS = "cells.sqlite"


@dataclass(frozen=True)
class Reproduction:
    """A figure that is complete: its table, its claims, and the run that made it."""

    recipe: Recipe
    run: RunRecord
    rows: list[Row]
    claims: list[Claim]
    cells: int  # that were run
    seconds: float  # CPU, of all of them
    code: str  # fingerprint of the trial when they ran

    @property
    def current(self) -> bool:
        """Whether the trial, and what it calls, is still what made the figure."""
        return self.code == fingerprint(self.recipe.trial)

    @property
    def asked(self) -> int:
        """Trials at a point of the grid, at most."""
        return self.recipe.grids[self.run.size].trials

    @property
    def trials(self) -> float:
        """Those that were made, in the mean; at most, where trials end once a point is decided."""
        if self.recipe.following is not missing:
            return self.asked if self.run.trials is None else self.run.trials
        return self.cells / len(self.recipe.grids[self.run.size].points)

    @property
    def command(self) -> str:
        run, options = self.run, ""
        options += f" --size {run.size}" + (f" --seed {run.seed}" if run.seed else "")
        options += f" --trials {run.trials}" if run.trials is not None else ""
        return f"weightlift reproduce {run.paper} {run.figure}{options}"


def reproduce(
    chosen: Iterable[Recipe],
    out: Path,
    *,
    size: str = "quick",
    seed: int = 0,
    trials: int | None = None,
    jobs: int | None = None,
) -> list[Reproduction]:
    """Complete the cells of these recipes in `out`/cells.sqlite, write their files and the page over all that is there.

    trials: at every point, instead of the grid's. jobs: processes, one a core by default.
    """
    from weightlift.reproduce.page import write_page

    found, failures = [], []
    for recipe in chosen:
        try:
            found.append(_reproduced(recipe, out, size, seed, trials, cores() if jobs is None else jobs))
        except SweepError as error:
            failures.append(f"{recipe.name}: {error}")
            continue
        write_files(found[-1], out / recipe.paper)
        write_page(out)
    if failures:
        raise SweepError("\n".join(failures))
    return found


def _reproduced(recipe: Recipe, out: Path, size: str, seed: int, trials: int | None, jobs: int) -> Reproduction:
    cells = recipe.cells(size, seed=seed, trials=trials)
    done = 0
    with Store(out / CELLS) as store, progress.shown(recipe.name) as report:
        while batch := recipe.following(cells, store.results(cells)):
            done += sweep(recipe.trial, batch, store, jobs=jobs, cost=recipe.cost, report=report)
        run = RunRecord(recipe.paper, recipe.figure, size, seed, trials, machine(), datetime.date.today().isoformat())
        last = store.runs().get((recipe.paper, recipe.figure))
        if not done and last is not None and (last.size, last.seed, last.trials) == (size, seed, trials):
            run = last  # drawn again, perhaps on another machine
        store.record(run)
    return completed([recipe], out, run)[0]


def completed(chosen: Iterable[Recipe], out: Path, run: RunRecord | None = None) -> list[Reproduction]:
    """What the store in `out` has of these recipes as their last run, or the given one, asked for; complete ones only."""
    found = []
    with Store(out / CELLS) as store:
        runs = store.runs()
        for recipe in chosen:
            last = run or runs.get((recipe.paper, recipe.figure))
            if last is None:
                continue
            cells = recipe.cells(last.size, seed=last.seed, trials=last.trials)
            results = store.results(cells)
            if not recipe.following(cells, results):
                rows = recipe.summarize(list(results.values()))
                stored = [cell for cell in cells if cell.key in results]
                cost = (len(stored), store.seconds(stored))
                made = replace(last, machine=store.machines(stored))
                found.append(Reproduction(recipe, made, rows, recipe.claims(rows), *cost, cells[0].code))
    return found


def write_files(made: Reproduction, folder: Path, kinds: Iterable[str] = tuple(style.SAVING)) -> None:
    """figure.csv, and with matplotlib figure.png and figure.pdf, or those of these kinds."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / f"{made.recipe.figure}.csv", tables.as_csv(made.rows).encode())
    if importlib.util.find_spec("matplotlib") is None:
        return
    with style.canvas(made.recipe.width, made.recipe.height, made.recipe.title) as figure:
        made.recipe.draw(figure, made.rows)
        for kind in kinds:
            write_atomically(folder / f"{made.recipe.figure}.{kind}", style.content(figure, kind))
