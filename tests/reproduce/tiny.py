"""Every recipe at a tiny size: its trials run, and give a table, a figure and claims."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest

from weightlift.reproduce import Grid, Recipe, style, sweep
from weightlift.reproduce.recipe import Cell, Row, Trial

TINY: dict[str, Grid] = {
    "zhong2017 fig1a": Grid.product(1, d=[5], n=[600, 1500]),
    "zhong2017 fig1b": Grid.product(1, d=[5], n=[600, 1500]),
    "zhong2017 fig1c": Grid.product(1, d=5, n=300),
    "zhong2017 fig1a_rows": Grid.product(1, d=[5, 6], n=[600, 1500]),
    "zhong2017 fig1b_rate": Grid.product(1, d=[5, 6], n=[600, 1500, 3000]),
    "zhang2019 fig2a": Grid.product(1, d=4, n=300, k=2),
    "zhang2019 fig2b": Grid.product(1, d=[4, 6], n=[240], k=2, start="tensor"),
    "zhang2019 fig2c": Grid.product(1, d=5, n=[240], k=[2, 3], start="random"),
    "zhang2019 fig2d": Grid.product(1, d=[4], n=[800, 1600], k=2),
    "awasthi2021 rate": Grid.product(1, d=3, k=2, n=[2000, 8000], bias=None),
    "awasthi2021 bias": Grid.product(1, d=3, k=2, n=4000, bias=[0.0, 0.5, 1.0]),
    "awasthi2021 overcomplete": Grid.product(1, d=4, k=[3, 5], n=[3000]),
    "awasthi2021 overcomplete_rows": Grid.product(1, d=3, k=[4], ratio=[4.0, 30.0], route=["tensor", "search"]),
    "awasthi2021 large_biases": Grid.product(1, d=4, k=2, n=[2000, 8000], bias=[1.5]),
    "awasthi2021 smoothing": Grid.product(2, d=[3, 4], order=[1, 2], tau=[0.1, 1.0]),
    "awasthi2021 twins": Grid.product(1, d=2, k=[4], ratio=8, twins=[False, True]),
    "mondelli2019 fig1": Grid.product(1, ensemble="haar", d=4, r=[4, 16], scale=[1e-2, 1e2], steps=2000),
    "mondelli2019 fig1_gaussian": Grid.product(1, ensemble="gaussian", d=4, r=[4, 16], scale=[1e-2, 2e-2], steps=2000),
    "mondelli2019 phase": Grid.product(1, d=[3, 4], k=[2, 5], order=[3], method="kcl"),
    "mondelli2019 bounds": Grid.product(1, d=5, source=["chance", "decomposition", "sgd"], amount=[200.0]),
    "weightlift samples": Grid.product(1, activation=["relu", "tanh"], d=[5], k=2, ratio=[4.0, 6.0], work=50.0),
    "weightlift samples_wide": Grid.product(1, activation=["relu"], d=3, k=[3], ratio=[4.0, 6.0], work=50.0),
    "weightlift units": Grid.product(1, activation=["relu"], d=4, k=[2, 3], ratio=[4.0, 6.0], work=50.0),
    "weightlift cramer_rao": Grid.product(2, activation=["relu"], d=4, k=2, ratio=[60.0, 150.0]),
    "weightlift certified": Grid.product(1, axis="rows", activation="relu", d=4, k=2, ratio=[4.0], noise=[0.0, 0.1]),
}
DONE: dict[str, str] = {}  # figures that share a trial share its cells


def every(paper: ModuleType) -> pytest.MarkDecorator:
    """A test's `recipe` is each of the paper's."""
    return pytest.mark.parametrize("recipe", paper.RECIPES, ids=[recipe.figure for recipe in paper.RECIPES])


def check(recipe: Recipe) -> list[Row]:
    """The table; it has the same columns everywhere, is drawn, and what its claims say can be read."""
    cells = replace(recipe, grids={"tiny": TINY[recipe.name]}).cells("tiny")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        texts = [once(recipe.trial, cell) for cell in cells]
    trials = [{**cell.point, "trial": cell.trial, **json.loads(text)} for cell, text in zip(cells, texts, strict=True)]
    rows = recipe.summarize(trials)
    assert len({tuple(row) for row in rows}) == 1
    assert all(np.ndim(value) == 0 for row in rows for value in row.values())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_claims(recipe, rows)
        with style.canvas(recipe.width, recipe.height, recipe.title) as figure:
            recipe.draw(figure, rows)
            assert style.content(figure, "png").startswith(b"\x89PNG")
    return rows


def check_claims(recipe: Recipe, rows: list[Row]) -> None:
    claims = recipe.claims(rows)
    assert claims
    for claim in claims:
        assert claim.held is None or isinstance(claim.held, bool)  # not NumPy's, which JSON and `is` take for another
        assert claim.statement
        assert claim.found
        assert claim.held or claim.cause, claim  # what did not hold is explained
        if claim.statement.startswith(("no network is certified", "no certificate calls")):
            assert claim.held is not False, claim.found


def run(trial: Trial, cell: Cell) -> str:
    result, _, _, failure = sweep._run(trial, cell)
    assert not failure, failure
    return result


def once(trial: Trial, cell: Cell) -> str:
    if cell.key not in DONE:
        DONE[cell.key] = run(trial, cell)
    return DONE[cell.key]
