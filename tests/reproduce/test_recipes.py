"""What all recipes have in common: the same bits for the same seed, both sizes, the papers' grids, names."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from tests.reproduce.tiny import TINY, run

from weightlift.errors import ArgumentError
from weightlift.reproduce import PAPERS, Recipe, recipes
from weightlift.reproduce.fingerprint import fingerprint
from weightlift.reproduce.machine import cores, machine
from weightlift.reproduce.tables import as_csv

ALL = recipes()


@pytest.mark.parametrize("name", ["zhang2019 fig2b", "mondelli2019 fig1"])
def test_same_cell_gives_the_same_bits(name: str) -> None:
    recipe = next(recipe for recipe in ALL if recipe.name == name)
    cell = replace(recipe, grids={"tiny": TINY[name]}).cells("tiny")[0]
    assert run(recipe.trial, cell) == run(recipe.trial, cell)


def test_every_recipe_is_run_at_a_tiny_size() -> None:
    assert set(TINY) == {recipe.name for recipe in ALL}


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


def test_fingerprints_are_the_same_in_another_process() -> None:
    code = "from weightlift.reproduce import fingerprint as f, recipes; print(*(f.fingerprint(r.trial) for r in recipes()))"
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    there = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert there.stdout.split() == [fingerprint(recipe.trial) for recipe in ALL]


def test_paper_grids_are_the_papers() -> None:
    grid = recipes("zhong2017", "fig1a")[0].grids["paper"]
    printed = [point for point in grid.points if point["n"] >= 1000]  # the others are for `recover`
    assert (len(printed), grid.trials) == (100, 10)
    assert {point["d"] for point in printed} == set(range(10, 101, 10))
    assert {point["n"] for point in printed} == set(range(1000, 10_001, 1000))
    assert {point["d"] for point in recipes("zhang2019", "fig2b")[0].grids["paper"].points} == {20, 50, 100}
    assert {point["k"] for point in recipes("zhang2019", "fig2c")[0].grids["paper"].points} == {5, 10, 15}
    assert {point["r"] for point in recipes("mondelli2019", "fig1")[0].grids["paper"].points} == {50, 350, 2500}
    assert {point["steps"] for point in recipes("mondelli2019", "fig1")[0].grids["paper"].points} == {5_000_000}


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
    assert "NumPy" in machine()
    assert f"{cores()} cores" in machine()
