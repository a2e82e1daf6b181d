"""A recipe: its cells, claims of nothing."""

from __future__ import annotations

import numpy as np

from weightlift.reproduce import recipes
from weightlift.reproduce.recipe import every


def test_figures_that_share_a_trial_share_its_cells() -> None:
    first, second = (recipes("zhong2017", name)[0].cells("quick") for name in ("fig1a", "fig1b"))
    assert [cell.key for cell in first[: len(second)]] == [cell.key for cell in second]  # fig1a has fewer rows beside
    assert all(cell.point["n"] < 1000 for cell in first[len(second) :])
    other = recipes("zhong2017", "fig1c")[0].cells("quick")
    assert {cell.key for cell in first}.isdisjoint(cell.key for cell in other)
    more = recipes("zhong2017", "fig1a")[0].cells("quick", trials=7)
    assert {cell.key for cell in first} < {cell.key for cell in more}


def test_nothing_bears_nothing_out() -> None:
    assert every([]) is None
    assert every(np.array([True, True])) is True
    assert every([True, False]) is False
