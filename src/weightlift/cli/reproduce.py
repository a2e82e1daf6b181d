"""`weightlift reproduce`: the papers' figures, and ours, from one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="A paper's key, or weightlift; or all, list, page.")],
    figure: Annotated[str | None, typer.Argument(metavar="[FIGURE]", help="One figure; all of the paper's by default.")] = None,
    size: Annotated[str, typer.Option(help="quick: minutes; paper: the paper's grid.")] = "quick",
    seed: Annotated[int, typer.Option(help="Another seed draws other networks and other data.")] = 0,
    trials: Annotated[int | None, typer.Option(help="Trials at every point, instead of the grid's.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes, one BLAS thread each; all cores by default.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for cells, tables, figures and page.")] = Path("reproduction"),
    merge: Annotated[list[Path] | None, typer.Option(help="Take over the cells of another such folder first.")] = None,
    docs: Annotated[Path | None, typer.Option(help="With page: write reproduction.md and its images there.")] = None,
) -> None:
    """Reproduce figures: the missing trials are run, then the table, the figure and a page with its claims are written.

    Every trial is stored as it ends: after Ctrl-C, or worse, the same command goes on from there. PAPER may be `list`, to see
    what there is, or `page`, to write the page anew from what is stored.

    \b
    Examples
      weightlift reproduce list
      weightlift reproduce zhong2017 fig1a
      weightlift reproduce all --size paper --jobs 16 --out figures
    """
    from weightlift.reproduce.command import Command, execute

    code = execute(Command(paper, figure, size, seed, trials, jobs, out, merge, docs))
    if code:
        raise typer.Exit(code)
