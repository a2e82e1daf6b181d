"""Which networks are the same function: sign patterns, twins, least order, superfluous units, parameter counts."""

from __future__ import annotations

import importlib
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr
from tests.catalogue import ENTRIES

from weightlift import activations, errors, teachers
from weightlift.geometry import distance
from weightlift.identifiability import (
    Redundancy,
    count_parameters,
    irreducible,
    least_order,
    minimal,
    reflect,
    sign_patterns,
    subset_sums,
    twin,
)
from weightlift.identifiability.least_order import power_factors
from weightlift.identifiability.reflections import reflection_polynomials
from weightlift.identifiability.subset_sums import SubsetSums
from weightlift.network import Network

least_order_module = importlib.import_module("weightlift.identifiability.least_order")  # the name is the function's, too
AMBIGUOUS = [phi.name for phi in ENTRIES if phi.uniqueness and len(phi.reflection[1]) > 1]  # reflection leaves a polynomial
SYMMETRIC = [phi.name for phi in ENTRIES if phi.uniqueness and len(phi.reflection[1]) <= 1]  # reflection is a symmetry
EVERY_SUBSET = {k: ((np.arange(2**k)[:, None] >> np.arange(k)) & 1) == 1 for k in range(1, 13)}


def random_network(rng, activation="relu", d=3, k=7, *, bias=True, c=0.4):
    W = rng.normal(size=(d, k))
    b = rng.normal(size=k) if bias else None
    return Network(W, rng.choice([-1, 1], k) * rng.uniform(0.5, 1.5, k), b, c, activation)


def rows(patterns):
    return {tuple(np.flatnonzero(pattern).tolist()) for pattern in patterns}


def brute_force(network, *, offset):
    """The same sets from values of φ alone: Σ_F [aᵢ φ(zᵢ) − s aᵢ φ(−zᵢ)] at random points, over all 2ᵏ sets F."""
    X = np.random.default_rng(99).normal(size=(80, network.n_inputs))
    Z = X @ network.W + network.b
    s = network.activation.reflection[0]
    change = network.a * (network.activation(Z) - s * network.activation(-Z))
    if offset:
        change = change - change.mean(axis=0)
    F = EVERY_SUBSET[network.n_units]
    return rows(F[np.abs(F @ change.T).max(axis=1) < 1e-8])


# Sign patterns


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("activation", [*AMBIGUOUS, "sigmoid"])
def test_sign_patterns_agree_with_brute_force(rng, activation, offset):
    for k in (1, 4, 9, 12):
        net = random_network(rng, activation, d=2, k=k)
        if k >= 9:  # plant two sets that share units, and integer parameters, which meet by chance
            net, _ = twin(net, list(range(k - 1)), rng=rng) if activation != "sigmoid" else (replace(net, a=np.sign(net.a)), 0)
        if k == 12 and activation == "relu":
            net = replace(net, W=np.round(net.W), b=np.round(net.b), a=np.sign(net.a))
        found = sign_patterns(net, offset=offset, max_patterns=2**12)
        if activation == "sigmoid" and offset:
            assert found.every
            continue
        assert found.complete
        assert not found.patterns[0].any()
        assert rows(found.patterns) == brute_force(net, offset=offset)
        assert len(rows(found.patterns)) == len(found.patterns)
        assert len(found.patterns) <= 2**found.free


def test_offset_exempts_the_constant_only(rng):
    W = rng.normal(size=(3, 6))
    W[:, 4] = -W[:, :4].sum(axis=1)
    net = Network(W, b=rng.normal(size=6))  # Σ_{i<5} wᵢ = 0, Σ bᵢ ≠ 0
    assert rows(sign_patterns(net).patterns) == {()}
    assert rows(sign_patterns(net, offset=True).patterns) == {(), (0, 1, 2, 3, 4)}
    X = rng.normal(size=(50, 3))
    pattern = sign_patterns(net, offset=True).patterns[1]
    np.testing.assert_allclose(reflect(net, pattern).predict(X), net.predict(X), atol=1e-13)
    assert reflect(net, pattern).c == pytest.approx(net.b[:5].sum())
    change = reflect(net, pattern, offset=False).predict(X) - net.predict(X)
    np.testing.assert_allclose(change, -net.b[:5].sum(), atol=1e-13)


