"""Inference: agreement with independent routes, invariances, coverage."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.contract.awkward import Awkward

from weightlift import draw, samples, teachers
from weightlift.certificate import Inference, cramer_rao, inference
from weightlift.certificate.standard import Standard
from weightlift.errors import ArgumentError, ShapeError, SingularError, TooFewRowsError
from weightlift.evidence.gauge import Gauge
from weightlift.network import Network
from weightlift.refinement.gauss_newton import gauss_newton


def fit(truth: Network, X: np.ndarray, y: np.ndarray, free: str, weight: np.ndarray | None = None) -> Network:
    return gauss_newton(samples.open(X, y, sample_weight=weight), truth, free=free, tol=1e-13).network


def problem(activation: str, seed: int, *, offset: bool = False, n: int = 400) -> tuple[Network, np.ndarray, np.ndarray]:
    truth = teachers.biased(3, 2, bias=0.6, activation=activation, rng=seed)
    truth = replace(truth, c=0.4 if offset else 0.0)
    X, y = draw(truth, n, noise_std=0.1, rng=seed + 10)
    free = "Wb" + ("" if truth.activation.degree else "a") + ("c" if offset else "")
    return fit(truth, X, y, free), X, y


def test_linear_regression_in_disguise() -> None:
    """One linear unit is ordinary least squares: the same coefficients, errors and criteria, by another route."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.7 + 0.3 * rng.standard_normal(80) * (1 + np.abs(X[:, 0]))
    design = np.column_stack([X, np.ones(80)])
    beta, rss = np.linalg.lstsq(design, y, rcond=None)[:2]
    net = Network(beta[:3, None], [1.0], None, float(beta[3]), "linear")
    result = inference(net, X, y, bias=False, robust=False)
    inverse = np.linalg.inv(design.T @ design)
    variance = float(rss[0]) / 76
    np.testing.assert_allclose(result.classical, variance * inverse, rtol=1e-9)
    r = y - design @ beta
    np.testing.assert_allclose(result.sandwich, 80 / 76 * inverse @ (design.T * r**2) @ design @ inverse, rtol=1e-9)
    assert result.noise_std == pytest.approx(np.sqrt(variance))
    t = result.estimates / result.standard_errors
    np.testing.assert_allclose(result.p_values, 2 * stats.t.sf(np.abs(t), 76), rtol=1e-9)
    half = stats.t.ppf(0.95, 76) * result.standard_errors
    np.testing.assert_allclose(result.intervals(0.9).T, [result.estimates - half, result.estimates + half], rtol=1e-9)
    assert result.names == ("w[0,0]", "w[0,1]", "w[0,2]", "a[0]", "c")
    size = np.linalg.norm(beta[:3])
    assert abs(result.estimates[3]) == pytest.approx(size)
    slope = beta[:3] / size
    assert result.standard_errors[3] == pytest.approx(np.sqrt(slope @ (variance * inverse)[:3, :3] @ slope))
    assert result.standard_errors[4] == pytest.approx(np.sqrt(variance * inverse[3, 3]))
    centre, low, high = result.predict(X[:5])
    expected = np.sqrt(variance * (1 + (design[:5] @ inverse * design[:5]).sum(axis=1)))
    np.testing.assert_allclose((high - low) / 2 / 1.9916726, expected, rtol=1e-6)  # Student's 97.5 % point at 76
    np.testing.assert_allclose(centre, design[:5] @ beta, rtol=1e-12)
    assert result.log_likelihood == pytest.approx(-40 * (np.log(2 * np.pi * float(rss[0]) / 80) + 1))
    assert result.aic == pytest.approx(8 - 2 * result.log_likelihood)
    assert result.bic == pytest.approx(4 * np.log(80) - 2 * result.log_likelihood)


