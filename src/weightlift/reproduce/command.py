"""What `weightlift reproduce` and `python -m weightlift.reproduce` do."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from weightlift.reproduce import recipes
from weightlift.reproduce.figures import CELLS, Reproduction, reproduce
from weightlift.reproduce.page import write_docs, write_page
from weightlift.reproduce.recipe import VERDICTS
from weightlift.reproduce.store import Store
from weightlift.reproduce.sweep import SweepError

OUT = Path("reproduction")
INTERRUPTED = 130


@dataclass(frozen=True)
class Command:
    """What the command line asks for, under the names that it has there."""

    paper: str
    figure: str | None = None
    size: str = "quick"
    seed: int = 0
    trials: int | None = None
    jobs: int | None = None
    out: Path = OUT
    merge: list[Path] | None = None
    docs: Path | None = None


def execute(command: Command) -> int:
    """The exit code: 0 if the figures are written, whether or not their claims held; 130 after Ctrl-C."""
    out = command.out
    if command.paper == "list":
        return _list()
    for folder in command.merge or []:
        with Store(out / CELLS) as store:
            print(f"{store.absorb(folder / CELLS):,} new cells from {folder}")
    if command.paper == "page":
        return _page(out, command.docs)
    failures = []
    try:
        for recipe in recipes(command.paper, command.figure):
            try:
                made = reproduce([recipe], out, size=command.size, seed=command.seed, trials=command.trials, jobs=command.jobs)
            except SweepError as error:  # the other figures are made all the same
                failures.append(str(error))
                continue
            for one in made:
                _print(one, out)
    except KeyboardInterrupt:
        print("stopped; the cells that were done are stored, and the same command goes on from there.", file=sys.stderr)
        return INTERRUPTED
    if failures:
        raise SweepError("\n".join(failures))
    print(f"page: {out / 'index.html'}")
    return 0


def _list() -> int:
    for recipe in recipes():
        cells = ", ".join(f"{len(recipe.cells(name)):,} trials at --size {name}" for name in recipe.grids)
        print(f"{recipe.paper:<13} {recipe.figure:<18} {recipe.title}  ({cells})")
    return 0


def _page(out: Path, docs: Path | None) -> int:
    write_page(out)
    print(f"page: {out / 'index.html'}")
    if docs is not None:
        print(f"{len(write_docs(out, docs))} figures in {docs / 'reproduction.md'}")
    return 0


def _print(made: Reproduction, out: Path) -> None:
    recipe = made.recipe
    print(f"{recipe.name}: {recipe.title} ({made.cells:,} trials, {made.seconds:,.0f} s of CPU time) -> {out / recipe.paper}")
    for claim in made.claims:
        print(f"  [{VERDICTS[claim.held]}] {claim.statement}: {claim.found}")
        if claim.cause and not claim.held:
            print(f"      {claim.cause}")