def test_squared_relu_frames(rng):
    """Σ uᵢuᵢᵀ = I = Σ vᵢvᵢᵀ for two orthonormal frames; biases must match: Σ aᵢbᵢwᵢ = 0 and Σ aᵢbᵢ² = 0."""
    U, V = (np.linalg.qr(rng.normal(size=(4, 4)))[0] for _ in range(2))
    extra = rng.normal(size=(4, 1))
    a = np.concatenate([np.ones(4), -np.ones(4), [0.7]])
    net = Network(np.hstack([U, V, extra]), a, activation="squared_relu")
    both = tuple(range(8))
    assert rows(sign_patterns(net).patterns) == {(), both}
    assert sign_patterns(net).ambiguous
    b = rng.normal(size=4)
    biased = replace(net, b=np.concatenate([b, V.T @ U @ b, [0.3]]))
    assert rows(sign_patterns(biased).patterns) == {(), both}  # Σ bᵢuᵢ = Σ b'ᵢvᵢ implies equal Σ b²
    shifted = replace(net, b=np.concatenate([b, V.T @ U @ b + [1e-2, 0, 0, 0], [0.3]]))
    assert rows(sign_patterns(shifted, offset=True).patterns) == {()}
    X = rng.normal(size=(40, 4))
    flipped = reflect(biased, np.isin(np.arange(9), both), offset=False)
    np.testing.assert_allclose(flipped.predict(X), biased.predict(X), atol=1e-12)


@pytest.mark.parametrize("activation", AMBIGUOUS)
def test_generic_networks_have_the_identity_alone(rng, activation):
    for d, k, bias in ((8, 8, False), (3, 4, True), (4, 12, True), (60, 40, True)):
        found = sign_patterns(random_network(rng, activation, d, k, bias=bias))
        assert rows(found.patterns) == {()}
        assert found.complete
        assert not found.ambiguous
        conditions = k if activation == "squared_relu" and k <= (d + 1) * (d + 2) // 2 else min(k, d + bias)
        assert (found.rank, found.free) == (conditions, k - conditions)


@pytest.mark.parametrize("activation", SYMMETRIC)
def test_symmetries_are_no_ambiguity(rng, activation):
    net = random_network(rng, activation)
    found = sign_patterns(net, offset=True)
    assert found.symmetry
    assert found.every
    assert found.complete
    assert not found.ambiguous
    X = rng.normal(size=(30, 3))
    for pattern in rng.random((5, 7)) < 0.5:
        np.testing.assert_allclose(reflect(net, pattern).predict(X), net.predict(X), atol=1e-13)
        assert reflect(net, pattern).equivalent(net)


def test_sigmoid_without_offset_needs_output_weights_that_sum_to_zero(rng):
    net = replace(random_network(rng, "sigmoid", k=5), a=np.array([1.0, -1.0, 2.0, -3.0, 0.7]))
    found = sign_patterns(net)
    assert rows(found.patterns) == {(), (0, 1), (0, 2, 3)}
    assert not found.ambiguous
    assert not found.distinct.any()
    many = sign_patterns(Network(rng.normal(size=(3, 60)), rng.choice([-1.0, 1.0], 60), activation="sigmoid"))
    assert not many.complete
    assert not many.ambiguous


def test_reflection_that_permutes_the_units_is_not_another_network():
    """a (φ(u) + φ(−u)) is its own reflection; with a third unit flipped along, it is not."""
    pair = Network([[1.0, -1.0, 0.3], [2.0, -2.0, 1.0]], [0.5, 0.5, 2.0], [0.1, -0.1, 0.4])
    found = sign_patterns(pair)
    assert rows(found.patterns) == {(), (0, 1)}
    assert not found.ambiguous
    scaled = replace(pair, W=pair.W * [2.0, 1.0, 1.0], b=pair.b * [2.0, 1.0, 1.0], a=pair.a / [2.0, 1.0, 1.0])
    assert not sign_patterns(scaled).ambiguous
    unequal = Network([[1.0, -2.0], [0.0, 0.0], [1.0, -2.0]], [2.0, 1.0])  # 2 u + (−2u) = 0, slopes 2 and 2
    assert not sign_patterns(unequal).ambiguous
    other = Network([[1.0, -1.0, 1.0], [0.0, 0.0, 1.0]], [1.0, 2.0, 1.0])
    assert rows(sign_patterns(other).patterns) == {()}


