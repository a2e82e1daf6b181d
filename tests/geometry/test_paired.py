"""Networks close to each other: the sum by pairs keeps the digits that the quadratic form loses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from tests.catalogue import SMOOTH
from tests.geometry.networks import ALL, EPS, moved, network, size

from weightlift.geometry import distance
from weightlift.geometry.kernels import products
from weightlift.geometry.l2 import _difference
from weightlift.geometry.paired import paired_square
from weightlift.geometry.units import ROUNDING
from weightlift.network import Network


@pytest.mark.parametrize("activation", ALL, ids=str)
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_sum_by_pairs_is_the_quadratic_form(activation: Any, bias: float, rng: np.random.Generator) -> None:
    """Two arrangements of one sum, at distances where both are accurate; also for unequal numbers of units."""
    f = network(rng, activation, d=5, k=4, bias=bias)
    for g in (
        moved(f, 0.02, rng, bias=bias),
        network(rng, activation, d=5, k=2, bias=bias),
        network(rng, activation, d=5, k=6),
    ):
        units, a, constant, n = _difference(f, g)
        P = products(units, units)
        plain = P.form(a, a)[0] + 2 * constant * float(a @ units.hermites(0)[0]) + constant**2
        paired, error = paired_square(units, a, n, constant, P.values, np.zeros(f.n_inputs))
        assert paired == pytest.approx(plain, rel=0, abs=error + P.form(a, a)[1] + ROUNDING * size(f, g) ** 2)
        assert error < 1e-11 * size(f, g) ** 2


@pytest.mark.parametrize("activation", ALL, ids=str)
def test_nearly_parallel_units(activation: Any, rng: np.random.Generator) -> None:
    """Units of one network at angles of 1e-3 from each other, and mirrored: beyond the series of homogeneous φ."""
    w = rng.standard_normal((5, 1))
    W = np.hstack([w, w, -w, w]) + 1e-3 * rng.standard_normal((5, 4))
    f = Network(W, rng.standard_normal(4), rng.standard_normal(4), 0.2, activation)
    g = moved(f, 0.01, rng)
    units, a, constant, n = _difference(f, g)
    P = products(units, units)
    plain = P.form(a, a)[0] + 2 * constant * float(a @ units.hermites(0)[0]) + constant**2
    paired, error = paired_square(units, a, n, constant, P.values, np.zeros(f.n_inputs))
    assert paired == pytest.approx(plain, rel=0, abs=error + P.form(a, a)[1] + ROUNDING * size(f, g) ** 2)


@pytest.mark.parametrize("activation", ALL, ids=str)
def test_small_distances_are_proportional_to_the_step(activation: Any, rng: np.random.Generator) -> None:
    """‖f − f_e‖ = L e + O(e²): digits are lost to eps/e, not to eps/e²; L agrees with samples."""
    f = network(rng, activation, d=5, k=4)
    state = rng.bit_generator.state
    found, nets = {}, {}
    for step in (1e-6, 1e-8, 1e-10):
        rng.bit_generator.state = state
        nets[step] = moved(f, step, rng)
        found[step] = distance(f, nets[step])
        assert found[step].error < 4 * ROUNDING * size(f, nets[step])
    slope = found[1e-8].value / 1e-8
    bound = (found[1e-8].error / 1e-8) / slope
    assert found[1e-6].value / 1e-6 == pytest.approx(slope, rel=1e-5 + bound)
    assert found[1e-10].value / 1e-10 == pytest.approx(slope, rel=100 * bound)
    X = rng.standard_normal((50_000, 5))
    squares = ((f.predict(X) - nets[1e-6].predict(X)) / 1e-6) ** 2
    tolerance = 4.5 * squares.std() / math.sqrt(len(squares)) + 1e-6 * squares.mean()
    assert (found[1e-6].value / 1e-6) ** 2 == pytest.approx(squares.mean(), rel=0, abs=tolerance)


@pytest.mark.parametrize("angle", [0.3, 1e-2, 1e-4, 1e-7, 1e-10])
def test_a_unit_turned_by_an_angle(angle: float) -> None:
    """ReLU: 1 − cos θ + (θ cos θ − sin θ)/π; z|z|-part of the squared ReLU by its fourth derivative, 6 θ² to leading order."""
    d = [Network([[math.cos(t)], [math.sin(t)], [0.0]], activation="relu") for t in (0.0, angle)]
    bracket = -(angle**3) / 3 + angle**5 / 30 - angle**7 / 840 + angle**9 / 45360
    expected = math.sqrt(2 * math.sin(angle / 2) ** 2 + bracket / math.pi)
    found = distance(*d)
    assert abs(found.value - expected) <= found.error + 1e-11 * angle**2
    assert found.error < 1e-13


@pytest.mark.parametrize("step", [1e-2, 1e-5, 1e-9, 1e-12])
@pytest.mark.parametrize("b", [0.0, 0.8, -1.7, -6.0, -9.0])
def test_a_bias_moved(step: float, b: float) -> None:
    """ReLU, b to b + e: e² Φ(b) + ∫₀ᵉ (e−t)² p(b+t) dt."""
    w = [[0.6], [0.8]]
    found = distance(Network(w, b=[b]), Network(w, b=[b + step]))
    step = (b + step) - b
    inside = quad(lambda t: (1 - t) ** 2 * math.exp(-0.5 * (b + t * step) ** 2) / math.sqrt(2 * math.pi), 0, 1)[0]
    expected = step * math.sqrt(ndtr(b) + step * inside)
    assert abs(found.value - expected) <= found.error
    assert found.error < 1e-13 + (0.0 if b > -2 else 0.01 * step)


@pytest.mark.parametrize("activation", [*SMOOTH, "tanh(2.5x)"])
@pytest.mark.parametrize("step", [1e-1, 1e-3, 1e-7, 1e-11])
def test_parallel_smooth_units(activation: str, step: float, rng: np.random.Generator) -> None:
    """All weights along one direction: a one-dimensional integral, whose integrand is itself a small difference."""
    u = np.array([0.48, -0.6, 0.64])
    s, a, b = rng.uniform(0.5, 1.0, 3), rng.standard_normal(3), rng.standard_normal(3)
    f = Network(np.outer(u, s), a, b, 0.1, activation)
    g = Network(np.outer(u, s * (1 + step)), a * (1 - step), b + step, 0.1, activation)
    x = np.linspace(-12, 12, 4801)
    X = np.outer(x, u)
    squares = (f.predict(X) - g.predict(X)) ** 2
    expected = math.sqrt(float(np.sum(squares * np.exp(-0.5 * x * x))) / math.sqrt(2 * math.pi) * (x[1] - x[0]))
    found = distance(f, g)
    assert abs(found.value - expected) <= found.error + 4 * EPS * size(f, g)
    assert found.error < max(1e-12, 1e-10 * found.value)


def test_bounds_hold_for_erf(rng: np.random.Generator) -> None:
    """Against the arcsine formula, wherever that one is accurate."""
    for step in (1.0, 0.1, 1e-2, 1e-3):
        W = rng.standard_normal((4, 5))
        V = W + step * rng.standard_normal(W.shape)
        Z = np.hstack([W, V])
        M = Z.T @ Z
        G = 2 / np.pi * np.arcsin(2 * M / np.sqrt(np.outer(1 + 2 * np.diag(M), 1 + 2 * np.diag(M))))
        a = np.repeat([1.0, -1.0], 5)
        found = distance(Network(W, activation="erf"), Network(V, activation="erf"))
        expected = math.sqrt(a @ G @ a)
        assert abs(found.value - expected) <= found.error + 100 * EPS / expected
