"""zhong2017's least rows: read off the grid, and told from another law."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.reproduce.tiny import check, every

import weightlift as wl
from weightlift.reproduce import Recipe, zhong2017


@every(zhong2017)
def test_recipes_at_a_tiny_size(recipe: Recipe) -> None:
    check(recipe)


def rows_by_law(rng: np.random.Generator, gamma: float, trials: int) -> list[dict[str, Any]]:
    """Shares of successes under p = logistic(2 log(n/(2 d^γ))): 90 % at n = 6 d^γ."""
    rows = []
    for d, ratio in ((d, ratio) for d in (10, 20, 40, 80) for ratio in (1, 2, 4, 8, 16)):
        n = ratio * d**gamma
        hits = int(rng.binomial(trials, 1 / (1 + (n / (2 * d**gamma)) ** -2)))
        row = {"d": d, "n": n, "trials": trials, "paper": hits / trials, "ours": 1.0, "certified_but_wrong": 0}
        rows.append({**row, "paper_failed": trials - hits, "paper_failed_by_signs": trials - hits})
    return rows


def test_boundary_is_the_least_n_with_all_trials_recovered() -> None:
    rows = rows_by_law(np.random.default_rng(0), 1.0, 10)
    for row in rows:
        row["paper"] = float(row["n"] >= 4 * row["d"])
    d, least = zhong2017.boundary(rows, "paper")
    np.testing.assert_array_equal(least, 4 * d)
    assert [claim.held for claim in zhong2017.claim_recovery(rows)[1:]] == [True, True]
    for row in rows:
        row["paper"] = row["ours"] = 0.0
    assert zhong2017.claim_recovery(rows)[1].held is None  # neither method reaches 100 %: no comparison


def test_proportional_rows_are_told_from_others_by_what_chance_moves_little() -> None:
    """Under an exact law a line through the least n with all trials right has a median R² of about 0.6."""
    fits = [zhong2017.Thresholds.of(rows_by_law(np.random.default_rng(seed), 1.0, 60), "paper") for seed in range(20)]
    assert all(fit.proportional for fit in fits)
    z = np.array([(fit.exponent - 1) / fit.error for fit in fits])
    assert np.sqrt(np.mean(z**2)) < 1.6  # 20 standard normal values: above with probability 10⁻³
    inside = np.mean([(fit.low <= 6) & (fit.high >= 6) for fit in fits])
    assert inside > 0.85  # 80 intervals of 95 %
    other = zhong2017.Thresholds.of(rows_by_law(np.random.default_rng(0), 2.0, 60), "paper")
    assert other.proportional is False
    assert other.exponent == pytest.approx(2.0, abs=4 * other.error)
    claim = zhong2017.claim_proportional(rows_by_law(np.random.default_rng(0), 1.0, 2))
    assert claim.held is None
    assert "too few trials" in claim.verdict


def test_a_descent_that_is_stopped_early_is_judged_as_the_whole_one() -> None:
    """Random starts with the right signs, of which one ends at another minimum and one diverges."""
    judged = []
    for seed, n in ((0, 120), (2, 120), (6, 120), (7, 60)):
        truth, X, y = zhong2017.problem(np.random.default_rng(seed), 6, n)
        rows = wl.samples.open(X, y)
        start = wl.initialization.gaussian_init(6, zhong2017.UNITS, zhong2017.ACTIVATION, output_weights=truth.a, rng=seed)
        whole = wl.refinement.gradient_descent(rows, start, step=zhong2017.STEP, iterations=zhong2017.STEPS, tol=1e-12)
        judged.append(wl.match(whole.network, truth).max_error <= zhong2017.SUCCESS)
        assert zhong2017.paper_recovers(rows, start, truth) == judged[-1]
    assert judged == [True, True, False, False]
    flipped = wl.Network(truth.W, -truth.a, activation=truth.activation)
    assert not zhong2017.paper_recovers(rows, flipped, truth)
