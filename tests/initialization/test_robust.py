"""The robust stage: which units are recoverable, the surrogate of the others, the function; units with large biases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm as normal

import weightlift as wl
from weightlift import Network
from weightlift.errors import ActivationError, ArgumentError
from weightlift.geometry import norm
from weightlift.initialization import robust_fit, robust_init, with_large_biases
from weightlift.initialization.robust import largest_bias, linear_surrogate, paper_threshold, reach_of
from weightlift.refinement import fit_affine


def mixed(d, biases, seed):
    net = wl.teachers.biased(d, len(biases), rng=seed)
    return Network(net.W, net.a, biases)


def perturbed(net, size, rng):
    W = net.W + size * rng.standard_normal(net.W.shape)
    signs = rng.choice([-1.0, 1.0], net.n_units)
    return Network(W / np.linalg.norm(W, axis=0) * signs, net.a, net.b * signs)


def test_the_split_counts_rows_beyond_the_kink_and_strength_in_the_second_moment(seed):
    truth = mixed(6, [0.4, -0.8, 2.0, 4.5, -6.0], seed)
    n = 20_000
    rows = wl.samples.open(*wl.draw(truth, n, rng=seed))
    reach = reach_of(rows, truth)
    assert list(reach.recoverable) == [True, True, True, False, False]
    np.testing.assert_allclose(reach.rows, n * normal.cdf(-np.abs(truth.b)))
    assert n * normal.cdf(-largest_bias(rows)) == pytest.approx(2 * 7)
    np.testing.assert_allclose(reach.signal, np.abs(truth.a) * normal.pdf(truth.b))
    assert "unit 3 is linear-like: 0 rows beyond its kink" in str(reach)
    weak = Network(truth.W, truth.a * [1, 1e-4, 1, 1, 1], truth.b)  # an estimate too weak to be told from noise
    assert not reach_of(rows, weak).recoverable[1]
    assert reach_of(wl.samples.population(truth), truth).recoverable.all()


def test_noise_of_the_second_moment_is_its_spread_over_samples():
    truth = Network([[1.0, 0.96], [0.0, 0.28], [0.0, 0.0], [0.0, 0.0]], a=[1.0, -0.7], b=[0.4, -0.8])
    gram = (truth.W.T @ truth.W) ** 2  # far from the identity
    draws, predicted = [], []
    for seed in range(60):
        rows = wl.moments.remove_linear(wl.samples.open(*wl.draw(truth, 1000, rng=seed)))
        draws.append(np.linalg.solve(gram, rows.mean(wl.moments.DirectionalMoments(truth.W, (2,)))[0]))
        predicted.append(reach_of(rows, truth).noise)
    np.testing.assert_allclose(np.mean(predicted, axis=0), np.std(draws, axis=0), rtol=0.35)  # 60 draws: 9 % a deviation


def test_loss_of_a_linear_surrogate_is_exact():
    for b in (0.0, 1.0, 3.0, -3.0):
        unit = Network([[1.0], [0.0]], a=[1.7], b=[b])
        affine = fit_affine(wl.samples.population(unit), None).consolidated()
        linear = Network([[1.0, -1.0], [0.0, 0.0]], a=[1.7, -1.7], b=[b, -b]) if b > 0 else Network([[1.0], [0.0]], a=[0.0])
        loss = reach_of(wl.samples.population(unit), unit).loss[0]
        assert loss == pytest.approx(float(wl.distance(unit, linear)), rel=1e-9)
        assert float(wl.distance(unit, affine)) <= loss * (1 + 1e-12)


def test_linear_surrogate_of_units_left_out():
    truth = mixed(4, [0.3, -0.6, 8.0], 1)
    seen = Network(truth.W[:, :2], truth.a[:2], truth.b[:2])
    v, c = linear_surrogate(wl.samples.population(truth), seen)
    np.testing.assert_allclose(v, truth.a[2] * truth.W[:, 2], atol=1e-12)
    assert c == pytest.approx(truth.a[2] * 8.0)


@pytest.mark.parametrize("scale", [0.02, 0.05])
def test_the_function_from_rough_units_without_signs(scale, seed):
    rng = np.random.default_rng([seed, 7])
    truth = mixed(6, [0.4, -0.8, 0.1, 5.0, 7.0], seed)
    rows = wl.samples.open(*wl.draw(truth, 20_000, rng=seed))
    rough = perturbed(truth, scale, rng)
    plain, sharp = (robust_fit(rows, rough, sharpen=s) for s in (False, True))
    assert plain.reach.recoverable.sum() == 3
    assert plain.network.n_units <= 5
    errors = [float(wl.distance(fit.network, truth)) / norm(truth) for fit in (plain, sharp)]
    assert errors[1] < errors[0] < 2 * scale
    assert errors[1] < 0.01


def test_population_has_no_linear_like_units(rng):
    truth = mixed(5, [0.4, -0.8, 3.0, -4.0], 0)
    found = robust_fit(wl.samples.population(truth), perturbed(truth, 0.0, rng))
    assert float(wl.distance(found.network, truth)) < 1e-6  # σ(x + 4) is x + 4 up to 1e-3: (1e-16)^½ over that, at best
    assert math.isinf(found.truncation)


def test_the_printed_threshold_is_empty_for_ordinary_accuracies():
    assert math.isnan(paper_threshold(0.02, 6, 20, 3.0))
    assert paper_threshold(1e-6, 6, 20, 3.0) == pytest.approx(math.sqrt(math.log(1 / (1e-6 * 360))))
    with pytest.raises(ArgumentError, match="positive"):
        paper_threshold(0.0, 6, 20, 3.0)


def test_from_rows_to_all_units_within_reach(seed):
    truth = mixed(6, [0.4, -0.8, 2.6, -2.8, 6.0], seed)
    rows = wl.samples.open(*wl.draw(truth, 30_000, rng=seed))
    visible = robust_init(rows, 5, rng=seed)
    assert float(wl.distance(visible.network, truth)) < 0.03 * norm(truth)
    found = with_large_biases(rows, visible.function, 5)
    assert found.function.n_units == 4  # the fifth is linear on every row
    assert found.network is None
    scaled = found.function.units.b / np.linalg.norm(found.function.units.W, axis=0)
    np.testing.assert_allclose(np.sort(np.abs(scaled)), [0.4, 0.8, 2.6, 2.8], atol=1e-9)
    assert float(wl.distance(found.function.consolidated(), truth)) < 1e-6 * norm(truth)


def test_refusals_and_nothing_to_see(rng):
    rows = wl.samples.open(rng.standard_normal((500, 3)), rng.standard_normal(500))
    nothing = robust_init(rows, 2)
    assert nothing.function.n_units <= 1
    with pytest.raises(ActivationError, match="tanh"):
        robust_fit(rows, Network(np.eye(3), activation="tanh"))
    with pytest.raises(ArgumentError, match="unit 1 of estimate has weight zero"):
        robust_fit(rows, Network(np.eye(3) * [1.0, 0.0, 1.0]))
