"""Gradient descent on noisy rows: both forms of the gradient, the measured Theorem 4.2, its floor  [zhang2019]."""

from dataclasses import replace

import numpy as np
import pytest

from weightlift import draw, match, samples, teachers
from weightlift.errors import ActivationError, ArgumentError, ShapeError
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.noise import Noise
from weightlift.risk import Gradient, Risk, Students
from weightlift.theory import conditioning, gradient_parts, noisy_descent, noisy_forms, population_gradient, population_risk

D, K = 6, 3


def teacher_of(seed, d=D):
    return teachers.conditioned(d, K, signs=False, activation="relu", rng=seed)


def moved(teacher, distance, rng):
    step = rng.normal(size=teacher.W.shape)
    return replace(teacher, W=teacher.W + distance * step / np.linalg.norm(step))


def test_gradient_by_half_space_covariances(rng, as_xp):
    """(3.2) with (3.3) is the derivative of (1.2), row by row, weighted rows too; its noise part is what ε alone does."""
    teacher = teacher_of(0)
    student = moved(teacher, 0.7, rng)
    X, y = draw(teacher, 300, noise_std=0.4, rng=rng)
    w = rng.uniform(0.2, 2, size=300)
    data = samples.open(as_xp(X), as_xp(y), sample_weight=as_xp(w))
    parts = gradient_parts(data, student, teacher)
    np.testing.assert_allclose(parts.gradient, to_numpy(data.mean(Gradient(Students.of(student)))[1])[:, 0], atol=1e-14)
    noise = np.einsum("i,ia,ik->ak", w * (y - teacher.predict(X)), X, X @ student.W > 0) / w.sum()
    np.testing.assert_allclose(parts.noise, noise, atol=1e-14)
    j, k = 1, 2
    one = np.einsum("i,ia,ib->ab", w * (X @ student.W[:, j] > 0) * (X @ student.W[:, k] > 0), X, X) / w.sum()
    zeroed = [replace(student, W=np.where(np.arange(K) == j, student.W, 0.0)), replace(teacher, W=np.zeros((D, K)))]
    zeroed[0] = replace(zeroed[0], W=zeroed[0].W + 1e-300 * np.where(np.arange(K) == k, student.W, 0.0))
    alone = gradient_parts(data, *zeroed).signal[:, k]  # Σ̂(w_j, w_k) w_j and nothing else
    np.testing.assert_allclose(alone, one @ student.W[:, j], atol=1e-14)


def test_population_loss_is_the_limit_of_the_empirical(rng):
    """(3.1) is the mean of (1.2) without the noise's ½σ²."""
    teacher = teacher_of(1)
    student = moved(teacher, 1.0, rng)
    X, y = draw(teacher, 100_000, noise_std=0.3, rng=rng)
    rows = 0.5 * (student.predict(X) - y) ** 2
    empirical = float(samples.open(X, y).mean(Risk(Students.of(student)))[0][0])
    assert empirical == pytest.approx(rows.mean(), rel=1e-12)
    exact = population_risk(student, teacher, noise_std=0.3)
    assert abs(empirical - exact) < 5 * rows.std() / np.sqrt(len(y))
    assert exact == pytest.approx(population_risk(student, teacher) + 0.045)


@pytest.mark.parametrize("noise_std", [0.0, 0.3])
def test_distances_stay_below_the_measured_theorem(seed, noise_std):
    """(1 − ημ/2)^t ‖W₀ − W*‖² + (4/μ² + 4η/μ) δ², constants and all."""
    teacher = teacher_of(seed)
    start = moved(teacher, 0.25, np.random.default_rng(seed))
    data = samples.open(*draw(teacher, 4000, noise_std=noise_std, rng=seed))
    norm = Noise("gaussian", noise_std).sub_gaussian_norm
    found = noisy_descent(teacher, data, start, noise_norm=norm, iterations=300)
    assert found.distances[0] == pytest.approx(0.25)
    assert 0 < found.mu < found.L
    assert found.step <= 0.5 / found.L * (1 + 0.02)
    assert np.all(found.distances <= found.bounds)
    assert found.contraction < found.contraction_bound < 1
    far = np.flatnonzero(found.distances > 4 * found.floor)[-1]  # contraction: of the squared distance, while above the floor
    assert found.contraction**far == pytest.approx((found.distances[far] / found.distances[0]) ** 2)
    first = data.mean(Gradient(Students.of(start)))[1][:, 0] - population_gradient(start, teacher)
    assert found.deviation >= np.linalg.norm(first) > 0
    assert found.floor == pytest.approx(np.linalg.norm(found.network.W - teacher.W))
    assert match(found.network, teacher).frobenius_error == pytest.approx(found.floor, rel=1e-6)
    c = conditioning(teacher)
    assert found.rate_form == pytest.approx(1 / (c.lambda_ * c.kappa**2))
    assert found.radius == pytest.approx(c.sigma_k / (c.lambda_ * c.kappa**3 * K**2))
    form = (K**5 * D * np.log(4000) / 4000 * (np.linalg.norm(teacher.W) ** 2 + norm**2)) ** 0.5 / found.rate_form
    assert found.floor_form == pytest.approx(form)
    assert found.floor < found.floor_form
    if noise_std == 0:
        assert found.floor < 1e-3 * found.distances[0], "no noise, no floor"


