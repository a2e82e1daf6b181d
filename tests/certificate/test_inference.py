"""Inference: agreement with independent routes, invariances, coverage."""

from __future__ import annotations

import builtins
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.contract.awkward import Awkward

from weightlift import draw, samples, teachers
from weightlift.certificate import Inference, cramer_rao, inference
from weightlift.errors import ArgumentError, ShapeError, SingularError, TooFewRowsError
from weightlift.evidence.gauge import Gauge
from weightlift.identifiability import count_parameters
from weightlift.network import Network
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.risk import Students


def fit(truth: Network, X: np.ndarray, y: np.ndarray, free: str, weight: np.ndarray | None = None) -> Network:
    return gauss_newton(samples.open(X, y, sample_weight=weight), truth, free=free, tol=1e-13).network


def problem(activation: str, seed: int, *, offset: bool = False, n: int = 400) -> tuple[Network, np.ndarray, np.ndarray]:
    truth = teachers.biased(3, 2, bias=0.6, activation=activation, rng=seed)
    truth = replace(truth, c=0.4 if offset else 0.0)
    X, y = draw(truth, n, noise_std=0.1, rng=seed + 10)
    free = "Wb" + ("" if truth.activation.degree else "a") + ("c" if offset else "")
    return fit(truth, X, y, free), X, y


@pytest.mark.parametrize("activation", ["relu", "squared_relu", "tanh", "sigmoid"])
@pytest.mark.parametrize("offset", [False, True])
def test_jacobian_is_the_derivative(activation: str, offset: bool, rng: np.random.Generator) -> None:
    truth = replace(teachers.biased(3, 2, activation=activation, rng=1), c=0.4 if offset else 0.0)
    gauge = Gauge.of(truth, bias=True, offset=offset)
    assert gauge.size == count_parameters(truth, bias=True, offset=offset)
    X = rng.standard_normal((50, 3))
    students = Students.of(gauge.network)
    J = gauge.jacobian(X, students.preactivations(X), students)
    step = 1e-6 * np.eye(gauge.size)
    up, down = gauge.perturbed(step), gauge.perturbed(-step)
    numerical = [(up.network(i).predict(X) - down.network(i).predict(X)) / 2e-6 for i in range(gauge.size)]
    smooth = np.abs(X @ gauge.network.W + gauge.network.b).min(axis=1) > 1e-4
    np.testing.assert_allclose(J[smooth], np.array(numerical).T[smooth], atol=1e-8)


@pytest.mark.parametrize("activation", ["relu", "squared_relu", "tanh"])
def test_normal_form_jacobian_is_the_derivative(activation: str) -> None:
    net = teachers.biased(4, 3, activation=activation, rng=2)
    gauge = Gauge.of(replace(net, W=net.W * np.array([0.5, 1.0, 2.0])), bias=True, offset=False)
    for i in range(3):
        theta, sign = gauge.unit(i)
        T = gauge.normal_form_jacobian(i)

        def normal(v: np.ndarray, sign: float = sign) -> np.ndarray:
            if gauge.free.a:
                return v
            length = np.linalg.norm(v[:4])
            return np.append(v / length, sign * length ** float(gauge.network.activation.degree or 1.0))

        steps = 1e-6 * np.eye(len(theta))
        numerical = np.array([(normal(theta + s) - normal(theta - s)) / 2e-6 for s in steps]).T
        np.testing.assert_allclose(T, numerical, atol=1e-8)


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
def test_scale_and_order_do_not_matter(activation: str, seed: int) -> None:
    net, X, y = problem(activation, seed)
    q = float(net.activation.degree or 1.0)
    t = np.array([3.0, 0.2])
    same = replace(net, W=(net.W * t)[:, ::-1], b=(net.b * t)[::-1], a=(net.a / t**q)[::-1])
    one, other = inference(net, X, y), inference(same, X, y)
    np.testing.assert_allclose(one.estimates, other.estimates, rtol=1e-9)
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-6, atol=1e-12)
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
    assert cramer_rao(truth, samples.open(X, X[:, 0]), 0.3) == pytest.approx(bound, rel=1e-12)


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
        assert cramer_rao(net, form, 0.5) == pytest.approx(bound, rel=1e-12)
    with pytest.raises(ShapeError, match="X must have shape"):
        cramer_rao(net, X[:, 0], 0.5)


def test_summary_says_everything_in_three_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    net, X, y = problem("relu", 6, offset=True)
    result = inference(net, X, y)
    table = result.summary(0.9)
    text, page = str(table), table._repr_html_()
    for word in (*result.names, "AIC", "BIC", "Noise std", "Rows", "400", "robust", "90 % low", "P>|z|"):
        assert word in text
        assert word.replace(">", "&gt;") in page
    assert "[1] " in text
    assert len({len(line) for line in text.splitlines() if line.startswith("=")}) == 1
    columns = table.columns()
    assert columns["parameter"] == list(result.names)
    np.testing.assert_array_equal(columns["estimate"], result.estimates)
    np.testing.assert_array_equal(columns["90 % low"], result.intervals(0.9)[:, 0])
    _without_pandas(monkeypatch)
    assert table.frame() == columns


def _without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def blocked(name: str, *rest: Any, **options: Any) -> Any:
        if name == "pandas":
            raise ImportError(name)
        return original(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", blocked)


def test_arguments_are_checked() -> None:
    net, X, y = problem("relu", 7)
    with pytest.raises(TooFewRowsError, match="degrees of freedom"):
        inference(net, X[:8], y[:8])
    with pytest.raises(SingularError, match="determine"):
        inference(replace(net, W=net.W[:, [0, 0]], b=net.b[[0, 0]]), X, y)
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
