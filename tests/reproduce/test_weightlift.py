"""How few rows, how many units, how near the Cramér–Rao bound: every recipe at a tiny size."""

from __future__ import annotations

from tests.reproduce.tiny import check, every

from weightlift.reproduce import Recipe, weightlift


@every(weightlift)
def test_recipes_at_a_tiny_size(recipe: Recipe) -> None:
    check(recipe)
