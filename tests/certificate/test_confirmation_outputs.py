"""Units of several outputs that a few rows alone determine."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from weightlift import draw, teachers
from weightlift.certificate import certify
from weightlift.certificate.confirmation import growth
from weightlift.certificate.joint_noise import relative_size
from weightlift.certificate.limits import LIMITS
from weightlift.certificate.scores import Deciding
from weightlift.evidence.rows import EPS
from weightlift.evidence.stacked import Stacked, StackedInformation
from weightlift.network import Network
from weightlift.refinement.variable_projection import Model
from weightlift.samples import open as open_samples


def _three_rows(seed: int) -> tuple[Network, Network, np.ndarray]:
    """A steep step left of three rows or right of them, beside a unit that they then place: the same values in two outputs."""
    rng = np.random.default_rng(seed)
    x, z = np.array([-0.01, 0.0, 0.01]), np.array([-0.5, -0.1, 0.3])
    v, a = 0.2 + np.tanh(z), 1.0

    def bend(a: float) -> float:
        return float(np.arctanh((v + 1.2 - a) / a) @ [1.0, -2.0, 1.0])

    low, high = 0.8457, 5.0
    for _ in range(200):
        a = 0.5 * (low + high)
        low, high = (a, high) if np.sign(bend(a)) == np.sign(bend(low)) else (low, a)
    nets = []
    for weight, here, side in ((1.0, z, 1.0), (a, np.arctanh((v + 1.2 - a) / a), -1.0)):
        w, b = np.polyfit(x, here, 1)
        outputs = np.outer([weight, 1.2 - weight], [1.0, -0.7])
        nets.append(Network([[w, 3e3]], outputs, [b, side * 1.5e3], np.zeros(2), "tanh"))
    far = rng.uniform(1.0, 3.0, 40) * rng.choice([-1.0, 1.0], 40)
    return nets[0], nets[1], np.append(far, x)[:, None]


@pytest.mark.parametrize("seed", range(3))
def test_as_many_rows_as_parameters_are_no_certificate_of_two_outputs(seed: int) -> None:
    one, other, X = _three_rows(seed)
    np.testing.assert_allclose(other.predict(X), one.predict(X), atol=1e-12)
    for net in (one, other):
        certificate = certify(net, X, net.predict(X), bias=True)
        assert certificate.certified_units == ()
        assert any("no other row confirms" in s.sentence and 0 in s.units for s in certificate.failing)


@pytest.mark.parametrize("m", [2, 10])
@pytest.mark.parametrize("seed", range(3))
def test_right_networks_at_two_equations_a_parameter_are_confirmed(m: int, seed: int) -> None:
    truth = teachers.several(teachers.biased(20, 5, bias=0.3, activation="tanh", rng=500 + seed), m, rng=600 + seed)
    X, Y = draw(truth, -(-2 * 5 * (21 + m) // m), rng=700 + seed)
    assert certify(truth, X, Y, bias=True)


@pytest.mark.parametrize("model", [Model(), Model(linear=True, offset=True)], ids=str)
def test_equations_above_the_limit_are_those_of_the_hat_matrix(model: Model) -> None:
    truth = teachers.several(teachers.biased(4, 4, bias=0.3, activation="tanh", rng=0), 3, linear=model.linear, rng=1)
    X, _ = draw(truth, 40, rng=2)
    X[:3] *= 15.0
    rows = open_samples(X, truth.predict(X))
    stacked = Stacked.of(truth, model)
    information = StackedInformation.of(rows, stacked)
    assert stacked.size > LIMITS.sketched
    V = rows.fold(Deciding.of(information, np.random.default_rng(0)))[0]
    Q = np.linalg.qr(np.asarray(stacked.linearized(X)[0]).reshape(120, -1))[0].reshape(40, 3, -1)
    values = np.linalg.eigvalsh(Q @ np.swapaxes(Q, 1, 2))
    assert len(V) == (values > LIMITS.deciding).sum() > 0
    np.testing.assert_allclose(np.sort((V**2).sum(axis=1)), np.sort(values[values > LIMITS.deciding]), rtol=1e-8)


def test_growth_is_that_of_the_inverse_without_the_equations() -> None:
    truth = teachers.several(teachers.biased(4, 2, bias=0.3, activation="tanh", rng=0), 3, rng=1)
    X, Y = draw(truth, 40, rng=2)
    stacked = Stacked.of(truth, Model())
    information = StackedInformation.of(open_samples(X, Y), stacked)
    J = np.asarray(stacked.linearized(X)[0]).reshape(120, -1)
    V = (J @ information.half_inverse)[[0, 1, 2, 40]].T  # one row's three equations, and one of another
    rest = np.delete(J, [0, 1, 2, 40], axis=0)
    for i, grown in enumerate(growth(information, V)):
        at = stacked.coordinates(i)
        before, after = (relative_size(stacked, i, np.linalg.inv(M.T @ M)[np.ix_(at, at)][None]) for M in (J, rest))
        assert grown == pytest.approx(after / before, rel=1e-8)


def test_sketches_keep_lengths_and_find_what_they_underrate() -> None:
    """Few directions are as they are; of many, 24 have the same squares on average. A leverage counts from a quarter on: three
    rows that weigh as much as a billion others are equations of their own, with every output."""
    truth = teachers.several(teachers.biased(12, 4, bias=0.3, activation="tanh", rng=0), 2, rng=1)
    X, _ = draw(truth, 200, rng=2)
    w = np.ones(200)
    w[:3] = 1e9
    rows = open_samples(X, truth.predict(X), sample_weight=w)
    information = StackedInformation.of(rows, Stacked.of(truth, Model()))
    L = information.half_inverse
    found = Deciding.of(information, np.random.default_rng(0))
    assert L.shape[1] > LIMITS.sketched == found.sketch.shape[1]
    share = np.linalg.norm(found.sketch, axis=1) / np.linalg.norm(L, axis=1)
    assert abs(np.mean(share**2) - 1) < 5 * np.sqrt(2 / LIMITS.sketched)
    expected = rows.fold(Deciding(found.gauge, L, L))[0]
    assert len(expected) == 6
    under, lost = (rows.fold(Deciding(found.gauge, L, np.sqrt(t) * L))[0] for t in (0.3, 0.2))
    for found_too in (under, rows.fold(found)[0]):  # of nearly equal leverages: the same space
        np.testing.assert_allclose(found_too.T @ found_too, expected.T @ expected, atol=1e-6)
    assert lost.shape == (0, L.shape[1])
    small = teachers.several(teachers.biased(2, 2, bias=0.3, activation="tanh", rng=0), 2, rng=1)
    Z, _ = draw(small, 60, rng=2)
    few = StackedInformation.of(open_samples(Z, small.predict(Z)), Stacked.of(small, Model()))
    np.testing.assert_array_equal(Deciding.of(few, np.random.default_rng(0)).sketch, few.half_inverse)


def test_equations_of_parts_of_the_rows_are_those_of_all() -> None:
    truth = teachers.several(teachers.biased(2, 2, bias=0.3, activation="tanh", rng=0), 2, rng=1)
    X, _ = draw(truth, 40, rng=2)
    w = np.where(np.isin(np.arange(40), (3, 30)), 1e9, 1.0)
    rows = open_samples(X, truth.predict(X), sample_weight=w)
    statistic = Deciding.of(StackedInformation.of(rows, Stacked.of(truth, Model())), np.random.default_rng(0))
    (whole,) = rows.blocks(40)
    one, other = (statistic(replace(whole, X=X[at], y=whole.y[at], w=w[at])) for at in (slice(0, 20), slice(20, 40)))
    assert len(one[0]) == len(other[0]) == 2
    for left, right in ((one, other), (other, one)):
        (merged,) = statistic.merge(left, right)
        np.testing.assert_allclose(merged.T @ merged, statistic(whole)[0].T @ statistic(whole)[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("condition", "left", "exact"), [(1e6, 1e-8, True), (1e6, 1e-10, False), (1e20, 1e-3, True), (1e20, 1e-5, False)]
)
def test_what_rounding_leaves_of_an_equation_is_nothing(condition: float, left: float, exact: bool) -> None:
    """An equation of leverage 1 − t for the first entry of a: its variance grows by 1/t; below p ε κ, κ ≤ 10¹¹, t is ε²."""
    net = Network([[1.0], [2.0]], [[3.0, 4.0]], [0.5], np.zeros(2), "tanh")
    stacked = Stacked.of(net, Model())
    known = SimpleNamespace(gauge=stacked, half_inverse=np.eye(stacked.full), condition=condition)
    V = np.zeros((stacked.full, 1))
    V[stacked.coordinates(0)[-2]] = np.sqrt(1.0 - left)
    (found,) = growth(known, V)
    inner, outer = 1.0 / np.sqrt(5.25), 1.0 / (np.sqrt(left) if exact else EPS) / 5.0  # beside ‖(w, b)‖ and ‖a‖
    assert found == pytest.approx(max(inner, outer) / inner, rel=1e-4)
