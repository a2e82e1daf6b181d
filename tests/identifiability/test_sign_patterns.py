"""Sign patterns: every set of reflections that leaves the function, against brute force and awasthi2021's equations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr
from tests.identifiability.networks import AMBIGUOUS, EVERY_SUBSET, SYMMETRIC, random_network, rows

from weightlift import activations, errors, teachers
from weightlift.identifiability import reflect, sign_patterns, twin
from weightlift.identifiability.reflections import reflection_polynomials
from weightlift.network import Network


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


@pytest.mark.parametrize("outputs", [np.array([1.0, -0.6]), np.array([[1.0, -0.6], [1.0, -0.6], [1.0, 0.7], [0.3, 0.2]])])
def test_several_outputs_must_all_be_left_alone(outputs):
    """w₁ + w₂ + w₃ = 0: all three are reflected together where they have one a, and not where one output differs."""
    W = np.array([[1.0, 0.2, -1.2, 0.4], [0.3, -1.0, 0.7, 2.0], [0.5, 0.4, -0.9, 0.1]])
    net = Network(W, np.broadcast_to(outputs, (4, 2)))
    found = sign_patterns(net)
    same = outputs.ndim == 1
    assert found.ambiguous == same
    assert found.patterns.astype(int).tolist() == [[0, 0, 0, 0]] + [[1, 1, 1, 0]] * same
    X = np.random.default_rng(0).normal(size=(20, 3))
    for pattern in found.patterns:
        np.testing.assert_allclose(reflect(net, pattern).predict(X), net.predict(X), atol=1e-12)


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "softplus", "gelu", "silu"])
@pytest.mark.parametrize("m", [None, 3])
def test_beside_a_linear_part_every_reflection_is_a_symmetry(activation, m):
    units = teachers.biased(4, 3, bias=0.5, activation=activation, rng=1)
    net = teachers.several(units, m, linear=True, rng=2)
    found = sign_patterns(net, offset=True)
    assert found.every
    assert found.symmetry
    assert not found.ambiguous
    X = np.random.default_rng(0).normal(size=(20, 4))
    for pattern in (np.array([True, False, True]), np.ones(3, dtype=bool)):
        turned = reflect(net, pattern)
        np.testing.assert_allclose(turned.predict(X), net.predict(X), atol=1e-12)
        assert turned.equivalent(net)
    # with b ≠ 0 and c held, the constant Σ aᵢ bᵢ must vanish as well
    assert not sign_patterns(net, offset=False).patterns[1:].any()


def test_a_square_beside_a_linear_part_loses_its_linear_terms_alone():
    """z₊² reflected differs by (⟨w, x⟩ + b)²: V and c take up 2b⟨w, x⟩ + b², and the squares must cancel."""
    W = np.array([[1.0, 1.0, 0.3], [0.5, 0.5, -2.0]])
    net = Network(W, [1.0, -1.0, 0.4], b=[0.7, -0.2, 0.1], activation="squared_relu", V=[0.3, 0.1], c=0.5)
    found = sign_patterns(net, offset=True)
    assert found.patterns.astype(int).tolist() == [[0, 0, 0], [1, 1, 0]]
    assert found.ambiguous
    X = np.random.default_rng(0).normal(size=(20, 2))
    np.testing.assert_allclose(reflect(net, found.patterns[1]).predict(X), net.predict(X), atol=1e-12)
    assert not sign_patterns(replace(net, V=None), offset=True).ambiguous
