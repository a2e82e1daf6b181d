"""Population risk, gradient and Hessian: derivatives of one another, limits of the empirical ones, and symmetries."""

from dataclasses import replace

import numpy as np
import pytest
from tests.catalogue import ENTRIES

from weightlift import Network, draw, samples, teachers
from weightlift.errors import ArgumentError, ShapeError
from weightlift.risk import Gradient, Hessian, Risk, Students
from weightlift.theory import population_gradient, population_hessian, population_risk
from weightlift.theory.population import compressed

D, K = 4, 2
CATALOGUE = [phi.name for phi in ENTRIES if phi.name not in ("linear", "polynomial")]


def networks(rng, activation, *, bias=0.0, width=K + 1):
    student, teacher = (
        Network(0.6 * rng.normal(size=(D, k)), rng.normal(size=k), bias * rng.normal(size=k), bias * rng.normal(), activation)
        for k in (width, K)
    )
    return student, teacher


def moved(net, step, direction):
    return replace(net, W=net.W + step * direction)


def slope(function, h=1e-3):
    """f′(0) by central differences of order 6."""
    return sum(c * (function(i * h) - function(-i * h)) for i, c in ((1, 45), (2, -9), (3, 1))) / (60 * h)


def apply(H, U):
    return np.einsum("aibj,bj->ai", H, U)


@pytest.mark.parametrize("activation", CATALOGUE)
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_gradient_and_hessian_are_derivatives(activation, bias):
    """For kinked φ the Dirac term is part of the Hessian; rounding of the risk over h is 1e-12 of its size."""
    rng = np.random.default_rng(len(activation))
    student, teacher = networks(rng, activation, bias=bias)
    U = rng.normal(size=student.W.shape)
    U /= np.linalg.norm(U)
    risk = population_risk(student, teacher)
    gradient = population_gradient(student, teacher)
    size = 1 + risk + np.linalg.norm(gradient)
    difference = slope(lambda t: population_risk(moved(student, t, U), teacher))
    assert np.sum(gradient * U) == pytest.approx(difference, abs=1e-10 * size)
    H = population_hessian(student, teacher)
    differences = slope(lambda t: population_gradient(moved(student, t, U), teacher))
    np.testing.assert_allclose(apply(H, U), differences, rtol=0, atol=2e-9 * (1 + np.abs(H).max()))


@pytest.mark.parametrize("name", ["elu", "hard_tanh"])
def test_derivatives_for_users_activations(users, name):
    rng = np.random.default_rng(0)
    student, teacher = networks(rng, users[name], bias=0.5, width=1)
    U = rng.normal(size=student.W.shape)
    H, without = (population_hessian(student, teacher, dirac=dirac) for dirac in (True, False))
    differences = (
        population_gradient(moved(student, 1e-4, U), teacher) - population_gradient(moved(student, -1e-4, U), teacher)
    ) / 2e-4
    np.testing.assert_allclose(apply(H, U), differences, rtol=0, atol=1e-6)
    assert np.abs(H - without).max() > 1e-2


@pytest.mark.parametrize("activation", ["relu", "squared_relu", "tanh"])
def test_empirical_quantities_converge_to_the_population(rng, activation):
    """Means over 20 parts of 5000 rows within 5 of their standard errors; the empirical Hessian has no Dirac term."""
    student, teacher = networks(rng, activation, bias=0.5)
    statistics = (Risk(Students.of(student)), Gradient(Students.of(student)), Hessian(student))
    parts = []
    for _ in range(20):
        data = samples.open(*draw(teacher, 5000, noise_std=0.3, rng=rng))
        (risk,), (_, gradient, *_), (H,) = (data.mean(statistic) for statistic in statistics)
        parts.append(np.concatenate([risk, gradient[:, 0].ravel(), H.ravel()]))
    exact = np.concatenate(
        [
            [population_risk(student, teacher, noise_std=0.3)],
            population_gradient(student, teacher).ravel(),
            population_hessian(student, teacher, dirac=False).ravel(),
        ]
    )
    error = np.std(parts, axis=0, ddof=1) / np.sqrt(20)
    assert np.all(np.abs(np.mean(parts, axis=0) - exact) < 6.5 * error)  # 177 values of Student's t with 19 degrees


@pytest.mark.parametrize("activation", ["relu", "squared_relu", "tanh"])
def test_at_the_truth(rng, activation):
    """r = 0: the gradient vanishes, and the Hessian is JᵀJ, positive definite for k independent units."""
    _, teacher = networks(rng, activation)
    order = rng.permutation(K)
    same = replace(teacher, W=teacher.W[:, order], a=teacher.a[order])
    assert population_risk(same, teacher) == pytest.approx(0, abs=1e-15)
    np.testing.assert_allclose(population_gradient(same, teacher), 0, atol=1e-14)
    H = population_hessian(teacher, teacher)
    np.testing.assert_allclose(H, population_hessian(teacher, teacher, curvature=False), atol=1e-13)
    assert np.linalg.eigvalsh(H.reshape(D * K, -1))[0] > 0


