"""Held-out rows bound the disagreement, and copies of fitted rows are none."""

from __future__ import annotations

import numpy as np
import pytest
from tests.certificate.planted import problem

from weightlift import draw, samples, teachers
from weightlift.certificate import Status, certify, heldout
from weightlift.certificate.heldout import HeldOut, Keys, Occurring, disagreement_bound
from weightlift.evidence.rows import rounding_bound
from weightlift.risk import Students
from weightlift.samples import Block


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
    assert (found.number, found.limit) == (pytest.approx(times), pytest.approx(1 + 4 * 0.023**0.5))
    light = HeldOut(rows=100, square=times * 0.25).surprise(0.25, -1.0)
    assert light is not None
    assert light.limit == pytest.approx(1 + 4 * 0.02**0.5)
    assert HeldOut().surprise(0.25, 0.3) is None


def test_a_key_occurs_if_it_does_in_some_block() -> None:
    parts = (np.array([True, False, False]),), (np.array([False, True, False]),)
    assert Occurring(np.arange(3)).merge(*parts)[0].tolist() == [True, True, False]


def test_keys_of_parts_are_those_of_all_without_repeats(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two parts that share rows, and that have rows of their own; of more than a sketch holds, the least."""
    X = np.random.default_rng(seed).standard_normal((12, 2))

    def block(*rows: int) -> Block:
        return Block(X[list(rows)], np.zeros(len(rows)), None, lambda: np.arange(len(rows)))

    (every,), merged = Keys()(block(*range(12))), Keys().merge(Keys()(block(0, 1, 2, 3, 4, 4)), Keys()(block(*range(3, 12))))
    assert len(every) == 12
    np.testing.assert_array_equal(merged[0], every)
    (last,) = Keys()(block(11))
    assert Occurring(every)(block(11, 11))[0].tolist() == (every == last).tolist()
    monkeypatch.setattr(heldout, "SKETCH", 5)
    np.testing.assert_array_equal(Keys()(block(*range(12)))[0], every[:5])
    np.testing.assert_array_equal(Keys().merge((every[::2],), (every[1::2],))[0], every[:5])


def test_held_out_rows_are_measured_in_their_own_weights(seed: int) -> None:
    """The mean of w r² of mean weight one, and the largest residual beside its bound on rounding errors."""
    rng = np.random.default_rng(seed)
    net, X = teachers.biased(3, 2, bias=0.3, activation="tanh", rng=seed), rng.standard_normal((30, 3))
    y, w = net.predict(X) + 0.1 * rng.standard_normal(30), 5.0 * rng.uniform(0.3, 2.0, 30)
    fitted = samples.open(np.vstack([X[:4], rng.standard_normal((9, 3))]), np.zeros(13))
    found = HeldOut.of(samples.open(X, y, sample_weight=w), fitted, net, bias=True)
    assert found.rows == 26
    assert found.square == pytest.approx(np.average((net.predict(X) - y) ** 2, weights=w), rel=1e-9)
    students = Students.of(net)
    z = students.preactivations(X)
    bound = np.asarray(rounding_bound(students, X, y, z, students.activation(z)))
    assert found.level == pytest.approx((np.abs(net.predict(X) - y) / bound).max(), rel=1e-6)
    assert HeldOut.of(None, fitted, net, bias=True) == HeldOut()


def test_agreement_at_its_limit() -> None:
    """Four bounds on rounding errors; a tenth candidate has δ/110."""
    for level, holds in ((3.9, True), (4.1, False)):
        share, found = HeldOut(rows=100, level=level).agreement(10)
        assert found is not None
        assert found.holds is holds
        assert share == (pytest.approx(1 - (1e-4 / 110) ** (1 / 100)) if holds else None)
        assert ("(δ = 9e-07, candidate 10)" in found.sentence) is holds
    assert HeldOut(level=3.9).agreement(1) == (None, None)
