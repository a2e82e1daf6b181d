"""The search: softened activations, starts, pruning, consolidation, the portfolio and its cost."""

import math
from dataclasses import replace

import numpy as np
import pytest

import weightlift as wl
from weightlift import samples
from weightlift.identifiability.reflections import without_offset
from weightlift.network import Network
from weightlift.recovery.problem import Counted
from weightlift.risk import Students
from weightlift.search import Attempt, Budget, Ending, candidates
from weightlift.search.expand_prune import _ending
from weightlift.search.narrowing import _deletion_costs, narrowed
from weightlift.search.starts import ResidualMoments, perturbed, random_students


def test_residual_moments_are_those_of_each_student(rng):
    X, y = rng.normal(size=(50, 4)), rng.normal(size=50)
    nets = [Network(rng.normal(size=(4, 2)), rng.normal(size=2)) for _ in range(3)]
    found = samples.open(X, y).mean(ResidualMoments(Students.of(*nets)))[0]
    for s, net in enumerate(nets):
        r = net.predict(X) - y
        np.testing.assert_allclose(found[s], (X * r[:, None]).T @ X / 50 - np.mean(r) * np.eye(4), atol=1e-12)


def test_perturbed_starts_reseed_the_weakest_unit_where_the_residual_points():
    """A truth with one unit missing: the re-seeded direction is the missing one, up to sign."""
    truth = Network(np.eye(6)[:, :3] * [2.0, 1.5, 3.0], [1, 1, 1])
    X, y = wl.draw(truth, 20_000, rng=0)
    student = Network(np.column_stack([truth.W[:, :2], np.ones(6)]), [1, 1, 1e-9])
    pool = Students.of(student)
    starts = perturbed(samples.open(X, y), pool, bias=False, rng=np.random.default_rng(0))
    assert starts.shape == (6, 2, 3)
    reseeded = starts.W[:, 1]
    assert abs(reseeded[2, 2]) > 0.95
    np.testing.assert_allclose(reseeded[:, :2], np.eye(6)[:, :2], atol=1e-12)


def test_perturbed_starts_move_a_share_of_the_units_that_varies():
    """Of each start some units stay on their direction to rounding, the others leave it; starts differ in how many."""
    rng = np.random.default_rng(0)
    truths = [wl.teachers.biased(6, 10, rng=seed) for seed in range(12)]
    X, y = wl.draw(truths[0], 50, rng=1)
    starts = perturbed(samples.open(X, y), Students.of(*truths), bias=True, rng=rng)
    moved = []
    for number, truth in enumerate(truths):
        there, here = np.vstack([truth.W, truth.b]), np.vstack([starts.W[:, number], starts.b[number]])
        there = there / np.linalg.norm(there, axis=0)
        distance = np.linalg.norm(here - there, axis=0)
        assert ((distance < 1e-12) | (distance > 0.05)).all()
        moved.append(int((distance > 0.05).sum()))
    assert min(moved) <= 3
    assert max(moved) >= 7


@pytest.mark.parametrize("activation", ["relu", "squared_relu", "tanh"])
def test_narrowing_never_loses_exactness(activation):
    truth = wl.teachers.conditioned(5, 2, activation=activation, rng=0)
    X, y = wl.draw(truth, 150, rng=0)
    wide = Network(np.hstack([truth.W, truth.W[:, :1], 0.1 * np.ones((5, 1))]), np.r_[truth.a * [0.5, 1], truth.a[0] / 2, 1e-9],
                   activation=activation)  # fmt: skip
    found = narrowed(samples.open(X, y), Students.of(wide), 2, free="Wa", energy=0.5 * np.mean(y**2))
    assert found.students.network(0).equivalent(truth, tol=1e-8)


def test_units_without_output_cost_nothing():
    truth = wl.teachers.conditioned(6, 2, activation="relu", rng=0)
    X, y = wl.draw(truth, 300, rng=1)
    dead = Network(np.hstack([truth.W, truth.W[:, :1], truth.W[:, :1]]), [*truth.a, 0.0, 0.0])
    found = narrowed(samples.open(X, y), Students.of(dead), 2, free="Wa", energy=0.5 * np.mean(y**2))
    assert found.work <= 6, "no student but the one that is left was refitted"
    assert found.students.network(0).equivalent(truth)


