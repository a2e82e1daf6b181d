"""Polynomial φ: the tensor of the leading terms decides independent weights; what it leaves open is shown as a rival."""

from __future__ import annotations

import numpy as np
import pytest
from tests.rivals.instances import examined, outcomes

import weightlift as wl
from weightlift import activations
from weightlift.evidence.gauge import Gauge
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.rivals import Outcome
from weightlift.rivals.polynomial import _independent, centred, coefficients, examine_polynomial

CUBICS = [[0.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0], [0.3, 1.0, 0.5, 1.0], [0.0, 0.0, 1.0, 0.0, 0.5]]


def network(s: list[float], seed: int, *, d: int = 5, k: int = 4, bias: bool = False) -> wl.Network:
    rng = np.random.default_rng(seed)
    b, W = rng.normal(size=k) if bias else None, rng.normal(size=(d, k)) / np.sqrt(d)
    return wl.Network(W, a=rng.uniform(0.5, 1.5, k), b=b, activation=activations.polynomial(s))


@pytest.mark.parametrize("s", CUBICS)
@pytest.mark.parametrize("seed", [0, 1])
def test_independent_weights_are_exact(s: list[float], seed: int) -> None:
    truth = network(s, seed)
    X, y = wl.draw(truth, 200, rng=seed)
    certificate = wl.certify(truth, X, y)
    assert certificate.status is wl.Status.EXACT, str(certificate)
    assert certificate.proved


@pytest.mark.parametrize("s", CUBICS[:3])
def test_no_start_ends_exactly_at_other_units(s: list[float]) -> None:
    """By brute force: whatever fits from a random start is the truth."""
    truth = network(s, 3, d=4, k=2)
    X, y = wl.draw(truth, 120, rng=0)
    rows, exact = wl.samples.open(X, y), 0
    for seed in range(20):
        start = wl.Network(np.random.default_rng(seed).normal(size=(4, 2)), a=truth.a, activation=truth.activation)
        found = gauss_newton(rows, start, free="Wa" if truth.activation.degree is None else "W", iterations=60).network
        if np.mean((found.predict(X) - y) ** 2) < 1e-20 * np.mean(y**2):
            assert wl.match(found, truth).max_error < 1e-6
            exact += 1
    assert exact > 2


def test_dependent_weights_and_few_rows_are_not_proved() -> None:
    truth = network(CUBICS[1], 0)
    wide = network(CUBICS[1], 0, d=3, k=4)
    X, y = wl.draw(wide, 300, rng=0)
    assert wl.certify(wide, X, y).status is not wl.Status.EXACT
    assert Outcome.UNEXAMINED in outcomes(examined(wide, X, bias=False))
    X, y = wl.draw(truth, 20, rng=0)  # p = 24
    assert Outcome.UNEXAMINED in outcomes(examined(truth, X, bias=False))


def test_degrees_one_and_two_mix() -> None:
    for name in ("linear", "quadratic"):
        net = wl.Network(np.random.default_rng(0).normal(size=(4, 2)), activation=name)
        X, _ = wl.draw(net, 100, rng=0)
        assert Outcome.FOUND in outcomes(examined(net, X, bias=False))


def test_a_shifted_power_has_a_scale_and_a_shifted_symmetry_a_mirror() -> None:
    """(z − 1)³ with free biases: t, 1 − t (1 − b), t^−3 a. (z − 1)² + (z − 1)⁴: w → −w, b → 2 − b."""
    X = np.random.default_rng(0).normal(size=(200, 4))
    cube, even = [-1.0, 3.0, -3.0, 1.0], [2.0, -6.0, 7.0, -4.0, 1.0]
    for s, t in ((cube, 1.7), (even, -1.0)):
        net = network(s, 2, d=4, k=3, bias=True)
        q = len(s) - 1
        rival = wl.Network(t * net.W, a=net.a / t**q, b=1 - t * (1 - net.b), activation=net.activation)
        np.testing.assert_allclose(rival.predict(X), net.predict(X), rtol=1e-10, atol=1e-10)
        assert Outcome.FOUND in outcomes(examined(net, X, bias=True))
        centre, r = centred(coefficients(net.activation))
        assert centre == pytest.approx(1.0)
        assert r[q - 1] == 0.0
        fixed = wl.Network(net.W, a=net.a, activation=net.activation)  # b = 0 is fixed: neither is in the class
        assert Outcome.FOUND not in outcomes(examined(fixed, X, bias=False))


