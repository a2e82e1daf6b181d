"""Rows on few flats: units that take each other's places from one to the next, and surfaces that leave them where they are."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from weightlift import Network, certify, samples
from weightlift.activations import custom
from weightlift.evidence.gauge import Gauge
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.rivals import Bar, examine_noisy, flats
from weightlift.rivals.flats import (
    _of_one_level,
    another,
    dependent_neighbours,
    exchangeable,
    found_another,
    independent_rows,
    rows_on_flats,
    touching,
    vanishing,
)

KINDS = ["relu", "leaky_relu", "squared_relu", "absolute", "tanh", "sigmoid", "softplus"]


def scans(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """One input at a time from a common point: X, two networks' weights, biases."""
    X = np.zeros((n, 3))
    X[np.arange(n), np.arange(n) % 3] = 2 * rng.standard_normal(n)
    W = rng.standard_normal((3, 2))
    V = W.copy()
    V[2] = W[2, ::-1]
    return X, W, V, np.array([0.4, 0.4])


def planes(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    X = rng.standard_normal((n, 3))
    X[::2, 2], X[1::2, 0] = 0.0, 0.0
    W = rng.standard_normal((3, 2))
    W[1] = W[1, 0]
    V = W.copy()
    V[2] = W[2, ::-1]
    return X, W, V, np.array([0.2, 0.2])


@pytest.mark.parametrize("rotated", [False, True])
@pytest.mark.parametrize("rows", [scans, planes])
@pytest.mark.parametrize("activation", KINDS)
def test_units_that_change_places_between_flats_are_refused(activation: str, rows, rotated: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, W, V, b = rows(rng, 300)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0] if rotated else np.eye(3)
    one, other = (Network(Q.T @ U, [1.0, 1.0], b, 0.0, activation) for U in (W, V))
    y = one.predict(X @ Q)
    np.testing.assert_allclose(other.predict(X @ Q), y, atol=1e-12)
    assert not one.equivalent(other, 1e-2)
    for net in (one, other):
        assert not certify(net, X @ Q, y, bias=True)


@pytest.mark.parametrize("k", [1, 3])
def test_even_units_that_are_reflected_between_flats_are_refused(k: int, seed: int) -> None:
    """One input at a time: φ(w₁x₁) and φ(w₂x₂) are all that the rows see, whatever the signs of w₁ and w₂."""
    bump = custom("bump", lambda z: 1 / (1 + z * z), lambda z: -2 * z / (1 + z * z) ** 2, reflection=(1, ()), analytic=True)
    rng = np.random.default_rng(seed)
    X, Q = rng.standard_normal((300, 2)), np.linalg.qr(rng.standard_normal((2, 2)))[0]
    W, a = rng.standard_normal((2, k)), rng.uniform(0.5, 1.5, k)
    assert certify(Network(W, a, activation=bump), X, Network(W, a, activation=bump).predict(X))
    X[::2, 0], X[1::2, 1] = 0.0, 0.0
    one, other = (Network(Q.T @ (U @ W), a, activation=bump) for U in (np.eye(2), np.diag([1.0, -1.0])))
    np.testing.assert_allclose(other.predict(X @ Q), one.predict(X @ Q), atol=1e-12)
    assert not certify(one, X @ Q, one.predict(X @ Q)).certified_units


@pytest.mark.parametrize(("d", "n"), [(20, 400), (50, 800)])
def test_lines_in_many_inputs_are_seen(d: int, n: int) -> None:
    """One input at a time, rotated: by quadrics where the rows are more than these, else by neighbours."""
    rng = np.random.default_rng(1)
    X = np.zeros((n, d))
    X[np.arange(n), np.arange(n) % d] = 2 * rng.standard_normal(n)
    W, Q = rng.standard_normal((d, 2)), np.linalg.qr(rng.standard_normal((d, d)))[0]
    net = Network(Q.T @ W, [1.0, 1.0], [0.4, 0.4], 0.0, "tanh")
    assert not certify(net, X @ Q, net.predict(X @ Q), bias=True)
    X = rng.standard_normal((n, d))
    assert certify(net, X, net.predict(X), bias=True).proved


def test_with_noise_too(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, W, V, b = scans(rng, 900)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    y = Network(Q.T @ W, [1.0, 1.0], b, 0.0, "tanh").predict(X @ Q) + 0.02 * rng.standard_normal(900)
    start = Network(Q.T @ V, [1.0, 1.0], b, 0.0, "tanh")
    fit = gauss_newton(samples.open(X @ Q, y), start, free="Wab", tol=1e-12, iterations=100).network
    assert not certify(fit, X @ Q, y, bias=True)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("surface", ["sphere", "squares", "products", "levels", "zeros"])
def test_surfaces_that_bend_and_levels_leave_no_exchange(activation: str, surface: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((500, 6))
    if surface == "sphere":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    elif surface == "squares":
        X[:, 1] = X[:, 0] ** 2
    elif surface == "products":
        X[:, 1], X[:, 2] = X[:, 0] ** 2, X[:, 0] * X[:, 3]
    elif surface == "levels":
        X[:, 0], X[:, 1] = rng.integers(0, 3, 500), rng.integers(0, 2, 500)
    else:
        X[rng.random(500) < 0.3, 0] = 0.0
    net = Network(rng.standard_normal((6, 3)), np.ones(3), rng.uniform(-0.3, 0.3, 3), 0.0, activation)
    certificate = certify(net, X, net.predict(X), bias=True)
    assert certificate, str(certificate)


def test_vanishing_polynomials_and_what_touches_them() -> None:
    rng = np.random.default_rng(0)
    x = np.hstack([rng.standard_normal((200, 3)), np.ones((200, 1))])
    assert not len(vanishing(x, 2))
    x[:100, 0] = 0.0
    x[100:, 1] = 2.0
    quadrics = vanishing(x, 2)  # x₀ (x₁ − 2)
    assert quadrics.shape == (1, 10)
    assert abs(quadrics[0, 1] + quadrics[0, 3] / 2) < 1e-12 * abs(quadrics[0, 3])
    assert touching(x, quadrics, 2) == 97
    x[:, :3] = rng.standard_normal((200, 3))
    x[:, :3] /= np.linalg.norm(x[:, :3], axis=1, keepdims=True)
    assert vanishing(x, 2).shape[0] == 1
    assert touching(x, vanishing(x, 2), 2) == 0


@pytest.mark.parametrize(("gap", "exchanged"), [(0.15, True), (0.3, False)])
def test_noise_makes_output_weights_alike(gap: float, exchanged: bool) -> None:
    """Units of output weights within a fifth may have changed places, by the width that noise is allowed."""
    rng = np.random.default_rng(2)
    X, W, _, b = planes(rng, 400)
    net = Network(W, [1.0, 1.0 - gap], b, 0.0, "tanh")
    source = samples.open(X, net.predict(X) + 0.01 * rng.standard_normal(400))
    found = examine_noisy(source, Gauge.of(net, bias=True, offset=False), Bar(1e-9))
    assert any("few flats" in finding.sentence for finding in found) == exchanged


def test_a_flat_that_two_surfaces_touch_is_counted_by_its_dimension() -> None:
    """Rows on two lines of three dimensions: quadrics that vanish there touch them in a line, whose rows are counted."""
    rng = np.random.default_rng(1)
    x = np.zeros((60, 3))
    x[:30, 0], x[30:, 1] = rng.standard_normal(30), rng.standard_normal(30)
    x = np.hstack([x[:, :2], np.ones((60, 1))])
    quadrics = vanishing(x, 2)
    assert len(quadrics) == 1  # x₀x₁
    assert touching(x, quadrics, 2) == 30 - 3 + 1


def test_a_stray_value_leaves_a_column_discrete_and_a_gate_does_not_make_one() -> None:
    """Levels with one value in a hundred beside them are levels; zero on half of the rows and else continuous is none."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    X[:, 1] = rng.random(200) < 0.7
    X[17, 1] = 0.4321
    X[:90, 2] = 0.0
    net = Network(rng.standard_normal((3, 2)), [1.0, 1.0], [0.3, 0.3], 0.0, "relu")
    rows, found = _of_one_level(X, Gauge.of(net, bias=True, offset=False))
    np.testing.assert_array_equal(rows, np.flatnonzero(X[:, 1] == 1.0))
    np.testing.assert_array_equal(found, np.column_stack([X[:, [0, 2]], np.ones(200)])[rows])


def test_rows_too_few_for_a_surface_are_held_against_their_neighbours() -> None:
    """C(q + 1, 2) monomials of degree two take more rows than that; fewer are on flats only where neighbours are dependent."""
    rng = np.random.default_rng(1)
    net = Network(rng.standard_normal((4, 2)), [1.0, 1.0], [0.4, 0.4], 0.0, "tanh")
    gauge = Gauge.of(net, bias=True, offset=False)
    for n in (14, 400):
        X = rng.standard_normal((n, 4))
        assert rows_on_flats(X, gauge, 1e-9) is None
        scan = np.zeros((n, 4))
        scan[np.arange(n), np.arange(n) % 4] = 2 * rng.standard_normal(n)
        assert rows_on_flats(scan, gauge, 1e-9) is not None


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_units_with_the_output_weight_of_another(size: float) -> None:
    """The same one; the opposite one too where φ(−z) = −φ(z) + p(z); of an even φ every unit may be reflected."""
    for activation, expected in (("relu", (1, 4)), ("tanh", (0, 1, 4)), ("sigmoid", (0, 1, 4)), ("softplus", (1, 4))):
        for gap, found in ((0.02, expected), (0.15, tuple(i for i in expected if i != 4))):
            a = size * np.array([1.0, -1.0, 3.0, 0.2, -1.0 - gap])
            net = Network(np.ones((2, 5)) * np.arange(1.0, 6.0), a, activation=activation)
            gauge = replace(Gauge.of(net, bias=False, offset=False), network=net)  # ReLU's sizes where they stand
            assert exchangeable(gauge, 0.05) == (found if len(found) > 1 else ())
    bell = custom("bell", lambda z: np.exp(-z * z), lambda z: -2 * z * np.exp(-z * z), reflection=(1, ()))
    assert exchangeable(
        Gauge.of(Network(np.ones((1, 3)), [1.0, 2.0, 5.0], activation=bell), bias=False, offset=False), 0.05
    ) == (0, 1, 2)


@pytest.mark.parametrize("rows", [scans, planes])
def test_flats_are_seen_whatever_the_units_of_the_inputs(rows, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, W, _, b = rows(rng, 90)
    dense, scale = rng.standard_normal((90, 3)), np.array([1e-8, 1.0, 1e8])
    gauge = Gauge.of(Network(W, [1.0, 1.0], b, 0.0, "tanh"), bias=True, offset=False)
    for t in (np.ones(3), scale, scale[::-1]):
        assert rows_on_flats(X * t, gauge, 1e-9) is not None
        assert rows_on_flats(dense * t, gauge, 1e-9) is None
    assert rows_on_flats(np.hstack([dense, np.zeros((90, 1))]), gauge, 1e-9) is None  # an input that is nowhere used
    assert rows_on_flats(np.hstack([X, np.zeros((90, 1))]), gauge, 1e-9) is not None


@pytest.mark.parametrize(("n", "few"), [(17, True), (18, False)])
def test_surfaces_are_looked_for_on_eight_rows_more_than_monomials(n: int, few: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three inputs and the one: ten monomials of degree two."""
    asked: list[int] = []
    monkeypatch.setattr("weightlift.rivals.flats.dependent_neighbours", lambda x: bool(asked.append(len(x))))
    gauge = Gauge.of(Network(np.ones((3, 2)), [1.0, 1.0], [0.1, 0.2], 0.0, "tanh"), bias=True, offset=False)
    assert rows_on_flats(np.random.default_rng(0).standard_normal((n, 3)), gauge, 1e-9) is None
    assert bool(asked) == few


def monomials(x: np.ndarray, degree: int) -> np.ndarray:
    return np.array(
        [np.prod(x[:, list(at)], axis=1) for at in itertools.combinations_with_replacement(range(x.shape[1]), degree)]
    ).T


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("scale", [np.array([1e4, 1.0, 1e-4]), np.array([1e-4, 1.0, 1e4])])
def test_polynomials_that_vanish_do_so_elsewhere_on_the_flats(degree: int, scale: np.ndarray, seed: int) -> None:
    """The product of as many planes: on them alone, with inputs of different sizes; each plane is touched by its rows."""
    rng = np.random.default_rng(seed)
    normals = rng.standard_normal((degree, 3))

    def rows(n: int) -> np.ndarray:
        x = rng.standard_normal((n, 3))
        at = np.arange(n) % degree
        return (x - normals[at] * ((x * normals[at]).sum(axis=1) / (normals**2).sum(axis=1)[at])[:, None]) * scale

    x, others, dense = rows(120), rows(60), rng.standard_normal((60, 3)) * scale
    found = vanishing(x, degree)
    assert found.shape == (1, monomials(x, degree).shape[1])
    for rows_, zero in ((others, True), (dense, False)):
        values, terms = monomials(rows_, degree) @ found[0], np.abs(monomials(rows_, degree)) @ np.abs(found[0])
        assert bool((np.abs(values) < 1e-9 * terms).all()) == zero
    assert not len(vanishing(dense, degree))
    plain = x / scale
    polynomials = vanishing(plain, degree)
    for t, s in itertools.product((1e-9, 1.0, 1e9), repeat=2):
        assert touching(t * plain, s * polynomials, degree) == 120 // degree - 3 + 1
    assert vanishing(np.zeros((20, 1)), degree).shape == (1, 1)


def test_neighbours_on_a_line_are_dependent_at_any_size_and_place(seed: int) -> None:
    """Groups of five rows on lines through points far from each other; rows of a density, as few as differences need."""
    rng = np.random.default_rng(seed)
    points, lines = 20 * rng.standard_normal((12, 1, 4)), rng.standard_normal((12, 1, 4))
    on_lines = (points + rng.standard_normal((12, 5, 1)) * lines).reshape(-1, 4)
    for size in (1e-12, 1.0, 1e12):
        for x in (on_lines, np.hstack([on_lines, np.ones((60, 1))])):
            assert dependent_neighbours(x * size)
        for n in (5, 6, 40):
            dense = rng.standard_normal((n, 4)) + 3.0
            assert not dependent_neighbours(dense * size)
            assert not dependent_neighbours(np.hstack([dense, np.ones((n, 1))]) * size)
    assert not dependent_neighbours(on_lines[:4])  # no more rows than inputs say nothing


def test_neighbours_are_near_by_inputs_of_one_size(seed: int) -> None:
    """Three rows on each of 24 parallel lines, fewer than there are quadrics: one large input is not all that counts."""
    rng = np.random.default_rng(seed)
    t = rng.standard_normal((72, 1))
    X = np.hstack([np.repeat(rng.standard_normal((24, 9)), 3, axis=0) + 0.1 * t, t])[rng.permutation(72)]
    gauge = Gauge.of(Network(rng.standard_normal((10, 2)), [1.0, 1.0], [0.1, 0.2], 0.0, "tanh"), bias=True, offset=False)
    for size in (1.0, 1e8, 1e14):
        assert rows_on_flats(X * np.append(np.ones(9), size), gauge, 1e-9) is not None
        assert rows_on_flats(rng.standard_normal((72, 10)) * np.append(np.ones(9), size), gauge, 1e-9) is None


def test_rows_on_a_plane_between_rows_on_a_cone(seed: int) -> None:
    """Surfaces of degree three hold both; a flat that touches them on the cone holds no other row, on the plane ten."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 3))
    X[::2, 2] = np.linalg.norm(X[::2, :2], axis=1)
    X[1::2, 2] = X[1::2, :2] @ [0.3, -0.7]
    X = X @ np.linalg.qr(rng.standard_normal((3, 3)))[0]
    net = Network(rng.standard_normal((3, 3)), activation="tanh")
    assert rows_on_flats(X, Gauge.of(net, bias=False, offset=False), 1e-9) is not None
    assert rows_on_flats(X[np.roll(np.arange(20), 1)], Gauge.of(net, bias=False, offset=False), 1e-9) is not None
    two = replace(net, a=[1.0, 1.0, 2.0])  # two units change places between flats of degree two alone
    assert rows_on_flats(X, Gauge.of(two, bias=False, offset=False), 1e-9) is None


def test_one_row_between_two_others_is_enough() -> None:
    """The middle of three rows on a line, each of the ends nearer to another row; wherever it stands."""
    x = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [1.2, 0.9], [-1.1, -0.8], [4.0, 5.0]])
    for turn in range(6):
        for place in ([0.0, 0.0], [3.0, -5.0], [-9.0, 2.0]):
            assert dependent_neighbours(np.roll(x, turn, axis=0) + place)
    x[2, 1] = 0.1
    assert not dependent_neighbours(x)


def on_hyperplanes(rng: np.random.Generator, n: int, q: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows in turn on the hyperplanes u = z₁ … u = z_m of one u, and the coefficients of the z."""
    normals = rng.standard_normal((q, m))
    x, at = rng.standard_normal((n, q)), normals.T[np.arange(n) % m]
    x -= at * ((x * at).sum(axis=1) / (at**2).sum(axis=1))[:, None]
    return x, rng.standard_normal((q, 1)) + normals


@pytest.mark.parametrize(("q", "m"), [(2, 2), (3, 2), (4, 3), (7, 2)])
def test_a_function_of_their_values_is_found_as_by_trying_all(q: int, m: int, seed: int) -> None:
    """All mᑫ choices at q rows, one by one; on rows of a density, of the hyperplanes, and of them but for one value."""
    rng = np.random.default_rng(seed)

    def tried(x: np.ndarray, Z: np.ndarray) -> bool:
        choices = np.array(list(itertools.product(range(m), repeat=q)))
        U = x @ np.linalg.solve(x[:q], Z[np.arange(q), choices].T)  # (n, mᑫ)
        near = np.abs(U[:, :, None] - Z[:, None]) < 1e-6
        return bool((near.any(axis=2).all(axis=0) & ~near.all(axis=0).any(axis=1)).any())

    x, zs = on_hyperplanes(rng, q + 3 + 2 * m, q, m)
    dense = rng.standard_normal(x.shape)
    for rows, Z in ((x, x @ zs), (dense, dense @ zs), (x, x @ zs + 0.1 * (np.arange(len(x)) == len(x) - 1)[:, None])):
        assert another(*independent_rows(rows), Z) == tried(rows, Z)
    assert another(*independent_rows(x), x @ zs)
    assert not another(*independent_rows(dense), dense @ zs)


@pytest.mark.parametrize(("q", "m"), [(12, 2), (25, 2), (9, 3)])
def test_functions_of_many_inputs_are_found_by_halves(q: int, m: int, seed: int) -> None:
    """The same where 2²⁵ choices would take minutes; another unit of every input's size is none."""
    rng = np.random.default_rng(seed)
    x, zs = on_hyperplanes(rng, 2 * q + 10, q, m)
    assert another(*independent_rows(x), x @ zs)
    assert not another(*independent_rows(x), x @ (zs + 1e-3 * rng.standard_normal(zs.shape)))
    assert not another(*independent_rows(x[: q + 1]), x[: q + 1] @ zs)  # one more row excludes nothing


def test_two_planes_in_many_inputs_on_few_rows(seed: int) -> None:
    """Twenty inputs, 130 rows: no proof that rows of a density would give, whether two units are alike or two are opposite."""
    rng = np.random.default_rng(seed)
    X, Q = rng.standard_normal((130, 20)), np.linalg.qr(rng.standard_normal((20, 20)))[0]
    X[::2, -1], X[1::2, 0] = 0.0, 0.0
    U = rng.standard_normal((20, 2)) / 4
    U[1:-1] = U[1:-1, :1]
    for sign in (1.0, -1.0):
        turn, V = np.array([1.0, sign]), np.vstack([U[:-1], U[-1:, ::-1]])
        one, other = (Network(Q.T @ (W * turn), turn, activation="tanh") for W in (U, V))
        y = one.predict(X @ Q)
        np.testing.assert_allclose(other.predict(X @ Q), y, atol=1e-12)
        assert not one.equivalent(other, 1e-2)
        assert not certify(one, X @ Q, y).certified_units
        dense = rng.standard_normal((130, 20))
        assert certify(one, dense, one.predict(dense)).proved


@pytest.mark.parametrize("activation", ["softplus", "tanh", "sigmoid", "absolute", "leaky_relu"])
def test_rows_on_two_planes_fewer_than_monomials(activation: str, seed: int) -> None:
    """Four outputs, units alike at each of them, six inputs and 24 rows: 28 monomials."""
    rng = np.random.default_rng(seed)
    X, Q = rng.standard_normal((24, 6)), np.linalg.qr(rng.standard_normal((6, 6)))[0]
    X[::2, -1], X[1::2, 0] = 0.0, 0.0
    U, A, b = rng.standard_normal((6, 2)), rng.standard_normal((2, 4)), 0.3 * np.ones(2)
    U[1:-1], A[1] = U[1:-1, :1], A[0]
    one, other = (Network(Q.T @ V, A, b, np.zeros(4), activation) for V in (U, np.vstack([U[:-1], U[-1:, ::-1]])))
    Y = one.predict(X @ Q)
    np.testing.assert_allclose(other.predict(X @ Q), Y, atol=1e-12)
    for net in (one, other):
        assert not certify(net, X @ Q, Y, bias=True, offset=True).certified_units
    dense = rng.standard_normal((200, 6))
    assert certify(one, dense, one.predict(dense), bias=True, offset=True)


@pytest.mark.parametrize(("q", "m", "size"), [(10, 2, 1e-6), (26, 2, 1.0), (48, 2, 1e6), (10, 3, 1.0)])
def test_more_choices_than_can_be_listed_are_searched(q: int, m: int, size: float, seed: int) -> None:
    """On hyperplanes a function of the values is found; on rows of a density, and where one value is off, none is."""
    rng = np.random.default_rng(seed)
    x, zs = on_hyperplanes(rng, 8 * q, q, m)
    assert found_another(x, size * x @ zs)
    assert not found_another(x, size * x @ zs * np.where(np.arange(len(x)) == len(x) - 1, 1.1, 1.0)[:, None])
    dense = rng.standard_normal(x.shape)
    assert not found_another(dense, size * dense @ zs)


def test_even_units_on_two_planes_of_many_inputs(seed: int) -> None:
    """Two networks of absolute values that agree on few rows: 4¹³ halves of choices are too many for a list."""
    rng = np.random.default_rng(seed)
    X, W = 2.0 * rng.standard_normal((250, 26)), rng.standard_normal((26, 2))
    X[::2, -1], X[1::2, 0], W[1:-1] = 0.0, 0.0, W[1:-1, :1]
    Q = np.linalg.qr(rng.standard_normal((26, 26)))[0]
    one, other = (Network(Q.T @ V, activation="absolute") for V in (W, np.vstack([W[:-1], W[-1:, ::-1]])))
    np.testing.assert_allclose(one.predict(X @ Q), other.predict(X @ Q), rtol=1e-9)
    for net in (one, other):
        assert not certify(net, X @ Q, one.predict(X @ Q)).certified_units
    dense, apart = rng.standard_normal((250, 26)), Network(rng.standard_normal((26, 2)), activation="absolute")
    assert certify(apart, dense, apart.predict(dense))


def test_what_lower_degrees_decide_is_not_listed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows more than quadratic monomials and fewer than cubic ones: sets of three units and more are left, and no pair."""
    rng, asked = np.random.default_rng(3), []
    monkeypatch.setattr(flats, "another", lambda *chart: asked.append(chart[-1].shape[1]))
    net = Network(rng.standard_normal((9, 4)), [1.0, 1.0, 1.0, -1.0])
    for n, sizes in ((90, {3}), (40, {2, 3})):
        rows_on_flats(rng.standard_normal((n, 9)), Gauge.of(net, bias=False, offset=False), 1e-9)
        assert set(asked) == sizes
        asked.clear()


def test_units_that_meet_at_a_row_are_no_others(seed: int) -> None:
    """Where z₁ = z₂ at one of the q rows either may be taken; the function is the same."""
    rng = np.random.default_rng(seed)
    x, zs = rng.standard_normal((30, 4)), rng.standard_normal((4, 2))
    gap = zs[:, 0] - zs[:, 1]
    x[7] = 100.0 * (x[7] - gap * (x[7] @ gap) / (gap @ gap))  # the longest row is the first that is chosen
    assert not another(*independent_rows(x), x @ zs)


def test_what_vanishes_does_beside_the_largest_singular_value(seed: int) -> None:
    """Four columns of length one with the singular values 2, 1e-3, 1.5e-9 and 0.3e-9: up to 2e-9 they count as zero."""
    H = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((40, 4)))[0]
    found = vanishing(Q * [2.0, 1e-3, 1.5e-9, 0.3e-9] @ H, 1)
    np.testing.assert_allclose(found.T @ found, H[2:].T @ H[2:], atol=1e-5)
