"""What a certificate says of all units and of each: status, headline, verdicts."""

from __future__ import annotations

import numpy as np
import pytest

from weightlift import draw, teachers
from weightlift.certificate import Status, certify
from weightlift.network import Network


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_a_dead_or_double_unit_leaves_the_others_certified(activation: str, seed: int) -> None:
    truth = teachers.biased(5, 2, bias=0.5, activation=activation, rng=seed)
    X, y = draw(truth, 300, rng=seed + 10)
    W = np.column_stack([truth.W, truth.W[:, 1]])
    silent = Network(W, [*truth.a, 0.0], [*truth.b, -0.3], activation=activation)
    double = Network(W, [truth.a[0], 0.4 * truth.a[1], 0.6 * truth.a[1]], [*truth.b, truth.b[1]], activation=activation)
    for net, certain in ((silent, (0, 1)), (double, (0,))):
        certificate = certify(net, X, y, bias=True)
        assert certificate.status is Status.AMBIGUOUS
        assert certificate.certified_units == certain
        assert certificate.units[0].precision < 1e-9
        assert certificate.units[0].status is Status.EXACT
        assert "fewer units" in certificate.units[2].reason
        assert bool(certificate.units[0])
        assert not certificate.units[2]
        assert "may be others" in certificate.headline


def test_the_headline_names_the_class_and_the_ground() -> None:
    truth = teachers.biased(5, 2, bias=0.5, activation="tanh", rng=0)
    X, y = draw(truth, 300, rng=1)
    certificate = certify(truth, X, y)
    assert certificate.headline.startswith("Among networks of at most 2 tanh units without offset: these are the units, to ")
    assert "density" in certificate.headline
    assert certificate.proved
    assert certificate.explained
    for line in certificate.assumptions:
        assert line in str(certificate)
    few = certify(truth, X[:9], y[:9])
    assert few.headline.startswith("These are not shown to be the units: 9 distinct rows")
    withdrawn = certificate.refused("It was asked to.")
    assert withdrawn.status is Status.FAILED
    assert withdrawn.reasons == ("It was asked to.",)
