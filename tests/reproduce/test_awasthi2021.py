"""awasthi2021's rate and biases: every recipe at a tiny size."""

from __future__ import annotations

from tests.reproduce.tiny import check, every

from weightlift.reproduce import Recipe, awasthi2021


@every(awasthi2021)
def test_recipes_at_a_tiny_size(recipe: Recipe) -> None:
    check(recipe)