def test_units_without_output_weight_are_ambiguous(rng):
    net = random_network(rng, d=5, k=3)
    idle = replace(net, a=net.a * [1, 0, 1])
    assert rows(sign_patterns(idle).patterns) == {(), (1,)}
    assert sign_patterns(idle).ambiguous
    assert sign_patterns(replace(net, a=np.zeros(3))).every
    assert sign_patterns(replace(net, a=np.zeros(3))).ambiguous


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("activation", [*AMBIGUOUS, "sigmoid"])
def test_sizes_are_exact_distances(rng, activation, offset):
    net = random_network(rng, activation, d=3, k=6)
    C = reflection_polynomials(net, offset=offset)
    for pattern in EVERY_SUBSET[6][rng.permutation(63)[:6] + 1]:
        expected = distance(net, reflect(net, pattern, offset=offset)).value
        assert np.linalg.norm(C @ pattern) == pytest.approx(expected, rel=1e-9, abs=3e-7)


def test_sizes_are_exact_for_a_cubic_remainder(rng):
    """φ = z₊³ has φ(−z) = φ(z) − z³: rows of order 1 and 3, and of order 0 and 2 with biases."""
    cubic = activations.custom(
        "cubed_relu",
        lambda z: np.maximum(z, 0) ** 3,
        lambda z: 3 * np.maximum(z, 0) ** 2,
        kinks=(0.0,),
        degree=3,
        reflection=(1, (0.0, 0.0, 0.0, -1.0)),
    )
    net = random_network(rng, cubic, d=2, k=6)
    pattern = np.array([True, False, True, True, False, False])
    size = np.linalg.norm(reflection_polynomials(net, offset=False) @ pattern)
    assert size == pytest.approx(distance(net, reflect(net, pattern, offset=False)).value, rel=1e-7)
    f, g = twin(random_network(rng, cubic, d=2, k=12), list(range(11)), rng=rng)  # C(2 + 3, 3) = 10 monomials
    X = rng.normal(size=(30, 2))
    np.testing.assert_allclose(f.predict(X), g.predict(X), atol=1e-11)
    assert rows(sign_patterns(f).patterns) == {(), tuple(range(11))}


@pytest.mark.parametrize("activation", AMBIGUOUS)
def test_near_ambiguities_are_found_with_their_size(rng, activation):
    k = 12
    net, _ = twin(random_network(rng, activation, d=2, k=k), list(range(8)), rng=rng)
    step = rng.normal(size=net.W.shape)
    sizes = []
    for delta in (1e-5, 1e-6):
        moved = replace(net, W=net.W + delta * step)
        found = sign_patterns(moved)
        assert tuple(range(8)) not in rows(found.patterns)
        index = [tuple(np.flatnonzero(p).tolist()) for p in found.near].index(tuple(range(8)))
        assert (np.diff(found.near_sizes) >= 0).all()
        sizes.append(found.near_sizes[index])
        size = np.linalg.norm(reflection_polynomials(moved, offset=False)[:, :8].sum(axis=1))
        assert sizes[-1] == pytest.approx(size, rel=1e-9)
        assert sizes[-1] <= found.reach * found.scale
        assert tuple(range(8)) in rows(sign_patterns(moved, tol=1.01 * size / found.scale).patterns)
    assert sizes[0] / sizes[1] == pytest.approx(10, rel=1e-3)


# Theorem 3.4, eq. (2)


def equation_2(network, xi, *, printed):
    """Residual of the d + 1 equations for signs ξ, unit weights; the printed second one lacks the factor ξᵢ."""
    a, b, W = network.a, network.b, network.W
    first = W @ (a * (xi * ndtr(xi * b) - ndtr(b)))
    second = np.sum(a * b * ((1 if printed else xi) * ndtr(xi * b) - ndtr(b)))
    return max(np.abs(first).max(), abs(second))


