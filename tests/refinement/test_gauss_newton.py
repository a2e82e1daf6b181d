"""Gauss–Newton: normal equations, rates, agreement of routes, batches, endings."""

import itertools

import numpy as np
import pytest
from tests.contract.awkward import Awkward

import weightlift as wl
from weightlift import samples
from weightlift.errors import ArgumentError
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.refinement import gauss_newton, gradient_descent
from weightlift.refinement.gauss_newton import Ending, project_outputs
from weightlift.refinement.normal_equations import Free, NormalEquations, NormalProduct
from weightlift.risk import Risk, Students

SUBSETS = ["".join(s) for r in range(1, 5) for s in itertools.combinations("Wabc", r)]


def network(rng, activation, d=4, k=3):
    return Network(rng.normal(size=(d, k)), rng.normal(size=k), rng.normal(size=k), rng.normal(), activation)


def jacobian(net, X, names):
    """Rows of ∂f/∂θ in the order (W, b) by input, a, c: the definition, with a loop."""
    z = X @ net.W + net.b
    D = net.a * net.activation.derivative(z)
    columns = []
    if "W" in names:
        columns += [X[:, p] * D[:, i] for p in range(X.shape[1]) for i in range(net.n_units)]
    if "b" in names:
        columns += [D[:, i] for i in range(net.n_units)]
    if "a" in names:
        columns += [net.activation(z[:, i]) for i in range(net.n_units)]
    if "c" in names:
        columns.append(np.ones(len(X)))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("names", SUBSETS)
def test_normal_equations_are_those_of_the_jacobian(names, as_xp):
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(60, 4)), rng.normal(size=60), rng.uniform(0.5, 2, size=60)
    data = samples.open(as_xp(X), as_xp(y), sample_weight=as_xp(w))
    nets = [network(rng, "tanh") for _ in range(2)]
    students, free = Students.of(*nets), Free.of(names)
    equations = NormalEquations(students, free)
    risk, gradient, gram = (to_numpy(s) for s in equations.assembled(data.fold(equations)))
    U = rng.normal(size=gradient.shape)
    product = to_numpy(data.fold(NormalProduct(students, free, U))[0])
    for s, net in enumerate(nets):
        J, r = jacobian(net, X, names), net.predict(X) - y
        assert risk[s] == pytest.approx(0.5 * np.sum(w * r**2), rel=1e-12)
        np.testing.assert_allclose(gradient[s], J.T @ (w * r), rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(gram[s], (J * w[:, None]).T @ J, rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(product[s], gram[s] @ U[s], rtol=1e-9, atol=1e-9)
    theta = free.pack(students)
    back = free.unpack(theta + 1, students)
    np.testing.assert_allclose(free.pack(back), theta + 1)


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
    assert fit.endings == (Ending.EXACT,)
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


@pytest.mark.parametrize("free", ["W", "Wab", "Wabc"])
def test_matrix_free_form_agrees_with_the_dense_one(free, rng):
    truth = network(rng, "tanh", d=6, k=2)
    X, y = wl.draw(truth, 300, noise_std=0.05, rng=1)
    data = samples.open(X, y)
    dense = gauss_newton(data, truth, free=free, tol=1e-13, solver="dense")
    matrix_free = gauss_newton(data, truth, free=free, tol=1e-13, solver="cg", iterations=300)
    assert matrix_free.risks[0] == pytest.approx(dense.risks[0], rel=1e-7)


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


def test_projection_solves_the_output_layer(rng):
    X, y = rng.normal(size=(100, 4)), rng.normal(size=100)
    data, students = samples.open(X, y), Students.of(network(rng, "tanh"), network(rng, "tanh"))
    for offset in (False, True):
        solved = project_outputs(data, students, offset=offset)
        for s in range(2):
            net = students.network(s)
            F = net.activation(X @ net.W + net.b)
            F = np.hstack([F, np.ones((100, 1))]) if offset else F
            expected = np.linalg.lstsq(F, y - (0 if offset else net.c), rcond=None)[0]
            np.testing.assert_allclose(solved.network(s).a, expected[:3], rtol=1e-9)
            if offset:
                assert solved.network(s).c == pytest.approx(expected[3], rel=1e-9)


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
