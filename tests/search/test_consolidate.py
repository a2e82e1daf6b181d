"""Units of one hyperplane become one; what has a linear rest does not."""

import numpy as np
import pytest

from weightlift.network import Network
from weightlift.search.consolidate import consolidate


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "squared_relu", "tanh", "sigmoid"])
@pytest.mark.parametrize("bias", [False, True])
def test_consolidate_merges_units_of_one_hyperplane(activation, bias, rng):
    truth = Network(rng.normal(size=(5, 3)), rng.uniform(0.5, 2, 3), bias * rng.normal(size=3), activation=activation)
    q = truth.activation.degree
    t = 0.5 if q else 1.0
    W, b = np.hstack([truth.W, t * truth.W[:, :1]]), np.r_[truth.b, t * truth.b[0]]
    a = np.r_[0.7 * truth.a[0], truth.a[1:], 0.3 * truth.a[0] / t ** (q or 0)]
    wide = Network(W, a, b, activation=activation)
    X = rng.normal(size=(20, 5))
    np.testing.assert_allclose(wide.predict(X), truth.predict(X), rtol=1e-10, atol=1e-10)
    assert consolidate(wide).equivalent(truth, tol=1e-10)


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "softplus"])
def test_consolidate_accounts_for_signs(activation, rng):
    """A unit written the other way round, its linear rest spread over two opposite pairs: all is undone."""
    truth = Network(rng.normal(size=(5, 3)), rng.choice([-1.0, 1.0], 3), rng.normal(size=3), activation=activation)
    u = np.r_[truth.W[:, 1], truth.b[1]]
    v = np.r_[rng.normal(size=5), 0.0]
    pairs = np.column_stack([u - v, v - u, v, -v])  # φ(z) − φ(−z) = −p₁ z, so these four make up a linear function
    a1 = truth.a[1]
    V = np.column_stack([np.vstack([truth.W, truth.b]), pairs])
    V[:, 1] = -u
    wide = Network(V[:-1], np.r_[truth.a, a1, -a1, a1, -a1], V[-1], activation=activation)
    X = rng.normal(size=(20, 5))
    np.testing.assert_allclose(wide.predict(X), truth.predict(X), rtol=1e-9, atol=1e-9)
    assert consolidate(wide).equivalent(truth, tol=1e-9)


def test_consolidate_refuses_what_has_a_linear_rest():
    u = np.array([[0.6], [0.8]])
    assert consolidate(Network(np.hstack([u, -u]), [2.0, 1.0])) is None
