"""What a noisy joint fit must be for its regions to hold."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.certificate.joint_cases import fit, noisy, teacher

import weightlift as wl
from weightlift.certificate import Topic, certify
from weightlift.certificate import joint_noise as module
from weightlift.certificate.curvature import boundary
from weightlift.certificate.joint_noise import _chance, _enough, _influence, _open_sizes, _significance, _wide
from weightlift.certificate.joint_standard import StandardForm, relative_size
from weightlift.certificate.lack_of_fit import LackOfFit
from weightlift.certificate.precision import on_sides
from weightlift.certificate.significance import odds
from weightlift.evidence.stacked import Stacked, StackedInformation
from weightlift.identifiability import rows_needed
from weightlift.refinement.variable_projection import Model, variable_projection


def test_a_network_beside_the_minimum_is_refused():
    truth = teacher("tanh", 3, False)
    X, Y = noisy(truth, 700, 4)
    near = fit(truth, X, Y)
    moved = certify(replace(near, a=near.a * 1.05), X, Y, bias=True, offset=True)
    assert any(s.topic is Topic.MINIMUM and not s.holds for s in moved.statements)


def test_few_rows_are_refused_however_many_outputs():
    truth = teacher("tanh", 3, False)
    X, Y = noisy(truth, 40, 4)
    certificate = certify(truth, X, Y, bias=True, offset=True)
    assert certificate.status.name == "FAILED"
    assert "however many outputs" in " ".join(certificate.reasons)


def test_a_unit_too_many_is_named():
    truth = teacher("relu", 2, False)
    wide = replace(
        truth, W=np.hstack([truth.W, [[0.5], [0.5], [0.5], [0.5]]]), b=np.append(truth.b, 0.0),
        a=np.vstack([truth.a, [[0.0, 0.0]]]),
    )  # fmt: skip
    X, Y = noisy(truth, 900, 6)
    certificate = certify(fit(wide, X, Y), X, Y, bias=True, offset=True)
    assert not certificate
    assert any(2 in s.units or s.topic in (Topic.INFLUENCE, Topic.CURVATURE) for s in certificate.failing)


def test_chance_pays_for_every_pattern_of_sides():
    """A hyperplane among n rows of d inputs has Σ_{i ≤ d+1} C(n, i) patterns of sides at most; the best of them gains 2 log."""
    for n in (50, 5000):
        for d, m, linear in ((2, 2, False), (4, 3, True)):
            net = wl.teachers.several(wl.teachers.biased(d, 2, activation="relu", rng=1), m, linear=linear, rng=2)
            stacked = Stacked.of(net, Model(True, linear, False))
            own, patterns = stacked.inputs + m + 40.0, sum(math.comb(n, i) for i in range(d + 2))
            more = sum(math.comb(n, i) for i in range(d + 3))
            gained = _chance(stacked, n) - own
            assert 2.0 * math.log(patterns) <= gained < 2.0 * math.log(more) + 2.0 * (d + 2)


def test_a_split_widens_a_region_by_its_relative_size():
    """A twin would have moved the unit by an eighth of its length, so between two angles by half: everything within half of
    (w, b) and of a is inside then."""
    net = wl.Network([[6.0, 1.0], [8.0, 0.0]], [[0.06, 0.08], [1.0, 1.0]], [0.0, 0.3], [0.0, 0.0], "tanh")
    stacked = Stacked.of(net, Model())
    at, q = stacked.coordinates(0), stacked.inputs
    splits = np.zeros((stacked.full, 2, 1))
    splits[at[0], 0, 0] = 1.25
    fit = LackOfFit(0.5, np.ones(2), np.zeros((stacked.full, 0)), splits, 0.1, 0.1, 0.0, 0.0, np.eye(1))
    region = _wide(stacked, 0, 1e-12 * np.eye(len(at)), fit)
    for place, length in ((0, 10.0), (q, 0.1)):
        v = np.zeros(len(at))
        v[place] = 0.49 * length
        assert v @ np.linalg.solve(region, v) <= 1.0
        assert (4 * v) @ np.linalg.solve(region, 4 * v) > 1.0


def test_the_outputs_of_a_unit_that_may_be_two_are_open_and_across_it_what_is_unseen():
    """The sum of any output weights up to the unit's own, and of a ball of four times what a probe moves (w, b)."""
    net = wl.Network([[6.0, 1.0], [8.0, 0.0]], [[0.06, 0.08], [1.0, 1.0]], [0.0, 0.3], [0.0, 0.0], "tanh")
    stacked = Stacked.of(net, Model())
    at, splits = stacked.coordinates(0), np.zeros((stacked.full, 2, 1))
    splits[at[:2], 0, 0], splits[at[3], 0, 0] = 0.3 * np.array([-0.8, 0.6]), 0.09
    fit = LackOfFit(0.5, np.ones(2), np.zeros((stacked.full, 0)), splits, 0.1, 0.1, 0.0, 0.0, np.eye(1))
    region = _wide(stacked, 0, 1e-12 * np.eye(len(at)), fit)
    ball, whole = np.array([1.2, 1.2, 1.2, 0.012, 0.012]) ** 2, np.array([0.0, 0.0, 0.0, 0.01, 0.01])
    np.testing.assert_allclose(region, 2 * np.diag(ball + whole), atol=1e-4)