def test_corrected_equation_2_is_the_rule_and_the_printed_one_fails(seed):
    rng = np.random.default_rng(seed)
    net, reflected = twin(teachers.biased(3, 8, rng=rng), [0, 1, 2, 3, 4, 6], rng=rng)
    X = rng.normal(size=(100, 3))
    np.testing.assert_allclose(net.predict(X), reflected.predict(X), atol=1e-12)
    found = rows(sign_patterns(net).patterns)
    subsets = EVERY_SUBSET[8]
    signs = 1.0 - 2.0 * subsets
    assert rows(subsets[[equation_2(net, xi, printed=False) < 1e-9 for xi in signs]]) == found == {(), (0, 1, 2, 3, 4, 6)}
    assert rows(subsets[[equation_2(net, xi, printed=True) < 1e-9 for xi in signs]]) == {()}
    for pattern in sign_patterns(net).patterns:  # the zeroth and first Hermite coefficients agree
        g = reflect(net, pattern, offset=False)
        for k in (0, 1):
            T = [h.W**k @ (h.a * h.activation.hermite(k, 1.0, h.b)) for h in (net, g)]
            np.testing.assert_allclose(T[0], T[1], atol=1e-13)


# The enumeration


@pytest.mark.parametrize("kind", ["generic", "integer", "graded", "planted"])
def test_all_ways_of_enumeration_agree(rng, kind):
    k = 15
    for size, n in ((1e-9, 4), (1e-3, 2), (3e-3, 2), (1e-2, 3), (0.1, 4)):
        C = rng.normal(size=(n, k))
        if kind == "integer":
            C = rng.integers(-2, 3, size=(n, k)).astype(float)
        if kind == "graded":
            C *= 10.0 ** rng.uniform(-6, 1, size=k)
        if kind == "planted":
            C[:, 3] = -C[:, [1, 5, 8, 9, 10, 14]].sum(axis=1)
        C /= np.linalg.norm(C)
        sums = SubsetSums.of(C)
        every = ((np.arange(2**k)[:, None] >> np.arange(k)) & 1) == 1
        expected = rows(every[np.linalg.norm(every @ C.T, axis=1) <= size])
        r = sums.pivots(size)
        for proposals in (sums._by_pivots(r, size), sums._by_halves(r, size), sums._by_halves(0, size)):
            patterns, complete = sums._tested(proposals, size, 2**k)
            assert complete
            assert rows(patterns) == expected
        assert rows(sums.small(size, limit=2**k)[0]) == expected
        few, complete = sums.small(size, limit=1)
        assert len(few) == 1
        assert complete == (len(expected) == 1)


@pytest.mark.parametrize(("d", "k"), [(1, 26), (3, 30), (10, 40), (70, 100)])
def test_planted_patterns_in_wide_networks(rng, d, k):
    """2^{k−r} is beyond enumeration: the halves meet in the middle."""
    net = random_network(rng, "relu", d, k)
    S = np.sort(rng.permutation(k)[: d + 8])
    net, _ = twin(net, S.tolist(), rng=rng)
    found = sign_patterns(net)
    assert rows(found.patterns) == {(), tuple(S.tolist())}
    assert found.complete
    assert found.free == k - d - 1


def test_integer_columns_fall_back_on_plain_halves(rng, monkeypatch):
    """G is integer: every pair of halves matches modulo 1, and the way by pivots modulo 1 gives up."""
    monkeypatch.setattr(subset_sums, "FEW_FREE", 0)
    monkeypatch.setattr(subset_sums, "CHANCE", 100)
    k = 14
    W = np.vstack([np.ones(k), rng.integers(0, 2, size=(2, k))])
    a = np.ones(k)
    a[5], W[:, 5] = -1.0, W[:, [1, 2]].sum(axis=1)
    C = np.vstack([a * W, np.zeros(k)])
    sums = SubsetSums.of(C / np.linalg.norm(C))
    assert sums._tested(sums._by_halves(sums.pivots(1e-9), 1e-9), 1e-9, 2**k, 100) is None
    every = ((np.arange(2**k)[:, None] >> np.arange(k)) & 1) == 1
    expected = rows(every[np.abs(every @ C.T).max(axis=1) == 0])
    assert (1, 2, 5) in expected
    assert rows(sign_patterns(Network(W, a)).patterns) == expected


