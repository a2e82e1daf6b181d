"""Starts come in the order of their cost, and nothing is worked that nobody asks for."""

import itertools

import numpy as np
import pytest

import weightlift as wl
from weightlift import samples
from weightlift.recovery.problem import Problem
from weightlift.recovery.request import Request
from weightlift.recovery.starts import _patience, moments, one_fit, search, stages, units_up_to_sign
from weightlift.search import Budget


def problem(n=300, d=5, k=2, seed=0, X=None, **options):
    plain = wl.teachers.conditioned(d, k, activation="squared_relu", rng=seed)
    truth = wl.teachers.biased(d, k, rng=seed) if options.get("bias") else plain
    X = wl.draw(truth, n, rng=seed)[0] if X is None else X
    return Problem.of(samples.open(X, truth.predict(X)), Request(k, **options).checked(), np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("options", "width", "expected"),
    [
        ({}, 2, (moments, search)),
        ({"method": "tensor"}, 2, (moments,)),
        ({"method": "search"}, 2, (search,)),
        ({"bias": True, "n": 6000}, 2, (moments, units_up_to_sign, search)),
        ({"bias": True, "n": 6000}, 8, (units_up_to_sign, search)),
        ({"n": 12}, 3, (one_fit,)),
    ],
)
def test_stages_in_the_order_of_their_cost(options, width, expected):
    assert stages(problem(**options), width) == expected


@pytest.mark.parametrize("stage", [moments, search])
def test_no_pass_before_a_start_is_asked_for(stage):
    rows = problem()
    found = stage(rows, 2, Budget(), np.random.default_rng(0))
    passes = rows.rows.passes
    start = next(found)
    assert rows.rows.passes > passes
    assert start.network.n_units == 2
    assert rows.risks(start.network)[0] < 0.5 * rows.energy


def test_moments_that_cannot_help_say_why():
    X = np.random.default_rng(0).exponential(size=(300, 5))
    start = next(moments(problem(X=X), 2, Budget(), np.random.default_rng(0)))
    assert start.network is None
    assert "not Gaussian" in start.report.outcome


def test_moments_stop_at_the_deadline():
    start = next(moments(problem(), 2, Budget(deadline=0.0), np.random.default_rng(0)))
    assert start.network is None
    assert "max_time" in start.report.outcome


def test_a_search_lets_its_network_be_judged_where_a_round_found_a_better_one():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.normal(size=60)
    rows = Problem.of(samples.open(X, y), Request(2).checked(), rng)
    found = list(search(rows, 2, Budget(3000.0), np.random.default_rng(1)))
    risks = [start.report.risk for start in found]
    assert not found[0].waits
    assert all(start.network is not None for start in found)
    for before, after in itertools.pairwise(found):
        assert after.waits == (after.report.risk >= before.report.risk)
    assert risks == sorted(risks, reverse=True)
    assert [start.number for start in found] == list(range(1, len(found) + 1))
    assert found[-1].report.outcome
    assert not any(start.report.outcome for start in found[:-1])


def test_a_search_of_few_rows_lets_none_but_exact_networks_and_the_last_be_judged():
    """3 p + 30 rows are what a fit to noise takes to be certified: 54 here."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(53, 4)), rng.normal(size=53)
    rows = Problem.of(samples.open(X, y), Request(2).checked(), rng)
    found = list(search(rows, 2, Budget(3000.0), np.random.default_rng(1)))
    assert len(found) > 1
    assert [start.waits for start in found] == [True] * (len(found) - 1) + [False]
    assert all(start.network is not None for start in found)
    truth = wl.teachers.conditioned(4, 2, activation="relu", rng=0)
    rows = Problem.of(samples.open(*wl.draw(truth, 53, rng=0)), Request(2).checked(), rng)
    found = list(search(rows, 2, Budget(3000.0), np.random.default_rng(1)))
    first = [start.report.risk <= 1e-12 for start in found].index(True)
    assert [start.waits for start in found[: first + 1]] == [True] * first + [False]


def test_patience_falls_with_the_cost_of_a_step_and_grows_with_the_work_allowed():
    """By twice the rows, or units, never more; ten times the work, ten times the patience; small problems have all of it."""
    work = {n: [_patience(problem(n, max_work=w), problem(n).white, 2) for w in (1e3, 1e4)] for n in (40, 300)}
    assert all(ten == 10 * one for one, ten in work.values())
    assert work[40] == [1e3, 1e4]
    rows = problem(6000, d=30, k=4)
    falling = [_patience(rows, rows.white, k) for k in (1, 2, 4, 8, 16, 32)]
    assert falling == sorted(falling, reverse=True)
    assert 900 == falling[-1] < falling[0]
