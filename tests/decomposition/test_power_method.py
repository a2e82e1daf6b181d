from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

from weightlift.decomposition import DecompositionStatus, compose, power_method
from weightlift.decomposition.limits import LIMITS
from weightlift.decomposition.power_method import _definite, _iterate, _orthogonal_components, definite_contraction
from weightlift.decomposition.tensors import apply_powers
from weightlift.errors import ArgumentError, NotFiniteError, ShapeError


@pytest.mark.parametrize("order", [3, 4])
@pytest.mark.parametrize("k", [1, 2, 7])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_whitened_by_a_definite_second_moment(plant, errors, seed, order, k, sign):
    """P = ±Σ π uuᵀ; the weights of the tensor itself have both signs."""
    c, U = plant(k, 5, seed)
    P = sign * (U * np.random.default_rng(seed).uniform(0.5, 2, k)) @ U.T
    found = power_method(compose(c, U, order), second_moment=P, rng=seed)
    assert found.status is DecompositionStatus.EXACT
    assert max(errors(found, c, U)) < 1e-10


@pytest.mark.parametrize("order", [3, 4])
@pytest.mark.parametrize("k", [1, 2, 5, 12])
def test_whitened_by_its_own_contraction(plant, errors, seed, order, k):
    c, U = plant(k, 10, seed)
    found = power_method(compose(c, U, order), rng=seed)
    assert found.status is DecompositionStatus.EXACT
    assert max(errors(found, c, U)) < 1e-10


@pytest.mark.parametrize("order", [3, 4])
def test_contraction_is_definite_and_has_the_factors(plant, seed, order):
    """P > 0, and U⁻¹ P U⁻ᵀ is diagonal: a contraction of the tensor, with weights of both signs in it."""
    c, U = plant(10, 10, seed)
    P = definite_contraction(compose(c, U, order))
    assert np.linalg.eigvalsh(P)[0] > 0
    inverse = np.linalg.inv(U)
    D = inverse @ P @ inverse.T
    np.testing.assert_allclose(D - np.diag(np.diag(D)), 0, atol=1e-10 * np.abs(D).max())


def test_orthogonal_factors_need_no_step_of_the_perceptron(rng):
    """U orthonormal: the first G, of length one, is Σ cᵢ uᵢ/‖c‖ and gives P = Σ cᵢ² uᵢuᵢᵀ/‖c‖."""
    Q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    c = np.array([1.0, -1.0, 1.2, -0.9, 1.1])
    P = definite_contraction(compose(c, Q, 3), max_steps=1)
    np.testing.assert_allclose(P, Q * c**2 @ Q.T / np.linalg.norm(c), atol=1e-13)


def test_noise_enters_linearly(plant, errors, symmetric_noise, seed):
    c, U = plant(5, 2, seed)
    T, N = compose(c, U, 3), symmetric_noise(5, 3, seed)
    small, large = (errors(power_method(T + e * np.linalg.norm(T) * N), c, U)[0] for e in (1e-7, 1e-5))
    assert 90 < large / small < 111


def test_the_perceptron_gives_up_in_words(symmetric_noise):
    """Pure noise has no definite contraction in sight."""
    with pytest.raises(ArgumentError, match=r"no definite contraction.*second_moment"):
        power_method(symmetric_noise(12, 3, 0))


def test_refusals(plant):
    c, U = plant(4, 2, 0)
    T = compose(c, U, 3)
    with pytest.raises(ArgumentError, match=r"must be definite.*method='kcl'"):
        power_method(T, second_moment=U * [1.0, 1.0, -1.0, 1.0] @ U.T)
    with pytest.raises(ShapeError, match="second_moment"):
        power_method(T, second_moment=np.eye(3))
    with pytest.raises(NotFiniteError, match="second_moment"):
        power_method(T, second_moment=np.full((4, 4), np.inf))


@pytest.mark.parametrize("order", [3, 4])
def test_components_are_fixed_points_of_the_whole_tensor(rng, order, symmetric_noise, seed):
    """With noise the deflated tensors differ from the whole one, on which T(I, v, …, v) = λ v at the end."""
    Q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    T = compose([1.0, -1.3, 0.8, 2.0, -0.7], Q, order) + 1e-2 * symmetric_noise(5, order, seed)
    V, settled = _orthogonal_components(T, 10, rng)
    assert settled
    image = apply_powers(T, V, 1)
    np.testing.assert_allclose(image, V * (image * V).sum(axis=0), atol=1e-11)
    np.testing.assert_allclose(np.sort(np.abs(V.T @ Q).max(axis=0)), 1, atol=1e-2)


