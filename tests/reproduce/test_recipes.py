"""Every recipe at a tiny size: its trials run, are the same for the same seed, and give a table, a figure and claims."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weightlift.errors import ArgumentError
from weightlift.reproduce import PAPERS, Grid, Recipe, convergence, figures, recipes, style, sweep, zhang2019, zhong2017
from weightlift.reproduce.fits import Line, Logistic, Powers
from weightlift.reproduce.recipe import Cell, Trial, every, fingerprint
from weightlift.reproduce.tables import as_csv

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
    "weightlift units": Grid.product(1, activation=["relu"], d=4, k=[2, 3], ratio=[4.0, 6.0], work=50.0),
    "weightlift cramer_rao": Grid.product(2, activation=["relu"], d=4, k=2, ratio=[60.0, 150.0]),
    "weightlift certified": Grid.product(1, axis="rows", activation="relu", d=4, k=2, ratio=[4.0], noise=[0.0, 0.1]),
}
ALL = recipes()
INEXCUSABLE = ("no ", "d + 2 units", "order 3, beyond", "one joint", "Gauss–Newton", "what generalizes", "0.99 C(")


def run(trial: Trial, cell: Cell) -> str:
    result, _, _, failure = sweep._run(trial, cell)
    assert not failure, failure
    return result


DONE: dict[str, str] = {}  # figures that share a trial share its cells


def once(trial: Trial, cell: Cell) -> str:
    if cell.key not in DONE:
        DONE[cell.key] = run(trial, cell)
    return DONE[cell.key]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("recipe", ALL, ids=[recipe.name for recipe in ALL])
def test_recipe_at_a_tiny_size(recipe: Recipe, tmp_path: Path) -> None:
    grid = TINY[recipe.name]
    cells = replace(recipe, grids={"tiny": grid}).cells("tiny")
    texts = [once(recipe.trial, cell) for cell in cells]
    trials = [{**cell.point, "trial": cell.trial, **json.loads(text)} for cell, text in zip(cells, texts, strict=True)]
    rows = recipe.summarize(trials)
    assert len({tuple(row) for row in rows}) == 1  # the same columns everywhere
    assert all(np.ndim(value) == 0 for row in rows for value in row.values())
    claims = recipe.claims(rows)
    assert claims
    for claim in claims:
        assert claim.held is None or isinstance(claim.held, bool)  # not NumPy's, which JSON and `is` take for another
        assert claim.statement
        assert claim.found
        assert claim.held or claim.cause or claim.statement.startswith(INEXCUSABLE), claim  # what did not hold is explained
        if claim.statement.startswith(("no network is certified", "no certificate calls")):
            assert claim.held is not False, claim.found
    with style.canvas(recipe.width, recipe.height, recipe.title) as figure:
        recipe.draw(figure, rows)
        assert style.content(figure, "png").startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["zhang2019 fig2b", "mondelli2019 fig1"])
def test_same_cell_gives_the_same_bits(name: str) -> None:
    recipe = next(recipe for recipe in ALL if recipe.name == name)
    cell = replace(recipe, grids={"tiny": TINY[name]}).cells("tiny")[0]
    assert run(recipe.trial, cell) == run(recipe.trial, cell)


def test_every_recipe_has_both_sizes_and_points_that_its_trial_takes() -> None:
    assert [recipe.name for recipe in ALL] == list(dict.fromkeys(recipe.name for recipe in ALL))
    assert {recipe.paper for recipe in ALL} == set(PAPERS)
    for recipe in ALL:
        assert set(recipe.grids) == {"quick", "paper"}
        for grid in recipe.grids.values():
            for point in grid.points:
                assert set(point) == set(recipe.trial.__kwdefaults__ or {}) | set(_keywords(recipe))
                assert recipe.cost(point) > 0
                json.dumps(point)


def _keywords(recipe: Recipe) -> tuple[str, ...]:
    code: Any = recipe.trial.__code__
    return tuple(code.co_varnames[1 : 1 + code.co_kwonlyargcount])


def test_paper_grids_are_the_papers() -> None:
    grid = recipes("zhong2017", "fig1a")[0].grids["paper"]
    assert (len(grid.points), grid.trials) == (100, 10)
    assert {point["d"] for point in grid.points} == set(range(10, 101, 10))
    assert {point["n"] for point in grid.points} == set(range(1000, 10_001, 1000))
    assert {point["d"] for point in recipes("zhang2019", "fig2b")[0].grids["paper"].points} == {20, 50, 100}
    assert {point["k"] for point in recipes("zhang2019", "fig2c")[0].grids["paper"].points} == {5, 10, 15}
    assert {point["r"] for point in recipes("mondelli2019", "fig1")[0].grids["paper"].points} == {50, 350, 2500}
    assert {point["steps"] for point in recipes("mondelli2019", "fig1")[0].grids["paper"].points} == {5_000_000}


def test_figures_that_share_a_trial_share_its_cells() -> None:
    first, second = (recipes("zhong2017", name)[0].cells("quick") for name in ("fig1a", "fig1b"))
    assert [cell.key for cell in first] == [cell.key for cell in second]
    other = recipes("zhong2017", "fig1c")[0].cells("quick")
    assert {cell.key for cell in first}.isdisjoint(cell.key for cell in other)
    more = recipes("zhong2017", "fig1a")[0].cells("quick", trials=7)
    assert {cell.key for cell in first} < {cell.key for cell in more}


def rows_by_law(rng: np.random.Generator, gamma: float, trials: int) -> list[dict[str, Any]]:
    """Shares of successes under p = logistic(2 log(n/(2 d^γ))): 90 % at n = 6 d^γ."""
    rows = []
    for d, ratio in ((d, ratio) for d in (10, 20, 40, 80) for ratio in (1, 2, 4, 8, 16)):
        n = ratio * d**gamma
        hits = int(rng.binomial(trials, 1 / (1 + (n / (2 * d**gamma)) ** -2)))
        row = {"d": d, "n": n, "trials": trials, "paper": hits / trials, "ours": 1.0, "certified_but_wrong": 0}
        rows.append({**row, "paper_failed": trials - hits, "paper_failed_by_signs": trials - hits})
    return rows


def test_boundary_is_the_least_n_with_all_trials_recovered() -> None:
    rows = rows_by_law(np.random.default_rng(0), 1.0, 10)
    for row in rows:
        row["paper"] = float(row["n"] >= 4 * row["d"])
    d, least = zhong2017.boundary(rows, "paper")
    np.testing.assert_array_equal(least, 4 * d)
    assert [claim.held for claim in zhong2017.claim_recovery(rows)[1:]] == [True, True]
    for row in rows:
        row["paper"] = row["ours"] = 0.0
    assert zhong2017.claim_recovery(rows)[1].held is None  # neither method reaches 100 %: no comparison


def test_proportional_rows_are_told_from_others_by_what_chance_moves_little() -> None:
    """Under an exact law a line through the least n with all trials right has a median R² of about 0.6."""
    fits = [zhong2017.Thresholds.of(rows_by_law(np.random.default_rng(seed), 1.0, 60), "paper") for seed in range(20)]
    assert all(fit.proportional for fit in fits)
    z = np.array([(fit.exponent - 1) / fit.error for fit in fits])
    assert np.sqrt(np.mean(z**2)) < 1.6  # 20 standard normal values: above with probability 10⁻³
    inside = np.mean([(fit.low <= 6) & (fit.high >= 6) for fit in fits])
    assert inside > 0.85  # 80 intervals of 95 %
    other = zhong2017.Thresholds.of(rows_by_law(np.random.default_rng(0), 2.0, 60), "paper")
    assert other.proportional is False
    assert other.exponent == pytest.approx(2.0, abs=4 * other.error)
    claim = zhong2017.claim_proportional(rows_by_law(np.random.default_rng(0), 1.0, 2))
    assert claim.held is None
    assert "too few trials" in claim.verdict


def test_shares_that_do_not_rise_pass_no_level() -> None:
    found = Logistic.fitted([1.0, 2.0, 4.0], [[5, 3, 1]], [[5, 5, 5]]).thresholds(0.9)
    assert np.isinf(found).all()


def test_powers_have_their_exponents_and_standard_errors(rng: np.random.Generator) -> None:
    n, d = (values.ravel() for values in np.meshgrid(np.geomspace(1e4, 1e5, 8), [10.0, 20.0, 40.0]))
    fits = [Powers.fitted([n, d], 3 * n**-0.5 * d**0.7 * np.exp(0.1 * rng.normal(size=n.size))) for _ in range(100)]
    z = np.array([(fit.exponents - [-0.5, 0.7]) / fit.errors for fit in fits])
    np.testing.assert_allclose(np.mean(z**2, axis=0), 1.0, atol=0.6)
    assert np.isnan(Powers.fitted([n, 2 * n], n).exponents).all()  # n and d cannot be told apart


def test_nothing_bears_nothing_out() -> None:
    assert every([]) is None
    assert every(np.array([True, True])) is True
    assert every([True, False]) is False


def test_half_of_the_trials_recover_between_two_ratios() -> None:
    rows = [{"d": 5, "n/d": x, "paper": share} for x, share in ((1, 0.0), (2, 0.25), (4, 0.75), (8, 1.0))]
    assert zhang2019.half(rows, "d", "n/d") == {5: 3.0}
    assert zhang2019.half(rows[2:], "d", "n/d") == {5: 4}
    assert math.isnan(zhang2019.half(rows[:2], "d", "n/d")[5])


def test_quartiles_extend_runs_and_rates_are_read_off() -> None:
    def run(factor: float, length: int) -> list[float]:
        return [factor**t for t in range(length)]

    trials = [{"risks": {"a": run(0.5, 41)}}, {"risks": {"a": run(0.5, 21)}}, {"risks": {"a": [1.0, 1e4]}}]
    rows = convergence.quartiles(trials, {"a": 10})
    assert [row["step"] for row in rows] == list(range(0, 401, 10))
    assert rows[30]["median"] == 0.5**20  # between the run that ended and the one that goes on
    assert rows[30]["lower_quartile"] == 0.5**30
    assert rows[30]["upper_quartile"] == math.inf
    assert rows[30]["converged"] == 2 / 3
    line = convergence.rate(rows[:21], "a", below=0.1)
    assert line.slope == pytest.approx(math.log(0.5) / 10)
    assert line.r2 == pytest.approx(1)
    assert convergence.steps_to(rows, "a", 0.1) == 40
    assert convergence.steps_to(rows, "a", 1e-30) == math.inf


DRAWN_FROM: dict[str, list[float]] = {"scales": [1.0, 2.0]}


def dictionary_trial(rng: np.random.Generator) -> dict[str, float]:
    return {"value": float(rng.normal() * DRAWN_FROM["scales"][1])}


def test_the_fingerprint_covers_constants_of_every_kind_and_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint(dictionary_trial)
    assert fingerprint(dictionary_trial) == before
    monkeypatch.setitem(DRAWN_FROM, "scales", [1.0, 3.0])
    assert fingerprint(dictionary_trial) != before
    monkeypatch.undo()
    assert fingerprint(dictionary_trial) == before
    monkeypatch.setattr("weightlift.reproduce.recipe._package", lambda: "another algorithm")
    assert fingerprint(dictionary_trial) != before


def test_a_run_that_diverges_between_two_thinned_steps_is_drawn_as_such() -> None:
    """Thinning that kept step 0 alone would extend a divergence as a constant."""
    grows, falls = np.array([11.44, 50.0, 3e8]), 0.5 ** np.arange(101.0)
    trials = [{"risks": {"a": convergence.thinned(risks, 10)}} for risks in (grows, grows, falls)]
    rows = convergence.quartiles(trials, {"a": 10})
    assert [row["median"] for row in rows[:3]] == [11.44, 3e8, math.inf]
    assert rows[-1]["step"] == 100
    assert convergence.thinned(falls, 10) == falls[::10].tolist()


def test_lines_leave_out_what_is_not_finite(rng: np.random.Generator) -> None:
    x = rng.normal(size=50)
    y = 3 * x - 2 + rng.normal(size=50)
    line = Line.fitted([*x, 7.0], [*y, np.nan])
    slope, intercept = np.polyfit(x, y, 1)
    assert (line.slope, line.intercept) == (pytest.approx(slope), pytest.approx(intercept))
    assert line.r2 == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)
    assert line.points == 50
    assert math.isnan(Line.fitted([1.0, 1.0], [0.0, 1.0]).slope)
    assert Line.of_powers([1, 10, 100], [2.0, 0.2, 0.02]).slope == pytest.approx(-1)


def test_names_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ArgumentError, match="zhong2017, zhang2019"):
        recipes("smith2020")
    with pytest.raises(ArgumentError, match="fig1a, fig1b, fig1c"):
        recipes("zhong2017", "fig9")
    with pytest.raises(ArgumentError, match="size"):
        ALL[0].cells("huge")
    with pytest.raises(ArgumentError, match="trials"):
        ALL[0].cells("quick", trials=0)


def test_csv_keeps_every_digit() -> None:
    rows = [{"d": 1, "x": 0.1 + 0.2}, {"d": 2, "x": 1e-300}]
    read = list(csv.DictReader(as_csv(rows).splitlines()))
    assert [float(row["x"]) for row in read] == [row["x"] for row in rows]


def test_machine_names_the_versions() -> None:
    assert "NumPy" in figures.machine()
    assert f"{figures.cores()} cores" in figures.machine()
