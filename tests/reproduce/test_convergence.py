"""Runs over steps: quartiles, rates, divergence."""

from __future__ import annotations

import math

import numpy as np
import pytest

from weightlift.reproduce import convergence


def test_quartiles_extend_runs_and_rates_are_read_off() -> None:
    def run(factor: float, length: int) -> list[float]:
        return [factor**t for t in range(length)]

    trials = [{"risks": {"a": run(0.5, 41)}}, {"risks": {"a": run(0.5, 21)}}, {"risks": {"a": [1.0, 1e4]}}]
    rows = convergence.quartiles(trials, {"a": 10})
    assert [row["step"] for row in rows] == list(range(0, 401, 10))
    assert rows[30]["median"] == 0.5**20  # between the run that ended and the one that goes on
    assert rows[30]["lower_quartile"] == 0.5**30
    assert rows[30]["upper_quartile"] == math.inf
    assert rows[30]["converged"] == 2 / 3
    line = convergence.rate(rows[:21], "a", below=0.1)
    assert line.slope == pytest.approx(math.log(0.5) / 10)
    assert line.r2 == pytest.approx(1)
    assert convergence.steps_to(rows, "a", 0.1) == 40
    assert convergence.steps_to(rows, "a", 1e-30) == math.inf


def test_a_run_that_diverges_between_two_thinned_steps_is_drawn_as_such() -> None:
    """Thinning that kept step 0 alone would extend a divergence as a constant."""
    grows, falls = np.array([11.44, 50.0, 3e8]), 0.5 ** np.arange(101.0)
    trials = [{"risks": {"a": convergence.thinned(risks, 10)}} for risks in (grows, grows, falls)]
    rows = convergence.quartiles(trials, {"a": 10})
    assert [row["median"] for row in rows[:3]] == [11.44, 3e8, math.inf]
    assert rows[-1]["step"] == 100
    assert convergence.thinned(falls, 10) == falls[::10].tolist()