@pytest.mark.parametrize("order", [3, 4])
def test_further_steps_serve_the_conditioning(plant, seed, order):
    """The best of its first steps: no worse than the first definite one."""
    c, U = plant(6, 6, seed)
    T = compose(c, U, order)
    conditions = []
    for steps in range(1, 40):
        with suppress(ArgumentError):
            conditions.append(np.linalg.cond(definite_contraction(T, max_steps=steps)))
    assert conditions == sorted(conditions, reverse=True)
    assert np.linalg.cond(definite_contraction(T)) <= conditions[0]


def perceptron(T, steps):
    """The contractions T(I, I, G) of its first steps: Σ R(x, x, ·) over eigenvectors that are not positive is added to G."""
    letters = "cde"[: T.ndim - 2]
    G = np.einsum(f"aa{letters}->{letters}", T)
    G = G / np.linalg.norm(G)
    found = []
    for _ in range(steps):
        P = np.einsum(f"ab{letters},{letters}->ab", T, G)
        found.append(P)
        values, X = np.linalg.eigh(P)
        low = [x for value, x in zip(values, X.T, strict=True) if value <= max(LIMITS.margin * values[-1], values[0])]
        more = sum(np.einsum(f"ab{letters},a,b->{letters}", T, x, x) for x in low)
        G = G + more / np.linalg.norm(more)
    return found


@pytest.mark.parametrize("order", [3, 4])
@pytest.mark.parametrize("steps", [1, 6, 25, 31, 60])
def test_the_best_conditioned_contraction_of_the_perceptron(plant, seed, order, steps):
    """… among the steps allowed, of which those beyond the extra ones are not made."""
    c, U = plant(5, 6, seed)
    T = compose(c, U, order)
    made = perceptron(T, min(steps, LIMITS.extra_steps + 1))
    ratios = [values[0] / values[-1] for values in map(np.linalg.eigvalsh, made)]
    if max(ratios) <= LIMITS.definite:
        with pytest.raises(ArgumentError, match="no definite contraction"):
            definite_contraction(T, max_steps=steps)
    else:
        expected = made[int(np.argmax(ratios))]
        np.testing.assert_allclose(definite_contraction(T, max_steps=steps), expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("power", [-90, 90])
def test_contractions_do_not_feel_the_size_of_the_tensor(plant, power):
    c, U = plant(5, 6, 1)
    T = compose(c, U, 3)
    np.testing.assert_array_equal(definite_contraction(np.ldexp(T, power)), np.ldexp(definite_contraction(T), power))


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_a_second_moment_is_made_symmetric_positive_and_is_definite_beside_its_largest_eigenvalue(size, rng):
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    skew = rng.standard_normal((3, 3))
    for share in (0.5, 2.0):
        P = size * (Q * [share * LIMITS.definite, 0.1, 1.0] @ Q.T)
        for given in (P, -P):
            if share < 1:
                with pytest.raises(ArgumentError, match="must be definite"):
                    _definite(given, 3)
            else:
                np.testing.assert_allclose(_definite(given, 3), P, atol=1e-15 * size)
    P = size * (Q * [0.5, 2.0, 1.0] @ Q.T)
    np.testing.assert_allclose(_definite(P + size * (skew - skew.T), 3), P, atol=1e-14 * size)


@pytest.mark.parametrize("order", [3, 4])
def test_a_step_is_the_contraction_on_the_side_of_its_start(order, rng):
    T = compose([3.0, -2.0, 1.5], rng.normal(size=(4, 3)), order)
    V = rng.standard_normal((4, 12))
    V /= np.linalg.norm(V, axis=0)
    image = apply_powers(T, V, 1)
    image *= np.sign((image * V).sum(axis=0)) / np.linalg.norm(image, axis=0)
    moved, settled = _iterate(T, V, 1)
    np.testing.assert_allclose(moved, image, atol=1e-13)
    assert not settled
