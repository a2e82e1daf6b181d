"""Gauss–Newton: normal equations, rates, agreement of routes, batches, endings."""

from dataclasses import replace

import numpy as np
import pytest
from tests.contract.awkward import Awkward
from tests.refinement.test_normal_equations import jacobian

import weightlift as wl
from weightlift import samples
from weightlift.errors import ArgumentError
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.refinement import gauss_newton, gradient_descent
from weightlift.refinement.gauss_newton import (
    LIMITS,
    NEAR_ROUNDING,
    RefinementEnding,
    _beyond,
    _choose,
    _damped_steps,
    _endings,
    _first_risks,
    _on_spheres,
    _put,
    _put_values,
    _root_diagonal,
    _shifted,
    rounding,
)
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


def half_square(net, X, y):
    return 0.5 * np.mean((net.predict(X) - y) ** 2)


@pytest.mark.parametrize("damping", [1e-6, 8 * LIMITS.coarse_damping])  # times the least factor, below the coarse ones
@pytest.mark.parametrize("ridge", [0.0, 0.3, "each"])
@pytest.mark.parametrize("size", [1.0, 100.0])
def test_a_step_is_that_of_levenberg_and_marquardt(damping, ridge, size, rng):
    """(JᵀJ + R + μ diag(JᵀJ + R)) δ = −(Jᵀr + Rθ), of three dampings the one with the least risk + ½ Σ ρᵢ θᵢ²."""
    net, names = network(rng, "tanh"), "Wb"
    net = Network(net.W, size * net.a, net.b, size * net.c, "tanh")
    X, y = rng.normal(size=(50, 4)), size * rng.normal(size=50)
    theta = np.concatenate([net.W.ravel(), net.b])
    rho = rng.uniform(0.1, 0.5, size=15) * size**2 if ridge == "each" else np.full(15, ridge * size**2)
    J, r = jacobian(net, X, names), net.predict(X) - y
    A, g = J.T @ J / 50 + np.diag(rho), J.T @ r / 50 + rho * theta
    ends = [theta - np.linalg.solve(A + f * damping * np.diag(np.diag(A)), g) for f in LIMITS.factors]
    nets = [Network(end[:12].reshape(4, 3), net.a, end[12:], net.c, "tanh") for end in ends]
    risks = [half_square(n, X, y) + 0.5 * np.sum(rho * end**2) for n, end in zip(nets, ends, strict=True)]
    weight = rho if ridge == "each" else float(rho[0])
    found = gauss_newton(samples.open(X, y), net, free=names, ridge=weight, damping=damping, iterations=1, tol=0.0)
    before = half_square(net, X, y) + 0.5 * np.sum(rho * theta**2)
    np.testing.assert_allclose(found.history[:, 0], [before, min(*risks, before)], rtol=1e-9)
    if min(risks) < before:
        best = nets[int(np.argmin(risks))]
        np.testing.assert_allclose(found.network.W, best.W, rtol=1e-6, atol=1e-8)


def test_dampings_are_added_to_every_diagonal(as_xp, rng):
    A, shifts = rng.normal(size=(3, 4, 4)), np.array([0.5, -2.0, 3.0])
    expected = [M + shift * np.eye(4) for M, shift in zip(A, shifts, strict=True)]
    np.testing.assert_allclose(to_numpy(_shifted(as_xp(A), as_xp(shifts))), expected, rtol=1e-15)


def test_diagonals_of_dead_units_are_kept_beside_the_largest():
    """√max(Aᵢᵢ, floor · max A), whatever the size of A; of a matrix of zeros it can still be divided by."""
    diagonals = np.array([[4.0, 0.0, 1.0], [4e-30, 0.0, 1e-30], [0.0, 0.0, 0.0]])
    root = _root_diagonal(np.stack([np.diag(d) for d in diagonals]), 1e-10)
    np.testing.assert_allclose(root[:2], [[2.0, 2e-5, 1.0], [2e-15, 2e-20, 1e-15]], rtol=1e-12)
    assert (root[2] > 0).all()
    assert root[2].max() < 1e-100


