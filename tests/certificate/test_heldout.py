"""Held-out rows bound the disagreement, and copies of fitted rows are none."""

from __future__ import annotations

import numpy as np
import pytest
from tests.certificate.planted import problem

from weightlift import draw, samples
from weightlift.certificate import Status, certify
from weightlift.certificate.heldout import disagreement_bound


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
