"""Held-out rows bound the disagreement, and copies of fitted rows are none."""

from __future__ import annotations

import numpy as np
import pytest
from tests.certificate.planted import problem

from weightlift import draw, samples
from weightlift.certificate import Status, certify
from weightlift.certificate.heldout import HeldOut, Occurring, disagreement_bound


def test_held_out_rows_bound_the_disagreement() -> None:
    truth, X, y = problem("relu", False, 2, rows=20)
    certificate = certify(truth, X[:100], y[:100], heldout=samples.open(X[100:], y[100:]))
    h = len(X) - 100
    assert certificate.status is Status.EXACT
    assert certificate.heldout_rows == h
    assert certificate.disagreement == pytest.approx(1 - (1e-4 / 2) ** (1 / h))
    assert disagreement_bound(h, tries=3) == pytest.approx(1 - (1e-4 / 12) ** (1 / h))
    assert certify(truth, X, y).disagreement is None
    wrong = y[100:] + 1e-6 * (np.arange(h) == 3)
    assert certify(truth, X[:100], y[:100], heldout=(X[100:], wrong)).status is Status.FAILED


def test_copies_of_fitted_rows_are_not_held_out() -> None:
    truth, X, y = problem("relu", False, 2, rows=20)
    certificate = certify(truth, X, y, heldout=(X[:50], y[:50]))
    assert certificate.heldout_rows == 0
    assert certificate.disagreement is None
    fresh, z = draw(truth, 30, rng=9)
    both = certify(truth, X, y, heldout=(np.vstack([X[:50], fresh]), np.append(y[:50], z)))
    assert both.heldout_rows == 30


@pytest.mark.parametrize(("times", "holds"), [(1.5, True), (1.7, False)])
def test_larger_residuals_on_held_out_rows_are_a_surprise(times: float, holds: bool) -> None:
    """A hundred rows with an excess kurtosis of 0.3: the limit is 1 + 4 √(2.3/100) = 1.607."""
    found = HeldOut(rows=100, square=times * 0.25).surprise(0.25, 0.3)
    assert found is not None
    assert found.holds is holds
    assert ("no larger" in found.sentence) is holds
    assert ("give more rows" in found.sentence) is not holds
    assert f"{times:.2g} of the mean square" in found.sentence
    assert HeldOut().surprise(0.25, 0.3) is None


def test_a_key_occurs_if_it_does_in_some_block() -> None:
    parts = (np.array([True, False, False]),), (np.array([False, True, False]),)
    assert Occurring(np.arange(3)).merge(*parts)[0].tolist() == [True, True, False]