def test_floor_is_proportional_to_the_noise_and_falls_with_the_rows():
    """Descent from the truth, root mean square over six samples: linear in σ; a quarter for 16 times the rows; as √d."""

    def floor(d, n, noise_std):
        squares = []
        for seed in range(6):
            teacher = teacher_of(3, d)
            data = samples.open(*draw(teacher, n, noise_std=noise_std, rng=seed))
            squares.append(noisy_descent(teacher, data, teacher, step=0.8, iterations=60).floor ** 2)
        return np.sqrt(np.mean(squares))

    base = floor(D, 1000, 0.1)
    # Half of (2/6f)^½ is the relative deviation of each root, f ≈ 4 the number of flat directions that carry the floor: 0.14.
    assert floor(D, 1000, 0.4) / base == pytest.approx(4, rel=0.3)
    assert base / floor(D, 16_000, 0.1) == pytest.approx(4, rel=0.4)
    assert floor(4 * D, 1000, 0.1) / base == pytest.approx(2, rel=0.4)


def test_other_networks_are_refused():
    teacher = teacher_of(0)
    data = samples.open(*draw(teacher, 50, rng=0))
    for bad in (replace(teacher, a=2 * teacher.a), replace(teacher, b=np.ones(K)), Network(teacher.W, activation="tanh")):
        with pytest.raises(ActivationError, match="ReLU"):
            noisy_descent(teacher, data, bad)
        with pytest.raises(ActivationError, match="teacher"):
            gradient_parts(data, teacher, bad)
    with pytest.raises(ShapeError, match="shape"):
        noisy_descent(teacher, data, Network(teacher.W[:, :2]))
    for arguments in ({"iterations": 0}, {"noise_norm": -1.0}):
        with pytest.raises(ArgumentError, match="iterations"):
            noisy_descent(teacher, data, teacher, **arguments)


def test_forms_of_theorem_4_2_scale_as_the_theorem_says(seed):
    """Each exponent of K, d, σ and N, by networks that differ in one of them."""
    teacher = teacher_of(seed)
    c, forms = conditioning(teacher), noisy_forms(teacher, noise_norm=0.5)
    size = np.sum(teacher.W**2) + 0.25
    log = np.log(c.lambda_ * c.kappa * K * D / c.sigma_k)
    assert forms.rows == pytest.approx(c.lambda_**4 * c.kappa**10 * K**9 * D / c.sigma_k**2 * log * size)
    assert forms.error(1000) == pytest.approx(c.lambda_**2 * c.kappa**4 * K**5 * size * D * np.log(1000) / 1000)
    assert forms.step == pytest.approx(1 / (c.kappa * K**2))
    assert forms.first_error == pytest.approx(forms.start / np.linalg.norm(teacher.W))
    rate = 1 - forms.step / (c.lambda_ * c.kappa**2)  # with c₃ = 1: T steps take ‖W₀ − W*‖² to ε, nearly
    T = forms.iterations(1e-3, first=2.0)
    assert rate**T * 4.0 == pytest.approx(1e-3, rel=0.2)
    assert forms.iterations(5.0, first=2.0) == 0.0
    twice = noisy_forms(replace(teacher, W=2 * teacher.W))
    assert twice.error(500) == pytest.approx(4 * noisy_forms(teacher).error(500))
    assert twice.start == pytest.approx(2 * forms.start)
    for bad in ({"noise_norm": -1.0}, {"noise_norm": np.nan}):
        with pytest.raises(ArgumentError, match="noise_norm"):
            noisy_forms(teacher, **bad)
    with pytest.raises(ArgumentError, match="n must be above 1"):
        forms.error(1)
    with pytest.raises(ArgumentError, match="epsilon"):
        forms.iterations(0.0)
