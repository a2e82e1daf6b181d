"""RECOVERSCALARS: the corrected recurrences are exact, the printed ones are not; least squares for every φ."""

import math

import numpy as np
import pytest
from tests.catalogue import UNIQUE

from weightlift import errors, hermite
from weightlift.activations import get
from weightlift.initialization.limits import LIMITS
from weightlift.initialization.scalars import (
    BIASES_TRIED,
    LENGTHS_TRIED,
    Scalars,
    _from_grid,
    _linearized,
    _steps,
    fitted_scalars,
    kink_scalars,
    reach,
)

B = np.array([0.0, 1.0, -1.0, 0.4, -0.7, 1.6, -2.1, math.sqrt(3), 0.742])  # roots of He_1, He_2, He_3 and near one of He_4


def planted(rng, orders, activation="relu", sigma=1.0):
    """ζ_j = a ξʲ m_j(σ, b), the true a, and b up to ξ."""
    a = rng.choice([-1.0, 1.0], len(B)) * rng.uniform(0.5, 1.5, len(B))
    xi = rng.choice([-1.0, 1.0], len(B))
    moments = get(activation).hermites(max(orders), sigma, sigma * B)
    return {j: a * xi**j * moments[j] for j in orders}, a, xi


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "absolute"])
def test_recover_scalars_is_exact(order, activation, rng):
    zeta, a, xi = planted(rng, (2, 3) if order == 1 else range(order, order + 4), activation)
    found = kink_scalars(zeta, order, get(activation))
    np.testing.assert_allclose(found.a, a, rtol=1e-10)
    np.testing.assert_allclose(found.b, xi * B, atol=1e-10)


@pytest.mark.parametrize("order", [2, 3])
def test_the_printed_algorithm_2_fails(order, rng):
    """q ζ_{q−1} and He_q with q the tensor's order, as printed, are wrong by far on exact input."""
    zeta, a, xi = planted(rng, range(order, order + 4))
    q = np.where(np.abs(zeta[order + 1]) >= np.abs(zeta[order + 2]), order + 1, order + 2)
    table, unit = np.stack([zeta.get(j, 0 * B) for j in range(order + 4)]), np.arange(len(B))
    b = -(table[q + 1, unit] + q * table[q - 1, unit]) / table[q, unit]
    height = np.stack(hermite.polynomials(order + 2, b))[q, unit]
    printed = math.sqrt(2 * math.pi) * (-1.0) ** q * table[q, unit] * np.exp(b**2 / 2) / height
    assert np.median(np.abs(b - xi * B)) > 0.3
    assert np.median(np.abs(printed / a - 1)) > 0.3


@pytest.mark.parametrize("activation", UNIQUE)
def test_least_squares_on_all_orders_is_exact(activation, rng):
    sigma = 1.0 if get(activation).degree else 1.4
    zeta, a, xi = planted(rng, (1, 2, 3, 4), activation, sigma)
    found = fitted_scalars(zeta, get(activation))
    moments = get(activation).hermites(4, found.sigma, found.b)
    for j, values in zeta.items():
        np.testing.assert_allclose(found.a * found.xi**j * moments[j], values, atol=1e-9)
    known = fitted_scalars(zeta, get(activation), xi=xi)
    np.testing.assert_allclose(known.a, a, rtol=1e-6)
    np.testing.assert_allclose(known.b / known.sigma, B, atol=1e-6)


def test_more_orders_lessen_the_error():
    """With noise of variance j! in ζ_j, least squares on T_2 … T_4 beats the two lowest."""
    errors_of = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        zeta, _, xi = planted(rng, (2, 3, 4))
        noisy = {j: z + 0.003 * math.sqrt(math.factorial(j)) * rng.normal(size=len(z)) for j, z in zeta.items()}
        pair = kink_scalars({j: noisy[j] for j in (2, 3)}, 1, get("relu"))
        both = fitted_scalars(noisy, get("relu"))
        errors_of.append([np.abs(s.b - xi * B) for s in (pair, both)])
    pair, both = np.sqrt(np.mean(np.square(errors_of), axis=(0, 2)))
    assert both < 0.95 * pair


def test_consecutive_hermite_polynomials_have_no_common_root_and_lemma_4_3_needs_a_smaller_constant():
    """max(|He_k|, |He_{k+1}|) ≥ √k!/2 as printed holds for k ≤ 7 and fails at k = 10, x = 0: 945 < 952.4."""
    t = np.linspace(-8, 8, 16_001)
    heights = np.abs(np.stack(hermite.polynomials(25, t)))
    ratio = [np.maximum(heights[k], heights[k + 1]).min() / math.sqrt(math.factorial(k)) for k in range(1, 25)]
    assert min(ratio[:7]) >= 0.5
    assert heights[10, 8000] == pytest.approx(945)
    assert ratio[9] < 0.5
    assert all(r >= 0.69 * (2 / (math.pi * k)) ** 0.25 for k, r in enumerate(ratio, start=1))


