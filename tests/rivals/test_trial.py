"""Rivals on trial: what one step leaves is the linear least squares."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm
from tests.rivals.instances import ONE, TWO, clustered, exchangeable

import weightlift as wl
from weightlift import samples
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.evidence.rows import Agreement
from weightlift.identifiability import reflect
from weightlift.namespaces import to_numpy
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.risk import Students
from weightlift.rivals.limits import LIMITS
from weightlift.rivals.trial import (
    Bar,
    Cumulants,
    OwnContrast,
    Returned,
    after_a_step,
    agree,
    below,
    changed,
    named,
    reach_of_some,
    refitted,
    squared_error,
    stay,
)


@pytest.mark.parametrize("activation", ["relu", "softplus", "squared_relu"])
def test_what_a_step_leaves_is_the_linear_least_squares(activation: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = wl.Network(rng.standard_normal((3, 2)), [1.0, -1.0], [0.3, -0.2], activation=activation)
    X = rng.standard_normal((200, 3))
    y = net.predict(X) + 0.1 * rng.standard_normal(200)
    gauge = Gauge.of(net, bias=True, offset=False)
    start = reflect(gauge.network, np.array([True, False]), offset=False)
    own = float(((net.predict(X) - y) ** 2).sum())
    students = Students.of(start)
    J = replace(gauge, network=start).jacobian(X, students.preactivations(X), students)
    r = start.predict(X) - y
    damped = np.vstack([J, np.diag(np.sqrt(LIMITS.damping) * np.linalg.norm(J, axis=0))])
    residual = np.append(r, np.zeros(J.shape[1]))
    step = np.linalg.lstsq(damped, residual, rcond=None)[0]
    left = float(((residual - damped @ step) ** 2).sum())
    found, moved = after_a_step(samples.open(X, y), gauge, [start], own + 2.0)
    assert found == pytest.approx([(left - own) / 2.0], rel=1e-8)
    np.testing.assert_allclose(gauge.free.pack(moved)[0], gauge.free.pack(students)[0] - step, rtol=1e-6, atol=1e-9)


def test_a_step_is_held_against_what_rounding_may_leave(seed: int) -> None:
    """At a ceiling of the network's own Σ w r² the measure is Σ w y², of which a shift may undo 1e-3, and its square stays."""
    rng = np.random.default_rng(seed)
    net = wl.Network(rng.standard_normal((3, 2)), [1.0, -1.0], [0.3, -0.2], 0.9)
    X, w = rng.standard_normal((100, 3)), rng.uniform(0.2, 3.0, 100)
    y = net.predict(X) + 0.1 * rng.standard_normal(100)
    gauge, source = Gauge.of(net, bias=True, offset=True), samples.open(X, y, sample_weight=w)
    own, start = squared_error(source, net), reflect(net, np.array([True, False]), offset=True)
    assert own == pytest.approx(float(w @ (net.predict(X) - y) ** 2), rel=1e-12)
    measure = 1e-6 * float(w @ y**2) / LIMITS.reach
    (apart,), _ = after_a_step(source, gauge, [start], own + 3.0 * measure)
    (least,), _ = after_a_step(source, gauge, [start], own)
    (below_it,), _ = after_a_step(source, gauge, [start], own + measure / 3.0)
    assert least == pytest.approx(3.0 * apart, rel=1e-6)
    assert below_it == pytest.approx(least, rel=1e-6)


def test_a_start_that_no_row_moves_stays_where_it_is() -> None:
    """A unit that is off at every row: J vanishes, and what is left is the start's own."""
    X = np.random.default_rng(0).uniform(1.0, 2.0, (30, 2))
    net, dead = wl.Network([[1.0], [0.5]], b=[0.1]), wl.Network([[-1.0], [-0.5]], b=[-0.1])
    y = net.predict(X) + 0.1
    left, moved = after_a_step(samples.open(X, y), Gauge.of(net, bias=True, offset=False), [dead], 30 * 0.01 + 2.0)
    assert left == pytest.approx([(float(y @ y) - 30 * 0.01) / 2.0], rel=1e-9)
    assert moved.network(0).equivalent(dead, 1e-12)


def test_other_units_agree_to_a_thousand_rounding_bounds() -> None:
    X = clustered(0)
    y, gauge = ONE.predict(X), Gauge.of(ONE, bias=False, offset=False)
    source = samples.open(X, y)
    assert agree(source, gauge, TWO)
    assert not agree(source, gauge, ONE)  # no other units
    worst = Agreement.of(replace(TWO, c=1e-9), source).level / 1e-9  # rounding bounds for one
    for bounds, expected in ((300.0, True), (3000.0, False)):
        assert agree(source, gauge, replace(TWO, c=bounds / worst)) == expected


