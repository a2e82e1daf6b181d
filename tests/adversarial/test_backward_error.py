"""Backward errors in LAPACK's manner: a residual over what rounding alone must leave, ε n ‖A‖, is below 30 or the test fails.

Sizes 1, 2, 3, 5, 10, 50; condition numbers of the weights up to 10⁴, of least squares 10⁶, where the data can tell the units
apart (of a third-order tensor the least component is κ⁻³ of the whole: beyond ε^{-1/3} ≈ 1.6·10⁵ it is rounding), and up to
10¹² where they need not.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weightlift as wl
from weightlift import samples
from weightlift.decomposition import DecompositionStatus, compose, decompose
from weightlift.errors import ArgumentError
from weightlift.refinement import gauss_newton
from weightlift.refinement.gauss_newton import RefinementEnding
from weightlift.refinement.variable_projection import Model, variable_projection
from weightlift.subspace import SecondMoment, leading_subspace

EPSILON, RATIO = float(np.finfo(float).eps), 30.0
SIZES = (1, 2, 3, 5, 10, 50)
MODEST, EXTREME = (1.0, 1e2, 1e4), (1e6, 1e9, 1e12)


def conditioned(n: int, k: int, kappa: float, seed: int) -> np.ndarray:
    """(n, k) unit columns whose singular values fall from 1 to about 1/κ."""
    rng = np.random.default_rng([n, k, seed])
    U, V = np.linalg.qr(rng.normal(size=(n, k)))[0], np.linalg.qr(rng.normal(size=(k, k)))[0]
    W = U * np.geomspace(1.0, 1.0 / kappa if k > 1 else 1.0, k) @ V.T
    return np.asarray(W / np.linalg.norm(W, axis=0))


def tensor(n: int, k: int, kappa: float, seed: int, order: int = 3) -> np.ndarray:
    rng = np.random.default_rng([n, k, seed, 1])
    return compose(rng.uniform(0.5, 2.0, k) * rng.choice([-1.0, 1.0], k), conditioned(n, k, kappa, seed), order)


@pytest.mark.parametrize("kappa", [*MODEST, *EXTREME])
@pytest.mark.parametrize("n", SIZES)
def test_leading_subspaces(n: int, kappa: float) -> None:
    """‖VᵀV − I‖ and ‖P V − V (VᵀP V)‖ over ε n, of the exact second moment, relative to its terms, which may cancel."""
    k = max(1, min(n - 1, 8))
    W, signs = conditioned(n, k, kappa, 0), np.random.default_rng(n).choice([-1.0, 1.0], k)
    rows, terms = (samples.population(wl.Network(W, a, activation="squared_relu")) for a in (signs, np.ones(k)))
    P, size = SecondMoment().matrix(rows), np.linalg.norm(SecondMoment().matrix(terms), 2)
    for method in ("dense", "lanczos"):
        V = leading_subspace(rows, SecondMoment(), k, method=method).V
        assert np.linalg.norm(V.T @ V - np.eye(k)) < RATIO * EPSILON * n
        left = np.linalg.norm(P @ V - V @ (V.T @ P @ V)) / size
        assert left < (RATIO * EPSILON * n if method == "dense" else 1e-9)  # Lanczos ends at its tolerance


@pytest.mark.parametrize("kappa", MODEST)
@pytest.mark.parametrize("n", SIZES)
def test_decompositions_of_exact_tensors(n: int, kappa: float, seed: int) -> None:
    """‖T − Σ λ u⊗u⊗u‖/‖T‖ over ε n."""
    k = min(n, 8)
    T = tensor(n, k, kappa, seed)
    found = decompose(T, k)
    assert found.status is DecompositionStatus.EXACT
    assert np.linalg.norm(compose(found.weights, found.factors, 3) - T) < RATIO * EPSILON * n * np.linalg.norm(T)


@pytest.mark.parametrize("kappa", EXTREME)
@pytest.mark.parametrize("n", [2, 3, 5])
def test_components_below_rounding_are_not_claimed(n: int, kappa: float, seed: int) -> None:
    """Refused, or not called exact, or exact to the residual that the word promises."""
    T = tensor(n, n, kappa, seed)
    try:
        found = decompose(T, n)
    except ArgumentError:
        return
    left = np.linalg.norm(compose(found.weights, found.factors, 3) - T) / np.linalg.norm(T)
    assert found.status is not DecompositionStatus.EXACT or left <= 1e-12


@pytest.mark.parametrize("kappa", [*MODEST, 1e6])
@pytest.mark.parametrize("n", SIZES)
def test_least_squares(n: int, kappa: float) -> None:
    """‖r‖/‖y‖ over ε n, from near the truth, by both least-squares stages.

    Their normal equations square the condition, and with output weights that are solved for they end up to 10⁵ times above
    rounding; the last step, of all parameters together, gives the digits back.
    """
    k = max(1, min(n, 5))
    W, rng = conditioned(n, k, kappa, 0), np.random.default_rng(n)
    truth = wl.Network(W, rng.uniform(0.5, 2.0, k) * rng.choice([-1.0, 1.0], k))
    X, y = wl.draw(truth, 20 * n * k + 40, rng=1)
    rows, start = samples.open(X, y), wl.Network(W + 1e-3 * rng.normal(size=W.shape) / kappa, truth.a)
    fits = {
        "Gauss–Newton": gauss_newton(rows, start, free="Wa", unit=True, iterations=80),
        "variable projection": variable_projection(rows, start, Model(False, False, False), iterations=80, unit=n % 2 == 0),
    }
    for name, fit in fits.items():
        assert fit.endings == (RefinementEnding.EXACT,)
        assert np.linalg.norm(fit.network.predict(X) - y) < RATIO * EPSILON * n * np.linalg.norm(y), name


# Properties: what a change of the data must do to the answer

SEEDS = st.integers(0, 2**16)
FEW = settings(max_examples=8)
NAMES = st.sampled_from(["relu", "tanh", "leaky_relu"])


def problem(seed: int, activation: str, n: int = 120) -> tuple[wl.Network, np.ndarray, np.ndarray]:
    truth = wl.teachers.conditioned(4, 2, activation=activation, rng=seed)
    return truth, *wl.draw(truth, n, rng=seed + 1)


def agree(found: wl.Recovery, expected: wl.Network) -> None:
    assert found.certificate.status is wl.Status.EXACT
    assert found.network.equivalent(expected, tol=1e-9)


@FEW
@given(SEEDS, NAMES)
def test_rotated_inputs_have_rotated_weights(seed: int, activation: str) -> None:
    truth, X, y = problem(seed, activation)
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4)))[0]
    agree(wl.recover(X @ Q, y, n_units=2, activation=activation), wl.Network(Q.T @ truth.W, truth.a, activation=activation))


@FEW
@given(SEEDS, NAMES, st.floats(-6.0, 6.0), st.floats(-6.0, 6.0))
def test_scaled_rows_have_scaled_units(seed: int, activation: str, inputs: float, targets: float) -> None:
    truth, X, y = problem(seed, activation)
    s, t = 10.0**inputs, 10.0**targets
    expected = wl.Network(truth.W / s, t * truth.a, activation=activation)
    agree(wl.recover(s * X, t * y, n_units=2, activation=activation), expected)


@FEW
@given(SEEDS, NAMES, st.permutations(range(4)), st.lists(st.sampled_from([-1.0, 1.0]), min_size=4, max_size=4))
def test_permuted_and_reflected_columns(seed: int, activation: str, order: list[int], signs: list[float]) -> None:
    truth, X, y = problem(seed, activation)
    s = np.array(signs)
    network = wl.Network((truth.W * s[:, None])[order], truth.a, activation=activation)
    agree(wl.recover((X * s)[:, order], y, n_units=2, activation=activation), network)


@FEW
@given(SEEDS, NAMES)
def test_minus_the_target_is_minus_the_network(seed: int, activation: str) -> None:
    truth, X, y = problem(seed, activation)
    agree(wl.recover(X, -y, n_units=2, activation=activation), wl.Network(truth.W, -truth.a, activation=activation))


@FEW
@given(SEEDS, NAMES)
def test_a_row_of_weight_two_is_the_row_twice(seed: int, activation: str) -> None:
    """With noise, so that weights matter; statuses and evidence agree, and the networks to 1e-7 of their scatter."""
    truth, X, y = problem(seed, activation)
    rng = np.random.default_rng(seed)
    y, counts = y + 0.05 * rng.normal(size=len(y)), rng.integers(1, 4, size=len(y))
    start = samples.open(X, y, sample_weight=counts.astype(float)), samples.open(np.repeat(X, counts, 0), np.repeat(y, counts))
    options = {"free": "Wa", "unit": activation != "tanh", "iterations": 60, "tol": 0.0}
    left, right = (gauss_newton(rows, truth, **options).network for rows in start)  # type: ignore[arg-type]
    assert left.equivalent(right, tol=1e-7)
    for a, b in zip(*(rows.mean(samples.Covariance(4)) for rows in start), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@FEW
@given(SEEDS, st.integers(3, 4))
def test_a_rotated_tensor_has_rotated_factors(seed: int, order: int) -> None:
    rng = np.random.default_rng(seed)
    U, c, Q = rng.normal(size=(4, 3)), rng.uniform(0.5, 2.0, 3), np.linalg.qr(rng.normal(size=(4, 4)))[0]
    plain, turned = decompose(compose(c, U, order), 3), decompose(compose(c, Q @ U, order), 3)
    np.testing.assert_allclose(np.abs(plain.weights), np.abs(turned.weights), rtol=1e-8)
    cosines = np.abs((Q @ plain.factors).T @ turned.factors)
    np.testing.assert_allclose(cosines.max(axis=1), 1.0, rtol=1e-8)
