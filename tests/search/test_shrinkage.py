"""Falling ridges: what is minimised, that units of measurement do not matter, and that few rows suffice."""

import numpy as np
import pytest

import weightlift as wl
from weightlift.refinement import gauss_newton
from weightlift.risk import Students
from weightlift.samples import open as open_samples
from weightlift.search.shrinkage import COOL, WARM, _weights, shaken, shrunk, small_students


def problem(activation, seed, d=8, k=2, n=60):
    truth = wl.teachers.conditioned(d, k, activation=activation, rng=seed)
    return truth, *wl.draw(truth, n, rng=seed + 1)


def objective(students, X, y, ridge):
    """½ E r² + ½ Σ ridge θ², written out."""
    W, a, b, c = students.W[:, 0], students.a[0], students.b[0], students.c[0]
    r = students.activation(X @ W + b) @ a + c - y
    theta = np.concatenate([W.ravel(), b, a, [c]])
    return 0.5 * np.mean(r**2) + 0.5 * np.sum(ridge * theta**2)


@pytest.mark.parametrize("solver", ["dense", "cg"])
def test_a_ridge_of_its_own_for_every_parameter_is_at_its_minimum(solver):
    _, X, y = problem("tanh", 0, d=4)
    rng = np.random.default_rng(1)
    start = small_students(4, 2, 1, wl.activations.get("tanh"), bias=True, size=1.0, rng=rng)
    ridge = np.append(rng.uniform(0.01, 0.1, size=4 * 2 + 2 + 2), 0.0)
    fit = gauss_newton(open_samples(X, y), start, free="Wabc", ridge=ridge, solver=solver, iterations=200, tol=1e-13)
    best = objective(fit.students, X, y, ridge)
    assert fit.risks[0] == pytest.approx(best, rel=1e-12)
    for _ in range(20):
        s = fit.students
        W, a, b, c = (p + 1e-3 * rng.normal(size=p.shape) for p in (s.W, s.a, s.b, s.c))
        assert objective(Students(W, a, b, c, s.activation), X, y, ridge) > best


def test_the_targets_unit_does_not_matter():
    truth, X, y = problem("tanh", 3)
    fits = []
    for unit in (1.0, 1024.0):  # powers of two: the same digits
        start = small_students(8, 2, 4, truth.activation, bias=False, size=unit, rng=np.random.default_rng(0))
        energy = 0.5 * np.mean((unit * y) ** 2)
        fits.append(shrunk(open_samples(X, unit * y), start, WARM, free="Wa", energy=energy)[0])
    assert np.allclose(fits[0].students.W, fits[1].students.W, rtol=1e-6)
    assert np.allclose(1024 * fits[0].students.a, fits[1].students.a, rtol=1e-6)


def test_the_offset_has_no_ridge():
    students = small_students(3, 2, 1, wl.activations.get("tanh"), bias=True, size=1.0, rng=np.random.default_rng(0))
    assert _weights(students, "Wabc", 5.0).tolist() == [5.0] * 8 + [0.5] * 2 + [0.0]


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "softplus", "gelu"])
def test_few_rows_suffice(activation):
    """33 parameters; some 16 of the 76 rows are held out. In one draw in thirty every start ends at another minimum, and which
    draw that is hangs on the last bits: five of six are asked for, and that no wrong one is certified."""
    found = 0
    for seed in range(6):
        truth = wl.teachers.conditioned(10, 3, activation=activation, rng=seed)
        X, y = wl.draw(truth, 76, rng=seed + 10)
        answer = wl.recover(X, y, n_units=3, activation=activation, method="search", max_work=4000)
        right = wl.match(answer.network, truth).max_error < 1e-9
        assert right or not answer.certificate
        found += right and answer.certificate.status is wl.Status.EXACT
    assert found >= 5


def test_nearly_collinear_inputs_are_searched_in_their_own_columns():
    rng = np.random.default_rng(0)
    truth = wl.teachers.biased(12, 3, activation="tanh", rng=1)
    X = rng.normal(size=(200, 12)) * 0.1 + rng.normal(size=(200, 2)) @ rng.normal(size=(2, 12))
    found = wl.recover(X * 3.0 ** np.arange(12), truth.predict(X), n_units=3, activation="tanh", bias=True, max_work=6000)
    assert found.certificate.status is wl.Status.EXACT


def test_half_of_the_shaken_move_and_half_have_small_units():
    pool = small_students(6, 4, 2, wl.activations.get("tanh"), bias=True, size=1.0, rng=np.random.default_rng(0))
    pool = Students(10 * pool.W, 10 * pool.a, 10 * pool.b, pool.c, pool.activation)
    batch = shaken(pool, 8, bias=True, size=1.0, rng=np.random.default_rng(1))
    same = (pool.W[:, np.arange(8) % 2] == batch.W).all(axis=0)  # (8, 4) units that stayed
    assert not same[[0, 1, 4, 5]].any()
    assert same[[2, 3, 6, 7]].any(axis=1).all()
    assert not same[[2, 3, 6, 7]].all()
    assert (np.abs(batch.a[~same & (np.abs(batch.a) < 2)]) == 0.5).all()


def test_small_ridges_begin_where_large_ones_end():
    assert max(COOL) <= min(WARM)
