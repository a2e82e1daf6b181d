"""awasthi2021 beyond k = d, and its twins: every recipe at a tiny size."""

from __future__ import annotations

from tests.reproduce.tiny import check, every

from weightlift.reproduce import Recipe, awasthi2021_overcomplete


@every(awasthi2021_overcomplete)
def test_recipes_at_a_tiny_size(recipe: Recipe) -> None:
    check(recipe)