def test_of_proposals_the_rival_stays_with_its_units(seed: int) -> None:
    """On rows of which a part is looked at first: not what comes back to the network, nor what is far."""
    one, other, X = exchangeable("tanh", seed, 5000)
    rng = np.random.default_rng(seed)
    w = rng.uniform(0.5, 2.0, len(X))
    source = samples.open(X, one.predict(X) + 0.01 * rng.standard_normal(len(X)), sample_weight=w)
    gauge = Gauge.of(gauss_newton(source, one, free="Wab").network, bias=True, offset=False)
    far = [replace(one, W=rng.standard_normal((3, 2)), b=rng.standard_normal(2), a=np.array([3.0, -2.0])) for _ in range(9)]
    proposals = [((9, 8), net) for net in far]
    proposals[4] = ((7, 6), replace(one, W=one.W + 0.02))
    proposals.insert(3, ((1, 0), replace(other, W=other.W + 0.01)))
    own = squared_error(source, gauge.network)
    (found,) = below(source, gauge, proposals, Bar(own + 60 * 1e-4))
    assert found[0] == (1, 0)
    assert found[1].equivalent(other, 0.05)
    assert not below(source, gauge, proposals, Bar(0.9 * own))
    assert not below(source, gauge, [], Bar(2.0 * own))


@pytest.mark.parametrize("few", [1.0, 1.8, 2.2])
@pytest.mark.parametrize(("near", "rows"), [(3, (6, 1000)), (10, (6, 1000)), (3, (100, 50))])
def test_proposals_go_on_as_far_as_they_may_be_rivals(
    few: float, near: int, rows: tuple[int, int], monkeypatch: pytest.MonkeyPatch, limits: Callable[..., None]
) -> None:
    """What a step leaves is made up: ten margins, and the eight nearest, move on 1,000 rows times `few`, on all if those are
    half. What may be within ten on all takes a step there, and what is and has not come back is refitted."""
    limits("weightlift.rivals.trial", first_rows=rows)  # 100 for each of ten parameters
    rng = np.random.default_rng(0)
    net = wl.Network(rng.standard_normal((3, 2)), [1.0, -1.0], [0.3, -0.2], 0.0, "tanh")
    X, w = rng.standard_normal((4000, 3)), rng.uniform(0.5, 2.0, 4000)
    y = net.predict(X) + 0.1 * rng.standard_normal(4000)
    source, gauge = samples.open(X, y, sample_weight=w), Gauge.of(net, bias=True, offset=False)
    own = float(w @ (net.predict(X) - y) ** 2)
    ceiling, reach = 1.25 * own, 10.0 * few
    names = [replace(net, c=float(i + 1)) for i in range(12)]
    names[5] = replace(net, W=net.W * (1 + 5e-3))  # on its way back
    names[6] = replace(net, W=net.W * (1 + 3e-2))
    steps: list[tuple[int, float]] = []
    refits: list[tuple[list[float], int, int, float, float]] = []
    some_rows, weight = (4000, w.sum()) if few > 2.0 else (0, 0.0)

    def step(
        rows: samples.Samples, gauge: Gauge, starts: list[wl.Network], most: float, *_: object
    ) -> tuple[np.ndarray, Students]:
        nonlocal some_rows, weight
        first = not steps
        steps.append((rows.n, most))
        if first:
            some_rows, weight = rows.n, rows.total
            left = reach * np.append(np.linspace(0.1, 0.99, near), np.linspace(1.01, 3.0, 12 - near))
            return left[order], Students.of(*starts)
        bound = reach if rows.n == 4000 else reach_of_some(own, ceiling, w.sum(), rows.total, reach)
        last = [1.01 if start is names[dropped[rows.n == 4000]] else 0.99 for start in starts]
        return bound * np.array(last), Students.of(*starts)

    def refit(rows, gauge, starts, iterations=0, tol=0.0, goal=math.inf, equations=None):
        refits.append(([names.index(start) for start in starts], rows.n, iterations, tol, goal))
        return starts

    order, dropped = rng.permutation(12), (2, 0)
    monkeypatch.setattr("weightlift.rivals.trial.after_a_step", step)
    monkeypatch.setattr("weightlift.rivals.trial.refitted", refit)
    monkeypatch.setattr(
        "weightlift.rivals.trial.stay", lambda _, found, *bar: (None, np.ones(found.rivals.shape[1], dtype=bool))
    )
    found = below(source, gauge, [((i,), name) for i, name in enumerate(names)], Bar(ceiling, 0.0, few))
    assert some_rows == 4000 or abs(some_rows - 1000 * few) < 5 * np.sqrt(1000 * few)
    part = source if some_rows == 4000 else source.split(few / 4, 1 - few / 4, seed=0)[0]
    assert weight == pytest.approx(part.total)
    least = squared_error(part, net) + 0.25 * own * weight / w.sum()
    expected = sorted(i for i in range(12) if order[i] < max(near, 8))
    on_all = [i for i in expected if i != dropped[0] or few > 2.0]
    last = [i for i in on_all if i not in (dropped[1], 5)]
    tol = 1e-3 * 0.25 / 1.25
    goal = (squared_error(part, net) + 100 * 0.25 * own * weight / w.sum()) / (2 * weight)
    first = (expected, some_rows, 10, pytest.approx(tol), pytest.approx(goal))
    assert refits == [first, (last, 4000, 25, pytest.approx(tol), math.inf)]
    assert steps == [(some_rows, pytest.approx(least))] * (1 + (few < 2.0)) + [(4000, pytest.approx(ceiling))]
    assert [units for units, _ in found] == [(i,) for i in last]


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_a_refit_has_returned_by_what_it_costs(activation: str, seed: int) -> None:
    """A hundredth of the margin, the other coordinates being free: by least squares of J's columns on each other."""
    rng = np.random.default_rng(seed)
    net = wl.Network(rng.standard_normal((3, 2)), [1.0, -1.0], [0.3, -0.2], 0.0, activation)
    X, w = rng.standard_normal((80, 3)), rng.uniform(0.5, 2.0, 80)
    source, gauge = samples.open(X, net.predict(X), sample_weight=w), Gauge.of(net, bias=True, offset=False)
    H = Information.of(source, gauge).gram
    at, delta = gauge.coordinates(1), np.zeros(gauge.unit_size)
    delta[:3] = 1e-4 * rng.standard_normal(3)
    others = np.setdiff1d(np.arange(gauge.size), at)
    best = np.linalg.lstsq(H[np.ix_(others, others)], -H[np.ix_(others, at)] @ delta)[0]
    whole = np.zeros(gauge.size)
    whole[at], whole[others] = delta, best
    rival = replace(net, W=net.W + np.outer(delta[:3], [0.0, 1.0]))
    cost = float(whole @ H @ whole)
    assert Returned(source, gauge, 101.0 * cost)(rival)
    assert not Returned(source, gauge, 99.0 * cost)(rival)
    turned = reflect(rival, np.array([activation == "tanh", False]))
    assert Returned(source, gauge, 101.0 * cost)(replace(turned, W=turned.W[:, ::-1], a=turned.a[::-1], b=turned.b[::-1]))
    assert not Returned(source, gauge, 1e9)(replace(net, W=net.W * 1.1))


