"""What the figures say, on parts of the papers' grids that take minutes of one core; tolerances are their standard errors."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from weightlift.reproduce import Grid, convergence, figures, recipes, zhong2017
from weightlift.reproduce.fits import Powers
from weightlift.reproduce.recipe import Row
from weightlift.reproduce.tables import column

pytestmark = pytest.mark.slow


def rows_of(paper: str, figure: str, folder: Path, grid: Grid | None = None, seed: int = 0) -> list[Row]:
    """The figure's table; one process, the cores are the workers'."""
    recipe = recipes(paper, figure)[0]
    recipe = recipe if grid is None else replace(recipe, grids={"paper": grid})
    return figures.reproduce([recipe], folder, size="paper", seed=seed, jobs=1)[0].rows


def test_zhong2017_fig1a_rows_grow_with_d_and_ours_lie_below_the_grid(tmp_path: Path) -> None:
    """Over all of the paper's d: up to d = 50 the least n lies below the grid, and no exponent can be told."""
    grid = Grid.product(4, d=list(range(10, 101, 10)), n=list(range(1000, 10_001, 1000)))
    rows = rows_of("zhong2017", "fig1a", tmp_path, grid)
    found = zhong2017.Thresholds.of(rows, "paper")
    assert found.exponent > 2 * found.error
    assert all(row["ours"] == 1.0 for row in rows)


def test_zhong2017_fig1c_ordering_and_linear_rate(tmp_path: Path) -> None:
    rows = rows_of("zhong2017", "fig1c", tmp_path)
    assert convergence.steps_to(rows, "I", 1e-4) < convergence.steps_to(rows, "III", 1e-4)
    assert convergence.at_step(rows, "II", 1000)["converged"] <= 0.5
    for approach in ("I", "III"):
        line = convergence.rate(rows, approach, below=1e-2)
        assert line.slope < 0
        assert line.r2 >= 0.9


def test_zhang2019_fig2a_ordering_and_linear_rate(tmp_path: Path) -> None:
    rows = rows_of("zhang2019", "fig2a", tmp_path)
    assert convergence.at_step(rows, "tensor", 50)["median"] < convergence.at_step(rows, "random", 50)["median"]
    for start in ("tensor", "random"):
        line = convergence.rate(rows, start, below=1e-4)
        assert line.slope < 0
        assert line.r2 >= 0.95


def test_zhang2019_fig2d_squared_error_falls_as_d_over_n(tmp_path: Path) -> None:
    quick = recipes("zhang2019", "fig2d")[0].grids["quick"]
    rows = rows_of("zhang2019", "fig2d", tmp_path, quick)
    law = Powers.fitted([column(rows, "n/d")], column(rows, "ours_squared"))
    assert law.errors[0] < 0.15
    assert abs(law.exponents[0] + 1) < 3 * law.errors[0]


@pytest.mark.parametrize(("figure", "ensemble"), [("fig1", "haar"), ("fig1_gaussian", "gaussian")])
def test_mondelli2019_fig1_few_units_are_learned_and_many_hardly(tmp_path: Path, figure: str, ensemble: str) -> None:
    """After as many steps, r = d units leave less than half of the trivial error and of the first distance, r = d² more:
    means over truths with their intervals of 95 %. (That d² units leave 0.8 for every step does not hold.)

    Twelve truths for r = d, whose errors spread by a sixth: the interval of three is four times as wide as theirs."""
    few, many = (ends_of(figure, ensemble, r, truths, tmp_path) for r, truths in ((50, 12), (2500, 3)))
    for measure in (error_left, distance_left):
        assert interval([measure(row) for row in few])[1] < 0.5 < interval([measure(row) for row in many])[0]


def ends_of(figure: str, ensemble: str, r: int, truths: int, folder: Path) -> list[Row]:
    grid = Grid.product(1, ensemble=ensemble, d=50, r=r, scale=5e-3, steps=2_000_000)
    return [rows_of("mondelli2019", figure, folder, grid, seed)[-1] for seed in range(truths)]


def error_left(row: Row) -> float:
    return float(row["ratio"])


def distance_left(row: Row) -> float:
    return float(row["nearest"] / row["nearest_start"])


def interval(values: list[float]) -> tuple[float, float]:
    """Of the mean, 95 %, by Student's t."""
    error = np.std(values, ddof=1) / math.sqrt(len(values))
    low, high = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=error)
    return float(low), float(high)