def test_a_system_without_a_finite_solution_makes_no_step(rng):
    A = rng.normal(size=(2, 3, 3))
    gram, gradient = A @ A.transpose(0, 2, 1), rng.normal(size=(2, 3))
    gram[1] = np.nan
    (step,) = _damped_steps(gram, gradient, np.full((2, 1), 1e-9))
    np.testing.assert_allclose(gram[0] @ step[0], gradient[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(step[1], 0.0)


def test_the_scale_is_the_risk_of_the_network_that_is_zero(rng):
    nets = [network(rng, "tanh") for _ in range(2)]
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30) + 2.0
    risks, scale = _first_risks(samples.open(X, y), Students.of(*nets), Free.of("Wabc"), 0.0)
    np.testing.assert_allclose(risks, [half_square(net, X, y) for net in nets], rtol=1e-12)
    assert scale == pytest.approx(0.5 * np.mean(y**2), rel=1e-12)


@pytest.mark.parametrize("d", [1, 7, 100])
def test_rounding_is_a_few_squares_of_ulp_an_input(d):
    assert d * np.finfo(float).eps ** 2 < rounding(d) < 20 * d * np.finfo(float).eps ** 2


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("power", [-20, 20])  # within what single precision may form
def test_the_size_of_the_targets_changes_nothing(noise, power, rng):
    """y and a times 2^power: the same W to the last bit, risks times 2^(2 power), the same ending."""
    truth = wl.teachers.conditioned(5, 2, activation="tanh", rng=0)
    X, y = wl.draw(truth, 200, noise_std=noise, rng=1)
    W = truth.W + 0.05 * rng.normal(size=(5, 2))
    plain, scaled = (
        gauss_newton(samples.open(X, np.ldexp(y, p)), Network(W, np.ldexp(truth.a, p), activation="tanh")) for p in (0, power)
    )
    np.testing.assert_array_equal(scaled.network.W, plain.network.W)
    np.testing.assert_array_equal(scaled.history, np.ldexp(plain.history, 2 * power))
    assert scaled.endings == plain.endings


def test_a_start_that_is_exact_and_a_deadline_that_has_passed_make_no_step(rng):
    truth = wl.teachers.conditioned(4, 2, activation="tanh", rng=0)
    data = samples.open(*wl.draw(truth, 100, rng=1))
    near = Network(truth.W + 1e-10, truth.a, activation="tanh")
    start = Students.of(truth, near)
    found = gauss_newton(data, start, free="Wa", deadline=0.0)
    assert found.iterations == 0
    assert found.endings == (RefinementEnding.EXACT, RefinementEnding.ITERATIONS)
    np.testing.assert_array_equal(found.students.W, start.W)
    np.testing.assert_array_equal(found.history, [found.risks])


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("size", [2.0**-30, 1.0, 2.0**30])
@pytest.mark.parametrize("activation", ["relu", "squared_relu"])
def test_the_last_step_ends_at_rounding_and_leaves_what_is_far(activation, unit, size):
    """Without any other step: a fit near its end is brought to rounding, one far from it stays."""
    base = wl.teachers.conditioned(4, 2, activation=activation, rng=0)
    truth = Network(base.W, size * base.a, activation=activation)
    X, y = wl.draw(truth, 200, rng=1)
    starts = [Network(truth.W * 1.7 + h * np.array([[1.0, -1.0]] * 4), truth.a, activation=activation) for h in (1e-10, 1e-2)]
    found = gauss_newton(samples.open(X, y), Students.of(*starts), free="Wa", unit=unit, iterations=0)
    if not unit:  # with unit the output weights, and so the starts' sizes, are solved for at once
        assert found.endings == (RefinementEnding.ITERATIONS, RefinementEnding.ITERATIONS)
        starts[0] = Network(truth.W + 1e-10, truth.a, activation=activation)
        found = gauss_newton(samples.open(X, y), Students.of(*starts), free="Wa", iterations=0)
    assert found.endings == (RefinementEnding.EXACT, RefinementEnding.ITERATIONS)
    assert found.students.network(0).equivalent(truth, tol=1e-13)
    for s in range(2):
        assert found.risks[s] == pytest.approx(half_square(found.students.network(s), X, y), rel=1e-6, abs=1e-28 * size**2)
    W = starts[1].W / np.linalg.norm(starts[1].W, axis=0) if unit else starts[1].W
    np.testing.assert_allclose(found.students.network(1).W, W, rtol=1e-14)


def test_units_on_spheres_have_length_one_and_their_direction(rng):
    net = network(rng, "relu")
    W, b = np.hstack([net.W, np.zeros((4, 1))]), np.append(net.b, 0.0)
    found = _on_spheres(Students.of(Network(W, np.ones(4), b))).network(0)
    length = np.sqrt(np.sum(net.W**2, axis=0) + net.b**2)
    np.testing.assert_allclose(found.W[:, :3] * length, net.W, rtol=1e-14)
    np.testing.assert_allclose(found.b[:3] * length, net.b, rtol=1e-14)
    np.testing.assert_array_equal(found.W[:, 3], 0.0)  # a dead unit stays one


def test_auto_is_dense_up_to_its_limit_of_parameters(rng, limits):
    truth = network(rng, "tanh")
    data, start = samples.open(*wl.draw(truth, 80, noise_std=0.1, rng=1)), network(rng, "tanh")
    dense, cg = (gauss_newton(data, start, iterations=3, solver=solver).history for solver in ("dense", "cg"))
    assert not np.array_equal(dense, cg)
    for limit, expected in ((12, dense), (11, cg)):  # W has 4 × 3 parameters
        limits("weightlift.refinement.gauss_newton", dense=limit)
        np.testing.assert_array_equal(gauss_newton(data, start, iterations=3).history, expected)


def test_risks_are_compared_beside_their_size_and_a_tie_goes_to_the_step(rng):
    """Equal risks: the step knows the minimum to more digits. A damping too small to be felt rises to one that is."""
    students, candidates = (Students.of(*(network(rng, "tanh") for _ in range(4))) for _ in range(2))
    risks, found = np.array([0.3, 5.0, 2.0, 0.7]), np.array([[0.4, 4.0, 2.0, np.inf]])
    damping = np.array([1e-6, 1e-3, 1.0, 1e-3])
    merged, after, damped = _choose(students, candidates, found, risks, damping[:, None] * np.array([0.5]), damping)
    np.testing.assert_array_equal(after, [0.3, 4.0, 2.0, 0.7])
    for s, taken in enumerate([False, True, True, False]):
        np.testing.assert_array_equal(merged.W[:, s], (candidates if taken else students).W[:, s])
        assert merged.c[s] == (candidates if taken else students).c[s]
    np.testing.assert_array_equal(damped, [LIMITS.felt, 0.5e-3, 0.5, LIMITS.raised * 1e-3])


@pytest.mark.parametrize("scale", [1.0, 1e-20, 1e20])
def test_endings(scale):
    """Risks in units of the targets' own; with noise a step, or six of them if heavily damped, must gain a share tol."""
    floor, near, far = 1e-30, NEAR_ROUNDING, np.inf
    exact, stationary, stalled = RefinementEnding.EXACT, RefinementEnding.STATIONARY, RefinementEnding.STALLED
    cases = [  # before, after, six steps earlier, damping
        (1.0, 0.9e-30, far, 1e-3, exact),
        (near, 0.5 * near, far, 1e-3, exact),
        (4.1 * near, 0.9 * near, far, 1e-3, None),
        (1.9 * near, 1.1 * near, far, 1e-3, None),
        (2.0, 1.999, far, 0.5, stationary),
        (2.0, 1.999, far, 2.0, None),
        (2.0, 1.99, far, 0.5, None),
        (2.0, 2.0, far, 0.5, None),
        (2.0, 1.999, 2.0005, 2.0, stationary),
        (2.0, 1.999, 2.002, 2.0, None),
        (2.0, 2.0, far, 2 * LIMITS.largest_damping, stalled),
        (2.0, 2.0, far, 0.5 * LIMITS.largest_damping, None),
    ]
    old, new, past, mu, expected = zip(*cases, strict=True)
    risks = [scale * np.array(values) for values in (old, new, past)]
    assert _endings(*risks, np.array(mu), floor * scale, scale, 1e-3) == list(expected)


def test_noise_ends_as_soon_as_a_window_of_steps_gains_too_little(seed):
    """On kinks a minimum is approached by damped steps: of all windows of steps the last alone gains less than tol."""
    truth = wl.teachers.conditioned(6, 3, activation="relu", rng=seed)
    X, y = wl.draw(truth, 60, noise_std=0.5, rng=seed)
    tol, window = 1e-3, LIMITS.window
    history = gauss_newton(samples.open(X, y), Network(truth.W + 0.3, truth.a), free="W", tol=tol).history[:, 0]
    gains = [(history[t - window] - history[t]) / history[t - 1] for t in range(window, len(history))]
    assert all(gain > tol for gain in gains[:-1])


@pytest.mark.parametrize("index", [[2, 0], [1], [0, 1, 2, 3]])
def test_parts_of_a_batch_are_put_back_where_they_were(index, rng):
    students, part = (Students.of(*(network(rng, "tanh") for _ in range(n))) for n in (4, len(index)))
    index = np.array(index)
    merged, values = _put(students, part, index), _put_values(np.arange(4.0), -1.0 - np.arange(len(index)), index)
    for s in range(4):
        source, at = (part, int(np.flatnonzero(index == s)[0])) if s in index else (students, s)
        np.testing.assert_array_equal(merged.W[:, s], source.W[:, at])
        assert values[s] == (-1.0 - at if s in index else s)


def test_a_goal_ends_a_start_that_will_not_reach_it(seed):
    """Until then its steps are the same; one that may reach it goes on as without a goal."""
    truth = wl.teachers.conditioned(6, 4, activation="relu", rng=seed)
    X, y = wl.draw(truth, 300, rng=seed + 1)
    data = samples.open(X, y + 0.1 * np.random.default_rng(seed).standard_normal(300))
    ended = 0
    for turned in range(1, 4):
        start = Network(truth.W * np.where(np.arange(4) < turned, -1.0, 1.0), truth.a)
        free = gauss_newton(data, start, iterations=10, damping=1e-6)
        found = gauss_newton(data, start, iterations=10, damping=1e-6, goal=0.01)
        np.testing.assert_array_equal(found.history, free.history[: found.iterations + 1])
        if found.endings == (RefinementEnding.BEYOND,):
            ended += 1
            assert found.history[-1] - 2 * (2 ** (10 - found.iterations) - 1) * (found.history[-2] - found.history[-1]) > 0.01
            assert free.risks[0] > 0.01
        else:
            assert found.endings == free.endings
    assert ended


def test_beyond_a_goal():
    before, after = np.array([10.0, 10.0, 10.0, 10.0]), np.array([9.0, 9.0, 10.0, 2.0])
    np.testing.assert_array_equal(_beyond(before, after, 3.5, 2), [False, False, False, False])  # 9 − 2 − 4 = 3
    np.testing.assert_array_equal(_beyond(before, after, 2.5, 2), [True, True, False, False])
    np.testing.assert_array_equal(_beyond(before, after, 1.5, 0), [True, True, False, True])


def test_equations_that_are_known_give_the_same_steps(seed: int) -> None:
    """Two starts, one of them exact from the first: the same fit from their means of r j and jjᵀ, with one pass less."""
    rng = np.random.default_rng(seed)
    truth = wl.teachers.conditioned(4, 2, activation="tanh", rng=seed)
    X, y = wl.draw(truth, 200, rng=seed)
    rows = wl.samples.open(X, y)
    starts = Students.of(truth, replace(truth, W=truth.W + 0.1 * rng.standard_normal((4, 2))))
    statistic = NormalEquations(starts, Free.of("Wa"))
    known = statistic.assembled(rows.mean(statistic))[1:]
    alone = gauss_newton(rows, starts, free="Wa", iterations=1, damping=1e-6)
    told = gauss_newton(rows, starts, free="Wa", iterations=1, damping=1e-6, equations=known)
    np.testing.assert_allclose(told.history[1, 1], alone.history[1, 1], rtol=1e-9)
    np.testing.assert_allclose(told.students.W, alone.students.W, rtol=1e-9)
    moved = gauss_newton(rows, starts, free="Wa", iterations=1, damping=1e-6, equations=(0.0 * known[0], known[1]))
    np.testing.assert_array_equal(moved.students.W, starts.W)  # they are what the step is made of