def test_a_refit_that_fails_is_made_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two proposals together a singular matrix; alone one of them moves, and the other stays where it is."""
    rng = np.random.default_rng(0)
    net = wl.Network(rng.standard_normal((2, 1)), activation="tanh")
    X = rng.standard_normal((40, 2))
    source, gauge = samples.open(X, net.predict(X)), Gauge.of(net, bias=False, offset=False)
    starts = [replace(net, W=net.W + 0.1), replace(net, W=net.W * 0.0)]
    asked: list[int] = []

    def fitted(rows, students, **options):
        asked.append(students.shape[1])
        if students.shape[1] > 1 or not to_numpy(students.W).any():
            raise np.linalg.LinAlgError
        return gauss_newton(rows, students, **options)

    monkeypatch.setattr("weightlift.rivals.trial.gauss_newton", fitted)
    one, other = refitted(source, gauge, starts)
    assert asked == [2, 1, 1]
    assert one.equivalent(net, 1e-6)
    assert other is starts[1]
    assert refitted(source, gauge, []) == []


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_units_that_a_rival_does_not_have(activation: str, seed: int) -> None:
    """Within 1e-6 of some unit of the rival's, in any order; tanh and its mirror image are one, and of ReLU (ta, w/t) is."""
    rng = np.random.default_rng(seed)
    net = wl.Network(rng.standard_normal((3, 3)), [1.0, -1.0, 0.5], rng.standard_normal(3), activation=activation)
    gauge = Gauge.of(net, bias=True, offset=False)
    t = np.full(3, 2.0) if activation == "relu" else np.array([-1.0, 1.0, -1.0])
    order = [2, 0, 1]
    for change, expected in ((3e-7, ()), (3e-6, (1,)), (0.5, (1,))):
        W, b = net.W.copy(), net.b.copy()
        size = np.hypot(np.linalg.norm(W[:, 1]), b[1]) if activation == "tanh" else np.linalg.norm(np.append(W[:, 1], b[1]))
        b[1] += change * size
        rival = wl.Network((W * t)[:, order], (net.a / t)[order], (b * t)[order], activation=activation)
        assert changed(gauge, [net, rival]) == expected
    lost = replace(net, a=net.a * [1.0, 1.0, -1.0])
    assert changed(gauge, [lost]) == (2,)


