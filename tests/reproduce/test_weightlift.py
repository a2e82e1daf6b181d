"""How few rows, how many units, how near the Cramér–Rao bound: every recipe at a tiny size, and sweeps that end early."""

from __future__ import annotations

import numpy as np
from tests.reproduce.tiny import check, every

from weightlift.reproduce import Recipe, weightlift
from weightlift.reproduce.recipe import Cell, Row, missing
from weightlift.reproduce.tables import grouped
from weightlift.reproduce.weightlift import from_the_most_rows, needed, summarize_recovery

SHAPES = (("relu", 5, 2), ("relu", 20, 5), ("tanh", 5, 2))
RATIOS = (1.0, 1.25, 1.5, 2.0, 3.0, 4.0)


@every(weightlift)
def test_recipes_at_a_tiny_size(recipe: Recipe) -> None:
    check(recipe)


def test_trials_that_end_early_give_what_all_trials_would(seed: int) -> None:
    """Shapes that need any of the ratios, one that fails at the most rows, shares at, above and below nine in ten."""
    rng = np.random.default_rng(seed)
    shares = rng.choice([0.5, 0.85, 0.9, 0.95, 1.0], size=(len(SHAPES), len(RATIOS)))
    shares[seed % len(SHAPES), -2:] = 1.0, 0.6
    points = [{"activation": a, "d": d, "k": k, "ratio": ratio} for a, d, k in SHAPES for ratio in RATIOS]
    cells = [Cell("", point, trial, seed) for point in points for trial in range(20)]
    right = np.concatenate([rng.permutation(np.arange(20) < round(20 * share)) for share in shares.ravel()])
    told = {
        cell.key: {**cell.point, "trial": cell.trial, "recovered": bool(r), "status": "FAILED"}
        for cell, r in zip(cells, right, strict=True)
    }
    results: dict[str, Row] = {}
    while batch := from_the_most_rows(cells, results):
        assert not {cell.key for cell in batch} & set(results)
        assert len(batch) <= 5 * len(SHAPES)
        results |= {cell.key: told[cell.key] for cell in batch}
    assert len(results) < len(cells) == len(missing(cells, {}))
    of_all, of_some = (
        {key: needed(part) for key, part in grouped(summarize_recovery(list(table.values())), "activation", "d", "k")}
        for table in (told, results)
    )
    assert of_all == of_some
    assert of_some[SHAPES[seed % len(SHAPES)]] == np.inf


def test_a_point_at_the_share_itself_is_not_given_up() -> None:
    """18 of 20, the two that are lost among the first five."""
    cells = [Cell("", {"activation": "relu", "d": 5, "k": 2, "ratio": 2.0}, trial, 0) for trial in range(20)]
    results = {cell.key: {"recovered": cell.trial > 1} for cell in cells[:5]}
    assert from_the_most_rows(cells, results) == cells[5:10]
    assert from_the_most_rows(cells, results | {cells[5].key: {"recovered": False}}) == []
