"""What is certified as rows and noise vary: every recipe at a tiny size."""

from __future__ import annotations

from tests.reproduce.tiny import check, every

from weightlift.reproduce import Recipe, weightlift_certified


@every(weightlift_certified)
def test_recipes_at_a_tiny_size(recipe: Recipe) -> None:
    check(recipe)