def test_units_are_named_by_their_numbers() -> None:
    gauge = Gauge.of(wl.Network(np.eye(3)), bias=False, offset=False, numbers=[4, 5, 9])
    assert [named(gauge, units) for units in ((), (1,), (0, 2), (2, 0, 1))] == [
        "the offset",
        "unit 5",
        "units 4 and 9",
        "units 9, 4 and 5",
    ]


def test_reach_on_some_rows_is_ten_standard_deviations_more(seed: int) -> None:
    """Σ w (D² + 2Dr) on a share s has the variance 4σ² s R beside its mean s R; in margins there, s times those on all."""
    rng = np.random.default_rng(seed)
    own, margin, total, share, reach = *rng.uniform(1.0, 50.0, 3), rng.uniform(0.01, 0.5), rng.uniform(2.0, 20.0)
    deviation = np.sqrt(4 * own / total * share * reach * margin) / (share * margin)
    found = reach_of_some(own, own + margin, total, share * total, reach)
    assert found == pytest.approx(reach + 10.0 * deviation, rel=1e-9)


def test_a_rival_that_is_near_on_all_rows_is_within_reach_on_some(seed: int) -> None:
    """Two hundred shares of the rows; the difference of two networks has excess R on all of them."""
    rng = np.random.default_rng(seed)
    n, share = 20_000, 0.05
    r, D = 0.1 * rng.standard_normal(n), rng.standard_normal(n)
    own, margin = float(r @ r), 37 * 0.01
    D *= np.sqrt(LIMITS.reach * margin / (D @ D))
    D -= r * (D @ r) / own  # the excess is ΣD²
    for _ in range(200):
        part = rng.random(n) < share
        excess = float((D[part] ** 2 + 2 * D[part] * r[part]).sum())
        assert excess / (margin * part.mean()) <= reach_of_some(own, own + margin, n, part.sum())
    far = float((D**2).sum()) * 30 * share / (margin * share)
    assert far > reach_of_some(own, own + margin, n, share * n)


