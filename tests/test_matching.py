"""Matching: every measure against brute force, invariance under the symmetries of φ, unequal numbers of units."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest

from weightlift import activations
from weightlift.errors import ActivationError, ShapeError
from weightlift.geometry import distance
from weightlift.matching import Match, chance_level, match
from weightlift.network import Network

MEASURES = [
    "max_error",
    "frobenius_error",
    "relative_frobenius_error",
    "squared_error",
    "nearest_error",
    "hausdorff_distance",
    "weak_recovery",
    "weak_recovery_chance",
    "a_error",
    "b_error",
    "c_error",
]
SIGNED = ["relu", "squared_relu", "softplus"]  # the signs of the output weights count
FREE = ["tanh", "sigmoid", "erf", "linear"]  # (a, w, b) → (−a, −w, −b)
EVEN = ["absolute", "quadratic"]


def network(rng: np.random.Generator, activation: str, k: int = 4, d: int = 5, *, bias: float = 1.0) -> Network:
    a = rng.uniform(0.5, 2.0, k) * rng.choice([-1.0, 1.0], k)
    return Network(rng.standard_normal((d, k)), a, bias * rng.standard_normal(k), rng.standard_normal(), activation)


def perturbed(net: Network, step: float, rng: np.random.Generator) -> Network:
    W, a, b = (p + step * rng.standard_normal(p.shape) for p in (net.W, net.a, net.b))
    return Network(W, a, b, net.c + step, net.activation)


def image(net: Network, rng: np.random.Generator) -> Network:
    """Another network with the same units: permuted, rescaled and reflected as φ allows."""
    k, phi = net.n_units, net.activation
    W, a, b, c = net.W, net.a, net.b, net.c
    if phi.degree:
        t = rng.uniform(0.3, 3.0, k)
        W, a, b = W * t, a / t**phi.degree, b * t
    if phi.reflection and len(phi.reflection[1]) < 2:
        s, p = phi.reflection
        flip = rng.random(k) < 0.5
        sign = np.where(flip, -1.0, 1.0)
        c = c - s * sum(p) * a[flip].sum()
        W, b, a = W * sign, b * sign, np.where(flip, s * a, a)
    order = rng.permutation(k)
    return Network(W[:, order], a[order], b[order], c, phi)


def brute_force(estimate: Network, truth: Network) -> dict[str, float]:
    """The definitions, unit by unit and over all permutations; equal numbers of units."""
    phi, k = truth.activation, truth.n_units
    forms = [net.absorbed() if phi.degree else net for net in (estimate, truth)]
    found, true = ([(net.a[i], net.W[:, i], net.b[i]) for i in range(k)] for net in forms)
    s = phi.reflection[0] if phi.reflection and len(phi.reflection[1]) < 2 else 0

    def turned(unit: Any, target: Any) -> Any:
        a, w, b = unit
        flip = a * target[0] < 0 if s < 0 else s > 0 and w @ target[1] + b * target[2] < 0
        return (s * a, -w, -b) if flip else unit

    def gap(unit: Any, target: Any) -> float:
        return float(np.linalg.norm(target[1] - turned(unit, target)[1]))

    def joint(unit: Any, target: Any) -> float:
        _, w, b = turned(unit, target)
        return float(np.hypot(np.linalg.norm(w - target[1]), b - target[2]) / np.hypot(np.linalg.norm(target[1]), target[2]))

    def wrong(order: Any) -> int:
        return sum(np.sign(turned(found[i], true[j])[0]) != np.sign(true[j][0]) for j, i in enumerate(order))

    orders = list(itertools.permutations(range(k)))
    fewest = min(map(wrong, orders))
    orders = [order for order in orders if wrong(order) == fewest]
    best = min(orders, key=lambda order: max(joint(found[i], true[j]) for j, i in enumerate(order)))
    square = min(sum(gap(found[i], true[j]) ** 2 for j, i in enumerate(order)) for order in orders)
    nearest = [min(gap(f, t) for t in true) for f in found], [min(gap(f, t) for f in found) for t in true]
    cosines = [abs(f[1] @ t[1]) / np.linalg.norm(f[1]) / np.linalg.norm(t[1]) for f in found for t in true]
    return {
        "bottleneck": max(joint(found[i], true[j]) for j, i in enumerate(best)),
        "wrong": fewest,
        "frobenius_error": math.sqrt(square),
        "relative_frobenius_error": math.sqrt(square) / float(np.linalg.norm([t[1] for t in true])),
        "squared_error": square,
        "nearest_error": sum(x * x for x in (*nearest[0], *nearest[1])) / (2 * k),
        "hausdorff_distance": max(*nearest[0], *nearest[1]),
        "weak_recovery": max(cosines),
    }


@pytest.mark.parametrize("activation", [*SIGNED, *FREE, *EVEN])
@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("near", [True, False])
def test_measures_by_brute_force(activation: str, bias: float, near: bool, rng: np.random.Generator) -> None:
    truth = network(rng, activation, bias=bias)
    estimate = image(perturbed(truth, 0.2, rng) if near else network(rng, activation, bias=bias), rng)
    found, expected = match(estimate, truth), brute_force(estimate, truth)
    for name in (
        "frobenius_error",
        "relative_frobenius_error",
        "squared_error",
        "nearest_error",
        "hausdorff_distance",
        "weak_recovery",
    ):
        assert getattr(found, name) == pytest.approx(expected[name], rel=1e-12), name
    assert sorted(found.permutation) == list(range(truth.n_units))
    if bias == 0.0 and not near:  # then (w, b) is w
        assert found.max_error == pytest.approx(expected["bottleneck"], rel=1e-12)
    assert found.signs_agree == (expected["wrong"] == 0)
    assert found.max_error == found.errors.max()


def test_sum_breaks_ties_of_the_maximum() -> None:
    """The worst unit decides; among the assignments that serve it best, the others get their nearest partner."""
    truth = Network(np.diag([1.0, 1.0, 1.0]))
    found = match(Network(np.diag([1.001, 1.002, 3.0])), truth)
    assert found.permutation.tolist() == [0, 1, 2]
    np.testing.assert_allclose(found.errors, [0.001, 0.002, 2.0])


@pytest.mark.parametrize("activation", [*SIGNED, *FREE, *EVEN])
def test_symmetries_change_nothing(activation: str, rng: np.random.Generator) -> None:
    truth = network(rng, activation)
    estimate = perturbed(truth, 0.05, rng)
    plain = match(estimate, truth)
    for other in (
        match(image(estimate, rng), truth),
        match(estimate, image(truth, rng)),
        match(image(estimate, rng), image(truth, rng)),
    ):
        for name in MEASURES:
            if activation == "sigmoid" and name == "c_error":
                continue  # c of the truth moves with its orientation, and so does that of the estimate, by â instead of a
            assert getattr(other, name) == pytest.approx(getattr(plain, name), rel=1e-9, abs=1e-12), name
        assert other.signs_agree


@pytest.mark.parametrize("activation", [*SIGNED, *FREE, *EVEN])
def test_equivalent_networks_match_exactly(activation: str, rng: np.random.Generator) -> None:
    truth = network(rng, activation, k=6)
    estimate = image(truth, rng)
    found = match(estimate, truth)
    for name in ("max_error", "frobenius_error", "nearest_error", "hausdorff_distance", "a_error", "b_error", "c_error"):
        assert getattr(found, name) < 1e-13
    assert found.signs_agree
    assert found.angles.max() < 1e-15
    assert found.weak_recovery == pytest.approx(1.0, abs=1e-15)
    assert found.missing.size == found.unmatched.size == 0
    assert found.distance.value <= found.distance.error < 1e-12


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid", "absolute"])
def test_rotation_changes_nothing(activation: str, rng: np.random.Generator) -> None:
    truth, estimate = network(rng, activation), network(rng, activation, k=3)
    Q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    turned = match(*(Network(Q @ net.W, net.a, net.b, net.c, activation) for net in (estimate, truth)))
    plain = match(estimate, truth)
    for name in MEASURES:
        assert getattr(turned, name) == pytest.approx(getattr(plain, name), rel=1e-10)
    assert np.array_equal(turned.permutation, plain.permutation)


def test_permutation_and_signs_point_at_the_partner(rng: np.random.Generator) -> None:
    truth = network(rng, "tanh", k=5)
    order, flip = rng.permutation(5), np.array([1.0, -1.0, 1.0, -1.0, -1.0])
    estimate = Network((truth.W * flip)[:, order], (truth.a * flip)[order], (truth.b * flip)[order], truth.c, "tanh")
    found = match(estimate, truth)
    np.testing.assert_array_equal(estimate.W[:, found.permutation] * found.signs, truth.W)
    np.testing.assert_array_equal(found.signs, flip)


def test_scalars_in_the_normal_form() -> None:
    """For homogeneous φ, a and b are compared at ‖w‖ = 1; for the sigmoid, c is moved by the reflection."""
    truth = Network([[3.0, 0.0], [4.0, 2.0]], [1.0, -2.0], [5.0, 1.0], 0.5)  # normal form: a = 5, −4; b = 1, ½
    estimate = Network([[0.0, 0.6], [1.0, 0.8]], [-4.25, 4.5], [0.25, 1.125], 0.75)
    found = match(estimate, truth)
    assert found.permutation.tolist() == [1, 0]
    assert found.a_error == pytest.approx(0.5)
    assert found.b_error == pytest.approx(0.25)
    assert found.c_error == pytest.approx(0.25)
    found = match(Network([[-1.0]], [-2.5], [-0.25], 3.0, "sigmoid"), Network([[1.0]], [2.0], [0.5], 0.25, "sigmoid"))
    assert (found.a_error, found.b_error, found.signs.tolist()) == (0.5, 0.25, [-1])
    assert found.c_error == pytest.approx(0.25)  # −2.5 σ(−z) + 3 = 2.5 σ(z) + ½


def test_signs_come_before_distance() -> None:
    """A unit of the wrong sign is not taken though it is the nearest; where the counts differ, one must be."""
    truth = Network([[1.0, 1.0], [0.0, 0.1]], [1.0, -1.0])
    crossed = Network([[1.0, 1.0], [0.1, 0.0]], [1.0, -1.0])
    found = match(crossed, truth)
    assert found.permutation.tolist() == [0, 1]
    assert found.signs_agree
    assert found.max_error == pytest.approx(0.1)
    found = match(Network(truth.W, [1.0, 1.0]), truth)
    assert found.permutation.tolist() == [0, 1]
    assert not found.signs_agree
    assert found.max_error == 0.0


def test_biases_tell_parallel_units_apart() -> None:
    truth = Network([[1.0, 1.0, 1.0]], b=[-1.0, 0.0, 1.0])
    found = match(Network([[1.0, 1.0, 1.0]], b=[0.9, -1.1, 0.1]), truth)
    assert found.permutation.tolist() == [1, 2, 0]
    assert found.b_error == pytest.approx(0.1)


@pytest.mark.parametrize("activation", ["relu", "tanh", "absolute"])
def test_unequal_numbers(activation: str, rng: np.random.Generator) -> None:
    """A missing unit counts as w = 0: relative error 1, and its length in the Frobenius error; so does one too many."""
    truth = network(rng, activation, k=5, d=8, bias=0.0)
    fewer = Network(truth.W[:, [3, 0, 4]], truth.a[[3, 0, 4]], activation=activation)
    found = match(fewer, truth)
    assert found.permutation.tolist() == [1, -1, -1, 0, 2]
    assert found.missing.tolist() == [1, 2]
    assert found.signs.tolist() == [1, 0, 0, 1, 1]
    assert found.errors.tolist() == [0, 1, 1, 0, 0]
    assert np.isnan(found.angles[[1, 2]]).all()
    assert found.max_error == 1.0
    reverse = match(truth, fewer)
    assert reverse.permutation.tolist() == [3, 0, 4]
    assert reverse.unmatched.tolist() == [1, 2]
    assert reverse.max_error == 0.0
    assert reverse.frobenius_error == pytest.approx(found.frobenius_error)
    W = (truth.absorbed() if truth.activation.degree else truth).W
    assert found.frobenius_error <= np.linalg.norm(W[:, [1, 2]]) + 1e-12
    assert found.hausdorff_distance == reverse.hausdorff_distance
    assert "-" in found.table()
    assert "5 units" in repr(found)
    assert "2 more" in repr(reverse)


def test_padding_by_brute_force(rng: np.random.Generator) -> None:
    """min over all ways to pair two of four units, the other two against w = 0."""
    truth, estimate = network(rng, "erf", k=4), network(rng, "erf", k=2)
    pairs = itertools.permutations(range(4), 2)
    signs = np.sign(estimate.a)[:, None] * np.sign(truth.a)  # both oriented to a > 0
    squares = [
        sum(np.sum((truth.W[:, j] - signs[i, j] * estimate.W[:, i]) ** 2) for i, j in enumerate(p))
        + sum(np.sum(truth.W[:, j] ** 2) for j in range(4) if j not in p)
        for p in pairs
    ]
    assert match(estimate, truth).squared_error == pytest.approx(min(squares), rel=1e-12)
    assert match(truth, estimate).squared_error == pytest.approx(min(squares), rel=1e-12)


def test_tiny_angles() -> None:
    """Angles keep their digits where arccos of the cosine is blind."""
    for angle in (1e-3, 1e-8, 1e-12):
        found = match(Network([[math.cos(angle)], [math.sin(angle)]]), Network([[2.0], [0.0]]))
        assert found.angles[0] == pytest.approx(angle, rel=1e-3)
    np.testing.assert_allclose(match(Network([[-1.0], [1.0]]), Network([[1.0], [0.0]])).angles, [0.75 * np.pi])


def test_chance_level() -> None:
    """d = 3: |cos| is uniform, the maximum of N has mean N/(N+1); d = 2, one pair: 2/π; and simulation."""
    for n in (1, 4, 25, 400):
        assert chance_level(3, n) == pytest.approx(n / (n + 1), rel=1e-10)
    assert chance_level(2, 1) == pytest.approx(2 / math.pi, rel=1e-10)
    assert chance_level(1, 7) == 1.0
    rng = np.random.default_rng(5)
    for d, k, other in ((10, 5, 5), (30, 12, 3)):
        U, V = rng.standard_normal((2000, k, d)), rng.standard_normal((2000, other, d))
        U, V = (Z / np.linalg.norm(Z, axis=2, keepdims=True) for Z in (U, V))
        maxima = np.abs(U @ V.transpose(0, 2, 1)).max(axis=(1, 2))
        assert chance_level(d, k * other) == pytest.approx(maxima.mean(), abs=4.5 * maxima.std() / math.sqrt(2000) + 0.01)


def test_weak_recovery_of_strangers_is_near_chance() -> None:
    rng = np.random.default_rng(6)
    levels = [match(network(rng, "relu", d=20), network(rng, "relu", d=20)) for _ in range(100)]
    mean = np.mean([found.weak_recovery for found in levels])
    assert mean == pytest.approx(levels[0].weak_recovery_chance, abs=0.05)


def test_distance_is_that_of_the_functions(rng: np.random.Generator) -> None:
    truth, estimate = network(rng, "relu"), network(rng, "relu", k=3)
    found = match(estimate, truth)
    assert found.distance == distance(estimate, truth)
    assert found.distance is found.distance


def test_dead_units_and_zero_weights() -> None:
    """a = 0 and w = 0 divide nothing by zero."""
    truth = Network([[1.0, 0.0], [0.0, 0.0]], [1.0, 2.0], [0.0, 1.0])
    found = match(truth, truth)
    assert (found.max_error, found.frobenius_error, found.b_error) == (0.0, 0.0, 0.0)
    assert np.isnan(found.angles[1])
    found = match(Network(np.zeros((2, 1)), [0.0]), truth)
    assert isinstance(found, Match)
    assert found.max_error == 1.0


def test_many_units_at_once(rng: np.random.Generator) -> None:
    truth = network(rng, "relu", k=300, d=30)
    estimate = image(perturbed(truth, 1e-6, rng), rng)
    found = match(estimate, truth)
    assert found.max_error < 1e-5
    assert found.signs_agree
    assert sorted(found.permutation) == list(range(300))


def test_table_shows_both_networks() -> None:
    truth = Network([[3.0, 0.0], [4.0, 2.0]], [1.0, -2.0], [5.0, 1.0], activation="tanh")
    lines = match(Network([[0.0], [-2.0]], [2.0], [-1.0], activation="tanh"), truth).table().splitlines()
    assert lines[0].split() == ["unit", "match", "a", "estimate", "b", "estimate", "angle", "error"]
    assert lines[1].split() == ["0", "-", "1", "5", "nan", "1"]
    assert lines[2].split() == ["1", "-(0)", "-2", "-2", "1", "1", "0", "0"]


def test_bad_input() -> None:
    with pytest.raises(ShapeError, match=r"estimate has 2 inputs and truth has 3"):
        match(Network(np.ones((2, 1))), Network(np.ones((3, 1))))
    with pytest.raises(ActivationError, match=r"estimate has tanh units, truth has relu units"):
        match(Network(np.ones((2, 1)), activation="tanh"), Network(np.ones((2, 1))))


def test_the_worst_unit_counts_weights_and_bias_together(rng):
    truth = Network(rng.normal(size=(3, 2)), [2.0, 1.0], rng.normal(size=2), activation="relu")
    order, sizes = [1, 0], np.array([0.5, 4.0])
    same = Network(truth.W[:, order] * sizes, truth.a[order] / sizes, truth.b[order] * sizes, activation="relu")
    assert match(same, truth).worst_unit < 1e-14
    step = 0.03 * np.append(truth.W[:, 0], truth.b[0])
    moved = Network(truth.W + np.outer(step[:3], [1, 0]), truth.a, truth.b + step[3] * np.array([1, 0]), activation="relu")
    assert match(moved, truth).worst_unit == pytest.approx(0.03, rel=1e-12)
    assert match(Network(truth.W, -truth.a, truth.b, activation="relu"), truth).worst_unit == 2.0
    assert match(Network(truth.W[:, :1], truth.a[:1], truth.b[:1], activation="relu"), truth).worst_unit == 2.0


def cosine_of(net: Network) -> Network:
    """The same weights with a custom even wave, of which T = π and s = −1 are declared."""
    wave = activations.custom("wave", np.cos, minus_sin, reflection=(1, ()), repeats=(math.pi, -1))
    return dataclasses.replace(net, activation=wave)


def minus_sin(z):
    return -np.sin(z)


def hump(z):
    return np.sin(z) + 0.5 * np.sin(2 * z)


def hump_derivative(z):
    return np.cos(z) + np.cos(2 * z)


@pytest.mark.parametrize("wave", ["sine", "cosine", "hump", "sine, two outputs", "sine beside a line"])
def test_units_of_a_wave_match_across_its_periods(wave, rng):
    """(a, w, b) is (sⁿa, w, b + nT), and its reflection: no measure sees which of them an estimate is."""
    for _ in range(20):
        d, k = (int(v) for v in rng.integers(1, 5, size=2))
        a = rng.normal(size=(k, 2) if "two" in wave else k)
        V = rng.normal(size=d) if "line" in wave else None
        b = [3.0 * rng.normal(size=k), np.full(k, math.pi / 2), np.zeros(k)][int(rng.integers(3))]
        truth = Network(rng.normal(size=(d, k)), a, b, activation="sine", V=V)
        if wave == "cosine":
            truth = cosine_of(truth)
        elif wave == "hump":  # odd, and of s = 1 alone
            phi = activations.custom("hump", hump, hump_derivative, reflection=(-1, ()), repeats=(2 * math.pi, 1))
            truth = dataclasses.replace(truth, activation=phi)
        other = truth.shifted(rng.integers(-3, 4, size=k).astype(float)).reflected(rng.random(k) < 0.5)
        order = rng.permutation(k)
        other = dataclasses.replace(other, W=other.W[:, order], a=other.a[order], b=other.b[order])
        X = rng.normal(size=(20, d))
        assert np.allclose(other.predict(X), truth.predict(X), rtol=0, atol=1e-13)
        found = match(other, truth)
        assert found.signs_agree
        assert max(found.max_error, found.a_error, found.b_error, found.c_error, found.V_error) < 1e-13
        assert truth.equivalent(other)
        assert np.allclose(other.canonical().predict(X), truth.predict(X), rtol=0, atol=1e-13)
        assert np.all(np.abs(other.canonical().b) <= truth.activation.repeats[0] / 2 + 1e-12)
        moved = dataclasses.replace(other, b=other.b + 0.01)
        assert match(moved, truth).b_error == pytest.approx(0.01, rel=1e-9)
        assert not truth.equivalent(moved)


def test_biases_of_a_sigmoid_are_not_shifted():
    with pytest.raises(ActivationError, match="no period"):
        Network(np.eye(2), activation="sigmoid").shifted(np.ones(2))
