"""Gauss–Newton: normal equations, rates, agreement of routes, batches, endings."""

import numpy as np
import pytest
from tests.contract.awkward import Awkward

import weightlift as wl
from weightlift import samples
from weightlift.errors import ArgumentError
from weightlift.network import Network
from weightlift.refinement import gauss_newton, gradient_descent
from weightlift.refinement.gauss_newton import LIMITS, RefinementEnding, _choose, _damped_steps, _endings
from weightlift.refinement.normal_equations import Free, NormalEquations
from weightlift.risk import Risk, Students


def network(rng, activation, d=4, k=3):
    return Network(rng.normal(size=(d, k)), rng.normal(size=k), rng.normal(size=k), rng.normal(), activation)


@pytest.mark.parametrize(
    ("activation", "free", "bias"),
    [
        ("relu", "W", 0),
        ("squared_relu", "W", 0),
        ("tanh", "Wa", 0),
        ("sigmoid", "Wac", 0),
        ("relu", "Wb", 1),
        ("erf", "Wabc", 1),
    ],
)
def test_reaches_machine_precision_without_noise(activation, free, bias, seed, as_xp):
    rng = np.random.default_rng(seed)
    base = wl.teachers.conditioned(6, 3, activation=activation, rng=seed)
    truth = Network(base.W, base.a, bias * rng.uniform(-0.5, 0.5, size=3), 0.2 * ("c" in free), activation)
    X, y = wl.draw(truth, 300, rng=seed)
    start = Network(truth.W + 0.1 * rng.normal(size=truth.W.shape), truth.a, truth.b, truth.c, activation)
    fit = gauss_newton(samples.open(as_xp(X), as_xp(y)), start, free=free)
    assert fit.endings == (RefinementEnding.EXACT,)
    assert fit.network.equivalent(truth, tol=1e-11)
    assert fit.iterations <= 15


def test_quadratic_convergence_for_smooth_activations():
    """log10 of the risk doubles from step to step (rate 2 in the residual) until rounding."""
    truth = wl.teachers.conditioned(8, 3, activation="squared_relu", rng=3)
    X, y = wl.draw(truth, 600, rng=3)
    start = Network(truth.W + 0.05, truth.a, activation="squared_relu")
    history = np.log10(gauss_newton(samples.open(X, y), start).history[:, 0])
    late = history[(history < -3) & (history > -22)]
    assert len(late) >= 2
    assert np.all(late[1:] <= 1.6 * late[:-1])


def test_relu_converges_in_finitely_many_steps():
    truth = wl.teachers.conditioned(8, 3, activation="relu", rng=3)
    X, y = wl.draw(truth, 600, rng=3)
    start = Network(truth.W + 0.05, truth.a)
    history = gauss_newton(samples.open(X, y), start).history[:, 0]
    assert history[-1] < 1e-28
    assert history[-1] < 1e-8 * history[-2], "the last step lands on the solution"


def test_agrees_with_gradient_descent_under_noise():
    """Two routes to the same least-squares minimum."""
    truth = wl.teachers.conditioned(5, 2, activation="squared_relu", rng=0)
    X, y = wl.draw(truth, 400, noise_std=0.1, rng=0)
    data = samples.open(X, y)
    newton = gauss_newton(data, truth, tol=1e-14)
    descent = gradient_descent(data, truth, iterations=4000)
    np.testing.assert_allclose(newton.network.W, descent.network.W, atol=1e-6)


def test_a_batch_is_its_members(rng):
    """Several starts together give what each gives alone, and share their passes."""
    truth = wl.teachers.conditioned(5, 2, activation="tanh", rng=0)
    X, y = wl.draw(truth, 200, rng=0)
    starts = [Network(rng.normal(size=(5, 2)), truth.a, activation="tanh") for _ in range(4)]
    together = gauss_newton(samples.open(X, y), Students.of(*starts), iterations=25)
    alone = [gauss_newton(samples.open(X, y), s, iterations=25) for s in starts]
    for s, fit in enumerate(alone):
        if fit.risks[0] < 1e-20:
            assert together.risks[s] < 1e-20
        else:
            assert together.risks[s] == pytest.approx(fit.risks[0], rel=1e-4)
    assert together.iterations == max(fit.iterations for fit in alone)


def test_awkward_source_gives_the_same_fit(rng):
    truth = wl.teachers.conditioned(5, 2, activation="relu", rng=0)
    X, y = wl.draw(truth, 200, noise_std=0.1, rng=0)
    data = samples.open(X, y)
    start = Network(truth.W + 0.1 * rng.normal(size=(5, 2)), truth.a)
    plain, awkward = (gauss_newton(s, start).network for s in (data, Awkward(source=data)))
    np.testing.assert_allclose(plain.W, awkward.W, atol=1e-9)


