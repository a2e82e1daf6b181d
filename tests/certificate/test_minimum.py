"""A minimum on a kink is a minimum."""

from __future__ import annotations

import numpy as np
import pytest
from tests.certificate.regularity import known

from weightlift import Network, samples
from weightlift.activations import custom
from weightlift.certificate.minimum import OnKinks, distance_to_minimum, minimum
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information


def test_a_minimum_on_a_kink_is_a_minimum() -> None:
    """A row on the kink, far below it: the gradient in b jumps from −1 to 1 there, and the least subgradient is zero."""
    X = np.linspace(-2.0, 2.0, 81)[:, None]
    y = np.maximum(X[:, 0], 0.0)
    active = np.column_stack([np.ones(40), X[41:, 0]])
    y[41:] += active @ np.linalg.solve(active.T @ active, [1.0, 0.0])
    y[40] = -2.0
    for b, least in ((0.0, 0.0), (1e-9, 1.0), (-1e-9, 1.0)):
        fit = Network([[1.0]], [1.0], [b], 0.0, "relu")
        _, information, variance = known(fit, X, y)
        np.testing.assert_allclose(information.gradient, [0.0, 1.0 if b > 0 else -1.0], atol=1e-6)
        jump = float(np.sum((information.half_inverse.T @ information.gradient) ** 2)) / variance
        found = distance_to_minimum(samples.open(X, y), information, variance)
        assert found == pytest.approx(least * jump, abs=1e-12)


def test_rows_on_kinks_with_their_weights_and_slopes(seed: int) -> None:
    """w r a x̃ and how far φ′ may go from where it is, in a valley: between 0 and 1 at kinks that are not at zero."""
    phi = custom("clipped", lambda z: np.clip(z, -0.5, 0.8), lambda z: ((z > -0.5) & (z <= 0.8)) * 1.0, kinks=(-0.5, 0.8))
    rng = np.random.default_rng(seed)
    w, b, a = np.array([2.0, -1.0]), np.array([0.25, 0.125]), np.array([0.7, -1.5])
    places = [((kink - b[i]) / w[i], i, kink) for kink in (-0.5, 0.8) for i in (0, 1)]
    X = np.append([x for x, _, _ in places], [0.05, -0.05, 3.0])[:, None]
    net, weight = Network(w[None], a, b, 0.0, phi), rng.uniform(0.2, 3.0, 7)
    y = net.predict(X) + (-1.0) ** seed * np.array([1.0, 1.0, -1.0, -1.0, 0.3, 0.2, 0.1])  # a valley and a ridge at each kink
    weight[0] = 0.0 if seed == 2 else weight[0]
    gauge = Gauge.of(net, bias=True, offset=False)
    units, rows, reach = samples.open(X, y, sample_weight=weight).fold(OnKinks(gauge))
    found = {(int(i), round(float(row[0] / row[1]), 9)): (row, r) for i, row, r in zip(units, rows, reach, strict=True)}
    wanted = {(i, round(float(x), 9)): at for at, (x, i, _) in enumerate(places) if weight[at]}
    assert set(found) == set(wanted)
    for key, at in wanted.items():
        x, i, kink = places[at]
        pull = weight[at] * (net.predict(X)[at] - y[at]) * a[i]
        np.testing.assert_allclose(found[key][0], pull * np.array([x, 1.0]), rtol=1e-12)
        jump = 1.0 if kink < 0 else -1.0
        now = float(phi.derivative(np.array(X[at, 0] * w[i] + b[i])))
        expected = [-now, 1.0 - now] if pull * jump > 0 else [0.0, 0.0]
        np.testing.assert_allclose(found[key][1], expected)


def test_the_distance_to_a_minimum_is_in_standard_errors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = Network(rng.standard_normal((2, 2)), [1.0, -0.7], [0.2, 0.3], 0.0, "tanh")
    X = rng.standard_normal((80, 2))
    y = net.predict(X) + 0.1 * rng.standard_normal(80)
    _, information, variance = known(net, X, y)
    expected = information.gradient @ np.linalg.solve(information.gram, information.gradient) / variance
    assert distance_to_minimum(samples.open(X, y), information, variance) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("p", "limit"), [(4, 0.4), (50, 2.0)])
