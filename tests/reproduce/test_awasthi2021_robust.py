"""awasthi2021's large biases and smoothed weights: every recipe at a tiny size."""

from __future__ import annotations

from tests.reproduce.tiny import check, every

from weightlift.reproduce import Recipe, awasthi2021_robust


@every(awasthi2021_robust)
def test_recipes_at_a_tiny_size(recipe: Recipe) -> None:
    check(recipe)
