"""Exploration: what a person would try next is tried, ranked, and returned where it is certified."""

from __future__ import annotations

import pytest

import weightlift as wl
from weightlift.recovery import Trial, exploring


@pytest.mark.parametrize(
    ("asked", "change"),
    [({"activation": "tanh"}, "biases"), ({"activation": "relu", "bias": True, "offset": True}, "tanh units")],
    ids=["biases", "activation"],
)
def test_the_first_model_that_is_certified_is_returned(asked: dict[str, object], change: str) -> None:
    truth = wl.teachers.biased(3, 1, activation="tanh", rng=1)
    X, y = wl.draw(truth, 60, rng=2)
    assert not wl.recover(X, y, n_units=1, max_work=1000, **asked).trials  # type: ignore[arg-type]
    found = wl.recover(X, y, n_units=1, max_work=1000, explore=True, **asked)  # type: ignore[arg-type]
    assert found.certificate
    assert wl.match(found.network, truth).max_error < 1e-8
    assert found.trials[0].change == change
    assert found.trials[0].left < 1e-20
    assert "as asked for" in {trial.change for trial in found.trials}
    assert f"chosen among {len(found.trials)}" in str(found.certificate)
    assert change in str(found)


def test_a_recovery_that_succeeds_is_not_explored() -> None:
    truth = wl.Network([[1.0], [-0.5]], [2.0])
    X, y = wl.draw(truth, 40, rng=0)
    assert wl.recover(X, y, n_units=1, explore=True).trials == ()


def test_where_nothing_is_certified_the_first_answer_stays_with_the_ranking() -> None:
    X, _ = wl.draw(wl.Network([[1.0], [-0.5]]), 80, rng=0)
    y = X[:, 0] * X[:, 1] ** 2 + abs(X[:, 0] + 0.3)
    found = wl.recover(X, y, n_units=2, max_work=400, explore=True)
    assert not found.certificate
    assert found.network.n_units == 2
    assert len(found.trials) >= 8
    left = [trial.left for trial in found.trials]
    assert left == sorted(left)
    tried = {trial.change: trial for trial in found.trials}
    assert {"biases", "an offset", "a linear part", "gelu units"} <= set(tried)
    assert any(change.startswith("3 ") and change.endswith(" units") for change in tried)
    assert any(change.startswith("1 ") and change.endswith(" unit") for change in tried)


def test_a_model_that_leaves_more_than_another_is_not_taken() -> None:
    """Few rows let a poor model pass; what others leave tells that it is poor."""
    trials = [Trial(change, wl.Status.STATISTICAL, left) for change, left in (("1 unit", 0.59), ("3 units", 0.1))]
    assert 0.1 < exploring._least(trials, 80) < 0.14
