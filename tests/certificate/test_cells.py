"""Rows in a few places: networks with other kinks that fit them as exactly must be seen."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import weightlift as wl
from weightlift import samples
from weightlift.certificate.cells import _binary_vectors, _most_cells, other_arrangements
from weightlift.evidence.gauge import Gauge
from weightlift.refinement.gauss_newton import gauss_newton

CENTRES = np.array([[-0.994, -1.352, 0.779], [1.282, -1.81, 1.308], [-0.837, -0.737, -0.322], [-0.605, 1.202, 0.934]])
ONE = wl.Network(np.eye(3))
TWO = wl.Network(0.5 * np.array([[-1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [1.0, 1.0, 1.0]]))


def clustered(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.concatenate([c + 0.015 * rng.standard_normal((40, 3)) for c in CENTRES])
    return X, TWO.predict(X)


def test_two_networks_that_agree_on_clusters_are_both_ambiguous(seed: int) -> None:
    X, y = clustered(seed)
    assert np.abs(ONE.predict(X) - y).max() < 1e-14
    for net in (ONE, TWO):
        certificate = wl.certify(net, X, y)
        assert certificate.status is wl.Status.AMBIGUOUS
        assert "other kinks" in certificate.reasons[0]
    assert wl.recover(X, y, n_units=3).certificate.status is wl.Status.AMBIGUOUS
    everywhere = np.random.default_rng(seed).standard_normal((160, 3))
    assert wl.certify(TWO, everywhere, TWO.predict(everywhere)).status is wl.Status.EXACT


@pytest.mark.parametrize("seed", [3, 4, 5])
@pytest.mark.parametrize("start", [ONE, TWO])
def test_noise_does_not_hide_the_other_network(start: wl.Network, seed: int) -> None:
    """A row that noise puts on the other side of a kink makes no cell that the other network could not explain."""
    rng = np.random.default_rng(seed)
    X = np.concatenate([c + 0.3 * rng.standard_normal((400, 3)) for c in CENTRES])
    X = X[np.abs(ONE.predict(X) - TWO.predict(X)) < 1e-12]
    y = TWO.predict(X) + 0.01 * rng.standard_normal(len(X))
    net = gauss_newton(samples.open(X, y), start, free="W").network
    assert not wl.certify(net, X, y)


def test_the_other_network_is_among_the_rivals(as_xp) -> None:
    X, y = clustered(0)
    rivals = other_arrangements(samples.open(as_xp(X), as_xp(y)), Gauge.of(ONE, bias=False, offset=False))
    assert rivals is not None
    assert any(rival.equivalent(TWO, 1e-9) for rival in rivals)


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "squared_relu"])
def test_spread_rows_leave_no_rival(activation: str, seed: int) -> None:
    net = wl.teachers.conditioned(8, 4, activation=activation, rng=seed)
    X = np.random.default_rng(seed).standard_normal((120, 8))
    assert other_arrangements(samples.open(X, net.predict(X)), Gauge.of(net, bias=False, offset=False)) == []


def test_binary_vectors_of_a_space_are_all_found(rng: np.random.Generator) -> None:
    C = rng.integers(2, size=(6, 3)).astype(float)
    found = {tuple(v) for v in _binary_vectors(C).T}
    for v in itertools.product([0.0, 1.0], repeat=6):
        rest = np.array(v) - C @ np.linalg.lstsq(C, np.array(v))[0]
        assert (np.linalg.norm(rest) < 1e-9) == (v in found)


@pytest.mark.parametrize(("k", "d", "biased"), [(3, 2, False), (4, 3, False), (3, 2, True), (4, 2, True)])
def test_the_number_of_cells_is_reached_by_many_rows(k: int, d: int, biased: bool, rng: np.random.Generator) -> None:
    W, b = rng.standard_normal((d, k)), rng.standard_normal(k) * biased
    sides = 5.0 * rng.standard_cauchy((200_000, d)) @ W + b > 0
    assert len(np.unique(sides, axis=0)) == _most_cells(k, d, biased)


@pytest.mark.parametrize("bias", [False, True])
def test_squares_with_an_offset_are_exact(bias: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = wl.Network(rng.standard_normal((4, 2)), [1.0, -1.0], 0.5 * rng.standard_normal(2) * bias, 0.7, "squared_relu")
    X = rng.standard_normal((100, 4))
    assert wl.certify(net, X, net.predict(X), bias=bias).status is wl.Status.EXACT