def test_dependent_weights_with_a_linear_term_have_a_curve_of_rivals() -> None:
    """[mondelli2019, eq. (2)]: Σ ρᵢ wᵢ = 0, and free output weights: aᵢ (1 − tᵢ⁻²) = τ ρᵢ leaves z + z³ as it is."""
    truth = wl.teachers.centered_gaussian(8, 6, activation=activations.polynomial(CUBICS[1]), rng=0)
    rho = np.linalg.svd(truth.W)[2][-1]
    t = (1 - 0.5 * rho / truth.a) ** -0.5
    rival = wl.Network(t * truth.W, a=truth.a / t**3, activation=truth.activation)
    X, y = wl.draw(truth, 400, rng=1)
    np.testing.assert_allclose(rival.predict(X), y, rtol=1e-11, atol=1e-11)
    assert wl.match(rival, truth).max_error > 0.05
    found = wl.recover(X, y, n_units=6, activation=truth.activation, max_work=3000)
    assert found.certificate.status is not wl.Status.EXACT
    assert np.mean((found.network.predict(X) - y) ** 2) < 1e-12 * np.mean(y**2)


def test_coefficients_follow_the_factor() -> None:
    phi = activations.scaled(activations.polynomial([1.0, 0.0, 3.0, 4.0]), 0.5)
    np.testing.assert_allclose(coefficients(phi), [1.0, 0.0, 0.75, 0.5])


def test_the_slope_turns_at_the_roots_of_the_second_derivative() -> None:
    assert activations.polynomial([0.0, 1.0, 3.0, 1.0]).turns == (-1.0,)  # φ″ = 6 + 6z
    assert activations.polynomial([0.0, 0.0, -6.0, 0.0, 1.0]).turns == pytest.approx((-1.0, 1.0))
    assert activations.polynomial([1.0, 2.0]).turns == ()
    assert activations.scaled(activations.polynomial([0.0, 1.0, 3.0, 1.0]), 2.0).turns == (-0.5,)


def test_directions_are_independent_whatever_their_lengths(seed: int) -> None:
    W = np.random.default_rng(seed).normal(size=(4, 3))
    lengths = np.array([1.0, 1e-20, 1e20])
    assert _independent(wl.Network(W * lengths))
    W[:, 2] = W[:, 0] - 2 * W[:, 1]
    assert not _independent(wl.Network(W * lengths))
    assert not _independent(wl.Network(W.T))
    assert not _independent(wl.Network(W * [1.0, 0.0, 1.0]))


def test_one_row_more_than_parameters_leaves_no_other_function() -> None:
    gauge = Gauge.of(network(CUBICS[2], 0), bias=False, offset=False)
    p = gauge.size
    few, enough = (examine_polynomial(rows, gauge) for rows in (p, p + 1))
    assert (few.outcome, few.number, few.limit) == (Outcome.UNEXAMINED, p, p + 1)
    assert (enough.outcome, enough.number, enough.limit) == (Outcome.IMPOSSIBLE, p + 1, p + 1)


@pytest.mark.parametrize(
    ("constant", "offset", "outcome"),
    [(0.0, False, Outcome.FOUND), (0.5, False, Outcome.UNEXAMINED), (0.5, True, Outcome.FOUND)],
)
def test_a_cubic_mirrored_at_its_centre_changes_by_a_constant(constant: float, offset: bool, outcome: Outcome) -> None:
    """(z − 1)³ + 2(z − 1) + r₀ is odd about 1 up to 2r₀, which an offset takes up, or units together."""
    s = np.polynomial.Polynomial([constant, 2.0, 0.0, 1.0])(np.polynomial.Polynomial([-1.0, 1.0])).coef.tolist()
    gauge = Gauge.of(network(s, 0, bias=True), bias=True, offset=offset)
    assert examine_polynomial(1000, gauge).outcome is outcome


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_coefficients_about_the_centre_at_any_size(size: float, seed: int) -> None:
    """φ(m + u) by its values, and rounding errors set to zero: here all orders but the highest and the first."""
    m = np.random.default_rng(seed).uniform(0.5, 3.0)
    s = np.polynomial.Polynomial([0.0, 0.7, 0.0, 0.0, 2.0])(np.polynomial.Polynomial([-m, 1.0])).coef
    centre, r = centred(size * s)
    assert centre == pytest.approx(m, rel=1e-12)
    np.testing.assert_allclose(r, size * np.array([0.0, 0.7, 0.0, 0.0, 2.0]), rtol=1e-6)
    assert (r != 0).tolist() == [False, True, False, False, True]


def test_a_power_about_its_centre_has_units_of_any_scale() -> None:
    """(z − 1)³ + 1/2: whatever the constant, not two mirrored units alone; about the centre 0 it is called 0."""
    for s, centre in (([-0.5, 3.0, -3.0, 1.0], "1"), ([0.5, 0.0, 0.0, 1.0], "0")):
        found = examine_polynomial(1000, Gauge.of(network(s, 0, bias=True), bias=True, offset=False))
        assert found.outcome is Outcome.FOUND
        assert f"a power about {centre}, up to a constant" in found.sentence


def test_directions_nearly_parallel_are_dependent_by_the_ratio_of_singular_values() -> None:
    """√2 and √2 · share · 1e-9."""
    for share, independent in ((0.8, False), (1.25, True)):
        assert _independent(wl.Network([[1.0, 1.0], [0.0, share * 2e-9]])) == independent


def test_one_unit_is_independent() -> None:
    assert _independent(wl.Network([[1e-9], [2e-9]]))
