"""Standard errors of joint fits: a table of every parameter, and intervals that cover."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student
from tests.certificate.joint_cases import CASES, far_rows, fit, noisy, teacher

import weightlift as wl
from weightlift.certificate import certify, inference
from weightlift.certificate.joint_standard import StandardForm
from weightlift.errors import SingularError, TooFewRowsError
from weightlift.evidence.stacked import Stacked
from weightlift.refinement.variable_projection import Model


@pytest.mark.parametrize(("activation", "m", "linear"), CASES)
def test_the_table_has_every_parameter(activation, m, linear):
    truth = teacher(activation, m, linear)
    X, Y = noisy(truth, 400, 7)
    result = inference(fit(truth, X, Y), X, Y, bias=True, offset=True)
    outputs = m or 1
    count = 2 * (5 + outputs) + outputs * (4 * linear + 1)
    assert len(result.names) == len(set(result.names)) == count == len(result.estimates) == len(result.covariance)
    net = result.network
    named = dict(zip(result.names, result.estimates, strict=True))
    last = "a[1,1]" if m else "a[1]"
    assert named["w[1,2]"] == net.W[2, 1]
    assert named[last] == net.A[1, 1 if m else 0]
    if linear:
        assert named["V[3,1]" if m else "V[3]"] == net.V.reshape(4, -1)[3, 1 if m else 0]
    assert "a[0" in str(result.summary())
    centre, low, high = result.predict(X[:5])
    assert centre.shape == low.shape == (5, *truth.a.shape[1:])
    assert np.all(low < centre)
    assert np.all(centre < high)
    values = np.linalg.eigvalsh(result.covariance)
    assert values[0] > -1e-10 * values[-1]


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_one_output_has_the_same_table_by_both_routes(activation):
    truth = teacher(activation, None, False)
    X, y = noisy(truth, 500, 1)
    network = fit(truth, X, y)
    column = replace(network, a=network.A, c=np.atleast_1d(network.c))
    one, joint = (inference(net, X, Y, bias=True, offset=True) for net, Y in ((network, y), (column, y[:, None])))
    for number in ("standard_errors", "estimates", "p_values", "log_likelihood", "aic", "n_parameters", "rss", "tss"):
        assert np.allclose(getattr(one, number), getattr(joint, number), rtol=1e-9)


def test_standard_errors_are_those_of_a_dense_sandwich():
    """(JᵀJ)⁻¹ Σ ssᵀ (JᵀJ)⁻¹ in the coordinates of θ, by numbers of tanh, whose θ has no scale."""
    truth = teacher("tanh", 2, False)
    X, Y = noisy(truth, 300, 8)
    result = inference(fit(truth, X, Y), X, Y, bias=True, offset=True)
    J, values = result._coordinates.linearized(X)
    r = values - Y
    H = np.einsum("nop,noq->pq", J, J)
    s = np.einsum("nop,no->np", J, r)
    n, p = 600, H.shape[0]
    dense = n / (n - p) * np.linalg.solve(H, np.linalg.solve(H, s.T @ s).T)
    assert np.allclose(result.sandwich, dense, rtol=1e-6, atol=1e-12)
    S = r.T @ r / (300 - p / 2)
    classical = np.linalg.solve(H, np.linalg.solve(H, np.einsum("nop,oq,nqr->pr", J, S, J)).T)
    assert np.allclose(result.classical, classical, rtol=1e-6, atol=1e-12)


def test_what_cannot_be_told_is_an_error():
    truth = teacher("tanh", 2, False)
    X, Y = noisy(truth, 300, 9)
    with pytest.raises(TooFewRowsError, match="degrees of freedom"):
        inference(truth, X[:6], Y[:6], bias=True, offset=True)
    twice = replace(truth, W=np.repeat(truth.W[:, :1], 2, axis=1), b=np.repeat(truth.b[:1], 2))
    with pytest.raises(SingularError, match="do not determine"):
        inference(twice, X, Y, bias=True, offset=True)


@pytest.mark.slow
@pytest.mark.parametrize(("activation", "m", "linear", "by_input"), [("tanh", 3, False, False), ("relu", 2, True, True)])
def test_intervals_cover(activation, m, linear, by_input):
    """200 fits: 95 % intervals of every parameter hold its true value in 95 ± 2.2 %, four standard errors of 200 × 19 numbers
    of which some ten are independent; the regions hold the truth always, and 1 % of the tests for structure refuse it."""
    truth = teacher(activation, m, linear).canonical()
    held, refused, inside = [], 0, []
    for seed in range(200):
        X, Y = noisy(truth, 800, 100 + seed, by_input=by_input)
        result = inference(fit(truth, X, Y), X, Y, bias=True, offset=True)
        order = np.argsort(wl.match(result.network, truth).permutation)
        true = replace(result, network=replace(truth, W=truth.W[:, order], a=truth.a[order], b=truth.b[order])).estimates
        low, high = result.intervals(0.95).T
        held.append((low <= true) & (true <= high))
        if seed < 60:
            certificate = certify(result.network, X, Y, bias=True, offset=True)
            refused += not certificate
            inside += [certificate.locate(truth, wide=False)[0].all()] if certificate else []
    assert abs(np.mean(held) - 0.95) < 0.022
    assert refused <= 5
    assert all(inside)


@pytest.mark.parametrize("activation", ["relu", "squared_relu"])
def test_normal_forms_move_as_their_derivative_says(activation, seed):
    """Against differences of (w/‖w‖, b/‖w‖, a ‖w‖^q), of units of lengths far from one."""
    rng = np.random.default_rng(seed)
    network = wl.Network(
        rng.normal(size=(3, 2)) * [5.0, 0.2], rng.normal(size=(2, 2)), rng.normal(size=2), [0.0, 0.0], activation
    )
    X = rng.normal(size=(200, 3))
    result = inference(network, X, network.predict(X) + 0.1 * rng.normal(size=(200, 2)), bias=True, offset=False)
    degree = network.activation.degree

    def normal(W, b, A):
        length = np.linalg.norm(W, axis=0)
        return np.concatenate(
            [np.concatenate([W[:, i] / length[i], [b[i] / length[i]], A[i] * length[i] ** degree]) for i in range(2)]
        )

    result = replace(result, network=network)  # itself one in normal form, of units of length one
    own, stacked = network, result._coordinates
    T, h = stacked.normal_form(), 1e-6
    for i in range(2):
        at = stacked.coordinates(i)
        for column, place in enumerate(at):
            W, b, A = own.W.copy(), own.b.copy(), own.A.copy()
            target, index = (W[:, i], column) if column < 3 else (b, i) if column == 3 else (A[i], column - 4)
            target[index] += h
            up = normal(W, b, A)
            target[index] -= 2 * h
            np.testing.assert_allclose(T[:, place], (up - normal(W, b, A)) / (2 * h), atol=1e-6)


@pytest.mark.parametrize(("linear", "robust"), [(False, True), (True, False)])
def test_covariances_and_predictions_of_weighted_rows_of_unequal_sizes(linear, robust, seed):
    """(J̃ᵀJ̃)⁻¹ M (J̃ᵀJ̃)⁻¹ with J̃ = √w J/s; f(x) within Student's quantile of its own error, a new row's noise beside it."""
    net, X, Y, w = far_rows("tanh", linear, seed)
    result = inference(net, X, Y, bias=True, offset=True, sample_weight=w, robust=robust)
    model, (n, m) = Model(True, linear, True), Y.shape
    form = StandardForm.of(result.network, wl.samples.open(X, Y, sample_weight=w), model)
    s, stacked = form.scaled.scale, Stacked.of(result.network, model)
    r = result.network.predict(X) - Y
    p = 2 * (3 + m) + m * (1 + 2 * linear)
    assert (result.n_parameters, result._degrees) == (p, n * m - p)
    S = (w[:, None] * r).T @ r
    np.testing.assert_allclose(result.squares, n / w.sum() * S, rtol=1e-9)
    np.testing.assert_allclose(result.noise_covariance, n / w.sum() * S / (n - p / m), rtol=1e-9)
    assert result.noise_std == pytest.approx(np.sqrt(np.trace(result.noise_covariance) / m), rel=1e-12)
    assert result.rss == pytest.approx(np.trace(result.squares), rel=1e-12)
    mean = np.average(Y, axis=0, weights=w)
    assert result.tss == pytest.approx(n * np.average((Y - mean) ** 2, axis=0, weights=w).sum(), rel=1e-9)
    C = result.squares / n
    quadratic = np.einsum("no,op,np->n", r, np.linalg.inv(C), r) + m * np.log(2 * np.pi) + np.linalg.slogdet(C)[1]
    likely = -0.5 * n * np.average(quadratic, weights=w)
    assert result.log_likelihood == pytest.approx(likely, rel=1e-9)

    Z = form.standard(next(iter(wl.samples.open(X, Y).blocks(n)))).X
    J = np.asarray(form.stacked.linearized(Z)[0])  # coordinates of standard rows, back by the map of whole inverses
    H = np.einsum("n,nop,noq->pq", w, J, J)
    scores = w[:, None] * np.einsum("nop,no->np", J, r / s)
    noise = S / np.outer(s, s) / (n - p / m)
    L = form.information.half_inverse
    for found, meat in (
        (result.classical, np.einsum("n,nop,oq,nqr->pr", w, J, noise, J)),
        (result.sandwich, n * m / (n * m - p) * scores.T @ scores),
    ):
        C = np.linalg.solve(H, np.linalg.solve(H, meat).T)
        back = form.to_raw(form.information.half_inverse) @ np.linalg.pinv(L)
        wanted = back @ C @ back.T
        scale = np.sqrt(np.diagonal(wanted))
        np.testing.assert_allclose(found / np.outer(scale, scale), wanted / np.outer(scale, scale), atol=1e-5)
    C = result.sandwich if robust else result.classical
    near = np.asarray(stacked.linearized(X[:4])[0])
    variance = np.einsum("nop,pq,noq->no", near, C, near)
    for noisy_rows in (False, True):
        centre, low, high = result.predict(X[:4], 0.9, noise=noisy_rows)
        half = student.ppf(0.95, n * m - p) * np.sqrt(variance + noisy_rows * np.diagonal(result.noise_covariance))
        np.testing.assert_allclose(centre, result.network.predict(X[:4]), rtol=1e-9)
        np.testing.assert_allclose(high - centre, half, rtol=1e-4)
        np.testing.assert_allclose(centre - low, half, rtol=1e-4)


def test_rows_times_outputs_are_more_than_the_parameters():
    """2 (5 + 3) + 3 = 19 parameters: ten rows of three outputs are 30 equations and suffice, six are 18."""
    truth = teacher("tanh", 3, False)
    X, Y = noisy(truth, 10, 3, size=1e-4)
    result = inference(truth, X, Y, bias=True, offset=True)
    assert (result.n_rows, result.n_parameters) == (10, 19)
    assert np.isfinite(result.standard_errors).all()
    with pytest.raises(TooFewRowsError, match="18 equations leave no degrees of freedom for 19"):
        inference(truth, X[:6], Y[:6], bias=True, offset=True)
