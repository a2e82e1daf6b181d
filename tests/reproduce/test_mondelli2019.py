"""mondelli2019's SGD: every recipe at a tiny size."""

from __future__ import annotations

from tests.reproduce.tiny import check, every

from weightlift.reproduce import Recipe, mondelli2019


@every(mondelli2019)
def test_recipes_at_a_tiny_size(recipe: Recipe) -> None:
    check(recipe)
