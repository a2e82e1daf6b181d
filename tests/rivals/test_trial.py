"""Rivals on trial: what one step leaves is the linear least squares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import weightlift as wl
from weightlift import samples
from weightlift.evidence.gauge import Gauge
from weightlift.identifiability import reflect
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.risk import Students
from weightlift.rivals.limits import LIMITS
from weightlift.rivals.trial import Bar, after_a_step, reach_of_some, stay


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


def test_what_refutes_a_rival_row_by_row(seed: int) -> None:
    rng = np.random.default_rng(seed)
    own, rival = (wl.Network(rng.standard_normal((3, 2)), [1.0, -1.0], [0.3, -0.2]) for _ in range(2))
    X, w = rng.standard_normal((60, 3)), rng.uniform(0.5, 2.0, 60)
    y = rival.predict(X) + 0.3 * rng.standard_normal(60)
    theirs, ours = rival.predict(X) - y, own.predict(X) - y
    terms = w * (theirs - ours) * theirs
    odds, square = terms.sum() ** 2 / (terms**2).sum(), (w * theirs**2).sum()
    source = samples.open(X, y, sample_weight=w)
    for bar, stays in [
        (Bar(0.999 * square), False),
        (Bar(1.001 * square), True),
        (Bar(0.0, 0.999 * odds), False),
        (Bar(0.0, 1.001 * odds), True),
    ]:
        assert stay(source, own, [own, rival], bar).tolist()[1] is stays


@pytest.mark.parametrize("few", [12, 2000])
def test_the_truth_is_refuted_as_seldom_as_promised(few: int, seed: int) -> None:
    """A rival that is the truth, its errors on few rows or many: beyond the odds of 4 with probability 2 exp(−2) at most,
    and never where there are fewer rows than the odds."""
    rng = np.random.default_rng(seed)
    n, trials = 2000, 400
    own, truth = (wl.Network(rng.standard_normal((2, 1)), [1.0]) for _ in range(2))
    X = rng.standard_normal((n, 2))
    refuted = 0
    for _ in range(trials):
        errors = np.zeros(n)
        errors[:few] = rng.standard_normal(few)
        source = samples.open(X, truth.predict(X) + errors)
        refuted += int(not stay(source, own, [truth], Bar(-1.0, 4.0))[0])
        assert few > 13 or stay(source, own, [truth], Bar(-1.0, 13.0))[0]
    assert refuted <= trials * (2 * np.exp(-2.0) + 0.06)


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
