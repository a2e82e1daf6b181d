"""Noisy rows with discrete columns: the network that takes the units' places is proposed, near where it is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from tests.catalogue import KINDS
from tests.rivals.instances import small_difference, three_levels, with_common_part

import weightlift as wl
from weightlift import samples
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.rivals import places
from weightlift.rivals.places import Group, Order, _functions, _groups, _least, _orders, places_near


def noisy_pair(planted, activation: str, seed: int, noise: float = 1e-3):
    """Rows of two networks that agree on all of them, and a fit of the second to noisy targets."""
    rng = np.random.default_rng(seed)
    places, functions, others = planted(rng)
    X = np.hstack([1.5 * rng.standard_normal((300, 2)), places[rng.integers(len(places), size=300)]])
    one, other = (with_common_part(f, np.array([1.0, -0.7]), activation) for f in (functions, others))
    y = one.predict(X) + noise * rng.standard_normal(300)
    gauge = Gauge.of(other, bias=True, offset=False)
    fit = gauss_newton(samples.open(X, y), gauge.network, free=gauge.free.names, tol=1e-12).network
    return X, y, one, other, replace(gauge, network=fit)


@pytest.mark.parametrize("activation", KINDS)
@pytest.mark.parametrize("planted", [three_levels, small_difference])
def test_the_network_in_other_places_is_proposed(planted, activation: str, seed: int) -> None:
    X, y, one, _, gauge = noisy_pair(planted, activation, seed, 1e-7)
    known = Information.of(samples.open(X, y), gauge)
    if not known.full_rank:
        pytest.skip("three softplus units so alike that no certificate is given anyway")
    columns = np.arange(X.shape[1]) >= 2
    found = places_near(X, known, columns, 30 * known.rss / len(X))
    assert any(set(units) == set(range(one.n_units)) and rival.equivalent(one, 1e-2) for units, rival in found)
    left = [float(((rival.predict(X) - y) ** 2).sum()) - known.rss for _, rival in found]
    assert min(left) <= 30 * known.rss / len(X)


def test_the_nearest_solution_is_that_of_the_constrained_least_squares(seed: int) -> None:
    """By Lagrange's equations: min δᵀHδ with C(θ + δ) = 0."""
    X, y, _, _, gauge = noisy_pair(three_levels, "tanh", seed)
    known = Information.of(samples.open(X, y), gauge)
    q, p = gauge.unit_size, gauge.size
    group = Group(known, (0, 2), np.ones((2, q)), False)
    C = np.random.default_rng(seed).standard_normal((3, 2 * q))
    full = np.zeros((3, p))
    full[:, group.at.ravel()] = C
    K = np.block([[known.gram, full.T], [full, np.zeros((3, 3))]])
    size = np.append(known.sizes, np.ones(3))
    delta = size * np.linalg.solve(K * size[:, None] * size, size * np.append(np.zeros(p), -full @ gauge.theta))
    left, theta = group.solved(C)
    assert left == pytest.approx(delta[:p] @ known.gram @ delta[:p], rel=1e-5)
    np.testing.assert_allclose(full @ theta, 0, atol=1e-9)
    np.testing.assert_allclose(theta, gauge.theta + delta[:p], rtol=1e-5, atol=1e-7)


def test_units_alike_are_found_with_either_sign(seed: int) -> None:
    """tanh: (−a, −z) is (a, z); the unit turned takes the other's place as it would unturned."""
    X, y, one, _, gauge = noisy_pair(small_difference, "tanh", seed, 1e-5)
    net, flip = gauge.network, np.array([1.0, -1.0])
    turned = replace(gauge, network=replace(net, W=net.W * flip, b=net.b * flip, a=net.a * flip))
    known = Information.of(samples.open(X, y), turned)
    found = places_near(X, known, np.arange(4) >= 2, 30 * known.rss / len(X))
    assert any(rival.equivalent(one, 1e-2) for _, rival in found)