def test_reach_asks_for_rows_on_the_minority_side():
    assert reach(math.inf, 10) == 8.0
    assert reach(2e5, 20) == pytest.approx(3.53, abs=0.01)  # Φ(−3.53) = 42/200,000
    assert reach(100, 20) == pytest.approx(0.524, abs=1e-3)
    zeta, *_ = planted(np.random.default_rng(0), (2, 3, 4))
    assert np.abs(fitted_scalars(zeta, get("relu"), farthest=0.9).b).max() <= 0.9
    assert np.abs(kink_scalars(zeta, 1, get("relu"), farthest=0.9).b).max() <= 0.9


def test_other_activations_have_no_kink_formula():
    with pytest.raises(errors.ActivationError, match="tanh"):
        kink_scalars({2: B, 3: B}, 1, get("tanh"))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_recurrence_is_taken_at_the_order_that_stands_out_of_its_noise(order, rng):
    """Of ζ's that no unit has: q is the larger of |ζ_{ℓ+1}|, |ζ_{ℓ+2}| over √j!, for ℓ = 1 it is two."""
    zeta = {j: rng.normal(size=40) * math.sqrt(math.factorial(j)) for j in range(order + 4)}
    if order == 1:
        zeta[1] = np.zeros(40)
    found = kink_scalars(zeta, order, get("leaky_relu"))
    chosen = set()
    for i in range(40):
        q = 2 if order == 1 else max((order + 1, order + 2), key=lambda j: abs(zeta[j][i]) / math.sqrt(math.factorial(j)))
        chosen.add(q)
        b = np.clip(-(zeta[q + 1][i] + (q - 2) * zeta[q - 1][i]) / zeta[q][i], -LIMITS.farthest, LIMITS.farthest)
        a = math.sqrt(2 * math.pi) * math.exp(b**2 / 2) * (-1) ** q * zeta[q][i] / hermite.polynomial(q - 2, b)
        assert found.b[i] == pytest.approx(b, rel=1e-12)
        assert found.a[i] == pytest.approx(a / get("leaky_relu").jumps[0], rel=1e-9)
    assert len(chosen) == min(order, 2)


def weighted_square(zeta, activation, xi, a, b, sigma):
    moments = activation.hermites(max(zeta), sigma, b)
    return sum((z - a * xi**j * moments[j]) ** 2 / math.factorial(j) for j, z in zeta.items())


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_the_fit_is_a_minimum_of_the_weighted_square(activation):
    """Σ_j (ζ_j − a ξʲ m_j(σ, b))²/j! of noisy ζ's rises in every direction; the residual is its root, beside the ζ's."""
    phi, rng = get(activation), np.random.default_rng(0)
    zeta, *_ = planted(rng, (1, 2, 3, 4), activation, 1.0 if phi.degree else 1.4)
    zeta = {j: z + 0.02 * math.sqrt(math.factorial(j)) * rng.normal(size=len(z)) for j, z in zeta.items()}
    found = fitted_scalars(zeta, phi)
    inside = (np.abs(found.b / found.sigma) < LIMITS.farthest) & (np.abs(np.log(found.sigma)) < math.log(1e3))
    assert inside.sum() >= len(B) - 2
    best = weighted_square(zeta, phi, found.xi, found.a, found.b, found.sigma)
    size = sum(z**2 / math.factorial(j) for j, z in zeta.items())
    np.testing.assert_allclose(found.residual, np.sqrt(best / size), rtol=1e-9)
    for h in (1e-3, -1e-3):
        moved = [(found.a * (1 + h), found.b, found.sigma), (found.a, found.b + h * found.sigma, found.sigma)]
        moved += [] if phi.degree else [(found.a, found.b * (1 + h), found.sigma * (1 + h))]
        for a, b, sigma in moved:
            assert (weighted_square(zeta, phi, found.xi, a, b, sigma) > best)[inside].all()


