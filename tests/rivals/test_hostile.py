"""Instances with two right answers: neither may be called the only one."""

from __future__ import annotations

import numpy as np
import pytest
from tests.rivals.instances import ONE, TWO, beside, clustered, examined, outcomes, refused

import weightlift as wl
from weightlift.rivals import Outcome


def test_two_networks_that_agree_on_clusters(seed: int) -> None:
    X = clustered(seed)
    assert np.abs(ONE.predict(X) - TWO.predict(X)).max() < 1e-14
    for net, other in ((ONE, TWO), (TWO, ONE)):
        finding = next(f for f in examined(net, X) if f.outcome is Outcome.FOUND)
        assert any(rival.equivalent(other, 1e-9) for rival in finding.rivals)
    everywhere = np.random.default_rng(seed).standard_normal((160, 3))
    assert outcomes(examined(TWO, everywhere)) == {Outcome.IMPOSSIBLE}


@pytest.mark.parametrize("common", [6, 14, 27])
def test_common_units_do_not_hide_the_rotated_twin(common: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = 12
    centres = clustered(seed, 1, 0.0)
    k = common + 3
    X = np.hstack([np.repeat(centres, 10 * k, axis=0), np.zeros((40 * k, d - 3))])
    X += np.hstack([np.full(3, 0.015), np.full(d - 3, 1.0)]) * rng.standard_normal(X.shape)
    units = wl.Network(rng.standard_normal((d, common)), rng.choice([-1.0, 1.0], common))
    for net in (beside(ONE, units), beside(TWO, units)):
        findings = examined(net, X)
        found = [f for f in findings if f.outcome is Outcome.FOUND]
        assert found
        assert found[0].units == (0, 1, 2)
        certificate = wl.certify(net, X, net.predict(X))
        assert certificate.status is wl.Status.AMBIGUOUS
        assert not {0, 1, 2} & set(certificate.certified_units)


@pytest.mark.parametrize(("activation", "equations"), [("sigmoid", 12), ("softplus", 14)])
def test_mirrored_rows_are_half_as_many(activation: str, equations: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = wl.Network(rng.standard_normal((3, 3)), rng.standard_normal(3), activation=activation)
    X = rng.standard_normal((11, 3))
    findings = examined(net, np.vstack([X, -X]))
    assert refused(findings)
    assert findings[0].outcome is Outcome.UNEXAMINED
    assert findings[0].number == equations
    assert not refused(examined(net, rng.standard_normal((22, 3))))


def test_a_rounding_error_does_not_put_rows_beside_a_kink(seed: int) -> None:
    """A unit of a binary input alone is linear on the rows: rows with z = 0 are on neither side, nor those with 1e-15 x."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal(100), rng.integers(0, 2, 100)])
    net = wl.Network([[1e-15, 1.0], [-100.0, 2.0]], [-1.0, 1.0], activation="leaky_relu")
    assert refused(examined(net, X))


def test_rows_on_a_kink_do_not_determine_it() -> None:
    """Kinks at 0.2 and 3, the second one on a row: the slope between 1 and 3 may be any smaller one."""
    X = np.setdiff1d(np.arange(-15.0, 16.0), [2.0])[:, None]
    one = wl.Network([[2.5, 0.5]], [-1.0, -1.0], [-0.5, -1.5], activation="absolute")
    assert Outcome.IMPOSSIBLE not in outcomes(examined(one, X))


def test_one_row_between_two_kinks_determines_neither() -> None:
    """Slope and place of the two kinks may change together, as long as the one row keeps its value."""
    truth = wl.Network([[-2.0, 3.0, 3.0]], [1.0, 1.0, -1.0], [1.0, 0.5, -1.0])
    X = np.random.default_rng(0).standard_normal((60, 1))
    between = (X[:, 0] > -0.25) & (X[:, 0] < 0.4)  # the kinks of both networks
    X = np.vstack([X[~between], [[0.1]]])
    slope = 2.5  # through (0.1, 0.8), from 0 up to 1.5
    other = wl.Network([[-2.0, slope, slope]], truth.a, [1.0, 0.8 - 0.1 * slope, 0.8 - 0.1 * slope - 1.5])
    assert np.abs(other.predict(X) - truth.predict(X)).max() < 1e-12
    for net in (truth, other):
        named = {i for f in examined(net, X) if f.outcome in (Outcome.FOUND, Outcome.UNEXAMINED) for i in f.units}
        assert {1, 2} <= named
