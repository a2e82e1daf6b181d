"""Distances, norms, means and inner products: samples, known values, symmetries, twins, a user's φ."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.geometry.networks import ALL, EPS, moved, network, size
from tests.identifiability.networks import AMBIGUOUS

from weightlift import activations
from weightlift.errors import ShapeError
from weightlift.geometry import Distance, distance, gram, inner, mean, norm
from weightlift.geometry.units import ROUNDING
from weightlift.network import Network


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


@pytest.mark.parametrize("activation", AMBIGUOUS)
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
