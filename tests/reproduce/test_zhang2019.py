"""zhang2019's ratio at which half of the trials recover."""

from __future__ import annotations

import math

from tests.reproduce.tiny import check, every

from weightlift.reproduce import Recipe, zhang2019


@every(zhang2019)
def test_recipes_at_a_tiny_size(recipe: Recipe) -> None:
    check(recipe)


def test_half_of_the_trials_recover_between_two_ratios() -> None:
    rows = [{"d": 5, "n/d": x, "paper": share} for x, share in ((1, 0.0), (2, 0.25), (4, 0.75), (8, 1.0))]
    assert zhang2019.half(rows, "d", "n/d") == {5: 3.0}
    assert zhang2019.half(rows[2:], "d", "n/d") == {5: 4}
    assert math.isinf(zhang2019.half(rows[:2], "d", "n/d")[5])


def test_a_grid_that_ends_before_half_of_the_trials_recover_bounds_the_factor() -> None:
    """d = 5 at n/d = 3, d = 9 beyond 8: their factor is above 8/3, which is above 2; and above 4/3 where the grid ends at 4."""
    shares = {5: (0.0, 0.25, 0.75, 1.0), 9: (0.0, 0.0, 0.1, 0.2)}
    rows = [
        {"d": d, "n/d": x, "paper": share, "ours": 1.0, "trials": 10, "certified_but_wrong": 0}
        for d, values in shares.items()
        for x, share in zip((1, 2, 4, 8), values, strict=True)
    ]
    claim, *_ = zhang2019.claim_recovery(rows, by="d", ratio="n/d")
    assert claim.held is False
    assert "d = 9: N/d > 8; factor above 2.67" in claim.found
    short = [row for row in rows if row["n/d"] <= 4]
    assert zhang2019.claim_recovery(short, by="d", ratio="n/d")[0].held is None
    assert zhang2019.claim_recovery(rows[:4], by="d", ratio="n/d")[0].held is True