def test_a_fifth_of_a_standard_error_a_parameter(p: int, limit: float) -> None:
    """0.04 a parameter, of ten at least, in squares; the statement has the roots."""
    for shift, holds in ((0.99 * limit, True), (1.01 * limit, False)):
        found = minimum(shift, p)
        assert found.holds is holds
        assert (found.number, found.limit) == (pytest.approx(shift**0.5), pytest.approx(limit**0.5))
        assert ("refine it" in found.sentence) is not holds


def test_the_least_subgradient_by_trying_all_slopes(seed: int) -> None:
    """Two rows on the kink of a unit each: in a valley φ′ is any number from 0 to 1, on a ridge that of its side."""
    rng = np.random.default_rng(seed)
    net = Network([[1.0, 0.5], [-0.5, 1.0]], [1.0, -2.0])
    X = np.vstack([rng.standard_normal((30, 2)), [0.5, 1.0], [2.0, -1.0]])
    y = net.predict(X) + 0.1 * rng.standard_normal(32)
    y[30], y[31] = net.predict(X)[30:] + [[-1.0, -0.4], [1.0, 0.4], [-1.0, 0.4]][seed]  # valleys, ridges, one of each
    gauge = Gauge.of(net, bias=False, offset=False)
    rows = samples.open(X, y)
    information = Information.of(rows, gauge)
    H, g, r = information.gram, information.gradient, net.predict(X) - y
    parts = np.zeros((2, gauge.size))
    for part, row, i in zip(parts, (30, 31), (0, 1), strict=True):
        part[gauge.coordinates(i)] = r[row] * np.sqrt(abs(net.a[i])) * np.sign(net.a[i]) * X[row]
    valley = [r[30] * net.a[0] > 0, r[31] * net.a[1] > 0]
    slopes = [np.linspace(0.0, 1.0, 201) if v else np.zeros(1) for v in valley]
    tried = g + slopes[0][:, None, None] * parts[0] + slopes[1][:, None] * parts[1]
    least = np.einsum("sti,ij,stj->st", tried, np.linalg.inv(H), tried).min() / 0.01
    assert distance_to_minimum(rows, information, 0.01) == pytest.approx(least, rel=1e-3)
    assert valley == [[True, False], [False, True], [True, True]][seed]


@pytest.mark.parametrize("b", [0.0, 4e3, -4e3])
def test_a_row_is_on_a_kink_up_to_a_thousand_roundings(b: float, seed: int) -> None:
    """|z − kink| at most 1e-12 of |x|ᵀ|w| + |b|, whatever z itself is."""
    rng = np.random.default_rng(seed)
    X = 1e3 * rng.standard_normal((6, 2))
    w = rng.standard_normal(2)
    X[:, 1] = -(X[:, 0] * w[0] + b) / w[1]
    X[:, 1] += 1e-12 * (np.abs(X) @ np.abs(w) + abs(b)) * np.array([0.5, -0.5, 2.0, -2.0, 1e3, 0.1]) / w[1]
    net = Network(w[:, None], b=[b])
    source = samples.open(X, net.predict(X) + 1.0)
    units, rows, _ = source.fold(OnKinks(Gauge.of(net, bias=False, offset=False)))
    assert units.tolist() == [0, 0, 0]
    np.testing.assert_allclose(rows, -X[[0, 1, 5]], rtol=1e-9)


@pytest.mark.parametrize(("count", "allowed"), [(64, True), (65, False)])
def test_a_minimum_is_on_few_kinks(count: int, allowed: bool) -> None:
    """Up to 64 rows on kinks are allowed for."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    X[:count, 0] = 0.0
    net = Network([[1.0], [0.0]])
    gauge = Gauge.of(net, bias=False, offset=False)
    y = net.predict(X) + rng.standard_normal(200)
    y[:count] = -5.0
    rows = samples.open(X, y)
    information = Information.of(rows, gauge)
    plain = information.gradient @ np.linalg.solve(information.gram, information.gradient)
    found = distance_to_minimum(rows, information, 1.0)
    assert (found < plain - 0.05) == allowed
    assert allowed or found == pytest.approx(plain, rel=1e-6)
