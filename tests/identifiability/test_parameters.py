"""Parameters are the rank of the Jacobian."""

from __future__ import annotations

import numpy as np
import pytest
from tests.catalogue import HOMOGENEOUS
from tests.identifiability.networks import AMBIGUOUS, SYMMETRIC, random_network

from weightlift import teachers
from weightlift.evidence.stacked import Stacked
from weightlift.identifiability import count_parameters
from weightlift.refinement.variable_projection import Model


@pytest.mark.parametrize("activation", [*AMBIGUOUS, *SYMMETRIC])
@pytest.mark.parametrize(("bias", "offset"), [(False, False), (True, False), (True, True), (False, True)])
def test_parameters_are_the_rank_of_the_jacobian(activation, bias, offset):
    rng = np.random.default_rng(5)
    d, k = 4, 3
    net = random_network(rng, activation, d, k, bias=bias)
    X = rng.normal(size=(400, d))
    Z = X @ net.W + net.b
    slope = net.a * net.activation.derivative(Z)
    J = [(slope[:, :, None] * X[:, None, :]).reshape(400, -1), net.activation(Z)]
    J += [slope] if bias else []
    J += [np.ones((400, 1))] if offset else []
    s = np.linalg.svd(np.hstack(J) / np.linalg.norm(np.hstack(J), axis=0), compute_uv=False)
    p = count_parameters(net, bias=bias, offset=offset)
    assert p == int(np.count_nonzero(s > 1e-10 * s[0]))
    homogeneous = activation in HOMOGENEOUS
    assert p == k * (d + (not homogeneous) + bias) + offset


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize(("m", "linear"), [(1, True), (3, False), (2, True)])
def test_parameters_of_several_outputs_are_the_rank_of_the_stacked_jacobian(activation, m, linear):
    units = teachers.biased(4, 3, bias=0.3, activation=activation, rng=0)
    net = teachers.several(units, m, linear=linear, rng=1)
    J, _ = Stacked.of(net, Model(True, linear, True)).linearized(np.random.default_rng(2).normal(size=(200, 4)))
    rank = np.linalg.matrix_rank(J.reshape(200 * m, -1), tol=1e-8)
    assert rank == count_parameters(net, bias=True, offset=True)