def test_the_cost_of_a_deletion_is_what_the_other_outputs_cannot_make_up_for(rng):
    """½ aᵢ²/(G⁻¹)ᵢᵢ against a least-squares fit without the unit; and free units go one after the other."""
    X, y = rng.normal(size=(80, 4)), rng.normal(size=80)
    F = np.maximum(X @ (W := rng.normal(size=(4, 5))), 0)
    a = np.linalg.lstsq(F, y, rcond=None)[0]
    deletions = _deletion_costs(samples.open(X, y), Students.of(Network(W, a)), "Wa", 0)
    full = np.mean((F @ a - y) ** 2)
    for i in range(5):
        rest = np.delete(F, i, axis=1)
        left = np.mean((rest @ np.linalg.lstsq(rest, y, rcond=None)[0] - y) ** 2)
        assert deletions.costs[i] == pytest.approx(0.5 * (left - full), rel=1e-6)
    order = deletions.without_refit(np.inf, 2)
    rest = np.delete(F, order, axis=1)
    left = np.mean((rest @ np.linalg.lstsq(rest, y, rcond=None)[0] - y) ** 2)
    spent = 0.5 * (left - full)
    assert list(deletions.without_refit(spent * (1 + 1e-6), 5)) == list(order)
    assert len(deletions.without_refit(spent * (1 - 1e-6), 5)) == 1


def test_without_offset_keeps_the_function(rng):
    a = np.array([1.0, -0.7, 2.0])
    net = Network(rng.normal(size=(4, 3)), a, rng.normal(size=3), activation="sigmoid")
    flipped = Network(net.W * [-1, 1, -1], a * [-1, 1, -1], net.b * [-1, 1, -1], a[0] + a[2], "sigmoid")
    X = rng.normal(size=(10, 4))
    np.testing.assert_allclose(flipped.predict(X), net.predict(X), rtol=1e-12)
    back = without_offset(flipped)
    assert back.c == 0.0
    np.testing.assert_allclose(back.predict(X), net.predict(X), rtol=1e-12)


def run(n=60, seed=0, noise=0.0, max_work=2000.0, deadline=math.inf):
    truth = wl.teachers.conditioned(5, 2, activation="relu", rng=0)
    X, y = wl.draw(truth, n, noise_std=noise, rng=1)
    source = Counted(samples.open(X, y))
    budget, rng = Budget(max_work, deadline), np.random.default_rng(seed)
    found = list(candidates(source, 2, truth.activation, bias=False, offset=False, budget=budget, rng=rng))
    return found, source.passes


def test_no_round_is_worked_that_nobody_asks_for():
    truth = wl.teachers.conditioned(5, 2, activation="relu", rng=0)
    source = Counted(samples.open(*wl.draw(truth, 60, rng=1)))
    found = candidates(
        source, 2, truth.activation, bias=False, offset=False, budget=Budget(), rng=np.random.default_rng(0)
    )
    assert source.passes == 0
    first = next(found)
    passes = source.passes
    assert len(first.attempts) == 1
    assert first.network.equivalent(truth, 1e-6)
    found.close()
    assert source.passes == passes > 0


def test_search_repeats_with_its_seed():
    (first, passes), (second, again) = run(noise=0.1), run(noise=0.1)
    assert len(first) > 1
    for one, other in zip(first, second, strict=True):
        assert np.array_equal(one.network.W, other.network.W)
    assert (first[-1].attempts, passes) == (second[-1].attempts, again)


def test_a_spent_budget_ends_the_search():
    found, _ = run(n=14, noise=0.3, max_work=50.0)
    assert found[-1].ending is Ending.WORK_SPENT
    assert found[-1].network.n_units == 2
    late, _ = run(n=14, noise=0.3, deadline=0.0)
    assert late[-1].ending is Ending.TIME_SPENT
    assert len(late) == 1


def test_the_same_minimum_again_and_again_ends_the_search():
    found, _ = run(n=300, noise=0.2, max_work=1e6)
    assert found[-1].ending is Ending.SAME_MINIMUM


def test_patience_counts_the_work_since_the_risk_last_halved():
    """Slow gains add up: 8, 5 is no half, 3.9 is one, 2 is none, 1.9 is."""
    risks, works = (8.0, 5.0, 3.9, 2.0, 1.9, 1.5), (70.0, 10.0, 30.0, 5.0, 60.0, 7.0)
    attempts = tuple(Attempt("fresh", 2, 8, w, r) for r, w in zip(risks, works, strict=True))
    for count, idle in zip(range(1, 7), (0.0, 10.0, 0.0, 5.0, 0.0, 7.0), strict=True):
        assert _ending(attempts[:count], 0.0, Budget(patience=idle + 1e-9)) is None
        if idle:
            assert _ending(attempts[:count], 0.0, Budget(patience=idle)) is Ending.STALLED


def test_starts_share_their_products():
    """The passes over the data do not grow with the number of starts, while each start does its own steps."""
    from weightlift.refinement import gauss_newton

    truth = wl.teachers.conditioned(5, 2, activation="tanh", rng=0)
    X, y = wl.draw(truth, 80, noise_std=0.1, rng=0)
    counts = []
    for S in (1, 16):
        students = random_students(5, 2, S, truth.activation, bias=0.0, rng=np.random.default_rng(0))
        source = Counted(samples.open(X, y))
        fit = gauss_newton(source, replace(students, a=np.ones((S, 2))), free="Wa", iterations=5, tol=0.0)
        counts.append(source.passes / fit.iterations)
    assert counts[1] <= counts[0] + 1
