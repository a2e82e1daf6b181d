"""Spectra around the truth, the radius of definiteness and the contraction of gradient steps."""

from dataclasses import replace

import numpy as np
import pytest

from weightlift import Network, draw, samples, teachers
from weightlift.errors import ArgumentError, ShapeError
from weightlift.theory import (
    conditioning,
    contraction,
    empirical_spectrum,
    hessian_bounds,
    hessian_operator,
    population_hessian,
    population_spectrum,
    positive_definite_radius,
)


def teacher_of(activation, seed, d=6, k=3):
    return teachers.conditioned(d, k, activation=activation, rng=seed)


def source(teacher, n, rng):
    return samples.open(*draw(teacher, n, rng=rng))


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "squared_relu", "tanh", "sigmoid", "erf"])
def test_theorem_42_holds_with_moderate_constants(activation, seed):
    """m₀ ≤ λ_min and λ_max ≤ 4M₀ at the truth for the activations of Theorem 3.5."""
    bounds = hessian_bounds(teacher_of(activation, seed))
    assert bounds.lower_ratio > 1
    assert 0.01 < bounds.upper_ratio < 4


@pytest.mark.parametrize("activation", ["linear", "quadratic"])
def test_activations_that_fail_property_32_have_singular_hessians(activation, seed):
    spectrum = population_spectrum(*(2 * [teacher_of(activation, seed)]))
    assert abs(spectrum.least) < 1e-12 * spectrum.largest
    assert not spectrum.is_positive_definite
    assert positive_definite_radius(teacher_of(activation, seed), directions=1).population == [0]


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_empirical_spectrum_tends_to_that_of_the_population(activation, rng):
    teacher = teacher_of(activation, 1)
    student = replace(teacher, W=teacher.W + 0.05 * rng.normal(size=teacher.W.shape))
    limit = population_spectrum(student, teacher, dirac=False)
    found = empirical_spectrum(source(teacher, 100_000, rng), student)
    assert found.least == pytest.approx(limit.least, abs=0.02 * limit.largest)
    assert found.largest == pytest.approx(limit.largest, rel=0.03)


def test_lanczos_and_the_dense_route_agree(rng, limits):
    teacher = teacher_of("squared_relu", 0)
    student = replace(teacher, W=teacher.W + 0.2 * rng.normal(size=teacher.W.shape))
    data = source(teacher, 2000, rng)
    dense = empirical_spectrum(data, student)
    limits("weightlift.theory.local_geometry", dense=0)
    lanczos = empirical_spectrum(data, student)
    assert lanczos.least == pytest.approx(dense.least, abs=1e-7 * dense.largest)
    assert lanczos.largest == pytest.approx(dense.largest, rel=1e-7)


def test_operator_is_the_matrix(rng):
    teacher = teacher_of("tanh", 0)
    data = source(teacher, 500, rng)
    H = hessian_operator(data, teacher) @ np.eye(18)
    np.testing.assert_allclose(H, H.T, atol=1e-13)
    spectrum = empirical_spectrum(data, teacher)
    np.testing.assert_allclose(np.linalg.eigvalsh(H)[[0, -1]], [spectrum.least, spectrum.largest], rtol=1e-10)


def test_population_spectrum_is_that_of_the_full_hessian(rng):
    teacher = teacher_of("relu", 2, d=9)
    student = replace(teacher, W=teacher.W + 0.3 * rng.normal(size=teacher.W.shape))
    for dirac in (True, False):
        values = np.linalg.eigvalsh(population_hessian(student, teacher, dirac=dirac).reshape(27, 27))
        spectrum = population_spectrum(student, teacher, dirac=dirac)
        np.testing.assert_allclose([spectrum.least, spectrum.largest], values[[0, -1]], atol=1e-12)


def test_radius_is_where_definiteness_ends():
    """The Hessian is positive definite just inside and not just outside."""
    teacher = teacher_of("squared_relu", 3)
    found = positive_definite_radius(teacher, directions=3, rng=7)
    D = np.random.default_rng(7).standard_normal((3, *teacher.W.shape))
    for radius, direction in zip(found.population, D, strict=True):
        assert 0 < radius < 2
        step = np.linalg.norm(teacher.W) / np.linalg.norm(direction) * direction
        inside, outside = (
            population_spectrum(replace(teacher, W=teacher.W + t * step), teacher).least for t in (radius - 1e-3, radius + 1e-3)
        )
        assert inside > 0 > outside


def test_radius_of_the_three_hessians():
    """Without kinks the Dirac term changes nothing, and rows give nearly the same; with ReLU it is what ends definiteness."""
    rng = np.random.default_rng(0)
    teacher = teacher_of("erf", 1, d=4, k=2)
    smooth = positive_definite_radius(teacher, source(teacher, 20_000, rng), directions=2)
    assert np.array_equal(smooth.population, smooth.without_dirac)
    np.testing.assert_allclose(smooth.empirical, smooth.population, rtol=0.15)
    teacher = teacher_of("relu", 1, d=4, k=2)
    kinked = positive_definite_radius(teacher, source(teacher, 2000, rng), directions=6)
    assert np.isinf(kinked.empirical).all()
    assert np.isinf(kinked.without_dirac).all()
    assert np.isfinite(kinked.population).any()


@pytest.mark.parametrize("activation", ["squared_relu", "tanh", "relu"])
@pytest.mark.parametrize("rows", [3000, None])
def test_theorem_44_contraction(activation, rows, seed):
    """Every step near the truth contracts at least as 1 − m/M, on fresh rows and on the population."""
    teacher = teacher_of(activation, seed)
    D = np.random.default_rng(seed).standard_normal(teacher.W.shape)
    start = replace(teacher, W=teacher.W + 0.03 * np.linalg.norm(teacher.W) * D / np.linalg.norm(D))
    found = contraction(teacher, start, steps=4, rows=rows, rng=seed)
    assert found.distances[0] == pytest.approx(0.03 * np.linalg.norm(teacher.W))
    assert np.linalg.norm(found.network.W - teacher.W) == pytest.approx(found.distances[-1])
    assert np.all(found.least > 0)
    assert np.all(found.factors <= found.bounds)
    assert np.all(found.bounds < 1)


def test_a_quadratic_risk_contracts_as_its_spectrum_says(rng):
    """Linear φ, one unit: the risk is ½‖W − W*‖², whose Hessian is the identity: one step reaches the truth."""
    teacher = Network(rng.normal(size=(4, 1)), activation="linear")
    found = contraction(teacher, replace(teacher, W=teacher.W + 1), steps=1, rows=None)
    assert found.distances[1] == pytest.approx(0, abs=1e-14)
    assert (found.least[0], found.largest[0]) == (pytest.approx(1), pytest.approx(1))


def test_the_student_keeps_the_known_output_weights(rng):
    teacher = teacher_of("relu", 0)
    other = Network(teacher.W, a=teacher.a + 1, c=5.0)
    assert hessian_bounds(teacher, at=other) == hessian_bounds(teacher)
    assert hessian_bounds(teacher).conditioning == conditioning(teacher)


def test_errors(rng):
    teacher = teacher_of("relu", 0)
    with pytest.raises(ShapeError, match="shape"):
        hessian_bounds(teacher, at=Network(np.eye(6)))
    for bad in ({"directions": 0}, {"reach": 0.0}, {"reach": np.inf}):
        with pytest.raises(ArgumentError, match="directions"):
            positive_definite_radius(teacher, **bad)
    for bad in ({"steps": 0}, {"rows": 0}):
        with pytest.raises(ArgumentError, match="steps"):
            contraction(teacher, teacher, **bad)