def test_overflow_and_refusal(rng):
    W = np.tile(rng.normal(size=(3, 1)), 20)
    a = np.tile([1.0, -1.0], 10)
    found = sign_patterns(Network(W, a), max_patterns=50)
    assert not found.complete
    assert found.ambiguous
    assert len(found.patterns) <= 51
    assert not found.patterns[0].any()
    assert np.abs(found.patterns @ a).max() == 0
    with pytest.raises(errors.ArgumentError, match="2\\^57 patterns are too many"):
        sign_patterns(random_network(rng, d=3, k=60, bias=False))
    with pytest.raises(errors.ArgumentError, match="tol"):
        sign_patterns(random_network(rng), tol=0.1, near=0.01)
    with pytest.raises(errors.ArgumentError, match="max_patterns"):
        sign_patterns(random_network(rng), max_patterns=0)


def test_activation_without_reflection(rng):
    ramp = activations.custom("ramp2", lambda z: np.maximum(z - 1, 0), lambda z: 1.0 * (z > 1), kinks=(1.0,))
    net = random_network(rng, ramp)
    assert rows(sign_patterns(net).patterns) == {()}
    assert not sign_patterns(net).ambiguous
    with pytest.raises(errors.ActivationError, match="ramp2"):
        reflect(net, np.ones(7, dtype=bool))
    with pytest.raises(errors.ActivationError, match="ramp2"):
        twin(net)


# Reflection and twins


@pytest.mark.parametrize("activation", [*AMBIGUOUS, *SYMMETRIC])
def test_reflection_is_an_involution(rng, activation):
    net = random_network(rng, activation)
    pattern = rng.random(7) < 0.5
    back = reflect(reflect(net, pattern), pattern)
    np.testing.assert_array_equal(back.W, net.W)
    np.testing.assert_array_equal(back.b, net.b)
    np.testing.assert_array_equal(back.a, net.a)
    assert back.c == pytest.approx(net.c, abs=1e-14)
    with pytest.raises(errors.ArgumentError, match="booleans"):
        reflect(net, pattern.astype(int))
    with pytest.raises(errors.ShapeError, match="7"):
        reflect(net, pattern[:3])


@pytest.mark.parametrize(("activation", "size"), [("relu", 5), ("leaky_relu", 5), ("softplus", 5), ("squared_relu", 11)])
def test_twins_have_one_function_and_different_units(rng, activation, size):
    """d + 2 units for a linear remainder, (d + 1)(d + 2)/2 + 1 for a quadratic one, d = 3."""
    net = random_network(rng, activation, d=3, k=13)
    S = sorted(rng.permutation(13)[:size].tolist())
    f, g = twin(net, S, rng=rng)
    X = rng.normal(size=(200, 3))
    np.testing.assert_allclose(f.predict(X), g.predict(X), atol=1e-12)
    assert not f.equivalent(g, tol=1e-3)
    outside = np.setdiff1d(np.arange(13), S)
    np.testing.assert_array_equal(f.a[outside], net.a[outside])
    np.testing.assert_array_equal(f.W, net.W)
    assert tuple(S) in rows(sign_patterns(f).patterns)
    assert sign_patterns(f).ambiguous
    with pytest.raises(errors.SingularError, match="independent"):
        twin(net, S[:-1])


def test_twins_of_weights_alone(rng):
    W = rng.normal(size=(4, 7))
    f, g = twin(W, [0, 2, 3, 4, 6], rng=3)
    X = rng.normal(size=(100, 4))
    np.testing.assert_allclose(f.predict(X), g.predict(X), atol=1e-12)
    assert (np.abs(f.a) > 0).all()
    np.testing.assert_array_equal(twin(W, [0, 2, 3, 4, 6], rng=3)[0].a, f.a)
    W[:, 2] = 2 * W[:, 0] - W[:, 1]
    with pytest.raises(errors.ArgumentError, match=r"units \[3\] take no part"):
        twin(W, [0, 1, 2, 3])
    with pytest.raises(errors.ArgumentError, match="different units"):
        twin(W, [0, 0, 1])
    with pytest.raises(errors.ArgumentError, match="non-empty"):
        twin(W, [])
    with pytest.raises(errors.ArgumentError, match="unit 1 is zero"):
        twin(W * (np.arange(7) != 1))
    with pytest.raises(errors.ActivationError, match="tanh"):
        twin(Network(W, activation="tanh"))