def beside(activation, m, seed):
    """A noisy fit moved by a tenth of a standard error or so, on rows of weight about 4."""
    rng = np.random.default_rng(seed)
    truth = teacher(activation, m, False)
    X, Y = noisy(truth, 400, seed)
    w = 4.0 * rng.uniform(0.8, 1.2, 400)
    rows, model = wl.samples.open(X, Y, sample_weight=w), Model(True, False, True)
    near = variable_projection(rows, truth, model, iterations=60, damping=1e-6, tol=1e-14).network
    near = replace(near, a=near.a * (1 + 2e-3))
    return StandardForm.of(near, rows, model)


@pytest.mark.parametrize(("activation", "m"), [("tanh", 3), ("relu", 2)])
def test_regions_are_fishers_ellipsoids(monkeypatch, activation, m, seed):
    """(√(q F) + the distance to the minimum)² C for both covariances; rows on a kink count within what chance gains."""
    asked, shares = [], []
    monkeypatch.setattr(module, "_influence", lambda fit, share: shares.append(share) or _influence(fit, share))

    def spy(rows, reach, relative, cost, here, sizes, limit, numbers):
        asked.append((reach.regions, relative, cost, here, limit))
        return on_sides(rows, reach, relative, cost, here, sizes, limit, numbers)

    monkeypatch.setattr(module, "on_sides", spy)
    form = beside(activation, m, seed)
    found = module.examine_joint_noise(form, np.random.default_rng(0))
    stacked, information = form.stacked, form.information
    assert found.regions is not None, found.statements
    n, p, q, k = 400, stacked.size, stacked.inputs, 2
    assert p == k * (5 + m - (activation == "relu")) + m
    assert shares == [pytest.approx(p / (n * m), rel=1e-12)]
    assert form.distance > 1e-3
    free = q + m - (activation == "relu")
    radius = np.sqrt(free * stats.f.ppf(1 - 1e-4, free, int(n - p / m))) + np.sqrt(form.distance)
    L, at = information.half_inverse, [stacked.coordinates(i) for i in range(k)]
    covariances = [L @ C @ L.T for C in (information.covariance(form.noise), found.fit.meat)]
    wanted = np.array([[radius**2 * C[np.ix_(i, i)] for i in at] for C in covariances])
    np.testing.assert_allclose(found.regions, wanted, rtol=1e-6, atol=1e-9 * np.abs(wanted).max())
    for R, W in zip(found.regions, found.wide_regions, strict=True):
        for i in range(k):
            np.testing.assert_allclose(W[i], _wide(stacked, i, R[i], found.fit), rtol=1e-9)
    ((reach, relative, cost, here, limit),) = asked
    gained = q + m + 2 * 5 * math.log(math.e * n / 5) + 40.0
    np.testing.assert_allclose(reach, gained / radius**2 * found.regions[:, :, :q, :q], rtol=1e-9)
    assert cost == pytest.approx(np.array([gained, odds(k)]) * np.trace(form.noise) / m, rel=1e-9)
    np.testing.assert_allclose(relative, [relative_size(stacked, i, found.regions[:, i]) for i in range(k)], rtol=1e-9)
    H = [relative_size(stacked, i, (L @ L.T)[None][:, at[i]][:, :, at[i]]) for i in range(k)]
    np.testing.assert_allclose(here, H, rtol=1e-9)
    assert limit == 1.0


