"""Wide starts of the joint search: when they are worth it, and what narrowing leaves of them."""

from dataclasses import replace

import numpy as np
import pytest

import weightlift as wl
from weightlift.refinement.variable_projection import Hidden, Model, variable_projection
from weightlift.search.joint_wide import _narrowed, _without_refit, wide_enough, wide_start

RELU = wl.activations.get("relu")


def planted(d, k, m, n, *, linear=False, seed=0):
    truth = wl.teachers.several(wl.teachers.biased(d, k, bias=0.3, rng=seed), m, linear=linear, rng=seed)
    X, Y = wl.draw(truth, n, rng=seed + 100)
    return truth, wl.samples.open(X, Y), 0.5 * float(np.mean(np.sum(Y.reshape(n, -1) ** 2, axis=1)))


def test_a_start_is_wide_where_equations_are_more_than_its_unknowns():
    _, samples, _ = planted(7, 8, 3, 60)
    unknowns = 12 * (8 + 3)  # 1.5 · 8 units of seven weights, a bias and three outputs
    fewer, few = (wl.samples.open(np.zeros((n, 7)), np.zeros((n, 3))) for n in (54, 45))
    assert 60 * 3 >= 1.25 * unknowns > 54 * 3 >= 1.25 * 11 * 11
    assert 45 * 3 < 1.25 * 10 * 11  # 10 units are the least that is worth it, 1.2 · 8
    assert wide_enough(samples, 8, RELU, Model()) == 12
    assert wide_enough(fewer, 8, RELU, Model()) == 11
    assert wide_enough(few, 8, RELU, Model()) == 0
    assert wide_enough(samples, 8, RELU, Model(linear=True)) == 11  # 144 equations are 21 unknowns of V and 123 of 11 units
    assert wide_enough(samples, 8, wl.activations.get("tanh"), Model()) == 0
    assert wide_enough(samples, 2, RELU, Model()) == 0


@pytest.mark.parametrize("seed", range(3))
def test_copies_and_silent_units_go_without_a_step(seed):
    truth, samples, energy = planted(5, 3, 2, 80, seed=seed)
    rng = np.random.default_rng(seed)
    W = np.hstack([truth.W, truth.W[:, :2], rng.normal(size=(5, 1))])
    b = np.concatenate([truth.b, truth.b[:2], [-100.0]])
    fit = variable_projection(samples, Hidden(W[:, None], b[None], RELU), Model(), iterations=0)
    rest, free = _without_refit(samples, fit, 3, Model(), 1e-20 * energy)
    assert free
    assert rest.shape == (5, 1, 3)
    assert variable_projection(samples, rest, Model(), iterations=0).network.equivalent(truth)


@pytest.mark.parametrize("seed", range(3))
def test_where_none_is_free_the_cheapest_goes(seed):
    truth, samples, energy = planted(5, 4, 2, 80, seed=seed)
    fit = variable_projection(samples, truth, Model(), iterations=0)
    rest, free = _without_refit(samples, fit, 2, Model(), 1e-20 * energy)
    assert not free
    assert rest.shape == (5, 1, 3)
    risks = [
        variable_projection(samples, replace(fit.hidden, W=np.delete(fit.hidden.W, i, 2), b=np.delete(fit.hidden.b, i, 1)),
                            Model(), iterations=0).risks[0]
        for i in range(4)
    ]  # fmt: skip
    left = variable_projection(samples, rest, Model(), iterations=0).risks[0]
    np.testing.assert_allclose(left, min(risks), rtol=1e-9)


@pytest.mark.parametrize("linear", [False, True])
def test_a_unit_near_another_goes_with_a_refit(linear):
    truth, samples, energy = planted(6, 4, 3, 200, linear=linear, seed=1)
    near = truth.W[:, :1] + 0.05 * np.random.default_rng(2).normal(size=(6, 1))
    W, b = np.hstack([truth.W, near]), np.append(truth.b, truth.b[0])
    model = Model(linear=linear)
    fit = variable_projection(samples, Hidden(W[:, None] * 1.001, b[None], RELU), model, iterations=2, unit=True)
    found, work = _narrowed(samples, fit, 4, model, energy, np.inf)
    assert found.network.equivalent(truth)
    assert work >= 0


@pytest.mark.parametrize("seed", range(2))
def test_one_wide_start_finds_the_network(seed):
    truth, samples, energy = planted(8, 6, 5, 120, seed=seed)
    width = wide_enough(samples, 6, RELU, Model())
    start = Hidden(*(np.random.default_rng(seed).normal(size=s) for s in ((8, 1, width), (1, width))), RELU)
    fit, work = wide_start(samples, start, 6, Model(), energy, np.inf)
    assert fit.network.equivalent(truth)
    assert fit.hidden.shape[2] == 6
    assert work > 0