# Least order


def khatri_rao(U, order):
    K = np.ones((1, U.shape[1]))
    for _ in range(order):
        K = (K[:, None, :] * U[None, :, :]).reshape(-1, U.shape[1])
    return K


@pytest.mark.parametrize(("d", "k"), [(2, 5), (3, 6), (3, 7), (4, 11), (7, 7), (9, 4)])
def test_least_order_of_generic_weights(rng, monkeypatch, d, k):
    W = rng.normal(size=(d, k)) * rng.uniform(0.1, 10, k)
    found = least_order(W)
    expected = next(n for n in range(1, 9) if math.comb(d + n - 1, n) >= k)
    assert found.order == expected
    U = W / np.linalg.norm(W, axis=0)
    for n, value in enumerate(found.singular_values, start=1):
        K = khatri_rao(U, n)
        direct = np.linalg.svd(K, compute_uv=False)[-1] if len(K) >= k else 0.0
        assert value == pytest.approx(direct, rel=1e-9, abs=1e-13)
    assert found.smallest == found.singular_values[-1] > 1e-9
    for block in (1, 50, 2**20):  # powers are built in blocks of rows
        monkeypatch.setattr(least_order_module, "BLOCK_ENTRIES", block)
        for n, factor in enumerate(itertools.islice(power_factors(U), 5)):
            assert len(factor) <= k
            np.testing.assert_allclose(factor.T @ factor, (U.T @ U) ** n, atol=1e-13)
    assert least_order(Network(W), max_order=expected).order == expected
    if expected > 1:
        assert least_order(W, max_order=expected - 1).order is None


def test_least_singular_value_never_falls_and_keeps_its_digits():
    """Two unit vectors at angle t: s₂² = 1 − (cos t)^ℓ, which a Gram matrix loses below t = 1e-8."""
    for t in (1e-3, 1e-6, 1e-9):
        U = np.array([[1.0, math.cos(t)], [0.0, math.sin(t)], [0.0, 0.0]])
        last = 0.0
        for n in (1, 2, 3):
            factor = next(itertools.islice(power_factors(U), n, None))
            s = np.linalg.svd(factor, compute_uv=False)[-1]
            assert s == pytest.approx(math.sqrt(-math.expm1(n * math.log1p(-2 * math.sin(t / 2) ** 2))), rel=1e-6)
            assert s > last
            last = s


def test_vectors_in_a_plane_need_order_k_minus_1(rng):
    angles = np.sort(rng.uniform(0, math.pi, 5)) + np.arange(5) * 0.02
    plane = np.linalg.qr(rng.normal(size=(6, 2)))[0]
    assert least_order(plane @ np.array([np.cos(angles), np.sin(angles)]), max_order=6).order == 4


def test_parallel_weights_are_never_independent(rng):
    W = rng.normal(size=(5, 4))
    W[:, 3] = -2 * W[:, 1]
    found = least_order(W, max_order=5)
    assert found.order is None
    assert found.parallel == ((1, 3),)
    assert len(found.singular_values) == 5
    assert max(found.singular_values) < 1e-9
    with pytest.raises(errors.ArgumentError, match="unit 2 has weight zero"):
        least_order(W * [1, 1, 0, 1])
    with pytest.raises(errors.ArgumentError, match="max_order"):
        least_order(W, max_order=0)


# Superfluous units


def assert_same_function(f, g, rng, tol=1e-12):
    X = rng.normal(size=(100, f.n_inputs))
    np.testing.assert_allclose(g.predict(X), f.predict(X), rtol=tol, atol=tol * max(1.0, np.abs(f.a).sum()))


def kinds(found):
    return [(finding.kind.name, finding.units) for finding in found]


@pytest.mark.parametrize("activation", [*AMBIGUOUS, *SYMMETRIC])
def test_separated_networks_stay_as_they_are(rng, activation):
    net = random_network(rng, activation, d=4, k=9)
    found = irreducible(net)
    assert found.irreducible
    assert found.separated
    assert not found.near
    assert minimal(net) is net