def test_units_without_rows_are_of_open_size():
    truth = teacher("tanh", 2, False)
    X, Y = noisy(truth, 200, 1)
    twice = replace(
        truth,
        W=np.hstack([truth.W, truth.W[:, 1:]]),
        b=np.append(truth.b, truth.b[1]),
        a=np.vstack([truth.a, 2.0 * truth.a[1:]]),
    )
    sizes = _open_sizes(StackedInformation.of(wl.samples.open(X, Y), Stacked.of(twice, Model())))
    assert np.isfinite(sizes).tolist() == [True, False, False]


@pytest.mark.parametrize("linear", [False, True])
def test_equations_and_rows_that_are_enough(linear):
    """(3 p + 30)/m rows, and three times those that any network of the width needs and thirty: the larger, and one less."""
    for d, k, m in ((4, 3, 1), (4, 3, 2), (3, 6, 40)):
        net = wl.teachers.several(wl.teachers.biased(d, k, activation="tanh", rng=1), m, linear=linear, rng=2)
        stacked = Stacked.of(net, Model(True, linear, True))
        least = rows_needed(d, k, m, net.activation, bias=True, linear=linear, offset=True)
        p = k * (d + 1 + m) + m * (1 + d * linear)
        needed = max(math.ceil((3 * p + 30) / m), 3 * least + 30)
        for rows in (needed - 1, needed):
            found = _enough(stacked, rows)
            assert (found.holds, found.number, found.limit) == (rows == needed, rows, needed)


