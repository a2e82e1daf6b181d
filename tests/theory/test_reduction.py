"""Theorem 4: labels from tensors are labels from weights, for any x; and a learner of networks decomposes tensors."""

import numpy as np
import pytest
from tests.catalogue import ENTRIES

import weightlift as wl
from weightlift import Network, activations, teachers
from weightlift.activations import polynomial
from weightlift.decomposition import compose
from weightlift.errors import ActivationError, ArgumentError, ShapeError
from weightlift.theory import decompose_by, polynomial_coefficients, power_sums


def weights(rng, d, r):
    W = rng.normal(size=(d, r))
    return W / np.linalg.norm(W, axis=0)


@pytest.mark.parametrize("order", [3, 4, 5])
def test_part_1_labels_from_one_tensor(rng, order):
    d, r = 4, 7
    W = weights(rng, d, r)
    s = np.where(np.arange(order + 1) % 2 == order % 2, rng.normal(size=order + 1), 0.0)
    X = rng.standard_cauchy(size=(20, d))  # no assumption on the inputs
    sums = power_sums(compose(np.ones(r), W, order))
    expected = Network(W, activation=polynomial(s)).predict(X)
    size = np.abs(s) @ np.array([(np.abs(X @ W) ** p).sum(axis=1) for p in range(order + 1)])
    assert np.all(np.abs(sums.labels(X, polynomial(s)) - expected) <= 1e-13 * size)
    assert np.all(np.abs(sums.labels(X, s) - expected) <= 1e-13 * size)
    assert sums.n_units == (None if order % 2 else r)
    for p, T in sums.tensors.items():
        np.testing.assert_allclose(T, compose(np.ones(r), W, p) if p else r, atol=1e-13)


@pytest.mark.parametrize("order", [3, 4])
def test_part_2_labels_from_two_tensors(rng, order):
    d, r = 3, 5
    W, s = weights(rng, d, r), rng.normal(size=order + 2)
    X = rng.normal(size=(20, d))
    sums = power_sums(*(compose(np.ones(r), W, p) for p in (order, order + 1)))
    assert sorted(sums.tensors) == list(range(order + 2))
    np.testing.assert_allclose(sums.labels(X, s), Network(W, activation=polynomial(s)).predict(X), rtol=1e-11, atol=1e-11)


def test_theorem_1_s_activation_needs_the_number_of_units(rng):
    W = weights(rng, 4, 6)
    T, s = compose(np.ones(6), W, 3), [0.5, 1.0, 0.0, -2.0]
    X = rng.normal(size=(9, 4))
    with pytest.raises(ActivationError, match="n_units"):
        power_sums(T).labels(X, s)
    labels = power_sums(T, n_units=6).labels(X, s)
    np.testing.assert_allclose(labels, Network(W, activation=polynomial(s)).predict(X), atol=1e-12)
    with pytest.raises(ActivationError, match="degree 5"):
        power_sums(T).labels(X, [0, 0, 0, 0, 0, 1.0])
    with pytest.raises(ActivationError, match="parity"):
        power_sums(T).labels(X, [0, 0, 1.0, 1.0])
    with pytest.raises(ActivationError, match="not a polynomial"):
        power_sums(T).labels(X, activations.tanh)
    with pytest.raises(ShapeError, match="X"):
        power_sums(T).labels(X[:, :3], s)


@pytest.mark.parametrize(("order", "s"), [(3, [0, 0.5, 0, 1.0]), (4, [0, 0, 0.5, 0, 1.0])])
def test_recover_decomposes_a_tensor(rng, order, s):
    """The labels come from the tensor; `recover` knows nothing else, and its units are the components."""
    d, r = 6, 3
    net = teachers.conditioned(d, r, rng=rng, activation="squared_relu")
    W = net.W / np.linalg.norm(net.W, axis=0)
    T, phi = compose(np.ones(r), W, order), polynomial(s)

    def learner(X, y):
        return wl.recover(X, y, n_units=r, activation=phi, rng=1).network

    found = decompose_by(learner, T, activation=phi, n=150, rng=rng)
    assert found.residual < 1e-9
    np.testing.assert_allclose(found.weights, 1.0, atol=1e-8)
    cosines = np.abs(found.factors.T @ W)
    np.testing.assert_allclose(np.sort(cosines.max(axis=1)), 1.0, atol=1e-12)
    assert sorted(cosines.argmax(axis=1)) == [0, 1, 2]
    assert "learner" in found.method


def test_a_poor_learner_leaves_a_residual(rng):
    T = compose(np.ones(3), weights(rng, 5, 3), 3)
    found = decompose_by(lambda X, y: Network(weights(rng, 5, 3)), T, activation=polynomial([0, 0, 0, 1.0]), n=10)
    assert found.residual > 0.1
    with pytest.raises(ArgumentError, match="learner"):
        decompose_by(lambda X, y: None, T, activation=polynomial([0, 0, 0, 1.0]), n=10)


def test_tensors_that_are_not_of_unit_vectors_are_refused(rng):
    W = weights(rng, 4, 3)
    crooked = compose(np.ones(3), W, 3).copy()
    crooked[0, 1, 2] += 0.1
    with pytest.raises(ArgumentError, match="not symmetric"):
        power_sums(crooked)
    with pytest.raises(ArgumentError, match="full trace"):
        power_sums(compose(np.ones(3), 1.1 * W, 4))
    with pytest.raises(ArgumentError, match="n_units must be 3"):
        power_sums(compose(np.ones(3), W, 4), n_units=2)
    with pytest.raises(ArgumentError, match="norm"):
        power_sums(compose(np.ones(3), 2.0 * W, 3), n_units=3)
    with pytest.raises(ArgumentError, match="n_units"):
        power_sums(compose(np.ones(3), W, 3), n_units=0)
    with pytest.raises(ShapeError, match="following"):
        power_sums(compose(np.ones(3), W, 3), compose(np.ones(3), W, 5))
    with pytest.raises(ShapeError, match="order 3"):
        power_sums(np.eye(3))


def test_polynomials_are_told_from_other_functions():
    coefficients = polynomial_coefficients(activations.scaled(polynomial([1.0, 0.0, -2.0, 3.0]), 2.0))
    np.testing.assert_allclose(coefficients, [1.0, 0.0, -8.0, 24.0], atol=1e-9)
    np.testing.assert_allclose(polynomial_coefficients(activations.linear), [0.0, 1.0], atol=1e-12)
    cube = activations.custom("cube", lambda z: z**3, lambda z: 3 * z**2, degree=3)
    np.testing.assert_allclose(polynomial_coefficients(cube), [0, 0, 0, 1], atol=1e-9)
    for phi in ENTRIES:
        assert (polynomial_coefficients(phi) is not None) == phi.polynomial
