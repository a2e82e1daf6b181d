"""The stacked Jacobian of several outputs: against differences, and its information against the dense one."""

import numpy as np
import pytest

import weightlift as wl
from weightlift.certificate.scores import WhiteRows
from weightlift.evidence.stacked import ScaledTargets, Stacked, StackedInformation
from weightlift.refinement.variable_projection import Model

CASES = [("tanh", 3, False), ("relu", 2, True), ("squared_relu", 2, False), ("relu", None, True)]


def fitted(activation, m, linear, *, seed=0, n=40):
    rng = np.random.default_rng(seed)
    net = wl.teachers.several(wl.teachers.biased(3, 2, bias=0.3, activation=activation, rng=seed), m, linear=linear, rng=seed)
    net = wl.Network(net.W, net.a, net.b, rng.normal(size=net.a.shape[1:]) if m else 0.7, net.activation, net.V)
    X = rng.normal(size=(n, 3))
    Y = net.predict(X) + 0.1 * rng.normal(size=(n, *net.a.shape[1:]))
    return Stacked.of(net, Model(True, linear, True)), X, Y, rng


def value(stacked, theta, X):
    hidden, beta = stacked.perturbed(theta[None] - stacked.theta)
    F = np.concatenate([stacked.network.activation(X @ hidden.W[:, 0] + hidden.b[0]), stacked.model.beside(X)], axis=1)
    return F @ beta[0]


@pytest.mark.parametrize(("activation", "m", "linear"), CASES)
def test_jacobian_is_the_derivative_of_the_values(activation, m, linear):
    stacked, X, _, rng = fitted(activation, m, linear)
    J, values = stacked.linearized(X)
    assert np.allclose(values, stacked.network.predict(X))
    delta = rng.normal(size=stacked.full)
    up, down = (value(stacked, stacked.theta + step * delta, X) for step in (1e-7, -1e-7))
    difference = (up - down) / 2e-7
    assert np.allclose(J @ delta, difference, atol=1e-6)


@pytest.mark.parametrize(("activation", "m", "linear"), CASES)
def test_information_is_that_of_the_dense_jacobian(activation, m, linear):
    stacked, X, Y, rng = fitted(activation, m, linear)
    w = rng.uniform(0.5, 2.0, size=len(X))
    information = StackedInformation.of(wl.samples.open(X, Y, sample_weight=w), stacked)
    J, values = stacked.linearized(X)
    r = values - Y.reshape(len(X), -1)
    outputs = r.shape[1]
    S = np.cov(rng.normal(size=(outputs, 9))).reshape(outputs, outputs)
    assert np.allclose(information.gram(S), np.einsum("n,nop,oq,nqr->pr", w, J, S, J))
    assert np.allclose(information.gradient, np.einsum("n,nop,no->p", w, J, r))
    assert np.allclose(information.squares, (w[:, None] * r).T @ r)
    L = information.half_inverse
    H = information.gram()
    assert np.allclose(H @ L @ L.T @ H, H)
    rows = WhiteRows.of(next(wl.samples.open(X, Y, sample_weight=w).blocks(len(X))), stacked, L)
    assert np.sum(rows.white**2) == pytest.approx(stacked.size)


@pytest.mark.parametrize("activation", ["relu", "squared_relu"])
def test_changes_of_scale_are_left_out(activation):
    stacked, X, Y, _ = fitted(activation, 2, False)
    L = StackedInformation.of(wl.samples.open(X, Y), stacked).half_inverse
    for i in range(stacked.network.n_units):
        at = stacked.coordinates(i)[: stacked.inputs]
        assert np.abs(stacked.hidden[:, i] @ L[at]).max() < 1e-10
    assert np.linalg.matrix_rank(L, tol=1e-8) == stacked.size


def test_targets_lose_no_bit():
    stacked, X, Y, _ = fitted("tanh", 3, False)
    sizes = np.array([1e-9, 1.0, 3e7])
    scaled = ScaledTargets.of((Y * sizes).std(axis=0) ** 2)
    back = scaled.undo(scaled.network(stacked.network))
    assert np.array_equal(back.a, stacked.network.a)
    block = next(wl.samples.open(X, Y * sizes).map(scaled).blocks(len(X)))
    assert np.array_equal(block.y * scaled.scale, Y * sizes)
    assert np.all((block.y.std(axis=0) > 0.7) & (block.y.std(axis=0) < 1.5))


def test_sums_of_weights_and_targets():
    """(Σ w)²/Σ w² effective rows, those of positive weight counted, and Σ w y² of every output."""
    stacked, X, Y, rng = fitted("tanh", 3, False)
    w = rng.uniform(0.5, 2.0, size=len(X))
    w[:7] = 0.0
    known = StackedInformation.of(wl.samples.open(X, Y, sample_weight=w), stacked)
    assert known.effective == pytest.approx(w.sum() ** 2 / (w @ w), rel=1e-12)
    assert (known.rows, known.total) == (33, pytest.approx(w.sum(), rel=1e-12))
    np.testing.assert_allclose(known.target, w @ Y**2, rtol=1e-12)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_the_condition_is_that_of_columns_of_length_one(activation):
    """For homogeneous φ with t tᵀ of every unit's (w, b) in these columns' sizes, t of length one: what no value depends on."""
    stacked, X, Y, _ = fitted(activation, 2, True)
    X = X * [0.1, 1.0, 3.0]
    J = np.asarray(stacked.linearized(X)[0]).reshape(-1, stacked.full)
    length = np.linalg.norm(J, axis=0)
    H = (J / length).T @ (J / length)
    for i in range(2 if activation == "relu" else 0):
        at = stacked.coordinates(i)[: stacked.inputs]
        t = np.zeros(stacked.full)
        t[at] = stacked.hidden[:, i] * length[at]
        H += np.outer(t, t) / (t @ t)
    known = StackedInformation.of(wl.samples.open(X, Y), stacked)
    assert known.condition == pytest.approx(np.linalg.cond(H), rel=1e-6)


def test_directions_are_determined_beside_the_largest_eigenvalue():
    """Of the eigenvalues 3e-11 · (1 ∓ 0.1), 1e-2, 1 … 1 and 3 all but the first: 3/10¹¹, whatever the others are."""
    stacked, X, Y, rng = fitted("tanh", 3, False)
    known = StackedInformation.of(wl.samples.open(X, Y), stacked)
    values = np.concatenate([[2.7e-11, 3.3e-11, 1e-2], np.ones(stacked.full - 4), [3.0]])
    vectors, scale = np.linalg.qr(rng.normal(size=(stacked.full, stacked.full)))[0], rng.uniform(0.5, 2.0, stacked.full)
    known.__dict__["_spectrum"] = values, vectors, scale
    assert known.condition == pytest.approx(3.0 / 2.7e-11, rel=1e-12)
    wanted = scale[:, None] * vectors[:, 1:] / np.sqrt(values[1:])
    np.testing.assert_allclose(known.half_inverse @ known.half_inverse.T, wanted @ wanted.T, rtol=1e-9, atol=1e-3)
    mass = [vectors[stacked.coordinates(i), 0] @ vectors[stacked.coordinates(i), 0] for i in range(2)]
    share = (mass[0] + mass[1]) / 2
    assert known.weak(share) == (int(mass[1] > mass[0]),)
    known.__dict__["_spectrum"] = np.append([-1e-17, 1e-9], values[2:]), vectors, scale
    assert known.condition == np.inf
