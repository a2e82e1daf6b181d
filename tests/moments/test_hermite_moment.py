"""Moments by rows are those of whole tensors, and their expectations those of samples."""

import numpy as np
import pytest

from weightlift import hermite, moments, samples
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
        "M5(I,B,alpha,alpha,alpha)": moments.MomentProduct(V, 3, alpha),
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