def test_ridge_shrinks_and_moves_the_minimum(rng):
    truth = network(rng, "tanh")
    X, y = wl.draw(truth, 200, noise_std=0.1, rng=0)
    data = samples.open(X, y)
    free = gauss_newton(data, truth, free="Wab", tol=1e-13).network
    held = gauss_newton(data, truth, free="Wab", ridge=0.05, tol=1e-13).network
    size = lambda net: float(np.sum(net.W**2) + np.sum(net.a**2) + np.sum(net.b**2))  # noqa: E731
    assert size(held) < size(free)
    plain = [float(data.mean(Risk(Students.of(net)))[0][0]) for net in (free, held)]
    assert plain[0] < plain[1]


def test_dead_and_duplicate_units_do_not_break_it(rng):
    truth = wl.teachers.conditioned(5, 2, activation="relu", rng=0)
    X, y = wl.draw(truth, 200, rng=0)
    W = np.hstack([truth.W, truth.W[:, :1], np.zeros((5, 1))])
    start = Network(W, [truth.a[0] / 2, truth.a[1], truth.a[0] / 2, 1.0], b=[0, 0, 0, -9.0])
    fit = gauss_newton(samples.open(X, y), start, free="Wb")
    assert np.isfinite(fit.risks).all()
    assert fit.risks[0] < 1e-20


def test_bad_arguments_are_named(rng):
    data = samples.open(rng.normal(size=(10, 4)), rng.normal(size=10))
    with pytest.raises(ArgumentError, match="free"):
        gauss_newton(data, network(rng, "relu"), free="Wx")
    with pytest.raises(ArgumentError, match="inputs"):
        gauss_newton(data, network(rng, "relu", d=5))
    with pytest.raises(ArgumentError, match="solver"):
        gauss_newton(data, network(rng, "relu"), solver="magic")


def test_exactly_singular_systems_are_survived():
    """A column of zeros and a copied one: JᵀJ is singular to the last bit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[:, 2] = 0.0
    fit = gauss_newton(samples.open(X, rng.normal(size=60)), Network(np.ones((3, 2)), activation="tanh"), free="Wabc")
    assert np.isfinite(fit.risks).all()
    assert np.isfinite(fit.network.W).all()


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_noise_is_not_rounding_whatever_the_size_of_the_targets(size):
    truth = wl.teachers.conditioned(4, 2, activation="tanh", rng=0)
    X, y = wl.draw(truth, 200, noise_std=0.1, rng=1)
    start = wl.Network(truth.W + 0.05, size * truth.a, activation="tanh")
    assert gauss_newton(wl.samples.open(X, size * y), start, free="Wa").endings[0] is RefinementEnding.STATIONARY


def test_each_start_keeps_its_best_candidate_or_is_damped_until_it_stalls(rng):
    """The damping follows the candidate that won; where none lowers the risk it rises, past its limit the start has stalled."""
    students = Students.of(*(network(rng, "tanh") for _ in range(4)))
    candidates = Students.of(*(network(rng, "tanh") for _ in range(12)))
    risks, damping = np.ones(4), np.array([1e-3, 2e-3, 3e-3, LIMITS.largest_damping])
    found = np.full((3, 4), 2.0)
    found[1, 0], found[2, 1] = 0.5, 0.25
    factors = damping[:, None] * np.array([0.5, 1.0, 4.0])
    merged, after, damped = _choose(students, candidates, found, risks, factors, damping)
    np.testing.assert_array_equal(merged.W[:, 0], candidates.W[:, 1 * 4 + 0])
    np.testing.assert_array_equal(merged.a[1], candidates.a[2 * 4 + 1])
    np.testing.assert_array_equal(merged.b[2:], students.b[2:])
    np.testing.assert_array_equal(after, [0.5, 0.25, 1.0, 1.0])
    np.testing.assert_allclose(damped, [1e-3, 8e-3, 64 * 3e-3, 10 * LIMITS.largest_damping])
    endings = _endings(risks, after, np.full(4, np.inf), damped, 0.0, 1.0, 1e-9)
    assert endings == [None, None, None, RefinementEnding.STALLED]


@pytest.mark.parametrize("damping", [1e-3, 1.0])
def test_coarse_steps_are_those_of_double_precision_to_a_share_of_the_damping(damping, rng):
    truth = wl.teachers.conditioned(12, 4, activation="tanh", rng=rng)
    data = samples.open(*wl.draw(truth, 300, noise_std=0.1, rng=rng))
    students, moves = Students.of(truth), Free.of("Wa")
    equations = NormalEquations(students, moves)
    _, gradient, gram = equations.assembled(data.mean(equations))
    steps = [_damped_steps(gram, gradient, np.array([[damping]]), coarse)[0] for coarse in (False, True)]
    assert 0 < np.linalg.norm(steps[1] - steps[0]) < 1e-5 / damping * np.linalg.norm(steps[0])
    root = np.sqrt(np.diagonal(gram[0]))
    exact = np.linalg.solve(gram[0] / np.outer(root, root) + damping * np.eye(len(root)), gradient[0] / root) / root
    np.testing.assert_allclose(steps[0][0], exact, rtol=1e-9, atol=1e-12 * np.abs(exact).max())
