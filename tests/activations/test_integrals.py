"""Gaussian integrals: closed forms, Stein's formula and quadrature against each other and against 30 digits.

Where a coefficient m_k changes sign with the offset b no relative accuracy can hold: since ∂m_k/∂b = m_{k+1}/σ, rounding
b and σz alone changes it by eps (|b|/σ + 1) |m_{k+1}|. Tolerances are 1e-12 |m_k| plus 8 times that.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from tests import catalogue
from tests.activations.integrals import ALL, pairs
from tests.conftest import optional

from weightlift import activations
from weightlift.activations.quadrature import Quadrature
from weightlift.errors import ArgumentError, NotFiniteError

EPS = np.finfo(float).eps
SMOOTH = [activations.get(name) for name in catalogue.SMOOTH]
ENTIRE = [phi for phi in catalogue.ENTRIES if phi.polynomial]


def tolerance(values, scale, offset, relative=1e-12):
    """For the orders 0 … K from values of the orders 0 … K+1."""
    return relative * np.abs(values[:-1]) + 8 * EPS * (1 + np.abs(offset) / scale) * np.abs(values[1:])


def exact_functions(mp, parameters):
    def piecewise(left, right):
        return lambda u: sum(c * u**j for j, c in enumerate(right if u > 0 else left))

    leak = mp.mpf(parameters.get("slope", 0))
    alpha = mp.mpf(parameters.get("alpha", 1))
    coefficients = parameters.get("coefficients", [0])
    return {
        "relu": piecewise([0, 0], [0, 1]),
        "leaky_relu": piecewise([0, leak], [0, 1]),
        "squared_relu": piecewise([0, 0, 0], [0, 0, 1]),
        "absolute": abs,
        "linear": lambda u: u,
        "quadratic": lambda u: u * u,
        "polynomial": piecewise(coefficients, coefficients),
        "sigmoid": lambda u: 1 / (1 + mp.exp(-u)),
        "tanh": mp.tanh,
        "erf": mp.erf,
        "softplus": lambda u: mp.log1p(mp.exp(u)),
        "gelu": lambda u: u * mp.ncdf(u),
        "silu": lambda u: u / (1 + mp.exp(-u)),
        "elu": lambda u: u if u > 0 else alpha * mp.expm1(u),
        "sine": mp.sin,
        "tanh(2.5x)": lambda u: mp.tanh(mp.mpf(2.5) * u),
        "squared_relu(1.5x)": piecewise([0, 0, 0], [0, 0, mp.mpf(2.25)]),
    }


def exact_nodes(mp, activation, scale, offset):
    """Nodes and weights for N(0, 1): panels split at the kink, else equispaced (error e^{−2π·distance of the poles/step})."""
    scale, offset = mp.mpf(scale), mp.mpf(offset)
    if activation.kinks:
        from mpmath.calculus.quadrature import GaussLegendre

        legendre = GaussLegendre(mp).calc_nodes(4, mp.prec)  # 24 nodes: exact to degree 47
        kink = min(max(-offset / scale, mp.mpf(-16)), mp.mpf(16))
        edges = sorted([mp.mpf(i) for i in range(-16, 17, 2)] + [kink])
        rule = [((a + b) / 2 + (b - a) / 2 * x, (b - a) / 2 * w) for a, b in itertools.pairwise(edges) for x, w in legendre]
    else:
        factor = mp.mpf(dict(activation.parameters).get("factor", 1))
        step = min(mp.mpf(1) / 8, mp.mpf("0.15") / (scale * factor))
        reach = int(14.5 / step)
        rule = [(i * step, step) for i in range(-reach, reach + 1)]
    return [(z, w * mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)) for z, w in rule]


def exact_hermites(mp, activation, max_order, scale, offset):
    f = exact_functions(mp, dict(activation.parameters))[activation.name]
    totals = [mp.mpf(0)] * (max_order + 1)
    for z, w in exact_nodes(mp, activation, scale, offset):
        term = w * f(mp.mpf(scale) * z + mp.mpf(offset))
        previous, current = mp.mpf(0), mp.mpf(1)
        for k in range(max_order + 1):
            totals[k] += term * current
            previous, current = current, z * current - k * previous
    return np.array([float(total) for total in totals])


@pytest.mark.parametrize("activation", ALL, ids=catalogue.name)
def test_hermites_to_twelve_digits(activation, rng):
    mpmath = optional("mpmath")
    (scale,), (offset,) = pairs(rng, 1)
    with mpmath.workdps(30):
        expected = exact_hermites(mpmath.mp, activation, 13, scale, offset)
    found = activation.hermites(12, scale, offset)
    noise = 1e-25 * np.max(np.abs(expected)) if activation in ENTIRE else 0.0  # orders above the degree are 0
    assert np.all(np.abs(found - expected[:-1]) <= tolerance(expected, scale, offset) + noise)


@pytest.mark.parametrize(("scale", "offset"), [(0.1, -3.0), (0.1, 3.0), (0.1, 0.5), (10.0, -3.0), (0.03, 0.9)])
@pytest.mark.parametrize(
    "activation",
    [activations.get(name) for name in ("relu", "squared_relu", "tanh", "gelu", "silu", "elu", "sine")],
    ids=catalogue.name,
)
def test_extreme_scales_to_twelve_digits(activation, scale, offset):
    """β = ±30: ReLU's mean is 1e-200 and keeps its digits. σ = 0.03: tanh's order 12 is 1e-12 and keeps its digits."""
    mpmath = optional("mpmath")
    if abs(offset) / scale > 15 and activation.degree:
        beta = offset / scale
        with mpmath.workdps(60):
            b = mpmath.mpf(beta)
            ramp = b * mpmath.ncdf(b) + mpmath.npdf(b)
            square = (b * b + 1) * mpmath.ncdf(b) + b * mpmath.npdf(b)
            expected = scale * ramp if activation is activations.relu else scale**2 * square
        assert abs(activation.hermite(0, scale, offset) / float(expected) - 1) < 1e-12
        return
    with mpmath.workdps(30):
        expected = exact_hermites(mpmath.mp, activation, 13, scale, offset)
    found = activation.hermites(12, scale, offset)
    digits = 1e-25 * max(1.0, np.max(np.abs(expected)))  # of the reference
    assert np.all(np.abs(found - expected[:-1]) <= tolerance(expected, scale, offset) + digits)


@pytest.mark.parametrize(("scale", "orders"), [(0.9, [24, 50]), (1.9, [50, 100]), (3.9, [100, 200])])
def test_high_orders_keep_their_digits(scale, orders):
    """Coefficients from 1e-10 to 1e-4 of the first, which the direct integral would know to 1e-16 absolutely."""
    mpmath = optional("mpmath")
    found = activations.sigmoid.hermite_normalized(orders[-1], scale, 0.4)
    with mpmath.workdps(40):
        exact = exact_hermites(mpmath.mp, activations.sigmoid, orders[-1], scale, 0.4)
        expected = {k: float(exact[k] / mpmath.sqrt(mpmath.factorial(k))) for k in orders}
    for k in orders:
        assert found[k] == pytest.approx(expected[k], rel=1e-12, abs=0)


@pytest.mark.parametrize("activation", SMOOTH, ids=catalogue.name)
@pytest.mark.parametrize("scale", [0.2, 1.0, 12.0])
def test_derivative_integrals_to_twelve_digits(activation, scale):
    """α_q, β_q and ρ of Property 3.2, by their definitions."""
    mpmath = optional("mpmath")
    with mpmath.workdps(30):
        mp = mpmath.mp
        slope = {
            "tanh": lambda u: mp.sech(u) ** 2,
            "sigmoid": lambda u: mp.sech(u / 2) ** 2 / 4,
            "erf": lambda u: 2 / mp.sqrt(mp.pi) * mp.exp(-u * u),
            "softplus": lambda u: 1 / (1 + mp.exp(-u)),
            "gelu": lambda u: mp.ncdf(u) + u * mp.npdf(u),
            "silu": lambda u: (1 + u / (1 + mp.exp(u))) / (1 + mp.exp(-u)),
            "sine": mp.cos,
        }[activation.name]
        sums = np.array([mp.mpf(0)] * 8)
        for z, w in exact_nodes(mp, activation, scale, 0.0):
            d = slope(mp.mpf(scale) * z)
            sums += w * np.array([d, d * z, d * z**2, d * z**3, d * d, d * d * z, d * d * z**2, d * d * z**3])
        a, b = sums[:4], sums[4:]
        rho = min(b[0] - a[0] ** 2 - a[1] ** 2, b[2] - a[1] ** 2 - a[2] ** 2, a[0] * a[2] - a[1] ** 2)
        for q in range(4):
            assert abs(activation.alpha(q, scale) - float(a[q])) <= 1e-12 * max(abs(float(a[q])), 1e-3)
            assert abs(activation.beta(q, scale) - float(b[q])) <= 1e-12 * max(abs(float(b[q])), 1e-3)
        assert abs(activation.rho(scale) - float(rho)) <= 1e-12 * abs(rho) + 1e-28  # the sine's vanishes at σ = 1 and ∞


@pytest.mark.parametrize("activation", ALL, ids=catalogue.name)
def test_derivatives_in_offset_and_scale(activation, rng):
    """∂m_k/∂b = m_{k+1}/σ and σ ∂m_k/∂σ = m_{k+2} + k m_k; in logarithmic steps of 1e-3, to O(h⁴) by extrapolation."""
    scale, offset = rng.uniform(0.5, 3.0, size=20), rng.uniform(-2.0, 2.0, size=20)
    m = activation.hermites(10, scale, offset)
    k = np.arange(9)[:, None]

    def slope(f):
        h = 1e-3
        return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)

    size = np.max(np.abs(m), axis=0)
    in_offset = slope(lambda h: activation.hermites(8, scale, offset + h * scale))
    assert np.all(np.abs(in_offset - m[1:10]) <= 1e-8 * size)
    in_scale = slope(lambda h: activation.hermites(8, scale * math.exp(h), offset))
    assert np.all(np.abs(in_scale - m[2:11] - k * m[:9]) <= 1e-8 * size)


def test_parseval(rng):
    """Σ_k (E φ h_k)² = E φ², and E φ² is known: tanh² = 1 − tanh′, s² = s − s′, |u|² = u², relu² = squared_relu."""
    scale, offset = rng.uniform(0.2, 1.0, size=10), rng.uniform(-2, 2, size=10)
    tanh = activations.tanh.hermite_normalized(200, scale / 2, offset)
    assert np.allclose(np.sum(tanh**2, axis=0), 1 - tanh[1] / (scale / 2), rtol=1e-13, atol=0)
    sigmoid = activations.sigmoid.hermite_normalized(200, scale, offset)
    assert np.allclose(np.sum(sigmoid**2, axis=0), sigmoid[0] - sigmoid[1] / scale, rtol=1e-13, atol=0)
    erf = activations.erf.hermite_normalized(200, scale, 0.0)  # E erf(σz)² = (2/π) arcsin(2σ²/(1+2σ²))
    assert np.allclose(np.sum(erf**2, axis=0), 2 / np.pi * np.arcsin(2 * scale**2 / (1 + 2 * scale**2)), rtol=1e-13, atol=0)
    absolute = activations.absolute.hermite_normalized(2000, scale, offset)  # tail Σ_{k>K} k^{−5/2} ≈ K^{−3/2}
    assert np.allclose(np.sum(absolute**2, axis=0), scale**2 + offset**2, rtol=3e-5, atol=0)
    relu = activations.relu.hermite_normalized(2000, scale, offset)
    assert np.allclose(np.sum(relu**2, axis=0), activations.squared_relu.hermite(0, scale, offset), rtol=1e-3, atol=0)


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
def test_table_of_moments(scale):
    """[zhong2017, Def. 5.1] in closed form, with c = 1/√(2π) and r = √(2/π)."""
    c, r, s = 1 / math.sqrt(2 * math.pi), math.sqrt(2 / math.pi), scale
    leak = 0.2
    t = 1 + 2 * s**2
    g = 2 / math.sqrt(math.pi)
    table = {
        activations.relu: [c * s, s / 2, c * s, 0, -c * s],
        activations.leaky_relu(leak): [
            (1 - leak) * c * s,
            (1 + leak) * s / 2,
            (1 - leak) * c * s,
            0,
            -(1 - leak) * c * s,
        ],
        activations.squared_relu: [s**2 / 2, r * s**2, s**2, r * s**2, 0],
        activations.absolute: [2 * c * s, 0, 2 * c * s, 0, -2 * c * s],
        activations.polynomial([0, 0, 0, 1]): [0, 3 * s**3, 0, 6 * s**3, 0],
        activations.erf: [0, g * s * t**-0.5, 0, -2 * g * s**3 * t**-1.5, 0],
        activations.linear: [0, s, 0, 0, 0],
        activations.quadratic: [s**2, 0, 2 * s**2, 0, 0],
    }
    for activation, m in table.items():
        assert np.allclose([activation.m(j, s) for j in range(5)], m, rtol=1e-14, atol=0)
        gamma = [m[0], m[1], m[2] + m[0], m[3] + 3 * m[1], m[4] + 6 * m[2] + 3 * m[0]]
        assert np.allclose([activation.gamma(j, s) for j in range(5)], gamma, rtol=1e-14, atol=0)


@pytest.mark.parametrize("activation", ALL, ids=catalogue.name)
def test_vanishing_moments_are_exact_zeros(activation):
    """At b = 0 the reflection φ(−z) = s φ(z) + p(z) fixes every second order; its zeros are zeros, not 1e-17."""
    m = activation.hermites(9, np.array([0.2, 1.0, 7.0]))
    if activation.parity == "odd":
        assert np.all(m[0::2] == 0)
    if activation.parity == "even":
        assert np.all(m[1::2] == 0)
    if activation.name in ("relu", "leaky_relu", "softplus", "gelu", "silu"):
        assert np.all(m[3::2] == 0)
    if activation.name == "sigmoid":
        assert np.all(m[0] == 0.5)
        assert np.all(m[2::2] == 0)
    assert not np.any(np.signbit(m) & (m == 0))
    scale = np.array([0.2, 1.0, 7.0])
    if activation.parity == "odd" or activation.name == "sigmoid":  # φ′ is even
        assert np.all(activation.alpha(1, scale) == 0)
        assert np.all(activation.beta(3, scale) == 0)
    if activation.parity == "even":
        assert np.all(activation.alpha(2, scale) == 0)
        assert np.all(activation.beta(1, scale) == 0)
    if activation.name in ("relu", "softplus", "gelu", "silu"):
        assert np.all(activation.alpha(0, scale) == 0.5)


def test_gamma_by_its_definition(rng):
    """γ_j(σ) = E φ(σz) zʲ; E z₊^{j+1} for ReLU, high j included."""
    scale = rng.uniform(0.1, 5.0, size=5)
    for j in range(13):
        half_moment = 2 ** ((j - 1) / 2) * math.gamma(j / 2 + 1) / math.sqrt(math.pi)
        assert np.allclose(activations.relu.gamma(j, scale), scale * half_moment, rtol=1e-12, atol=0)
    rule = Quadrature(activations.tanh.value, activations.tanh.derivative, ())
    for j in (1, 3, 5, 7):
        odd = Quadrature(lambda u, j=j: np.tanh(scale[0] * u) * u**j, rule.derivative, ())
        expected = odd.hermites(0, np.ones(1), np.zeros(1))[0, 0]
        assert activations.tanh.gamma(j, scale[0]) == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize("scale", [0.01, 0.5, 1.0, 6.0])
def test_table_of_rho(scale):
    """[zhong2017, Property 3.2] in closed form; negative for the square, zero for the line: both fail the property."""
    s, leak = scale, 0.2
    relu = 0.25 - 1 / (2 * math.pi)
    assert activations.relu.rho(s) == pytest.approx(relu, rel=1e-12, abs=0)
    assert activations.leaky_relu(leak).rho(s) == pytest.approx((1 - leak) ** 2 * relu, rel=1e-12, abs=0)
    assert activations.squared_relu.rho(s) == pytest.approx((4 / math.pi - 1) * s**2, rel=1e-12, abs=0)
    assert activations.linear.rho(s) == 0.0
    assert activations.quadratic.rho(s) == pytest.approx(-4 * s**2, rel=1e-14, abs=0)
    assert activations.absolute.rho(s) == pytest.approx(-2 / math.pi, rel=1e-14, abs=0)  # α = (0, √(2/π), 0)
    mpmath = optional("mpmath")
    with mpmath.workdps(30):
        x = mpmath.mpf(s) ** 2
        terms = [(1 + 4 * x) ** -0.5 - 1 / (1 + 2 * x), (1 + 4 * x) ** -1.5 - (1 + 2 * x) ** -3, (1 + 2 * x) ** -2]
        erf = float(4 / mpmath.pi * min(terms))
    assert activations.erf.rho(s) == pytest.approx(erf, rel=1e-12, abs=0)


def test_published_values():
    assert activations.tanh.rho() == pytest.approx(0.0492, abs=5e-5)
    assert activations.sigmoid.rho() == pytest.approx(0.00214, abs=5e-6)


def test_ratio_of_moments_decreases_to_minus_one():
    """m₃/m₁ falls strictly from 0 to −1: what makes scales of tanh, sigmoid and erf identifiable from two moments."""
    scale = 10.0 ** np.linspace(-6, 6, 200)
    for name in ("tanh", "sigmoid", "erf"):
        activation = activations.get(name)
        ratio = activation.m(3, scale) / activation.m(1, scale)
        assert np.all(np.diff(ratio[scale < 1e3]) < 0)
        assert -1e-11 < ratio[0] < 0
        assert abs(ratio[-1] + 1) < 1e-11


@pytest.mark.parametrize("activation", ALL, ids=catalogue.name)
def test_scale_zero(activation):
    m = activation.hermites(3, 0.0, np.array([-1.5, 0.0, 0.7]))
    assert np.array_equal(m[0], activation(np.array([-1.5, 0.0, 0.7])))
    assert np.all(m[1:] == 0)
    slope = activation.derivative(np.zeros(1))[0]
    assert activation.alpha(2, 0.0) == slope
    assert activation.beta(0, 0.0) == slope**2
    assert activation.alpha(1, 0.0) == 0.0


@pytest.mark.parametrize("activation", ALL, ids=catalogue.name)
def test_tiny_and_huge_scales(activation):
    """m_k → σᵏ φ⁽ᵏ⁾(b) as σ → 0 (away from the kink); nothing overflows for σ, b up to 1e60."""
    b = 0.7
    m = activation.hermites(2, 1e-7, b)
    expected = [activation(b), 1e-7 * activation.derivative(np.array([b]))[0]]
    assert np.allclose(m[:2], expected, rtol=1e-12, atol=0)
    second = activation.second_derivative(np.array([b]))[0]
    assert m[2] == pytest.approx(1e-14 * second, rel=1e-9, abs=1e-300)
    assert np.all(np.isfinite(activation.hermites(6, [1e60, 1e-60, 1e-300], [[0.3], [-1e60], [1e-60]])))


def test_shapes(rng):
    scale, offset = rng.uniform(0.5, 2.0, size=(4, 1)), rng.normal(size=3)
    tanh = activations.tanh
    assert tanh.hermites(5, scale, offset).shape == (6, 4, 3)
    assert tanh.hermite(5, scale, offset).shape == (4, 3)
    assert tanh.hermite(5, 1.0).shape == ()
    assert tanh.hermites(2, np.ones((0, 2))).shape == (3, 0, 2)
    assert tanh.rho(scale).shape == tanh.alpha(1, scale).shape == tanh.beta(1, scale).shape == (4, 1)
    assert tanh.hermite(3, scale, offset)[2, 1] == pytest.approx(
        float(tanh.hermite(3, scale[2, 0], offset[1])), rel=1e-15, abs=0
    )
    assert np.array_equal(tanh.hermites(3, scale, offset)[3], tanh.hermite(3, scale, offset))


def test_high_orders_do_not_overflow():
    normalized = activations.relu.hermite_normalized(400, 1.3, [0.4, 25.0, 0.0])
    assert np.all(np.isfinite(normalized))
    assert np.all(normalized[3::2, 2] == 0)
    for activation in ALL:
        assert np.all(np.isfinite(activation.hermite_normalized(310, 0.8)))
        if activation.closed_form is not None:
            found = activation.closed_form(200, 1.3, [0.4, 1.0])
            assert np.allclose(found, activation.hermite(200, 1.3, [0.4, 1.0]), rtol=1e-13, atol=0)
    m = activations.relu.hermites(200, 1.3, 0.4)
    assert np.all(np.isfinite(m))
    root = math.isqrt(math.factorial(200))
    assert m[200] == pytest.approx(float(normalized[200, 0]) * root, rel=1e-14, abs=0)
    with pytest.raises(ArgumentError, match="hermite_normalized"):
        activations.relu.hermite(400)


@pytest.mark.parametrize(
    ("arguments", "error", "word"),
    [
        ((-1,), ArgumentError, "order"),
        ((1.5,), ArgumentError, "order"),
        ((2, -1.0), ArgumentError, "scale"),
        ((2, np.nan), NotFiniteError, "scale"),
        ((2, 1.0, np.inf), NotFiniteError, "offset"),
        ((2, 1.0, 1j), NotFiniteError, "offset"),
        ((2, "wide"), ArgumentError, "scale"),
    ],
)
def test_bad_arguments(arguments, error, word):
    with pytest.raises(error, match=word):
        activations.tanh.hermite(*arguments)