def exponent(terms: np.ndarray) -> float:
    """min_t Σ ln cosh(t u) − t Σ u."""
    found = minimize_scalar(
        lambda t: np.sum(np.logaddexp(t * terms, -t * terms) - np.log(2.0)) - t * terms.sum(),
        bounds=(0.0, 1e3 / np.abs(terms).max()),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return float(found.fun)


def test_what_refutes_a_rival_row_by_row(seed: int) -> None:
    """Chernoff's exponent, on a grid of rates whose ratio √2 loses 2 % of it at most; and beyond Hoeffding's."""
    rng = np.random.default_rng(seed)
    own, rival = (wl.Network(rng.standard_normal((3, 2)), [1.0, -1.0], [0.3, -0.2]) for _ in range(2))
    X, w = rng.standard_normal((60, 3)), rng.uniform(0.5, 2.0, 60)
    y = own.predict(X) + 0.3 * rng.standard_normal(60)
    theirs, ours = rival.predict(X) - y, own.predict(X) - y
    terms = w * (theirs - ours) * theirs
    square, hoeffding = (w * theirs**2).sum(), 0.5 * terms.sum() ** 2 / (terms**2).sum()
    odds = -2.0 * exponent(terms)
    assert odds > 2.02 * hoeffding
    source = samples.open(X, y, sample_weight=w)
    for ceiling, allowed, stays in [
        (0.999 * square, 0.0, False),
        (1.001 * square, 0.0, True),
        (0.0, 0.98 * odds, False),
        (0.0, 1.001 * odds, True),
    ]:
        squares, found = stay(source, OwnContrast(own, Students.of(own, rival)), ceiling, allowed)
        assert squares[1] == pytest.approx(square, rel=1e-9)
        assert found.tolist() == [True, stays]


def test_cumulants_of_rivals_row_by_row(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nets = [wl.Network(rng.standard_normal((3, 2)), rng.standard_normal(2), [0.3, -0.2], activation="tanh") for _ in range(4)]
    X, y, w = rng.standard_normal((20, 3)), rng.standard_normal(20), rng.uniform(0.5, 2.0, 20)
    contrast = OwnContrast(nets[0], Students.of(*nets[1:])).some(np.array([2, 0]))
    rates = np.array([[0.3, 1.0, 40.0], [0.1, 2.0, 900.0]])
    (found,) = samples.open(X, y, sample_weight=w).fold(Cumulants(contrast, rates))
    for rival, t, row in zip((nets[3], nets[1]), rates, found, strict=True):
        r = rival.predict(X) - y
        u = w * (r - (nets[0].predict(X) - y)) * r
        expected = [np.sum(np.logaddexp(v * u, -v * u) - np.log(2.0)) for v in t]
        np.testing.assert_allclose(row, expected, rtol=1e-10)


def test_no_signs_are_likelier_than_the_bound() -> None:
    """All signs of eleven errors: the share of those with Σ ± u as large as Σ u is at most exp(min_t …)."""
    for seed in range(5):
        u = np.random.default_rng(seed).standard_normal(11) ** 3
        u[np.argsort(np.abs(u))[3:]] = np.abs(u[np.argsort(np.abs(u))[3:]])
        signs = 1 - 2 * (np.arange(2**11)[:, None] >> np.arange(11) & 1)
        assert np.mean(signs @ np.abs(u) >= u.sum() - 1e-12) <= np.exp(exponent(u))


@pytest.mark.parametrize("few", [12, 2000])
def test_the_truth_is_refuted_as_seldom_as_promised(few: int, seed: int) -> None:
    """A rival that is the truth, its errors on few rows or many: beyond the odds of 4 with probability exp(−2) at most, and
    never where there are fewer rows than odds/2 ln 2."""
    rng = np.random.default_rng(seed)
    n, trials = 2000, 400
    own, truth = (wl.Network(rng.standard_normal((2, 1)), [1.0]) for _ in range(2))
    X = rng.standard_normal((n, 2))
    refuted = 0
    for _ in range(trials):
        errors = np.zeros(n)
        errors[:few] = rng.standard_normal(few)
        source, contrast = samples.open(X, truth.predict(X) + errors), OwnContrast(own, Students.of(truth))
        refuted += int(not stay(source, contrast, -1.0, 4.0)[1][0])
        assert few > 13 or stay(source, contrast, -1.0, 2.0 * np.log(2.0) * few * 1.001)[1][0]
    assert refuted <= trials * (np.exp(-2.0) + 0.06)


def test_units_that_few_rows_show_do_not_refute_a_reflected_network() -> None:
    """Five of six units bend on 1.5 to 25 of 13,424 rows; three units are fitted, and the residual is 21 rows. One of the three
    is the reflected common unit: the network with the right one has 4 % more of Σ r², 500 times σ² and yet chance."""
    rng = np.random.default_rng([1005, 4711])
    d, k, n, _ = int(rng.integers(2, 9)), int(rng.integers(2, 7)), int(10 ** rng.uniform(2.7, 4.2)), rng.choice(["relu"] * 4)
    drawn = wl.teachers.biased(d, k, rng=rng)
    rare = int(rng.integers(1, k))
    rows = rng.uniform(1.5, 25, rare)
    b = drawn.b.copy()
    b[:rare] = norm.ppf(1 - rows / n) * rng.choice([-1, 1], rare) * np.linalg.norm(drawn.W, axis=0)[:rare]
    truth = replace(drawn, b=b)
    X = rng.standard_normal((n, d))
    y = truth.predict(X)
    W = np.array(FOUND).T
    start = wl.Network(W, [-1.0, 1.0, -1.0], [0.3621, -3.4393, 3.5178])
    fit = gauss_newton(samples.open(X, y), start, free="Wb", iterations=100, tol=1e-14).network
    assert ((fit.predict(X) - y) ** 2).sum() == pytest.approx(13.043, rel=1e-3)
    certificate = wl.certify(fit, X, y, bias=True)
    assert not certificate
    assert not certificate.certified_units


FOUND = [
    [0.3258, 0.2569, 0.018, -0.5393, 0.1632, 0.1553, 0.0842, 0.0643],
    [0.2492, 0.5193, -0.4658, -0.8796, -0.2938, 0.4854, 0.9926, 0.3717],
    [-0.2729, -0.5143, 0.4899, 0.901, 0.3004, -0.5191, -1.0082, -0.3657],
]
