"""Variable projection: Kaufman's normal equations against finite differences and explicit projectors; exact fits."""

import time
from dataclasses import replace

import numpy as np
import pytest

import weightlift as wl
from weightlift.errors import ShapeError
from weightlift.refinement.gauss_newton import RefinementEnding
from weightlift.refinement.variable_projection import (
    FeatureResiduals,
    Hidden,
    JointEquations,
    Model,
    _projected,
    _steps,
    variable_projection,
)

MODELS = [Model(bias, linear, offset) for bias in (False, True) for linear in (False, True) for offset in (False, True)]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_normal_equations_are_those_of_the_projected_residual(rng, model):
    """∂θ ½‖(I − P)Y‖² is Jᵀr, and JᵀJ that of −(I − P)GAᵀ, with P, G from finite differences and weights on the rows."""
    n, d, k, m, h = 40, 3, 2, 3, 1e-6
    X, Y, w = rng.normal(size=(n, d)), rng.normal(size=(n, m)), rng.uniform(0.5, 2, size=n)
    hidden = Hidden(rng.normal(size=(d, 2, k)), model.bias * rng.normal(size=(2, k)), wl.activations.get("tanh"))
    samples, root = wl.samples.open(X, Y, sample_weight=w), np.sqrt(w)[:, None]
    beta, gram = _projected(samples, hidden, model)
    equations = JointEquations(hidden, beta, model)
    GG, GF, gradient = equations.assembled(samples.fold(equations))

    def features(theta):
        bias = theta[d * k :] if model.bias else 0.0
        beside = ([X] if model.linear else []) + ([np.ones((n, 1))] if model.offset else [])
        return root * np.hstack([np.tanh(X @ theta[: d * k].reshape(d, k) + bias), *beside])

    def risk(theta):
        F = features(theta)
        return 0.5 * np.sum((root * Y - F @ np.linalg.lstsq(F, root * Y, rcond=None)[0]) ** 2)

    for s in range(2):
        theta = np.concatenate([hidden.W[:, s].ravel(), hidden.b[s] if model.bias else []])
        F, A = features(theta), beta[s, :k]
        np.testing.assert_allclose(beta[s], np.linalg.lstsq(F, root * Y, rcond=None)[0], atol=1e-10)
        steps = h * np.eye(len(theta))
        np.testing.assert_allclose([(risk(theta + e) - risk(theta - e)) / (2 * h) for e in steps], gradient[s], atol=1e-6)
        G = np.array([(features(theta + e) - features(theta - e))[:, :k] / (2 * h) for e in steps])
        J = (G @ A) - F @ (np.linalg.pinv(F) @ (G @ A))  # (p, n, m), Kaufman's
        q = model.inputs(d)
        inner = GG[s] - GF[s] @ np.linalg.solve(w.sum() * gram[s], GF[s].T)
        np.testing.assert_allclose(inner * np.tile(A @ A.T, (q, q)), np.einsum("pno,qno->pq", J, J), atol=1e-6)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("activation", ["tanh", "relu", "softplus"])
