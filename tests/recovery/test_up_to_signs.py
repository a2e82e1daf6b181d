"""`recover` where moments show units up to sign: more units than inputs, large biases, ambiguous signs."""

from __future__ import annotations

import numpy as np
import pytest

import weightlift as wl
from weightlift import Network, Status
from weightlift.geometry import norm
from weightlift.identifiability import reflect


def ambiguous(seed):
    """Six units in four dimensions with Σ aᵢ (wᵢ, bᵢ) = 0: reflecting all of them leaves the function as it is."""
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((4, 6))
    W, b = W / np.linalg.norm(W, axis=0), rng.uniform(-1, 1, 6)
    null = np.linalg.svd(np.vstack([W, b]))[2][-1]
    return Network(W, 1.5 * null / np.abs(null).max(), b)


@pytest.mark.parametrize("offset", [False, True])
def test_more_units_than_inputs(offset):
    net = wl.teachers.biased(4, 6, rng=2)
    truth = Network(net.W, net.a, net.b, 0.5 * offset)
    X, y = wl.draw(truth, 20_000, mean=np.array([0.5, -1.0, 0.0, 2.0]), covariance=np.diag([1.0, 4.0, 0.25, 2.0]), rng=1)
    found = wl.recover(X, y, n_units=6, bias=True, offset=offset, method="tensor")
    assert found.certificate.status is Status.EXACT
    assert found.network.equivalent(truth, 1e-9)
    assert [stage.name for stage in found.stages] == ["units up to sign + Gauss–Newton"]


def test_ambiguous_signs_are_said(seed):
    truth = ambiguous(seed)
    X, y = wl.draw(truth, 20_000, rng=seed)
    found = wl.recover(X, y, n_units=6, bias=True)
    assert found.certificate.status is Status.AMBIGUOUS
    assert found.certificate.sign_patterns.tolist() == [[True] * 6]
    assert sum("Gauss–Newton" in stage.name for stage in found.stages) == 1  # no search can tell more
    assert float(wl.distance(found.network, truth)) < 1e-10
    twin = reflect(found.network, np.ones(6, dtype=bool))
    assert found.network.equivalent(truth, 1e-8) or twin.equivalent(truth, 1e-8)


def test_both_of_two_twins_agree_to_rounding(seed):
    truth = ambiguous(seed)
    X, y = wl.draw(truth, 5000, rng=seed)
    other = reflect(truth, np.ones(6, dtype=bool))
    for net in (truth, other):  # where one has no active unit the other has them all, and rounds differently
        verdict = wl.certify(net, X, y, bias=True)
        assert verdict.status is Status.AMBIGUOUS
        assert len(verdict.sign_patterns) == 1


def test_units_that_no_row_shows_are_not_claimed():
    net = wl.teachers.biased(6, 3, rng=1)
    truth = Network(net.W, net.a, [0.4, -0.5, 6.0])
    X, y = wl.draw(truth, 20_000, rng=3)
    found = wl.recover(X, y, n_units=3, bias=True)
    assert found.certificate.status is Status.AMBIGUOUS
    np.testing.assert_allclose(found.network.predict(X), y, atol=1e-9)  # the function, wherever there are rows
    assert float(wl.distance(found.network, truth)) < 1e-3 * norm(truth)
