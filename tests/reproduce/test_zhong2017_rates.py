"""zhong2017's rows and rate: every recipe at a tiny size."""

from __future__ import annotations

from tests.reproduce.tiny import check, every

from weightlift.reproduce import Recipe, zhong2017_rates


@every(zhong2017_rates)
def test_recipes_at_a_tiny_size(recipe: Recipe) -> None:
    check(recipe)