@pytest.mark.parametrize("activation", ["relu", "squared_relu"])
def test_scale_does_not_matter_and_units_keep_their_numbers(activation: str, seed: int) -> None:
    net, X, y = problem(activation, seed)
    q = float(net.activation.degree or 1.0)
    t = np.array([3.0, 0.2])
    same = replace(net, W=(net.W * t)[:, ::-1], b=(net.b * t)[::-1], a=(net.a / t**q)[::-1])
    one, other = inference(net, X, y), inference(same, X, y)
    order = np.r_[5:10, 0:5]
    np.testing.assert_allclose(one.estimates, other.estimates[order], rtol=1e-9)
    np.testing.assert_allclose(one.covariance, other.covariance[np.ix_(order, order)], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(one.predict(X[:7])[1], other.predict(X[:7])[1], rtol=1e-7)
    assert one.aic == pytest.approx(other.aic)


def test_directions_have_no_radial_error() -> None:
    """‖w‖ = 1: the covariance of w vanishes along w."""
    net, X, y = problem("relu", 1)
    result = inference(net, X, y)
    w = result.network.W[:, 0]
    C = result.covariance[:3, :3]
    assert w @ C @ w < 1e-12 * np.trace(C)


def test_weights_scale_out_and_halves_count_half() -> None:
    net, X, y = problem("tanh", 2)
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    one, other = (inference(net, X, y, sample_weight=v) for v in (w, 7.0 * w))
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-9)
    assert one.noise_std == pytest.approx(other.noise_std)
    assert one.aic == pytest.approx(other.aic)
    none = np.concatenate([w, np.zeros(9)])
    padded = inference(net, np.vstack([X, X[:9]]), np.append(y, np.full(9, 50.0)), sample_weight=none)
    assert padded.n_rows == len(X)
    np.testing.assert_allclose(padded.covariance, one.covariance, rtol=1e-9)


