"""Every figure of the four papers, and ours, at one command: `weightlift reproduce zhong2017 fig1a`.

    python -m weightlift.reproduce zhong2017 fig1a --size paper --jobs 8 --out DIR      needs NumPy and SciPy alone

One recipe a figure, a few files a paper, on the public names of the package only; `sweep` runs a recipe's cells and `page`
shows what came of them. Without matplotlib cells and tables are written all the same; the same command draws them elsewhere.
"""

from __future__ import annotations

import importlib

from weightlift.errors import ArgumentError
from weightlift.reproduce.recipe import Cell, Claim, Grid, Recipe

__all__ = ["PAPERS", "Cell", "Claim", "Grid", "Recipe", "recipes"]

MODULES = {
    "zhong2017": ("zhong2017", "zhong2017_rates"),
    "zhang2019": ("zhang2019",),
    "awasthi2021": ("awasthi2021", "awasthi2021_overcomplete", "awasthi2021_robust"),
    "mondelli2019": ("mondelli2019", "mondelli2019_tensors"),
    "weightlift": ("weightlift", "weightlift_certified"),
}
PAPERS = tuple(MODULES)


def recipes(paper: str = "all", figure: str | None = None) -> list[Recipe]:
    """The recipes of a paper's figure, of a paper, or of all.

    >>> [recipe.figure for recipe in recipes("zhong2017")]
    ['fig1a', 'fig1b', 'fig1c', 'fig1a_rows', 'fig1b_rate']
    """
    if paper != "all" and paper not in PAPERS:
        raise ArgumentError(f"there is no paper {paper!r}; there are {', '.join(PAPERS)}, and all.")
    names = [name for of, files in MODULES.items() if paper in (of, "all") for name in files]
    found = [recipe for name in names for recipe in importlib.import_module(f"weightlift.reproduce.{name}").RECIPES]
    chosen = [recipe for recipe in found if figure in (None, recipe.figure)]
    if not chosen:
        raise ArgumentError(f"{paper} has no recipe {figure!r}; there are {', '.join(recipe.figure for recipe in found)}.")
    return chosen
