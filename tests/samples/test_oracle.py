"""Black boxes: counted, batched, retried, journalled, and never asked more than allowed."""

import time

import numpy as np
import pytest

from weightlift.errors import BudgetError, OracleError
from weightlift.samples.oracle import Oracle


@pytest.fixture(autouse=True)
def _no_pauses(limits):
    limits("weightlift.samples.oracle", first_pause=1e-3, longest_pause=2e-3)


def rows(n, seed=0):
    return np.random.default_rng(seed).standard_normal((n, 3))


def total(X):
    return X.sum(axis=1)


def test_rows_are_counted_batched_and_kept():
    sizes = []

    def f(X):
        sizes.append(len(X))
        return total(X)

    oracle = Oracle(f, 3, batch_size=4)
    Y = oracle.ask(rows(10))
    assert sizes == [4, 4, 2]
    assert (oracle.queries, oracle.calls) == (10, 3)
    assert (oracle.rows[1] == Y).all()
    samples = oracle.draw(5, rng=np.random.default_rng(1))
    assert samples.n == 5


def test_budget_is_refused_before_it_is_exceeded():
    oracle = Oracle(total, 3, budget=10)
    oracle.ask(rows(8))
    with pytest.raises(BudgetError, match="leaves 2 of 10"):
        oracle.ask(rows(3))
    assert oracle.queries == 8
    oracle.ask(rows(2))


def test_failures_are_retried_and_then_explained():
    tries = []

    def flaky(X):
        tries.append(1)
        if len(tries) < 3:
            raise ConnectionError("no route")
        return total(X)

    assert Oracle(flaky, 3).ask(rows(2)).shape == (2, 1)
    tries.clear()
    with pytest.raises(OracleError, match="no route"):
        Oracle(flaky, 3, retries=1).ask(rows(2))
    assert len(tries) == 2


def test_a_changing_number_of_outputs_is_refused():
    answers = iter([np.zeros((2, 3)), np.zeros((2, 4))])
    oracle = Oracle(lambda X: next(answers), 3)
    oracle.ask(rows(2))
    with pytest.raises(OracleError, match="3 before"):
        oracle.ask(rows(2))


def test_an_oracle_that_hangs_is_left():
    began = time.monotonic()
    with pytest.raises(OracleError, match="max_time"):
        Oracle(lambda X: time.sleep(5), 3, max_time=0.2).ask(rows(1))
    assert time.monotonic() - began < 2
