"""Moments: contractions against whole tensors, expectations against 10⁶ samples, control variates."""

import numpy as np
import pytest

from weightlift import hermite, moments, samples
from weightlift.errors import ActivationError
from weightlift.moments.control_variates import PolynomialRegression
from weightlift.namespaces import to_numpy
from weightlift.network import Network

D, K = 4, 3
TRUTHS = [("relu", 0.7), ("squared_relu", 0.0), ("tanh", 0.5), ("sigmoid", 0.0), ("leaky_relu", 0.3)]


def truth(activation, bias, rng):
    return Network(rng.normal(size=(D, K)), rng.normal(size=K), bias * rng.normal(size=K), 0.4, activation)


def statistics(rng):
    V, alpha = np.linalg.qr(rng.normal(size=(D, 2)))[0], rng.normal(size=D)
    return {
        "M1": moments.HermiteMoment(D, 1),
        "M2": moments.HermiteMoment(D, 2),
        "M3(V,V,V)": moments.HermiteMoment(D, 3, V),
        "M4(V,V,V,V)": moments.HermiteMoment(D, 4, V),
        "M3(I,I,alpha)": moments.HermiteMoment(D, 2, None, 1, alpha),
        "M4(V,V,V,alpha)": moments.HermiteMoment(D, 3, V, 1, alpha),
        "M4(I,I,alpha,alpha)": moments.HermiteMoment(D, 2, None, 2, alpha),
        "M2(I,B)": moments.MomentProduct(V),
        "M3(I,B,alpha)": moments.MomentProduct(V, 1, alpha),
        "M4(I,B,alpha,alpha)": moments.MomentProduct(V, 2, alpha),
        "M3(I,V,V)": moments.UnfoldedMoment(V),
        "directional": moments.DirectionalMoments(V, (0, 1, 2, 3, 4)),
        "linear regression": PolynomialRegression(D, None),
        "quadratic regression": PolynomialRegression(D, V),
    }


NAMES = list(statistics(np.random.default_rng(0)))


@pytest.mark.parametrize("name", NAMES)
def test_rows_agree_with_whole_tensors(name, rng, as_xp):
    """Σ w y He_k(x) contracted slot by slot, for weighted rows in every namespace."""
    X, y, w = rng.normal(size=(30, D)), rng.normal(size=30), rng.uniform(0.5, 2, size=30)
    statistic = statistics(rng)[name]
    source = samples.open(as_xp(X), as_xp(y), sample_weight=as_xp(w))
    value = to_numpy(source.fold(statistic)[0])
    if isinstance(statistic, moments.HermiteMoment):
        slots = [np.eye(D) if statistic.V is None else statistic.V] * statistic.free + [statistic.alpha] * statistic.filled
    elif isinstance(statistic, moments.MomentProduct):
        slots = [np.eye(D), statistic.B] + [statistic.alpha] * statistic.filled
    elif isinstance(statistic, moments.UnfoldedMoment):
        slots = [np.eye(D), statistic.V, statistic.V]
    elif isinstance(statistic, moments.DirectionalMoments):
        value = to_numpy(source.fold(statistic)[4])
        slots = None
    else:
        F = np.hstack([np.ones((30, 1)), X if statistic.V is None else X @ statistic.V])
        if statistic.V is not None:
            S = X @ statistic.V
            F = np.hstack([F, S[:, [0]] * S[:, [0]], S[:, [0]] * S[:, [1]], S[:, [1]] * S[:, [1]]])
        np.testing.assert_allclose(value, (F * w[:, None]).T @ F, rtol=1e-11)
        return
    if slots is None:
        T = np.tensordot(w * y, hermite.tensor(4, X), axes=1)
        expected = np.einsum("abcd,ai,bi,ci,di->i", T, *[statistic.U] * 4)
    else:
        expected = np.tensordot(w * y, hermite.tensor(len(slots), X), axes=1)
        for M in slots:
            expected = np.tensordot(expected, M, axes=(0, 0))
    np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("activation", "bias"), TRUTHS)