@pytest.mark.parametrize(
    ("leverage", "share", "influence", "holds"),
    [
        (0.79, 0.1, 0.49, True),
        (0.81, 0.1, 0.1, False),
        (0.83, 0.21, 0.1, True),
        (0.85, 0.21, 0.1, False),
        (0.5, 0.1, 0.51, False),
    ],
)
def test_rows_that_decide_alone(leverage, share, influence, holds):
    """A leverage of 0.8, or four times the mean one, and half of the squared error or of the estimates' covariance."""
    none = np.zeros((1, 0)), np.zeros((1, 0, 1))
    for shares in ((influence, 0.0), (0.0, influence)):
        found = _influence(LackOfFit(0.5, np.ones(2), *none, leverage, *shares, 0.0, np.eye(1)), share)
        assert found.holds is holds
        by_leverage = leverage > max(0.8, 4 * share)
        assert (found.number, found.limit) == ((leverage, max(0.8, 4 * share)) if by_leverage else (influence, 0.5))


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_wald_statistics_of_units_and_differences(activation, seed):
    """a, for tanh (w, b) too, and (w, b) of two units up to sign, for ReLU up to scale: the least over covariances."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3, 2)) * np.array([[3.0], [1.0], [0.3]])
    net = wl.Network(rng.normal(size=(2, 3)) * [3.0, 1.0, 1.0], A, rng.normal(size=3), np.zeros(2), activation)
    stacked, scaled = Stacked.of(net, Model()), activation == "relu"
    roots = rng.normal(size=(2, stacked.full, stacked.full))
    covariances = tuple(R @ R.T for R in roots)
    at, V, q = [stacked.coordinates(i) for i in range(3)], np.vstack([net.W, net.b]).T, 3

    def form(v, C):
        return float(v @ np.linalg.solve(C, v))

    alone = [
        min(
            form(stacked.theta[part], C[np.ix_(part, part)])
            for C in covariances
            for part in ([i[q:]] if scaled else [i[:q], i[q:]])
        )
        for i in at
    ]
    least = np.array(alone)
    for i in range(3):
        for j in range(i):
            for sign in (1.0, -1.0):
                t = sign * (np.linalg.norm(V[i]) / np.linalg.norm(V[j]) if scaled else 1.0)
                T = np.zeros((q, stacked.full))
                T[:, at[i][:q]], T[:, at[j][:q]] = np.eye(q), -t * np.eye(q)
                if scaled:
                    T = np.linalg.svd(V[i][None])[2][1:] @ T
                value = min(form(T @ stacked.theta, T @ C @ T.T) for C in covariances)
                least[[i, j]] = np.minimum(least[[i, j]], value)
    ordered = np.unique(least)
    for limit in (1e9, 0.5 * ordered[0], *(0.5 * (ordered[1:] + ordered[:-1]))):
        found = _significance(stacked, covariances, limit)
        assert found.units == tuple(np.flatnonzero(least < limit).tolist())
        assert found.holds == (limit < ordered[0])
        assert found.limit == limit
        if limit > ordered[0]:
            assert found.number == pytest.approx(ordered[0], rel=1e-6)


def test_the_squared_error_on_the_regions_boundaries(monkeypatch, seed):
    """(R(θ + δ) − R(θ) − 2⟨δ, g⟩)/‖√w J δ‖² of networks by hand, R = Σ w ‖r‖² and half of g its gradient."""
    form = beside("tanh", 2, seed)
    rows, information, stacked = form.rows, form.information, form.stacked
    told = []
    monkeypatch.setattr(module, "stated", lambda *arguments: told.append(arguments))
    module._curvature(rows, information, form.noise, np.random.default_rng(4))
    ((ratio, unit, _),) = told
    L = np.sqrt(np.trace(form.noise) / 2) * information.half_inverse
    delta, _, wanted = boundary(L, (L @ L.T,), [stacked.coordinates(i) for i in range(2)], np.random.default_rng(4))
    np.testing.assert_array_equal(unit, wanted)
    (block,) = rows.blocks(400)
    J = np.asarray(stacked.linearized(block.X)[0])

    def risk(theta):
        W, b, A, c = theta[:8].reshape(4, 2), theta[8:10], theta[10:14].reshape(2, 2), theta[14:]
        r = np.tanh(block.X @ W + b) @ A + c - block.y
        return (block.w[:, None] * r**2).sum(), np.einsum("n,nop,no->p", block.w, J, r)

    own, gradient = risk(stacked.theta)
    expected = [(risk(stacked.theta + v)[0] - own - 2 * v @ gradient) / (block.w[:, None] * (J @ v) ** 2).sum() for v in delta]
    np.testing.assert_allclose(ratio, expected, rtol=1e-6)


def test_twins_of_other_units_and_further_units_count_as_they_are():
    net = wl.Network([[6.0, 1.0], [8.0, 0.0]], [[0.06, 0.08], [1.0, 1.0]], [0.0, 0.3], [0.0, 0.0], "tanh")
    stacked = Stacked.of(net, Model())
    at, splits, shifts = stacked.coordinates(0), np.zeros((stacked.full, 2, 2)), np.zeros((stacked.full, 1))
    splits[at[1], 1, 0], splits[at[2], 1, 1], shifts[at[0], 0] = 0.3, 0.2, 0.5
    fit = LackOfFit(0.5, np.ones(2), shifts, splits, 0.1, 0.1, 0.0, 0.0, np.eye(1))
    region = _wide(stacked, 0, 1e-10 * np.eye(len(at)), fit)
    np.testing.assert_allclose(np.sqrt(np.diagonal(region))[:3], [0.5, 0.3, 0.2], rtol=1e-3)
    np.testing.assert_allclose(region[3:, 3:], 0.02 * np.eye(2), rtol=1e-3, atol=1e-6)  # either of two may have any up to |a|
    assert np.abs(region[3:, :3]).max() < 1e-3