def test_a_start_nearby_ends_exact(activation, model):
    plain = wl.teachers.biased(6, 3, bias=0.5 * model.bias, activation=activation, rng=3)
    truth = wl.teachers.several(plain, 2, linear=model.linear, rng=4)
    truth = replace(truth, c=[0.3, -1.0]) if model.offset else truth
    X, Y = wl.draw(truth, 200, rng=5)
    start = replace(truth, W=truth.W + 0.05 * np.random.default_rng(6).normal(size=truth.W.shape))
    fit = variable_projection(wl.samples.open(X, Y), start, model, unit=activation == "relu")
    assert fit.endings == (RefinementEnding.EXACT,)
    assert fit.network.equivalent(truth)
    assert fit.network.V is None or model.linear


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_ill_conditioned_units_end_at_rounding(model, seed):
    """Of condition number 10⁴, three outputs: ‖R‖ below 30 ε n ‖Y‖, by the last step of W, b and β together."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(4, 3)))
    W = Q * [1.0, 1e-2, 1e-4] @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    W, linear = W / np.linalg.norm(W, axis=0), rng.normal(size=(4, 3)) if model.linear else None
    b, c = model.bias * rng.normal(size=3), model.offset * rng.normal(size=3)
    truth = wl.Network(W, rng.normal(size=(3, 3)), b, c, V=linear)
    X, Y = wl.draw(truth, 200, rng=seed)
    start = replace(truth, W=truth.W + 1e-7 * rng.normal(size=W.shape))
    for unit in (False, True):
        fit = variable_projection(wl.samples.open(X, Y), start, model, unit=unit)
        assert fit.endings == (RefinementEnding.EXACT,)
        assert np.linalg.norm(fit.network.predict(X) - Y) < 30 * np.finfo(float).eps * 4 * np.linalg.norm(Y)
        lengths = np.sqrt(np.sum(fit.network.W**2, axis=0) + fit.network.b**2)
        np.testing.assert_allclose(lengths, 1.0 if unit else lengths, rtol=1e-14)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_residuals_along_the_features(rng, model):
    """Σ w Fᵀ(Fβ − Y), two starts, weights on the rows."""
    X, Y, w = rng.normal(size=(20, 3)), rng.normal(size=(20, 2)), rng.uniform(0.5, 2, size=20)
    hidden = Hidden(rng.normal(size=(3, 2, 4)), rng.normal(size=(2, 4)), wl.activations.get("tanh"))
    beta = rng.normal(size=(2, model.features(3, 4), 2))
    found = np.concatenate(wl.samples.open(X, Y, sample_weight=w).fold(FeatureResiduals(hidden, beta, model)), axis=1)
    for s in range(2):
        F = np.hstack([np.tanh(X @ hidden.W[:, s] + hidden.b[s]), model.beside(X)])
        np.testing.assert_allclose(found[s], F.T @ (w[:, None] * (F @ beta[s] - Y)), rtol=1e-12, atol=1e-12)


def test_one_target_gives_a_network_of_one_output():
    truth = wl.teachers.several(wl.teachers.biased(5, 2, activation="tanh", rng=0), linear=True, rng=1)
    X, y = wl.draw(truth, 100, rng=2)
    fit = variable_projection(wl.samples.open(X, y), replace(truth, W=truth.W + 0.05), Model(linear=True))
    assert fit.network.a.shape == (2,)
    assert fit.network.V.shape == (5,)
    assert fit.network.equivalent(truth)


def test_weights_count_as_copies_of_rows(rng):
    truth = wl.teachers.several(wl.teachers.biased(4, 2, activation="tanh", rng=0), 2, rng=1)
    X, Y = wl.draw(truth, 60, noise_std=0.1, rng=2)
    w = rng.integers(1, 4, size=60)
    start = replace(truth, W=truth.W + 0.01)
    weighted = variable_projection(wl.samples.open(X, Y, sample_weight=w), start, Model(), tol=1e-13)
    copied = variable_projection(wl.samples.open(np.repeat(X, w, axis=0), np.repeat(Y, w, axis=0)), start, Model(), tol=1e-13)
    np.testing.assert_allclose(weighted.network.W, copied.network.W, atol=1e-6)
    assert weighted.risks[0] == pytest.approx(copied.risks[0], rel=1e-9)


def test_starts_of_other_inputs_are_refused(rng):
    with pytest.raises(ShapeError, match="3 inputs"):
        variable_projection(wl.samples.open(rng.normal(size=(9, 2)), rng.normal(size=(9, 2))), wl.Network(np.eye(3)), Model())


def test_no_step_begins_after_the_deadline(rng):
    truth = wl.teachers.several(wl.teachers.biased(6, 2, activation="tanh", rng=0), 3, rng=1)
    samples = wl.samples.open(*wl.draw(truth, 60, rng=2))
    start = replace(truth, W=truth.W + 0.1)
    late = variable_projection(samples, start, Model(), deadline=time.perf_counter() - 1.0)
    assert late.iterations == 0
    assert late.endings == (RefinementEnding.ITERATIONS,)
    in_time = variable_projection(samples, start, Model(), deadline=time.perf_counter() + 60.0)
    assert in_time.endings == (RefinementEnding.EXACT,)


@pytest.mark.parametrize("model", [Model(), Model(linear=True, offset=True), Model(bias=False, offset=True)], ids=str)
def test_steps_of_large_systems_are_those_of_the_explicit_jacobian(rng, model):
    """(JᵀJ + μD)⁻¹Jᵀr of J = −(I − P)GAᵀ by rows and outputs: by factors where all μ are small, else by products, until
    the residual is a thousandth of Jᵀr."""
    n, d, k, m = 300, 31, 17, 2
    X, Y, w = rng.normal(size=(n, d)), rng.normal(size=(n, m)), rng.uniform(0.5, 2, size=n)
    hidden = Hidden(rng.normal(size=(d, 2, k)), model.bias * rng.normal(size=(2, k)), wl.activations.get("tanh"))
    samples, root = wl.samples.open(X, Y, sample_weight=w), np.sqrt(w)[:, None]
    beta, gram = _projected(samples, hidden, model)
    assert JointEquations(hidden, beta, model).large
    dampings = np.array([[0.02, 0.1, 4.0], [1e-6, 1e-5, 1e-4]])
    steps = _steps(samples, hidden, beta, gram, model, dampings)
    Xt = np.hstack([X, np.ones((n, 1))]) if model.bias else X
    for s in range(2):
        z, A = X @ hidden.W[:, s] + hidden.b[s], beta[s, :k]
        F = root * np.hstack([np.tanh(z), model.beside(X)])
        G = root * (Xt[:, :, None] / np.cosh(z)[:, None, :] ** 2).reshape(n, -1)
        G = G - F @ np.linalg.lstsq(F, G)[0]
        J = (G[:, None, :] * np.tile(A.T, (1, Xt.shape[1]))).reshape(n * m, -1) / np.sqrt(w.sum())
        r = (F @ beta[s] - root * Y).reshape(-1) / np.sqrt(w.sum())
        H = J.T @ J
        for mu, found in zip(dampings[s], steps, strict=True):
            exact = np.linalg.solve(H + mu * np.diag(np.diagonal(H)), J.T @ r)
            tolerance = (np.finfo(float).eps * len(H) if s else 1e-3) / mu  # the scaled H + μ has no eigenvalue below μ
            size = np.sqrt(np.diagonal(H))
            assert np.linalg.norm((found[s] - exact) * size) <= tolerance * np.linalg.norm(J.T @ r / size)


def test_a_line_without_units_that_leaves_a_little_is_projected(seed):
    """Residuals between rounding and √ε call for last steps, of which there are none without units."""
    rng = np.random.default_rng(seed)
    X, V = rng.normal(size=(30, 3)), rng.normal(size=(3, 2))
    Y = X @ V + 1 + 1e-11 * rng.normal(size=(30, 2))
    line = wl.Network(np.zeros((3, 0)), np.zeros((0, 2)), V=np.zeros((3, 2)))
    fit = variable_projection(wl.samples.open(X, Y), line, Model(linear=True, offset=True), iterations=0)
    best = np.linalg.lstsq(np.column_stack([X, np.ones(30)]), Y)[0]
    np.testing.assert_allclose(fit.network.V, best[:3], atol=1e-12)
    np.testing.assert_allclose(fit.network.c, best[3], atol=1e-12)
