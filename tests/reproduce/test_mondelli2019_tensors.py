"""mondelli2019's decompositions and bounds: every recipe at a tiny size."""

from __future__ import annotations

from tests.reproduce.tiny import check, every

from weightlift.reproduce import Recipe, mondelli2019_tensors


@every(mondelli2019_tensors)
def test_recipes_at_a_tiny_size(recipe: Recipe) -> None:
    check(recipe)
