"""zhang2019's ratio at which half of the trials recover."""

from __future__ import annotations

import math

from tests.reproduce.tiny import check, every

from weightlift.reproduce import Recipe, zhang2019


@every(zhang2019)
def test_recipes_at_a_tiny_size(recipe: Recipe) -> None:
    check(recipe)


def test_half_of_the_trials_recover_between_two_ratios() -> None:
    rows = [{"d": 5, "n/d": x, "paper": share} for x, share in ((1, 0.0), (2, 0.25), (4, 0.75), (8, 1.0))]
    assert zhang2019.half(rows, "d", "n/d") == {5: 3.0}
    assert zhang2019.half(rows[2:], "d", "n/d") == {5: 4}
    assert math.isnan(zhang2019.half(rows[:2], "d", "n/d")[5])
