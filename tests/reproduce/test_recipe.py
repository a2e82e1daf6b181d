"""A recipe: its cells, its fingerprint, claims of nothing."""

from __future__ import annotations

import numpy as np
import pytest

from weightlift.reproduce import recipes
from weightlift.reproduce.recipe import every, fingerprint


def test_figures_that_share_a_trial_share_its_cells() -> None:
    first, second = (recipes("zhong2017", name)[0].cells("quick") for name in ("fig1a", "fig1b"))
    assert [cell.key for cell in first] == [cell.key for cell in second]
    other = recipes("zhong2017", "fig1c")[0].cells("quick")
    assert {cell.key for cell in first}.isdisjoint(cell.key for cell in other)
    more = recipes("zhong2017", "fig1a")[0].cells("quick", trials=7)
    assert {cell.key for cell in first} < {cell.key for cell in more}


def test_nothing_bears_nothing_out() -> None:
    assert every([]) is None
    assert every(np.array([True, True])) is True
    assert every([True, False]) is False


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