def test_noise_adds_half_its_variance(rng):
    student, teacher = networks(rng, "tanh")
    gap = population_risk(student, teacher, noise_std=0.7) - population_risk(student, teacher)
    assert gap == pytest.approx(0.245, rel=1e-12)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_rotations(rng, activation):
    """x ↦ Qx turns the gradient and the Hessian."""
    student, teacher = networks(rng, activation, bias=1.0)
    Q = np.linalg.qr(rng.normal(size=(D, D)))[0]
    turned = [replace(net, W=Q @ net.W) for net in (student, teacher)]
    np.testing.assert_allclose(population_gradient(*turned), Q @ population_gradient(student, teacher), atol=1e-12)
    H = np.einsum("ab,cd,bjdl->ajcl", Q, Q, population_hessian(student, teacher))
    np.testing.assert_allclose(population_hessian(*turned), H, atol=1e-12)


@pytest.mark.parametrize(("activation", "degree"), [("relu", 1), ("squared_relu", 2)])
def test_homogeneity(rng, activation, degree):
    """f is homogeneous in W: ⟨∇L, W⟩ = q E r f, and E r f = ½ (‖f − g‖² + ‖f‖² − ‖g‖²)."""
    student, teacher = networks(rng, activation)
    zero = replace(teacher, a=np.zeros(K))
    rf = population_risk(student, teacher) + population_risk(student, zero) - population_risk(teacher, zero)
    assert np.sum(population_gradient(student, teacher) * student.W) == pytest.approx(degree * rf, rel=1e-10)


def test_dirac_term_makes_the_relu_risk_concave_where_jtj_is_not():
    """At W*/2 the population Hessian has a negative eigenvalue, the limit of the empirical ones a positive one."""
    teacher = teachers.conditioned(5, 3, signs=False, activation="relu", rng=0)
    half = replace(teacher, W=teacher.W / 2)
    full, without = (
        np.linalg.eigvalsh(population_hessian(half, teacher, dirac=dirac).reshape(15, 15)) for dirac in (True, False)
    )
    assert full[0] < -0.3
    assert without[0] > 0.03
    np.testing.assert_allclose(
        population_hessian(half, teacher, dirac=False), population_hessian(half, teacher, curvature=False), atol=1e-14
    )


def test_student_and_teacher_may_differ(rng):
    """Other widths, activations and offsets; the gradient is still the derivative of the risk."""
    student = Network(rng.normal(size=(D, 3)), rng.normal(size=3), rng.normal(size=3), 0.4, "tanh")
    teacher = Network(rng.normal(size=(D, 2)), rng.normal(size=2), rng.normal(size=2), -0.3, "relu")
    U = rng.normal(size=(D, 3))
    difference = slope(lambda t: population_risk(moved(student, t, U), teacher))
    assert np.sum(population_gradient(student, teacher) * U) == pytest.approx(difference, abs=1e-8)


def test_compressed_problems_have_the_same_spectrum(rng):
    teacher = teachers.conditioned(12, 3, activation="relu", rng=rng)
    student = replace(teacher, W=teacher.W + 0.3 * rng.normal(size=(12, 3)))
    small = compressed(student, teacher)
    assert small[0].n_inputs == 7
    assert population_risk(*small) == pytest.approx(population_risk(student, teacher), rel=1e-10)
    large = np.linalg.eigvalsh(population_hessian(student, teacher).reshape(36, 36))
    little = np.linalg.eigvalsh(population_hessian(*small).reshape(21, 21))
    np.testing.assert_allclose(large[[0, -1]], little[[0, -1]], atol=1e-12)
    gaps = np.abs(large[:, None] - little).min(axis=1)
    assert gaps.max() < 1e-12


def test_errors(rng):
    student, teacher = networks(rng, "relu")
    with pytest.raises(ShapeError, match="inputs"):
        population_gradient(student, Network(np.eye(3)))
    with pytest.raises(ArgumentError, match="teacher"):
        population_risk(student, "relu")
    with pytest.raises(ArgumentError, match="noise_std"):
        population_risk(student, teacher, noise_std=-1.0)
    dead = replace(student, W=student.W * [1, 0, 1])
    with pytest.raises(ArgumentError, match="unit 1 of student has weight zero"):
        population_hessian(dead, teacher)
    resting = replace(dead, b=np.array([0.0, 0.5, 0.0]))  # constant, away from the kink
    assert np.isfinite(population_hessian(resting, teacher)).all()
