"""Exact L² geometry: closed forms against series, quadrature and samples; symmetries; accuracy of small distances."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from tests.catalogue import HOMOGENEOUS as KINKED
from tests.catalogue import SMOOTH

from weightlift import activations
from weightlift.errors import ShapeError
from weightlift.geometry import Distance, distance, gram, inner, mean, norm
from weightlift.geometry.kernels import products
from weightlift.geometry.l2 import _difference
from weightlift.geometry.paired import paired_square
from weightlift.geometry.units import ROUNDING, Units
from weightlift.network import Network

EPS = np.finfo(float).eps
HOMOGENEOUS = [*KINKED, "linear", "quadratic"]
ALL = [*HOMOGENEOUS, *SMOOTH, activations.polynomial([0.5, -1.0, 0.0, 0.25])]


def network(rng: np.random.Generator, activation: Any, d: int = 4, k: int = 3, *, bias: float = 1.0) -> Network:
    W = rng.standard_normal((d, k))
    return Network(W, rng.standard_normal(k), bias * rng.standard_normal(k), rng.standard_normal(), activation)


def moved(net: Network, step: float, rng: np.random.Generator, *, bias: float = 1.0) -> Network:
    """Every parameter moved by `step` times a normal variable, units permuted."""
    order = rng.permutation(net.n_units)
    W, a, b = (p + step * rng.standard_normal(p.shape) * q for p, q in ((net.W, 1.0), (net.a, 1.0), (net.b, bias)))
    return Network(W[:, order], a[order], b[order], net.c + step, net.activation)


def size(*nets: Network) -> float:
    return sum(float(np.abs(net.a) @ Units.of(net.activation, net.W, net.b).sizes) + abs(net.c) for net in nets)


# --- the value -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("activation", ALL, ids=str)
def test_agrees_with_samples(activation: Any, rng: np.random.Generator) -> None:
    f, g = network(rng, activation), network(rng, activation, k=4)
    X = rng.standard_normal((100_000, 4))
    y, z = f.predict(X), g.predict(X)
    for exact, samples in (
        (distance(f, g).squared, (y - z) ** 2),
        (inner(f, g), y * z),
        (norm(f) ** 2, y**2),
        (mean(g), z),
    ):
        assert abs(samples.mean() - exact) < 4.5 * samples.std() / math.sqrt(len(samples))


@pytest.mark.parametrize("activation", ALL, ids=str)
def test_is_the_norm_of_the_difference(activation: Any, rng: np.random.Generator) -> None:
    """‖f − g‖² = ‖f‖² + ‖g‖² − 2 E f g, and f − g is itself a network."""
    f, g = network(rng, activation), network(rng, activation, k=5)
    both = Network(np.hstack([f.W, g.W]), np.concatenate([f.a, -g.a]), np.concatenate([f.b, g.b]), f.c - g.c, activation)
    tolerance = 2 * ROUNDING * size(f, g) ** 2
    assert distance(f, g).squared == pytest.approx(norm(f) ** 2 + norm(g) ** 2 - 2 * inner(f, g), rel=0, abs=tolerance)
    assert distance(f, g).squared == pytest.approx(norm(both) ** 2, rel=0, abs=tolerance)
    assert distance(f, g).value == pytest.approx(distance(g, f).value, rel=1e-13)


@pytest.mark.parametrize(("f", "g"), [("relu", "tanh"), ("relu", "leaky_relu"), ("sigmoid", "squared_relu"), ("erf", "tanh")])
def test_activations_may_differ(f: str, g: str, rng: np.random.Generator) -> None:
    left = network(rng, f)
    right = Network(left.W, left.a, left.b, 0.3, g)  # parallel units: the slowest series
    X = rng.standard_normal((100_000, 4))
    squares = (left.predict(X) - right.predict(X)) ** 2
    found = distance(left, right)
    assert abs(squares.mean() - found.squared) < 4.5 * squares.std() / math.sqrt(len(squares))
    assert found.error < 1e-8 * found.value


def test_known_values() -> None:
    e = np.array([[1.0], [0.0]])
    relu, mirrored = Network(e), Network(-e)
    assert float(distance(relu, mirrored)) == pytest.approx(1.0, abs=4 * EPS)  # E (x₊ − (−x)₊)² = E x²
    assert norm(relu) == pytest.approx(math.sqrt(0.5), abs=EPS)
    assert mean(relu) == pytest.approx(1 / math.sqrt(2 * math.pi), abs=EPS)
    assert inner(relu, Network([[0.0], [1.0]])) == pytest.approx(1 / (2 * math.pi), abs=EPS)
    assert norm(Network(e, activation="squared_relu")) == pytest.approx(math.sqrt(1.5), rel=2 * EPS)  # E x⁴ / 2
    assert norm(Network(e, c=2.0, activation="absolute")) ** 2 == pytest.approx(5 + 4 * math.sqrt(2 / math.pi))


def test_linear_and_quadratic_by_hand(rng: np.random.Generator) -> None:
    """Linear: ‖Δw‖² + Δ₀². Quadratic xᵀMx + vᵀx + t: 2‖M‖² + ‖v‖² + (tr M + t)²."""
    f, g = network(rng, "linear"), network(rng, "linear", k=2)
    w, t = f.W @ f.a - g.W @ g.a, f.a @ f.b + f.c - g.a @ g.b - g.c
    assert distance(f, g).squared == pytest.approx(w @ w + t**2)
    f, g = network(rng, "quadratic"), network(rng, "quadratic", k=2)
    M = (f.W * f.a) @ f.W.T - (g.W * g.a) @ g.W.T
    v = 2 * (f.W @ (f.a * f.b) - g.W @ (g.a * g.b))
    t = f.a @ f.b**2 + f.c - g.a @ g.b**2 - g.c
    assert distance(f, g).squared == pytest.approx(2 * np.sum(M * M) + v @ v + (np.trace(M) + t) ** 2)


# --- inner products of units -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "absolute", "squared_relu"])
@pytest.mark.parametrize("other", ["relu", "leaky_relu", "absolute", "squared_relu"])
def test_closed_form_equals_series(activation: str, other: str, rng: np.random.Generator) -> None:
    """Σ_k φ_k ψ_k rᵏ to k = 400; cosines below 0.9 leave 1e-18."""
    phi, psi = activations.get(activation), activations.get(other)
    W, V = rng.standard_normal((2, 6, 40))
    b, c = 1.5 * rng.standard_normal((2, 40))
    s, t = np.linalg.norm(W, axis=0), np.linalg.norm(V, axis=0)
    r = (W / s).T @ (V / t)
    F, G = phi.hermite_normalized(400, s, b), psi.hermite_normalized(400, t, c)
    series = np.zeros_like(r)
    for k in range(400, -1, -1):
        series = series * r + np.outer(F[k], G[k])
    moderate = np.abs(r) < 0.9
    assert moderate.sum() > 1000
    tolerance = ROUNDING * np.outer(Units.of(phi, W, b).sizes, Units.of(psi, V, c).sizes)
    assert np.all((np.abs(gram(phi, W, b, V, c, activation2=psi) - series) <= 2 * tolerance)[moderate])


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("r", [0.0, 0.6, -0.95, 1 - 1e-4, -1 + 1e-4, 1 - 1e-8, -1 + 1e-8, 1.0, -1.0])
@pytest.mark.parametrize(
    ("b", "c"), [(0.0, 0.0), (0.7, 0.7), (0.7, -0.7), (-1.1, 0.4), (0.0, -0.8), (0.3, 0.3 + 1e-6), (-2.5, -2.0)]
)
def test_closed_form_equals_quadrature(q: int, r: float, b: float, c: float) -> None:
    """E U₊^q V₊^q as one integral over U: given it, V is normal with mean c + r u and deviation s; r = ±1 and its vicinity."""
    s = math.sqrt((1 - r) * (1 + r))

    def given(m: float) -> float:
        if s == 0:
            return max(m, 0.0) ** q
        density = math.exp(-0.5 * (m / s) ** 2) / math.sqrt(2 * math.pi)
        return m * ndtr(m / s) + s * density if q == 1 else (m * m + s * s) * ndtr(m / s) + m * s * density

    def integrand(u: float) -> float:
        return math.exp(-0.5 * u * u) / math.sqrt(2 * math.pi) * (u + b) ** q * given(c + r * u)

    turn = -c / r if r else 0.0
    cuts = sorted({-b, *(min(max(turn + k * s, -b), 12.0) for k in (-30, -6, -2, 0, 2, 6, 30)), 12.0})
    expected = sum(quad(integrand, *ends, epsabs=1e-14, epsrel=1e-13)[0] for ends in itertools.pairwise(cuts))
    units = [Units(activations.get(["relu", "squared_relu"][q - 1]), np.array([[x], [y]]), np.ones(1), np.array([z]))
             for x, y, z in ((1.0, 0.0, b), (r, s, c))]  # fmt: skip
    scale = (1 + b * b) ** (q / 2) * (1 + c * c) ** (q / 2)
    assert products(*units).values[0, 0] == pytest.approx(expected, rel=0, abs=4e-13 * scale)


def test_erf_is_an_arcsine(rng: np.random.Generator) -> None:
    """E erf(u) erf(v) = (2/π) arcsin(2 E uv / ((1 + 2 E u²)(1 + 2 E v²))^½)."""
    W = rng.standard_normal((3, 12))
    M = W.T @ W
    expected = 2 / np.pi * np.arcsin(2 * M / np.sqrt(np.outer(1 + 2 * np.diag(M), 1 + 2 * np.diag(M))))
    np.testing.assert_allclose(gram("erf", W), expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(gram("erf", W, None, -W), -expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("activation", ALL, ids=str)
def test_gram_is_symmetric_positive_and_blocked(activation: Any, limits: Any) -> None:
    rng = np.random.default_rng(7)
    W, b = rng.standard_normal((3, 12)), rng.standard_normal(12)
    W[:, 3], W[:, 7], b[7] = 0.0, 2.0 * W[:, 5], -b[5]  # a constant unit, and a parallel pair
    G = gram(activation, W, b)
    assert np.array_equal(G, G.T)
    assert np.linalg.eigvalsh(G).min() > -1e-13 * np.trace(G)
    units, copy = (Units.of(activations.get(activation), W, b) for _ in range(2))
    tolerance = ROUNDING * np.outer(units.sizes, units.sizes)
    general = products(units, copy)  # does not know that they are the same
    tolerance[general.rows, general.columns] += 2 * general.cut
    assert np.all(np.abs(G - general.values) <= tolerance)
    limits("weightlift.geometry.kernels", block=64)
    assert np.all(np.abs(G - gram(activation, W, b)) <= tolerance)


# --- symmetries ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("activation", ALL, ids=str)
def test_rotation_changes_nothing(activation: Any, rng: np.random.Generator) -> None:
    f, g = network(rng, activation), network(rng, activation)
    Q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    turned = [Network(Q @ net.W, net.a, net.b, net.c, activation) for net in (f, g)]
    assert distance(*turned).value == pytest.approx(distance(f, g).value, rel=1e-12)


@pytest.mark.parametrize("activation", ALL, ids=str)
def test_permuted_units_are_at_distance_zero(activation: Any, rng: np.random.Generator) -> None:
    f = network(rng, activation, k=6)
    order = rng.permutation(6)
    assert distance(f, Network(f.W[:, order], f.a[order], f.b[order], f.c, activation)) == Distance(
        0.0, 0.0, "closed form" if f.activation.degree in (1, 2) else "Hermite series"
    )


@pytest.mark.parametrize("activation", ["relu", "absolute", "squared_relu", "tanh", "sigmoid", "erf"])
def test_symmetric_networks_are_at_distance_zero(activation: str, rng: np.random.Generator) -> None:
    """Scale of homogeneous φ, reflection of odd and even φ and of the sigmoid: zero to rounding, and said to be."""
    f = network(rng, activation, k=6)
    images = []
    if f.activation.degree:
        t = rng.uniform(0.3, 3.0, 6)
        images.append(Network(f.W * t, f.a / t**f.activation.degree, f.b * t, f.c, activation))
    if f.activation.reflection and len(f.activation.reflection[1]) < 2:
        s, p = f.activation.reflection
        c = f.c - s * sum(p) * f.a[:3].sum()
        flip = np.where(np.arange(6) < 3, -1.0, 1.0)
        images.append(Network(f.W * flip, np.where(flip < 0, s * f.a, f.a), f.b * flip, c, activation))
    assert images
    for image in images:
        found = distance(f, image)
        assert found.value <= found.error <= 4 * ROUNDING * size(f, image)


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "softplus", "squared_relu"])
def test_twins_are_at_distance_zero(activation: str, rng: np.random.Generator) -> None:
    """All units reflected where Σ a (w, b) = 0, for squares Σ a (w, b)(w, b)ᵀ = 0: one function  [awasthi2021, Claim 4.8]."""
    W, b, a = rng.standard_normal((4, 3)), rng.standard_normal(3), np.array([1.0, -2.0, 0.5])
    if activation == "squared_relu":
        turn = np.array([[0.6, -0.8], [0.8, 0.6]])
        Z = np.vstack([W, b])[:, :2]
        Z, a = np.hstack([Z, Z @ turn]), np.array([1.0, 1.0, -1.0, -1.0])
    else:
        Z = np.vstack([W, b])
        Z, a = np.hstack([Z, -(Z @ a)[:, None]]), np.append(a, 1.0)
    mirrored = -a if activation == "squared_relu" else a
    f, g = Network(Z[:-1], a, Z[-1], 0.2, activation), Network(-Z[:-1], mirrored, -Z[-1], 0.2, activation)
    X = rng.standard_normal((100, 4))
    np.testing.assert_allclose(f.predict(X), g.predict(X), atol=1e-13)
    found = distance(f, g)
    assert found.value <= found.error < 1e-12


def test_copies_and_constants() -> None:
    """A unit split in two, a unit of zero output weight, and w = 0 as part of c."""
    f = Network([[1.0], [2.0]], [3.0], [0.5], 1.0)
    split = Network([[1.0, 1.0, 5.0], [2.0, 2.0, 5.0]], [2.0, 1.0, 0.0], [0.5, 0.5, 1.0], 1.0)
    constant = Network([[1.0, 0.0], [2.0, 0.0]], [3.0, 2.0], [0.5, 0.25], 0.5)
    assert distance(f, split).value == 0.0
    assert distance(f, constant).value == 0.0
    only = [Network(np.zeros((2, 1)), b=[b]) for b in (2.0, 1.0)]
    assert distance(*only).value == 1.0
    assert (norm(only[0]), mean(only[0]), inner(*only)) == (2.0, 2.0, 2.0)


# --- networks close to each other ------------------------------------------------------------------------------------


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


def test_steep_units() -> None:
    """tanh(30 x): the series is long, so parallel units leave a tail, which is reported or replaced by samples."""
    rng = np.random.default_rng(3)
    f = network(rng, "tanh(30x)", d=3)
    for g in (network(rng, "tanh(30x)", d=3), moved(f, 0.05, rng)):
        found = distance(f, g)
        X = rng.standard_normal((200_000, 3))
        squares = (f.predict(X) - g.predict(X)) ** 2
        tolerance = 4.5 * squares.std() / math.sqrt(len(squares)) + 2 * found.value * found.error
        assert abs(found.squared - squares.mean()) < tolerance
        assert found.error < 0.02 * found.value


# --- a user's φ -----------------------------------------------------------------------------------------------------


def hard_tanh() -> activations.Activation:
    return activations.custom(
        "hard_tanh",
        lambda z: np.clip(z, -1.0, 1.0),
        lambda z: ((z > -1) & (z <= 1)).astype(float),
        kinks=(-1.0, 1.0),
        reflection=(-1, ()),
    )


def test_homogeneous_custom_activation(rng: np.random.Generator) -> None:
    """φ of degree 1 is a leaky ReLU, whatever its name: 1.5 z for z > 0, 0.25 |z| below."""
    phi = activations.custom(
        "bent", lambda z: np.where(z > 0, 1.5 * z, -0.25 * z), lambda z: np.where(z > 0, 1.5, -0.25), kinks=(0.0,), degree=1.0
    )
    f = network(rng, phi)
    leaky = Network(f.W, 1.5 * f.a, f.b, f.c, activations.leaky_relu(-0.25 / 1.5))
    assert distance(f, leaky).value <= distance(f, leaky).error < 1e-6
    for g in (network(rng, phi), moved(f, 1e-7, rng)):
        image = Network(g.W, 1.5 * g.a, g.b, g.c, leaky.activation)
        found, expected = distance(f, g), distance(leaky, image)
        assert abs(found.value - expected.value) <= found.error + expected.error
        assert found.error < 1e-10 * found.value + 1e-12


def test_kinked_custom_activation() -> None:
    """Far apart, the series settles; close together, samples with their error, the same for the same seed."""
    phi, rng = hard_tanh(), np.random.default_rng(4)
    f, X = network(rng, phi), rng.standard_normal((100_000, 4))
    for g, method in ((network(rng, phi), "Hermite series"), (moved(f, 1e-5, rng), "Monte Carlo")):
        found = distance(f, g)
        squares = (f.predict(X) - g.predict(X)) ** 2
        error = squares.std() / math.sqrt(len(squares)) / (2 * found.value)
        assert abs(math.sqrt(squares.mean()) - found.value) < 4.5 * error + found.error
        assert found.method == method
        assert 0 < found.error < 0.02 * found.value
        assert found == distance(f, g)
    assert distance(f, g, rng=1).value != found.value


def test_result_reads_well() -> None:
    found = distance(Network([[1.0]]), Network([[2.0]]))
    assert str(found) == f"{math.sqrt(0.5):.6g} ± {found.error:.1g} (closed form)"
    assert found.squared == pytest.approx(0.5)


def test_bad_input() -> None:
    f, g = Network(np.ones((2, 1))), Network(np.ones((3, 1)))
    for function in (distance, inner):
        with pytest.raises(ShapeError, match=r"f has 2 inputs and g has 3"):
            function(f, g)
    with pytest.raises(ShapeError, match=r"W must have shape"):
        gram("relu", np.ones(3))
    with pytest.raises(ShapeError, match=r"b must have shape"):
        gram("relu", np.ones((3, 2)), np.ones(3))
    with pytest.raises(ShapeError, match=r"W has 3 inputs, W2 has 2"):
        gram("relu", np.ones((3, 2)), None, np.ones((2, 2)))