@pytest.mark.parametrize("activation", [*AMBIGUOUS, *SYMMETRIC])
def test_superfluous_units_are_found_and_removed(rng, activation):
    core = random_network(rng, activation, d=4, k=3)
    t = rng.uniform(0.5, 2) if core.activation.degree else 1.0
    W = np.column_stack([core.W, rng.normal(size=4), np.zeros(4), t * core.W[:, 1], core.W[:, 2]])
    b = np.concatenate([core.b, [0.2, 0.8, t * core.b[1], core.b[2]]])
    a = np.concatenate([core.a, [0.0, 1.5, 0.3, 0.4]])
    wide = Network(W, a, b, 0.7, activation)
    found = irreducible(wide)
    assert kinds(found.exact) == [("ZERO", (3,)), ("CONSTANT", (4,)), ("DUPLICATE", (1, 5)), ("DUPLICATE", (2, 6))]
    assert found.width == 3
    assert not found.irreducible
    assert not found.separated
    narrow = minimal(wide)
    assert narrow.n_units == 3
    assert_same_function(wide, narrow, rng)
    assert narrow.c == pytest.approx(0.7 + 1.5 * float(core.activation(0.8)))
    assert irreducible(narrow).irreducible


@pytest.mark.parametrize("activation", SYMMETRIC)
def test_opposite_units_merge_where_reflection_is_a_symmetry(rng, activation):
    core = random_network(rng, activation, d=4, k=3)
    wide = Network(
        np.column_stack([core.W, -core.W[:, 1]]), np.append(core.a, 0.6), np.append(core.b, -core.b[1]), 0.1, activation
    )
    assert kinds(irreducible(wide).exact) == [("DUPLICATE", (1, 3))]
    assert minimal(wide).n_units == 3
    assert_same_function(wide, minimal(wide), rng)


def test_units_that_cancel(rng):
    core = random_network(rng, d=4, k=3)
    W, b, a = np.column_stack([core.W, 2 * core.W[:, 0]]), np.append(core.b, 2 * core.b[0]), np.append(core.a, -core.a[0] / 2)
    wide = Network(W, a, b)
    assert irreducible(wide).width == 2
    assert minimal(wide).n_units == 2
    assert_same_function(wide, minimal(wide), rng)
    nothing = Network(np.ones((2, 2)), [1.0, -1.0], [0.5, 0.5], 3.0)
    assert irreducible(nothing).width == 0
    assert minimal(nothing).predict(np.array([[1.0, 2.0]])) == 3.0
    constant = minimal(Network(np.zeros((2, 1)), [2.0], [0.5], 1.0))
    assert (constant.c, constant.a[0]) == (2.0, 0.0)


@pytest.mark.parametrize("activation", AMBIGUOUS)
def test_opposite_units_stay_unless_their_polynomials_cancel(rng, activation):
    core = random_network(rng, activation, d=3, k=4, c=0.0)
    pair = replace(
        core, W=np.column_stack([core.W, -core.W[:, 0]]), b=np.append(core.b, -core.b[0]), a=np.append(core.a, 0.35)
    )
    found = irreducible(pair)
    assert kinds(found.exact) == [("OPPOSITE", (0, 4))]
    assert found.irreducible
    assert not found.separated
    assert minimal(pair) is pair
    # f from a twin: reflect S, then add the opposite of one of its units. Reflecting S again makes the two equal.
    f, g = twin(random_network(rng, activation, d=2, k=9), list(range(8)), rng=rng)
    wide = replace(f, W=np.column_stack([f.W, -f.W[:, 2]]), b=np.append(f.b, -f.b[2]), a=np.append(f.a, 0.35))
    found = irreducible(wide)
    assert ("OPPOSITE", (2, 9)) in kinds(found.exact)
    assert found.width == 9
    assert minimal(wide).n_units == 9
    assert_same_function(wide, minimal(wide), rng)
    assert not wide.equivalent(g)