@pytest.mark.parametrize("activation", ["tanh", "absolute"])
def test_units_are_alike_up_to_what_the_equations_leave(activation: str, seed: int) -> None:
    X, y, _, _, gauge = noisy_pair(small_difference, activation, seed)
    known, columns = Information.of(samples.open(X, y), gauge), np.arange(4) >= 2
    group = Group(known, (0, 1), np.ones((2, gauge.unit_size)), False)
    left = group.solved(group.alike(columns))[0]
    assert [g.units for g in _groups(known, columns, 1.01 * left)] == [(0, 1)]
    assert not list(_groups(known, columns, 0.99 * left))


def test_units_that_differ_elsewhere_have_none(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.hstack([rng.standard_normal((400, 2)), rng.integers(0, 3, (400, 2))])
    truth = wl.Network(rng.standard_normal((4, 3)), [1.0, 1.0, 1.0], 0.5 * rng.standard_normal(3), 0.0, "tanh")
    y = truth.predict(X) + 1e-3 * rng.standard_normal(400)
    gauge = Gauge.of(truth, bias=True, offset=False)
    gauge = replace(gauge, network=gauss_newton(samples.open(X, y), truth, free="Wab", tol=1e-12).network)
    known = Information.of(samples.open(X, y), gauge)
    assert not places_near(X, known, np.arange(4) >= 2, 30 * known.rss / len(X))


def known_apart(activation, W, a, b, precision: np.ndarray | float = 1.0) -> Information:
    """Of a network whose coordinates are estimated independently, each to its own precision."""
    net = wl.Network(np.asarray(W, dtype=float), a, b, 0.0, activation)
    gauge = Gauge.of(net, bias=True, offset=False)
    return Information(gauge, np.diag(precision * np.ones(gauge.size)), np.zeros(gauge.size), 1.0, 100.0)


BELL = wl.activations.custom("bell", lambda z: np.exp(-z * z), lambda z: -2 * z * np.exp(-z * z), reflection=(1, ()))


def drawn(activation, rng: np.random.Generator, m: int = 3) -> tuple[Information, Group]:
    """Three inputs, of which the last two are discrete; every unit of the group turned or not."""
    known = known_apart(
        activation, rng.standard_normal((3, m)), np.ones(m), rng.standard_normal(m), rng.uniform(1.0, 9.0, 5 * m)
    )
    turns = np.ones((m, 5)) if activation == "elu" else rng.choice([-1.0, 1.0], (m, 1)) * np.ones((m, 5))
    return known, Group(known, tuple(range(m)), turns, activation is BELL)


@pytest.mark.parametrize("either", [False, True])
def test_equations_of_units_alike(either: bool, seed: int) -> None:
    """Their solutions: one output weight and one part along the first and third input, zero where either sign does."""
    known, _ = drawn("tanh", np.random.default_rng(seed))
    group = Group(known, (0, 1, 2), np.ones((3, 5)), either)
    E = group.alike(np.array([False, True, False]))
    solutions = np.linalg.svd(E)[2][np.linalg.matrix_rank(E) :].reshape(-1, 3, 5)
    assert len(solutions) == 15 - 2 * 3 - 2 * either
    np.testing.assert_allclose(np.ptp(solutions[:, :, [0, 2, 4]], axis=1), 0.0, atol=1e-12)
    assert np.linalg.matrix_rank(solutions[:, :, [1, 3]].reshape(len(solutions), 6)) == 6
    assert bool(np.abs(solutions[:, :, [0, 2]]).max() < 1e-12) == either
    alone = Group(known, (1,), np.ones((1, 5)), True).alike(np.array([False, True, False]))
    np.testing.assert_array_equal(alone, np.eye(5)[[0, 2]])


@pytest.mark.parametrize("activation", ["tanh", BELL])
def test_how_far_units_have_moved_beside_what_is_known_of_them(activation, seed: int) -> None:
    """The farthest of the others from all that were there, each coordinate at its precision; (w, b) of either sign."""
    rng = np.random.default_rng(seed)
    known, group = drawn(activation, rng)
    there, precision = rng.standard_normal((3, 5)), np.diagonal(known.gram).reshape(5, 3).T
    here = known.gauge.theta[group.at]
    sizes = []
    for other in group.turns * there:
        flips = [np.ones(5)] + [np.array([-1.0, -1.0, -1.0, -1.0, 1.0])] * (activation is BELL)
        sizes.append([min(precision[i] @ (flip * other - (group.turns * here)[i]) ** 2 for flip in flips) for i in range(3)])
    assert group.moved(there, here) == pytest.approx(np.min(sizes, axis=1).max(), rel=1e-9)
    assert group.moved(here[[2, 0, 1]] * (group.turns * group.turns[[2, 0, 1]]), here) == pytest.approx(0.0, abs=1e-12)


def test_discrete_columns_come_by_how_far_units_differ_beside_noise(seed: int, limits: Callable[..., None]) -> None:
    """Gaps over the root of the summed variances; of one unit its weights over their errors. Few places and few choices."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal(200), rng.integers(0, 3, (200, 3))])
    columns = np.array([False, True, True, True])
    W = np.array([[0.5, 0.5], [0.3, 0.9], [1.0, -0.5], [0.2, -0.7]])
    precision = rng.uniform(0.5, 50.0, 12)
    known = known_apart("tanh", W, [1.0, 1.0], [0.3, 0.1], precision)
    ratios = np.abs(W[1:, 0] - W[1:, 1]) / np.sqrt((1 / precision.reshape(6, 2)[1:4]).sum(axis=1))
    order = 1 + np.argsort(-ratios)
    pair = Group(known, (0, 1), np.ones((2, 6)), False)
    for most, count in ((20_000, 3), (8 * 10, 2), (4 * 10, 1), (2 * 10, 0)):  # 2 functions at each of r + 1 places
        limits("weightlift.rivals.places", choices=most)
        found = list(pair.differing(X, columns))
        assert [last for _, last in found] == order[:count].tolist()
        for r, (differ, _) in enumerate(found):
            assert set(np.flatnonzero(differ)) == set(order[: r + 1])
    limits("weightlift.rivals.places", choices=200_000, levels=9)
    assert len(list(pair.differing(X, columns))) == 2
    limits("weightlift.rivals.places", choices=4 * 10)
    alone = Group(known, (1,), np.ones((1, 6)), True)
    (found,) = alone.differing(X, columns)  # two signs at each of two places
    assert found[1] == 1 + np.argmax(np.abs(W[1:, 1]) * np.sqrt(precision.reshape(6, 2)[1:4, 1]))


@pytest.mark.parametrize("activation", ["tanh", BELL, "elu"])
def test_units_alike_by_the_precision_of_what_differs(activation, seed: int) -> None:
    """Σ δ²/(1/pᵢ + 1/pⱼ) over the first input and the output weight, of the better sign; a limit on either side of each."""
    rng = np.random.default_rng(seed)
    W, a, precision = rng.standard_normal((3, 3)), rng.choice([-1.0, 1.0], 3) * rng.uniform(0.8, 1.2, 3), rng.uniform(1, 9, 15)
    known = known_apart(activation, W, a, rng.standard_normal(3), precision)
    columns, V = np.array([False, True, True]), 1 / precision.reshape(5, 3)
    flips = [
        (s, t)
        for s in (1, -1)
        for t in (1, -1)
        if (s, t) == (1, 1) or (activation == "tanh" and s == t) or (activation is BELL and t == 1)
    ]
    cost = {
        (i, j): min(
            ((W[0, i] - s * W[0, j]) ** 2 / (V[0, i] + V[0, j]) + (a[i] - t * a[j]) ** 2 / (V[4, i] + V[4, j]))
            for s, t in flips
        )
        for i, j in itertools.combinations(range(3), 2)
    }
    alone = W[0] ** 2 / V[0]
    for limit in [share * c for c in [*cost.values(), *alone] for share in (0.99, 1.01)]:
        left, expected = [0, 1, 2], set()
        while left:
            first, *others = left
            near = (first, *(i for i in others if cost[first, i] <= limit))
            left = [i for i in left if i not in near]
            if len(near) > 1 or (activation is BELL and alone[first] <= limit):
                expected |= {near, *(itertools.combinations(near, 2) if len(near) > 2 else ())}
        found = list(_groups(known, columns, limit))
        assert {group.units for group in found} == expected
        for group in found:
            assert (
                group.either == (activation is BELL and alone[next(u for u in group.units)] <= limit) or len(group.units) == 2
            )
            turned = group.turns * known.gauge.theta[group.at]
            gaps = (turned[0] - turned)[:, [0, 4]]
            assert (
                (gaps[1:] ** 2 / (V[[0, 4]][:, [group.units[0]]].T + V[[0, 4]][:, group.units[1:]].T)).sum(axis=1) <= 9 * limit
            ).all()


def test_orders_are_linear_in_the_units(seed: int) -> None:
    """What the units take at each place: the equations measure by how much it is not affine, and the exchange fits it."""
    rng = np.random.default_rng(seed)
    _, group = drawn("tanh", rng)
    differ = np.array([False, True, True])
    places = np.array(list(itertools.product((0.0, 1.0, 3.0), (-1.0, 0.5))))
    here = np.column_stack([places, np.ones(6)])
    order = Order(group, differ, here, np.array([rng.permutation(3) for _ in range(6)]), rng.choice([-1.0, 1.0], (6, 3)))
    units = rng.standard_normal((3, 5))
    turned = group.turns * units
    Z = here @ turned[:, [1, 2, 3]].T
    taken = np.array([[order.signs[p, f] * Z[p, order.taken[p, f]] for f in range(3)] for p in range(6)])
    fitted, squares, *_ = np.linalg.lstsq(here, taken, rcond=None)
    assert ((order.equations() @ turned.ravel()) ** 2).sum() == pytest.approx(squares.sum(), rel=1e-9)
    there = group.turns * order.exchanged(units)
    np.testing.assert_allclose(there[:, [1, 2, 3]], fitted.T, atol=1e-12)
    np.testing.assert_array_equal(there[:, [0, 4]], turned[:, [0, 4]])
    many = np.array(list(itertools.product(np.arange(9.0), np.arange(5.0))))
    tall = np.column_stack([many, np.ones(45)])
    long = Order(group, differ, tall, np.tile([1, 2, 0], (45, 1)), np.ones((45, 3)))
    assert len(long.equations()) <= 3 * 15  # no more than unknowns for each unit
    np.testing.assert_allclose(long.equations() @ turned.ravel(), 0.0, atol=1e-9)  # one order everywhere is affine


def test_an_order_depends_on_a_column_if_two_places_that_differ_there_alone_say_so(seed: int) -> None:
    rng = np.random.default_rng(seed)
    _, group = drawn(BELL, rng, 2)
    places = np.array(list(itertools.product((0.0, 1.0), (0.0, 2.0), (-1.0, 1.0))))
    differ = np.array([True, True, True])
    for _ in range(20):
        on, by_sign = rng.integers(0, 2, 3).astype(bool), rng.integers(0, 2)
        code = (places[:, on] > 0).sum(axis=1) % 2  # parity in some of the columns
        plain = np.tile([0, 1], (8, 1))
        taken = plain if by_sign else np.where(code[:, None] == 1, plain[:, ::-1], plain)
        signs = np.where(code[:, None] == 1, -1.0, 1.0) * np.ones((8, 2)) if by_sign else np.ones((8, 2))
        order = Order(group, differ, np.column_stack([places, np.ones(8)]), taken, signs)
        assert [order.depends_on(j) for j in range(3)] == on.tolist()


@pytest.mark.parametrize("planted", [three_levels, small_difference])
@pytest.mark.parametrize("activation", ["tanh", BELL])
def test_orders_of_units_that_may_change_places_are_all_tried(planted, activation, seed: int) -> None:
    """By brute force: every choice of affine functions that are the units' values, or their opposites, in some order."""
    rng = np.random.default_rng(seed)
    places, functions, others = planted(rng)
    m, c = len(functions), places.shape[1]
    W = np.vstack([np.zeros((1, m)) if activation is BELL else np.ones((1, m)), functions[:, :-1].T])
    known = known_apart(activation, W, np.ones(m), functions[:, -1])
    group = Group(known, tuple(range(m)), np.ones((m, c + 3)), activation is BELL)
    X, differ = np.hstack([rng.standard_normal((len(places), 1)), places]), np.arange(c + 1) >= 1
    here = np.column_stack([places, np.ones(len(places))])
    Z, signs = here @ functions.T, ((1.0, -1.0) if activation is BELL else (1.0,))
    basis = [0, 1] if c == 1 else [0, 1, 2]
    values = [[s * z for z in row for s in signs] for row in Z]
    affine = []
    for chosen in itertools.product(*(range(m * len(signs)) for _ in basis)):
        f = np.linalg.solve(here[basis], [values[p][v] for p, v in zip(basis, chosen, strict=True)])
        if all(min(abs(u - v) for v in row) < 1e-9 for u, row in zip(here @ f, values, strict=True)):
            affine.append(f)
    size = np.abs if activation is BELL else np.asarray
    target = np.sort(size(Z), axis=1)
    sets = [
        s
        for s in itertools.combinations(affine, m)
        if np.abs(np.sort(size(here @ np.array(s).T), axis=1) - target).max() < 1e-9
    ]
    found = list(_orders(X, group, differ, c))
    exchanged = [order.exchanged(known.gauge.theta[group.at])[:, 1 : c + 2] for order in found]
    exact = [
        u
        for u, o in zip(exchanged, found, strict=True)
        if ((o.equations() @ known.gauge.theta[group.at].ravel()) ** 2).sum() < 1e-18
    ]

    def name(units) -> tuple:
        turned = [min(tuple(np.round(s * np.asarray(u), 6) + 0.0) for s in signs) for u in units]
        return tuple(sorted(turned))

    new = {name(s) for s in sets} - {name(functions)}
    assert name(others) in new
    assert {name(units) for units in exact} - {name(functions)} == new


def test_the_nearest_exchange_comes_first_whatever_the_units_of_the_columns(seed: int, limits: Callable[..., None]) -> None:
    X, y, one, _, gauge = noisy_pair(small_difference, "tanh", seed, 1e-5)
    columns = np.arange(4) >= 2
    for t in (np.array([1.0, 1.0]), np.array([1e-6, 1e6]), np.array([1e6, 1e-6])):
        scale = np.append([1.0, 1.0], t)
        net = replace(gauge.network, W=gauge.network.W / scale[:, None])
        known = Information.of(samples.open(X * scale, y), replace(gauge, network=net))
        limits("weightlift.rivals.places", patterns=32)
        found = [rival for _, rival in places_near(X * scale, known, columns, 30 * known.rss / len(X))]
        plain = [replace(rival, W=rival.W * scale[:, None]) for rival in found]
        assert plain[0].equivalent(one, 1e-2)
        left = [float(((rival.predict(X) - y) ** 2).sum()) for rival in plain]
        assert left[0] == pytest.approx(min(left), rel=1e-3)
        limits("weightlift.rivals.places", patterns=1)
        ((units, nearest),) = places_near(X * scale, known, columns, 30 * known.rss / len(X))
        assert units == (0, 1)
        assert nearest.equivalent(found[0], 1e-12)


def test_as_many_functions_as_may_be_looked_at_in_sets(limits: Callable[..., None]) -> None:
    """Eight, four, three functions in pairs, in one of which the units have changed places; more leave more orders to try."""
    places, functions, others = small_difference(np.random.default_rng(0))
    known = known_apart("tanh", np.vstack([np.ones((1, 2)), functions[:, :-1].T]), np.ones(2), functions[:, -1])
    group, differ = Group(known, (0, 1), np.ones((2, 5)), False), np.array([False, True, True])
    counts = []
    for extras, most in ((30, 28), (30, 6), (30, 2), (2, 2024)):
        limits("weightlift.rivals.places", extras=extras, sets_of_functions=most)
        orders = list(_orders(np.hstack([np.zeros((4, 1)), places]), group, differ, 2))
        units = [order.exchanged(known.gauge.theta[group.at])[:, 1:4] for order in orders]
        assert any(np.abs(u - swapped).max() < 1e-9 for u in units for swapped in (others, others[::-1]))
        counts.append(len(orders))
    assert counts[0] > counts[1] > counts[2] > 0
    assert counts[3] <= 2


def test_what_comes_first_does_not_hang_on_last_bits(seed: int) -> None:
    gaps, values = np.array([0.3, 1e-17, 0.2, 0.3, 0.0, 0.2]), np.array([[2.0, -3.0]])
    noise = 1e-15 * np.random.default_rng(seed).standard_normal(6)
    assert _least(gaps + np.abs(noise), values).tolist() == [1, 4, 2, 5, 0, 3]
    assert _least(1e-7 * gaps, values).tolist() == [1, 4, 2, 5, 0, 3]  # 3e-8 and 2e-8 are told apart


def test_what_units_have_in_common_need_not_be_known_better_than_rounding() -> None:
    """Weights whose errors are one to 1e-9: a difference of them counts as if that were 1e-6."""
    known = known_apart("tanh", [[0.3, 1.3], [0.2, -0.5]], [1.0, 2.0], [0.1, 0.2])
    V, rho = np.eye(8), 1.0 - 1e-9
    for i in range(2):
        V[i, 6 + i] = V[6 + i, i] = -rho  # w₀ and a of each unit, which both differ by one
    known = replace(known, gram=np.linalg.inv(V))
    columns = np.array([False, True])
    assert [group.units for group in _groups(known, columns, 1.01e6)] == [(0, 1)]
    assert not list(_groups(known, columns, 0.9e6))


@pytest.mark.parametrize("m", range(1, 31))
def test_of_so_many_functions_all_sets_are_few(m: int) -> None:
    """The most of 24 with 2,024 sets of m at most; one more than m in any case, of which there are m + 1 sets."""
    assert _functions(m) == max(e for e in range(1, 32) if e == m + 1 or (e <= 24 and math.comb(e, m) <= 2024))


def test_networks_in_other_places_come_by_what_they_leave(monkeypatch: pytest.MonkeyPatch, limits: Callable[..., None]) -> None:
    """Those that leave a hundred margins at most and have moved by more than a tenth of one, the least first, so many."""
    lefts = {(0, 1): 41.0, (0, 2): 200.5, (1, 2): 3.0, (2, 3): 199.5, (1, 3): 17.0, (0, 3): 5.0}
    moved = {(1, 3): 0.19, (0, 3): 0.21}

    def group(units: tuple[int, ...]) -> SimpleNamespace:
        return SimpleNamespace(
            units=units,
            at=np.array([0, 1]),
            differing=lambda X, columns: [(np.array([True]), 0)],
            alike=lambda differ: np.zeros((0, 2)),
            solved=lambda equations: (lefts[units], np.zeros(4)),
            moved=lambda there, here: moved.get(units, 1.0),
            network=lambda theta, there: units,
        )

    order = SimpleNamespace(equations=lambda: np.zeros((0, 2)), exchanged=lambda units: units)
    monkeypatch.setattr(places, "_groups", lambda *_: map(group, lefts))
    monkeypatch.setattr(places, "_orders", lambda *_: [order])
    wanted = [(1, 2), (0, 3), (0, 1), (2, 3)]
    assert places_near(np.zeros((1, 1)), None, np.array([True]), 2.0) == [(units, units) for units in wanted]
    limits("weightlift.rivals.places", patterns=2)
    assert places_near(np.zeros((1, 1)), None, np.array([True]), 2.0) == [(units, units) for units in wanted[:2]]


@pytest.mark.parametrize(("gap", "rank"), [(1.5e-9, 1), (2.1e-9, 2), (1e-7, 2)])  # singular values √2 and 0.79 gaps
def test_places_that_hardly_differ_beside_their_size_ask_for_a_constant(gap: float, rank: int) -> None:
    """Four places in a row: what is affine along it leaves four equations less two, and one more where it is a point."""
    known, _ = drawn("tanh", np.random.default_rng(0), 2)
    group = Group(known, (0, 1), np.ones((2, 5)), False)
    here = np.column_stack([1.0 + gap * np.arange(4), np.ones(4)])
    order = Order(group, np.array([False, True, False]), here, np.tile([0, 1], (4, 1)), np.ones((4, 2)))
    assert len(order.equations()) == 2 * (4 - rank)
