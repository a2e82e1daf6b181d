"""Parameters of several outputs, and the rows that they need, against the rank of the stacked Jacobian."""

import numpy as np
import pytest

from weightlift import activations
from weightlift.identifiability import parameters_of_shape, rows_needed

SIZES = [(3, 1, 1), (3, 1, 2), (3, 2, 1), (3, 2, 5), (3, 3, 2), (2, 6, 3), (2, 6, 4), (5, 3, 3), (5, 3, 8), (4, 6, 2)]


def stacked_jacobian(rng, n, d, k, m, *, linear, offset):
    """(n m, p) of tanh units with biases, by the formula, parameter after parameter."""
    W, b, A, X = rng.normal(size=(d, k)), rng.normal(size=k), rng.normal(size=(k, m)), rng.normal(size=(n, d))
    z, inputs, eye = X @ W + b, np.column_stack([X, np.ones(n)]), np.eye(m)
    columns = [np.outer(inputs[:, p] / np.cosh(z[:, i]) ** 2, A[i]) for i in range(k) for p in range(d + 1)]
    columns += [np.outer(np.tanh(z[:, i]), e) for i in range(k) for e in eye]
    columns += [np.outer(X[:, p], e) for p in range(d) for e in eye] if linear else []
    columns += [np.outer(np.ones(n), e) for e in eye] if offset else []
    return np.array([column.ravel() for column in columns]).T


@pytest.mark.parametrize(("d", "k", "m"), SIZES)
@pytest.mark.parametrize(("linear", "offset"), [(False, False), (True, False), (True, True)])
def test_full_rank_begins_there(rng, d, k, m, linear, offset):
    needed = rows_needed(d, k, m, activations.tanh, bias=True, linear=linear, offset=offset)
    for n, full in ((needed - 1, False), (needed, True)):
        J = stacked_jacobian(rng, n, d, k, m, linear=linear, offset=offset)
        assert (np.linalg.matrix_rank(J, tol=1e-9) == J.shape[1]) == full


@pytest.mark.parametrize(("d", "k", "m"), SIZES)
@pytest.mark.parametrize(("linear", "offset"), [(False, False), (True, False), (False, True), (True, True)])
def test_parameters_are_the_rank_of_the_jacobian(rng, d, k, m, linear, offset):
    J = stacked_jacobian(rng, 40, d, k, m, linear=linear, offset=offset)
    shape = {"bias": True, "linear": linear, "offset": offset, "n_outputs": m}
    assert parameters_of_shape(d, k, activations.tanh, **shape) == np.linalg.matrix_rank(J, tol=1e-9)


@pytest.mark.parametrize(("d", "k", "m"), SIZES)
def test_homogeneous_units_have_a_parameter_less_each(rng, d, k, m):
    """φ(z) = z₊² without biases: moving w along itself is moving its output weights."""
    W, A, X = rng.normal(size=(d, k)), rng.normal(size=(k, m)), rng.normal(size=(200, d))
    z = np.maximum(X @ W, 0.0)
    columns = [np.outer(2 * z[:, i] * X[:, p], A[i]) for i in range(k) for p in range(d)]
    columns += [np.outer(z[:, i] ** 2, e) for i in range(k) for e in np.eye(m)]
    rank = np.linalg.matrix_rank(np.array([column.ravel() for column in columns]), tol=1e-9)
    assert parameters_of_shape(d, k, activations.squared_relu, n_outputs=m) == rank
