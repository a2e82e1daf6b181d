"""Rows that leave no rival, rows that leave the question open, and what is only tested."""

from __future__ import annotations

import numpy as np
import pytest
from tests.catalogue import HOMOGENEOUS
from tests.rivals.instances import examined, outcomes

import weightlift as wl
from weightlift import samples
from weightlift.evidence.gauge import Gauge
from weightlift.rivals import Outcome
from weightlift.rivals.cells import independent_rows


@pytest.mark.parametrize("activation", HOMOGENEOUS)
@pytest.mark.parametrize(("bias", "offset"), [(False, False), (True, False), (True, True), (False, True)])
def test_spread_rows_leave_no_rival(activation: str, bias: bool, offset: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = wl.Network(
        rng.standard_normal((6, 4)), [1.0, -1.0, 1.0, 1.0], 0.5 * rng.standard_normal(4) * bias, 0.7 * offset, activation
    )
    for rows in (300, 3000):
        assert outcomes(examined(net, rng.standard_normal((rows, 6)), bias=bias)) == {Outcome.IMPOSSIBLE}


def test_more_units_than_inputs_rest_on_an_assumption(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = wl.Network(rng.standard_normal((3, 7)), rng.choice([-1.0, 1.0], 7), 0.3 * rng.standard_normal(7))
    (finding,) = examined(net, rng.standard_normal((900, 3)))
    assert finding.outcome is Outcome.IMPOSSIBLE
    assert any("integer combination" in sentence for sentence in finding.assumes)


def test_dependent_polynomials_are_tested_only() -> None:
    W = np.random.default_rng(0).standard_normal((5, 2))
    net = wl.Network(np.column_stack([W, W.sum(axis=1)]))
    X = np.random.default_rng(1).standard_normal((400, 5))
    assert outcomes(examined(net, X)) == {Outcome.NONE_FOUND}


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_copies_multiples_and_mirror_images_are_no_new_rows(activation: str) -> None:
    X = np.random.default_rng(0).standard_normal((20, 3))
    Y = np.vstack([X, X, -X, 2 * X])
    gauge = Gauge.of(wl.Network(np.eye(3), activation=activation), bias=False, offset=False)
    assert independent_rows(samples.open(Y, Y[:, 0]), gauge) == (20 if activation == "relu" else 40)


def test_fewer_rows_than_parameters_are_unexamined(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = wl.Network(rng.standard_normal((3, 2)), [1.0, 0.7], activation="tanh")
    assert Outcome.IMPOSSIBLE not in outcomes(examined(net, rng.standard_normal((8, 3))))
    assert outcomes(examined(net, rng.standard_normal((20, 3)))) == {Outcome.IMPOSSIBLE}