def test_linear_parts_of_several_pairs(rng):
    """u + v + w = 0: three pairs are three units. Otherwise two units carry all linear parts [awasthi2021, Claim D.14]."""
    u, v = rng.normal(size=(2, 3))
    U = np.column_stack([u, v, -u - v])
    wide = Network(np.hstack([U, -U]), np.concatenate([[1.0, 2.0, -0.5], np.full(3, 0.7)]))
    assert minimal(wide).n_units == 3
    assert irreducible(wide).width == 3
    assert_same_function(wide, minimal(wide), rng)
    V = rng.normal(size=(5, 4))
    four = Network(np.hstack([V, -V]), rng.uniform(0.5, 1.5, 8), np.tile([0.2, -0.3, 1.0, 0.4], 2) * np.repeat([1, -1], 4))
    found = irreducible(four)
    assert (found.width, found.irreducible) == (6, False)
    linear = Network(np.hstack([V[:, :3], -V[:, :3]]), np.repeat([1.0, -1.0], 3))
    assert irreducible(linear).width == 2
    assert irreducible(replace(four, activation=activations.squared_relu)).irreducible


def test_near_redundancies_carry_their_gap(rng):
    net = random_network(rng, d=4, k=4)
    W, b, a = net.W.copy(), net.b.copy(), net.a.copy()
    W[:, 3], b[3] = 2 * W[:, 0] + 1e-5 * W[:, 1], 2 * b[0]
    a[2] = 1e-6
    found = irreducible(replace(net, W=W, b=b, a=a))
    assert not found.exact
    assert found.irreducible
    assert kinds(found.near) == [("ZERO", (2,)), ("DUPLICATE", (0, 3))]
    assert 1e-8 < found.near[0].gap < 1e-4
    assert 1e-7 < found.near[1].gap < 1e-4
    assert irreducible(replace(net, W=W, b=b, a=a), tol=1e-3).width == 2
    assert all(kind.value.endswith(".") for kind in Redundancy)
    W, b = np.column_stack([net.W, net.W[:, 0]]), np.append(net.b, net.b[0])
    small = Network(W, 1e-5 ** np.array([1, 0, 0, 0, 1]), b)
    assert ("DUPLICATE", (0, 4)) in kinds(irreducible(small).exact)  # small units are compared as well


def test_parallel_units_with_other_biases_are_different(rng):
    net = Network(np.tile(rng.normal(size=(3, 1)), 3), [1.0, -2.0, 1.0], [0.0, 1.0, 2.0])
    assert irreducible(net).separated
    with pytest.raises(errors.ArgumentError, match="near"):
        irreducible(net, tol=0.1, near=0.01)


# Parameters


@pytest.mark.parametrize("activation", [*AMBIGUOUS, *SYMMETRIC])
@pytest.mark.parametrize(("bias", "offset"), [(False, False), (True, False), (True, True), (False, True)])
def test_parameters_are_the_rank_of_the_jacobian(activation, bias, offset):
    rng = np.random.default_rng(5)
    d, k = 4, 3
    net = random_network(rng, activation, d, k, bias=bias)
    X = rng.normal(size=(400, d))
    Z = X @ net.W + net.b
    slope = net.a * net.activation.derivative(Z)
    J = [(slope[:, :, None] * X[:, None, :]).reshape(400, -1), net.activation(Z)]
    J += [slope] if bias else []
    J += [np.ones((400, 1))] if offset else []
    s = np.linalg.svd(np.hstack(J) / np.linalg.norm(np.hstack(J), axis=0), compute_uv=False)
    p = count_parameters(net, bias=bias, offset=offset)
    assert p == int(np.count_nonzero(s > 1e-10 * s[0]))
    homogeneous = activation in {"relu", "leaky_relu", "squared_relu", "absolute"}
    assert p == k * (d + (not homogeneous) + bias) + offset


@pytest.mark.parametrize("activation", ["relu", "squared_relu", "tanh"])
def test_near_duplicates_become_their_weighted_mean(activation: str, rng: np.random.Generator) -> None:
    w, v = rng.normal(size=3), rng.normal(size=3)
    other = 2.0 * (w + 1e-6 * v) if activation != "tanh" else w + 1e-6 * v
    f = Network(np.stack([w, other], axis=1), [1.0, 0.6], [0.2, 0.4 if activation != "tanh" else 0.2], activation=activation)
    g = minimal(f, tol=1e-5)
    assert g.n_units == 1
    assert distance(f, g).value < 1e-8  # of order ε^{3/2}; the first unit's direction alone is off by ε