def test_robust_errors_follow_the_noise() -> None:
    """Noise that grows with x₁: the sandwich has the right size along w₁, the classical covariance too little."""
    truth = Network(np.array([[1.0], [0.5]]))
    classical, robust, estimates = [], [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((600, 2))
        y = truth.predict(X) + 0.2 * X[:, 0] ** 2 * rng.standard_normal(600)
        net = fit(truth, X, y, "W")
        result = inference(net, X, y)
        estimates.append((net.W * net.a)[0, 0])
        classical.append(result.classical[0, 0])
        robust.append(result.sandwich[0, 0])
    actual = np.var(estimates, ddof=1)
    assert np.mean(robust) == pytest.approx(actual, rel=0.5)
    assert np.mean(classical) < 0.5 * actual


def test_classical_and_robust_agree_for_homogeneous_noise() -> None:
    net, X, y = problem("relu", 3, n=20_000)
    result = inference(net, X, y)
    np.testing.assert_allclose(np.diagonal(result.sandwich), np.diagonal(result.classical), rtol=0.1)
    assert result.efficiency == pytest.approx(1.0, abs=0.1)


def test_cramer_rao_is_the_trace(seed: int) -> None:
    truth = teachers.conditioned(6, 2, activation="relu", rng=seed)
    X, _ = draw(truth, 300, rng=seed)
    J = np.column_stack([(X @ truth.W[:, i] > 0)[:, None] * X * truth.a[i] for i in range(2)])
    bound = cramer_rao(truth, X, 0.3)
    assert bound == pytest.approx(0.09 * np.trace(np.linalg.inv(J.T @ J)), rel=1e-9)
    assert cramer_rao(replace(truth, W=4 * truth.W, a=truth.a / 4), X, 0.3) == pytest.approx(bound, rel=1e-9)
    assert cramer_rao(truth, samples.open(X, X[:, 0]), 0.3) == pytest.approx(bound, rel=1e-12, abs=0)


def test_intervals_cover(seed: int) -> None:
    covered = [_covers(100 * seed + trial) for trial in range(20)]
    assert 0.88 <= np.mean(covered) <= 1.0  # 20 fits of 6 parameters: a standard deviation of 2 %, and their dependence


@pytest.mark.slow
def test_intervals_cover_over_a_thousand_fits() -> None:
    covered = [_covers(10_000 + trial) for trial in range(1000)]
    assert 0.93 <= np.mean(covered) <= 0.97


def _covers(seed: int) -> np.ndarray:
    """Whether the 95 % intervals of the units' parameters hold the truth's."""
    truth = teachers.conditioned(3, 2, activation="relu", signs=False, rng=5).canonical()
    X, y = draw(truth, 600, noise_std=0.1, rng=seed)
    result = inference(fit(truth, X, y, "W"), X, y)
    low, high = result.intervals().T
    target = np.concatenate([truth.W, truth.a[None, :]]).T.reshape(-1)
    return (low <= target) & (target <= high)


def test_prediction_intervals_cover() -> None:
    net, X, y = problem("tanh", 4, n=500)
    fresh = np.random.default_rng(9).standard_normal((4000, 3))
    truth = teachers.biased(3, 2, bias=0.6, activation="tanh", rng=4)
    z = truth.predict(fresh) + 0.1 * np.random.default_rng(10).standard_normal(4000)
    result = inference(net, X, y)
    _, low, high = result.predict(fresh, 0.9)
    assert np.mean((low <= z) & (z <= high)) == pytest.approx(0.9, abs=0.03)
    _, inner_low, inner_high = result.predict(fresh, 0.9, noise=False)
    assert (inner_high - inner_low < high - low).all()


def test_sources_and_namespaces_agree(as_xp: Any) -> None:
    net, X, y = problem("relu", 5)
    reference = inference(net, X, y)
    np.testing.assert_allclose(inference(net, as_xp(X), as_xp(y)).covariance, reference.covariance, rtol=1e-8, atol=1e-14)
    source = samples.open(X, y)
    assert isinstance(source, samples.ArraySamples)
    np.testing.assert_allclose(inference(net, Awkward(source)).covariance, reference.covariance, rtol=1e-8, atol=1e-14)


def test_inputs_of_any_form_give_the_same_intervals() -> None:
    net, X, y = problem("relu", 5)
    whole = np.rint(3 * X[:20]).astype(int)
    expected = inference(net, X, y).predict(whole.astype(float))
    for form in (whole, whole.tolist(), whole.astype(np.float32)):
        np.testing.assert_allclose(inference(net, X, y).predict(form), expected, rtol=1e-5 if form is not whole else 1e-14)
    bound = cramer_rao(net, np.rint(3 * X), 0.5)
    for form in (np.rint(3 * X).astype(int), np.rint(3 * X).tolist()):
        assert cramer_rao(net, form, 0.5) == pytest.approx(bound, rel=1e-12, abs=0)
    with pytest.raises(ShapeError, match="X must have shape"):
        cramer_rao(net, X[:, 0], 0.5)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_what_the_rows_leave_open_has_an_infinite_error(size: float) -> None:
    """A column twice: its two weights are open, and everything else has the errors of the fit without the copy, at any size of
    the targets."""
    net, X, y = problem("tanh", 8)
    net, y = replace(net, a=size * net.a), size * y
    twice = np.column_stack([X, X[:, 2]])
    wide = Network(np.vstack([net.W[:2], 0.3 * net.W[2], 0.7 * net.W[2]]), net.a, net.b, net.c, "tanh")
    one, other = inference(net, X, y), inference(wide, twice, y)
    loose = [name for name, error in zip(other.names, other.standard_errors, strict=True) if np.isinf(error)]
    assert loose == ["w[0,2]", "w[0,3]", "w[1,2]", "w[1,3]"]
    kept = [other.names.index(name) for name in one.names if name not in loose]
    same = [one.names.index(name) for name in one.names if name not in loose]
    expected = one.standard_errors[same] * np.sqrt((400 - one.n_parameters) / (400 - other.n_parameters))
    np.testing.assert_allclose(other.standard_errors[kept], expected, rtol=1e-6)
    np.testing.assert_array_equal(other.inflation, [other.inflation[0], other.inflation[1], np.inf, np.inf])
    text = str(other.summary(caveats=("Read this first.",)))
    first = text.splitlines()[:3]
    assert first[0] == "! Read this first."
    assert "do not determine w[0,2], w[0,3], w[1,2], w[1,3]" in first[1]
    assert "column 2 (∞), column 3 (∞)" in first[2]


def test_shares_of_variance_and_inflation_by_another_route(rng: np.random.Generator) -> None:
    net, X, y = problem("relu", 9)
    X = X @ np.array([[1.0, 0.9, 0.0], [0.0, 0.2, 0.0], [0.0, 0.0, 3.0]])
    result = inference(net, X, y, bias=True)
    r = y - net.predict(X)
    assert result.r2 == pytest.approx(1 - np.sum(r**2) / np.sum((y - y.mean()) ** 2))
    assert result.adjusted_r2 == pytest.approx(1 - (r @ r / (400 - 8)) / y.var(ddof=1))
    for j in range(3):
        rest = np.column_stack([np.delete(X, j, axis=1), np.ones(400)])
        left = X[:, j] - rest @ np.linalg.lstsq(rest, X[:, j], rcond=None)[0]
        assert result.inflation[j] == pytest.approx(np.sum((X[:, j] - X[:, j].mean()) ** 2) / (left @ left))
    weight = rng.integers(1, 4, size=400)
    copied = inference(net, np.repeat(X, weight, axis=0), np.repeat(y, weight), bias=True)
    np.testing.assert_allclose(inference(net, X, y, sample_weight=weight, bias=True).inflation, copied.inflation, rtol=1e-9)


def test_shares_of_variance_of_several_outputs(seed: int) -> None:
    """n m equations, of which each output's mean takes one: both sums over their degrees of freedom."""
    truth = teachers.several(teachers.biased(3, 2, bias=0.6, activation="tanh", rng=seed), 2, rng=seed)
    X, Y = draw(truth, 60, noise_std=0.3, rng=seed)
    result = inference(truth, X, Y)
    rss, tss = np.sum((Y - truth.predict(X)) ** 2), np.sum((Y - Y.mean(axis=0)) ** 2)
    p = 2 * (3 + 1 + 2)
    assert result.n_parameters == p
    assert result.r2 == pytest.approx(1 - rss / tss)
    assert result.adjusted_r2 == pytest.approx(1 - (rss / (120 - p)) / (tss / 118))


def test_arguments_are_checked() -> None:
    net, X, y = problem("relu", 7)
    with pytest.raises(TooFewRowsError, match="degrees of freedom"):
        inference(net, X[:8], y[:8])
    with pytest.raises(SingularError, match="determine"):
        cramer_rao(replace(net, W=net.W[:, [0, 0]], b=net.b[[0, 0]]), X, 0.1)
    with pytest.raises(ShapeError, match="inputs"):
        inference(net, X[:, :2], y)
    with pytest.raises(ArgumentError, match="level"):
        _result(net, X, y).intervals(95.0)
    with pytest.raises(ShapeError, match="shape"):
        _result(net, X, y).predict(X[:, :2])
    with pytest.raises(ArgumentError, match="noise_std"):
        cramer_rao(net, X, -1.0)


def _result(net: Network, X: np.ndarray, y: np.ndarray) -> Inference:
    return inference(net, X, y)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_coordinates_come_back_from_standard_inputs(rng, activation):
    """θ = T θ̃ for every unit, w = w̃/s and b = b̃ − ⟨w, m⟩, and covariances with it."""
    X = rng.standard_normal((50, 2)) * [3.0, 0.2] + [10.0, -4.0]
    net = Network(rng.standard_normal((2, 2)), [1.0, -1.0], rng.standard_normal(2), activation=activation)
    standard = Standard.of(samples.open(X, net.predict(X)), bias=True)
    assert np.all(standard.mean != 0)
    raw, judged = (Gauge.of(n, bias=True, offset=False) for n in (net, standard.network(net)))
    for i in range(2):
        np.testing.assert_allclose(standard.unit(raw.unit_size) @ judged.unit(i)[0], raw.unit(i)[0], rtol=1e-12)
    np.testing.assert_allclose(standard.units(judged.theta[:, None], raw.unit_size, 2)[:, 0], raw.theta, rtol=1e-11)


def test_the_bound_of_one_input_and_weights_far_from_one() -> None:
    """σ² Σ 1/H of one input: H the two by two matrix of (w, a), whatever the targets are."""
    X = 1e3 * np.random.default_rng(0).standard_normal((50, 1))
    net = Network([[2e-3]], [0.7], activation="tanh")
    z = X[:, 0] * 2e-3
    J = np.column_stack([0.7 * X[:, 0] / np.cosh(z) ** 2, np.tanh(z)])
    expected = 0.3**2 * np.trace(np.linalg.inv(J.T @ J))
    assert cramer_rao(net, X, 0.3) == pytest.approx(expected, rel=1e-9)


def test_open_parameters_beyond_eight_are_counted() -> None:
    """A column twice, of five units without biases: ten weights are open."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    X[:, 2] = X[:, 1]
    net = Network(rng.standard_normal((3, 5)), activation="tanh")
    result = inference(net, X, net.predict(X) + 0.1 * rng.standard_normal(200), bias=False, offset=False)
    assert result.open is not None
    assert [name for name, loose in zip(result.names, result.open, strict=True) if loose] == [
        f"w[{i},{j}]" for i in range(5) for j in (1, 2)
    ]
    (said, *_) = result.remarks()
    assert said.startswith(
        "The rows do not determine w[0,1], w[0,2], w[1,1], w[1,2], w[2,1], w[2,2], w[3,1], w[3,2] and 2 more;"
    )