def test_a_start_is_where_the_fit_begins_and_its_signs_are_kept(limits):
    rng = np.random.default_rng(0)
    zeta, a, xi = planted(rng, (1, 2, 3, 4), "tanh", 1.4)
    near = Scalars(xi, a, 1.4 * B + 0.05, np.full(len(B), 1.3), np.zeros(len(B)))
    found = fitted_scalars(zeta, get("tanh"), start=near)
    np.testing.assert_allclose(found.a * found.xi, a * xi, rtol=1e-6)
    np.testing.assert_allclose([found.b, found.sigma], [1.4 * B, np.full(len(B), 1.4)], atol=1e-6)
    limits("weightlift.initialization.scalars", scalar_steps=0)
    unmoved = fitted_scalars(zeta, get("tanh"), start=near)
    np.testing.assert_allclose([unmoved.b, unmoved.sigma], [near.b, near.sigma], rtol=1e-13)
    np.testing.assert_array_equal(unmoved.xi, xi)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_the_grid_holds_what_it_is_made_of(activation, rng):
    """A unit on the grid is found on it: every bias for φ that have no length, every fifth for each length else."""
    phi, orders = get(activation), np.arange(1, 5)
    index = rng.permutation(np.arange(60, 141))[:12] if phi.degree else 5 * rng.permutation(np.arange(14, 27))[:12]
    beta = BIASES_TRIED[index]
    sigma = np.ones(12) if phi.degree else rng.choice(LENGTHS_TRIED[8:18], 12)
    xi, a = rng.choice([-1.0, 1.0], 12), rng.normal(size=12)
    weights = np.array([1 / math.sqrt(math.factorial(j)) for j in orders])
    target = weights[:, None] * a * xi ** orders[:, None] * phi.hermites(4, sigma, sigma * beta)[1:]
    signs, lengths, biases = _from_grid(target, weights, orders, phi, xi, 5.0)
    np.testing.assert_array_equal(signs, xi)
    np.testing.assert_allclose([lengths, biases], [sigma, beta], atol=1e-12)
    close = _from_grid(target, weights, orders, phi, xi, 0.5)[2]
    assert np.abs(close).max() <= 0.5


def test_signs_that_the_orders_do_not_tell_stay_positive(rng):
    zeta, *_ = planted(rng, (2, 4))
    np.testing.assert_array_equal(fitted_scalars(zeta, get("relu")).xi, 1.0)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_tangents_are_derivatives(activation, rng):
    """By β = b/σ and by log σ at a fixed, against differences; where φ is homogeneous the length does not move."""
    phi, orders, k = get(activation), np.array([1, 2, 4]), 5
    sigma = np.ones(k) if phi.degree else rng.uniform(0.5, 2, size=k)
    beta, scale, target = rng.normal(size=k), rng.normal(size=(3, k)), rng.normal(size=(3, k))
    free = phi.degree is None
    a, shape, tangents, square = _linearized(target, scale, orders, sigma, beta, phi, free)
    for i in range(k):
        assert a[i] == pytest.approx(np.linalg.lstsq(shape[:, [i]], target[:, i], rcond=None)[0][0], rel=1e-12)
    np.testing.assert_allclose(square, np.sum((target - a * shape) ** 2, axis=0), rtol=1e-12)
    h = 1e-5
    for tangent, (turn, grow) in zip(tangents, [(h, 0.0), (0.0, h)], strict=True):
        ends = []
        for sign in (1, -1):
            length = sigma * np.exp(sign * grow * free)
            ends.append(scale * phi.hermites(4, length, length * (beta + sign * turn))[orders])
        np.testing.assert_allclose(tangent, a * (ends[0] - ends[1]) / (2 * h), atol=1e-8)


@pytest.mark.parametrize("damping", [1e-8, 0.3])
def test_a_step_solves_its_damped_least_squares(damping, rng):
    """min |r − α shape − T s|² + μ Σ |T_p|² s_p² over α and s, T_p what the shape leaves of a tangent: by brute force."""
    J, k = 6, 4
    shape, tangents, residual = rng.normal(size=(J, k)), rng.normal(size=(2, J, k)), 0.1 * rng.normal(size=(J, k))
    found = _steps(residual, shape, tangents, np.full(k, damping))
    for i in range(k):
        unit = shape[:, i] / np.linalg.norm(shape[:, i])
        T = tangents[:, :, i].T - np.outer(unit, unit @ tangents[:, :, i].T)
        bound = np.sqrt(damping) * np.diag(np.linalg.norm(T, axis=0))
        design = np.vstack([np.column_stack([unit, tangents[:, :, i].T]), np.column_stack([np.zeros(2), bound])])
        expected = np.linalg.lstsq(design, np.append(residual[:, i], [0.0, 0.0]), rcond=None)[0][1:]
        assert np.abs(expected).max() < LIMITS.scalar_step
        np.testing.assert_allclose(found[:, i], expected, rtol=1e-7, atol=1e-12)
    far = _steps(100 * residual, shape, tangents, np.full(k, damping))
    np.testing.assert_allclose(far, np.clip(100 * found, -LIMITS.scalar_step, LIMITS.scalar_step), rtol=1e-7)