def test_expectations_agree_with_a_million_samples(activation, bias):
    """Every statistic's exact value lies within five standard errors of its mean over 10⁶ rows."""
    rng = np.random.default_rng(11)
    net = truth(activation, bias, rng)
    cases = statistics(rng)
    batches = []
    for _ in range(20):
        X = rng.normal(size=(50_000, D))
        source = samples.open(X, net.predict(X))
        batches.append({name: [to_numpy(s) for s in source.mean(statistic)] for name, statistic in cases.items()})
    for name, statistic in cases.items():
        exact = samples.population(net).mean(statistic)
        for i, value in enumerate(exact):
            values = np.stack([batch[name][i] for batch in batches])
            error = values.std(axis=0, ddof=1) / np.sqrt(len(batches))
            # the standard error itself is estimated from 20 batches: t with 19 degrees of freedom, 6.5 ≈ 5σ two-sided
            assert np.all(np.abs(values.mean(axis=0) - value) <= 6.5 * error + 1e-12), (name, i)


@pytest.mark.parametrize("implicit", [False, True])
def test_linear_residual_is_orthogonal_to_one_and_x(rng, implicit):
    X = rng.normal(size=(300, 6)) @ np.diag([1, 2, 1, 0.5, 1, 1]) + 0.3
    y = X[:, 0] ** 2 + 3 * X[:, 1] + 1
    source = samples.open(X, y, sample_weight=rng.uniform(0.5, 1.5, 300))
    residual = moments.remove_linear(source, implicit=implicit)
    block = next(residual.blocks(300))
    F = np.hstack([np.ones((300, 1)), X])
    np.testing.assert_allclose(F.T @ (block.w * block.y), 0, atol=1e-7 * np.abs(F.T @ y).max())


def test_quadratic_residual_removes_quadratics_inside_v(rng):
    X = rng.normal(size=(300, 6))
    V = np.linalg.qr(rng.normal(size=(6, 2)))[0]
    S = X @ V
    y = 1 + S[:, 0] - S[:, 1] ** 2 + 3 * S[:, 0] * S[:, 1]
    residual = moments.remove_quadratic(samples.open(X, y), V)
    np.testing.assert_allclose(next(residual.blocks(300)).y, 0, atol=1e-11)
    M1, M2 = moments.quadratic_fit(samples.open(X, y), V).moments
    np.testing.assert_allclose(M1, [1, 0], atol=1e-11)  # E q s
    np.testing.assert_allclose(M2, [[0, 3], [3, -2]], atol=1e-11)  # E q (ssᵀ − I)


def test_control_variates_leave_the_population_alone(rng):
    net = truth("relu", 0.0, rng)
    V = np.linalg.qr(net.W)[0]
    source = samples.population(net)
    cleaned = moments.remove_quadratic(moments.remove_linear(source, implicit=True), V)
    statistic = moments.HermiteMoment(D, 4, V)
    np.testing.assert_array_equal(cleaned.mean(statistic)[0], source.mean(statistic)[0])


def test_control_variates_lower_the_variance():
    rng = np.random.default_rng(0)
    net = Network(rng.normal(size=(10, 3)), activation="relu")
    exact = samples.population(net).mean(moments.HermiteMoment(10, 2))[0]
    errors = []
    for _ in range(10):
        X = rng.normal(size=(2000, 10))
        source = samples.open(X, net.predict(X))
        raw = source.mean(moments.HermiteMoment(10, 2))[0]
        residual = moments.remove_linear(source).mean(moments.HermiteMoment(10, 2))[0]
        errors.append([np.linalg.norm(raw - exact), np.linalg.norm(residual - exact)])
    raw, residual = np.median(errors, axis=0)
    assert residual < 0.5 * raw


@pytest.mark.parametrize(
    ("activation", "j2", "j3", "odd", "even"),
    [
        ("relu", 2, 4, 1, 2),
        ("leaky_relu", 2, 4, 1, 2),
        ("squared_relu", 2, 3, 1, 2),
        ("absolute", 2, 4, None, 2),
        ("tanh", 3, 3, 1, None),
        ("sigmoid", 3, 3, 1, None),
        ("erf", 3, 3, 1, None),
    ],
)
def test_first_nonzero_moments(activation, j2, j3, odd, even):
    """[zhong2017, Def. 5.4] for the activations of Theorem 3.5."""
    from weightlift import activations

    choice = moments.choose_moments(activations.get(activation))
    assert (choice.j2, choice.j3, choice.odd, choice.even) == (j2, j3, odd, even)


@pytest.mark.parametrize("activation", ["linear", "quadratic"])
def test_activations_without_third_and_fourth_moments_are_refused(activation):
    from weightlift import activations

    with pytest.raises(ActivationError, match=activation):
        moments.choose_moments(activations.get(activation))
