"""Normal equations are those of the Jacobian, dense, without a matrix, and projected."""

import itertools

import numpy as np
import pytest
from tests.contract.awkward import Awkward

import weightlift as wl
from weightlift import samples
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.refinement import gauss_newton
from weightlift.refinement.gauss_newton import project_outputs
from weightlift.refinement.normal_equations import Free, NormalEquations, NormalProduct, _pairs
from weightlift.risk import Students

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


@pytest.mark.parametrize("narrow", [0, 10**6], ids=["pairs", "one product"])
@pytest.mark.parametrize("names", SUBSETS)
def test_normal_equations_are_those_of_the_jacobian(names, narrow, as_xp, limits):
    """By pairs of inputs and of slopes, and by the Jacobian itself, whichever the size asks for."""
    limits("weightlift.refinement.normal_equations", narrow=narrow)
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


@pytest.mark.parametrize("k", [3, 11])  # one Jacobian's product, and pairs
@pytest.mark.parametrize("weighted", [False, True])
def test_coarse_equations_round_the_matrix_and_nothing_else(k, weighted, as_xp):
    rng = np.random.default_rng(1)
    X, y, w = rng.normal(size=(200, 4)), rng.normal(size=200), rng.uniform(0.5, 2, size=200) if weighted else None
    data = samples.open(as_xp(X), as_xp(y), sample_weight=None if w is None else as_xp(w))
    students, free = Students.of(network(rng, "tanh", k=k)), Free.of("Wabc")
    fine, coarse = (NormalEquations(students, free, coarse) for coarse in (False, True))
    (risk, gradient, gram), rough = ([to_numpy(s) for s in e.assembled(data.fold(e))] for e in (fine, coarse))
    np.testing.assert_array_equal(rough[0], risk)
    np.testing.assert_array_equal(rough[1], gradient)
    root = np.sqrt(np.diagonal(gram[0]))
    gap = np.abs(rough[2] - gram)[0] / np.outer(root, root)
    assert gap.max() < 200 * 2.0**-24
    units = slice(0, 5 * k)
    assert gap[units, units].max() > 2.0**-30 or (weighted and k == 3)  # weights lift that product back to double
    assert gap[5 * k :].max() < 1e-14


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_coarse_equations_stay_double_where_single_would_overflow(size, rng):
    X, y = rng.normal(size=(200, 4)), rng.normal(size=200)
    X[:, 2] *= size
    data, students = samples.open(X, y), Students.of(network(rng, "relu", k=11))
    fine, coarse = (NormalEquations(students, Free.of("Wa"), coarse) for coarse in (False, True))
    for sums, others in zip(data.fold(fine), data.fold(coarse), strict=True):
        np.testing.assert_array_equal(sums, others)


@pytest.mark.parametrize("free", ["W", "Wab", "Wabc"])
def test_matrix_free_form_agrees_with_the_dense_one(free, rng):
    truth = network(rng, "tanh", d=6, k=2)
    X, y = wl.draw(truth, 300, noise_std=0.05, rng=1)
    data = samples.open(X, y)
    dense = gauss_newton(data, truth, free=free, tol=1e-13, solver="dense")
    matrix_free = gauss_newton(data, truth, free=free, tol=1e-13, solver="cg", iterations=300)
    assert matrix_free.risks[0] == pytest.approx(dense.risks[0], rel=1e-7)


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


def test_projection_is_as_precise_whatever_the_size_of_the_features(seed):
    """What the guard bends is refined away in the features' own sizes: κ² ε for every unit, not ε times the largest feature."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(100, 4)), rng.normal(size=100)
    W, sizes = rng.normal(size=(4, 3)), 10.0 ** np.array([4.0, 5.0, 6.0])
    solved = project_outputs(samples.open(X, y), Students.of(Network(W * sizes)), offset=False)
    expected = np.linalg.lstsq(np.maximum(X @ W, 0.0), y, rcond=None)[0]
    np.testing.assert_allclose(solved.network(0).a * sizes, expected, rtol=1e-12)


@pytest.mark.parametrize("q", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("host", [True, False])
def test_pairs_stand_in_the_order_of_the_upper_triangle(q, host, monkeypatch, rng):
    """By slices on a host, by places that are computed on an accelerator."""
    left, right = rng.normal(size=(3, q)), rng.normal(size=(3, q))
    monkeypatch.setattr("weightlift.refinement.normal_equations.on_host", lambda device: host)
    i, j = np.triu_indices(q)
    np.testing.assert_array_equal(_pairs(left, right), left[:, i] * right[:, j])


@pytest.mark.parametrize("offset", [False, True])
def test_weights_of_a_projection_are_numbers_of_rows(offset, rng):
    truth = network(rng, "relu")
    X, y = wl.draw(truth, 60, noise_std=0.5, rng=1)
    times = rng.integers(1, 4, size=60)
    sources = [samples.open(X, y, sample_weight=times * 1.0), samples.open(np.repeat(X, times, axis=0), np.repeat(y, times))]
    left, right = (project_outputs(source, Students.of(truth), offset=offset).network(0) for source in sources)
    np.testing.assert_allclose(left.a, right.a, rtol=1e-10)
    np.testing.assert_allclose(left.c, right.c, rtol=1e-10)
    plain = project_outputs(samples.open(X, y), Students.of(truth), offset=offset).network(0)
    assert not np.allclose(left.a, plain.a, rtol=1e-3)


def test_a_block_without_rows_adds_nothing(rng):
    """… to coarse equations, too, which look for the largest factor of a block."""
    students = Students.of(network(rng, "tanh"), network(rng, "tanh"))
    X, y = rng.normal(size=(20, 4)), rng.normal(size=20)
    equations = NormalEquations(students, Free.of("Wabc"), coarse=True)
    plain = samples.open(X, y)
    for sums, awkward in zip(plain.fold(equations), Awkward(source=plain).fold(equations), strict=True):
        np.testing.assert_allclose(awkward, sums, rtol=1e-5, atol=1e-5 * np.abs(sums).max())


def test_projection_onto_nearly_dependent_features_errs_by_rounding_alone(seed):
    """A guard of 1e-14 alone would bend the weights by some 45 κ² ε; what is refined errs as normal equations do."""
    rng = np.random.default_rng(seed)
    X, y, w = rng.normal(size=(100, 4)), rng.normal(size=100), rng.normal(size=(4, 1))
    net = Network(np.hstack([w, w + 1e-3 * rng.normal(size=(4, 1)), rng.normal(size=(4, 1))]), activation="tanh")
    F = np.tanh(X @ net.W)
    expected = np.linalg.lstsq(F, y, rcond=None)[0]
    solved = project_outputs(samples.open(X, y), Students.of(net), offset=False).network(0)
    squared = np.linalg.cond(F / np.linalg.norm(F, axis=0)) ** 2
    assert squared > 1e6
    assert np.linalg.norm(solved.a - expected) < 10 * squared * np.finfo(float).eps * np.linalg.norm(expected)
