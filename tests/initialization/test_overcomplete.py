"""Overcomplete networks: exact coefficients, smoothed instances, rows, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import weightlift as wl
from weightlift import Network
from weightlift.errors import ArgumentError, SingularError, TooFewRowsError
from weightlift.geometry import norm
from weightlift.identifiability import sign_patterns
from weightlift.initialization import overcomplete_init
from weightlift.refinement import refine_up_to_signs
from weightlift.refinement.up_to_signs import signed


@pytest.mark.parametrize(("d", "k"), [(4, 6), (5, 9), (5, 3)])
def test_exact_coefficients_give_the_network(d, k, seed):
    truth = wl.teachers.biased(d, k, rng=seed)
    start = overcomplete_init(wl.samples.population(truth), k, contractions=2, rng=seed)
    assert start.network.n_units <= k + 2
    assert float(wl.distance(start.network, truth)) < 1e-9 * norm(truth)
    network, patterns, _ = signed(start.function)
    assert patterns == 1
    assert wl.match(network, truth).max_error < 1e-8
    assert np.count_nonzero(np.abs(start.spectrum) > 1e-9) == k


def test_biases_that_hide_units_in_single_tensors(seed):
    net = wl.teachers.biased(5, 8, rng=seed)
    truth = Network(net.W, net.a, [0.0, 0.0, 1.0, -1.0, 3**0.5, -(3**0.5), 0.5, -0.2])  # zeros of He_1, He_2, He_3
    network, _, _ = signed(overcomplete_init(wl.samples.population(truth), 8).function)
    assert wl.match(network, truth).max_error < 1e-8


def test_smoothed_copies_of_few_directions(seed):
    rng = np.random.default_rng(seed)
    worst = Network(np.repeat(np.eye(5), 2, axis=1)[:, :8], rng.choice([-1.0, 1.0], 8), rng.uniform(-1, 1, 8))
    with pytest.raises(SingularError, match="parallel"):
        overcomplete_init(wl.samples.population(worst), 8)
    truth = wl.teachers.smoothed(worst, 0.3, rng=seed)  # awasthi2021, Corollary 3.3
    start = overcomplete_init(wl.samples.population(truth), 8)
    assert float(wl.distance(start.network, truth)) < 1e-6 * norm(truth)


def test_rows_lead_to_machine_precision(seed):
    truth = wl.teachers.biased(4, 6, rng=seed)
    X, y = wl.draw(truth, 30_000, rng=seed)
    start = overcomplete_init(wl.samples.open(X, y), 6, rng=seed)
    assert float(wl.distance(start.network, truth)) < 0.15 * norm(truth)
    found = refine_up_to_signs(wl.samples.open(X[:2000], y[:2000]), *start.starts)
    assert float(wl.distance(found.function.consolidated(), truth)) < 1e-10
    assert wl.match(found.network, truth).max_error < 1e-9


def test_where_signs_cannot_be_told_the_function_is_learned():
    rng = np.random.default_rng(3)
    W = rng.standard_normal((4, 6))
    W, b = W / np.linalg.norm(W, axis=0), rng.uniform(-1, 1, 6)
    null = np.linalg.svd(np.vstack([W, b]))[2][-1]
    truth = Network(W, null / np.abs(null).max(), b)
    found = signed(overcomplete_init(wl.samples.population(truth), 6).function)
    assert found[1] == 2 == len(sign_patterns(truth).patterns)
    assert float(wl.distance(found[0], truth)) < 1e-7


def test_refusals():
    truth = wl.teachers.biased(4, 6, rng=0)
    with pytest.raises(ArgumentError, match=r"order 4 tells 6 units apart.*hermite_init"):
        overcomplete_init(wl.samples.population(truth), 7)
    with pytest.raises(ArgumentError, match="at least 1"):
        overcomplete_init(wl.samples.population(truth), 0)
    with pytest.raises(SingularError, match="rank 6"):
        overcomplete_init(wl.samples.population(wl.teachers.biased(5, 6, rng=0)), 7)
    hidden = Network(truth.W, np.append(truth.a[:5], 0.0), truth.b)  # an output weight of zero
    with pytest.raises(SingularError, match="rank 5"):
        overcomplete_init(wl.samples.population(hidden), 6)
    with pytest.raises(TooFewRowsError, match="Give more"):
        overcomplete_init(wl.samples.open(*wl.draw(truth, 40)), 6)
    X, y = wl.draw(truth, 400, noise_std=5.0)
    with pytest.raises(TooFewRowsError, match=r"0 of 6 .* About .* rows"):
        overcomplete_init(wl.samples.open(X, y), 6)
    wide = wl.teachers.biased(120, 3, rng=0)
    with pytest.raises(ArgumentError, match=r"5\.0 GiB"):
        overcomplete_init(wl.samples.population(wide), 3)
