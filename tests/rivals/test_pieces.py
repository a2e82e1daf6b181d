"""Rivals piece by piece: what is proved holds against every network that can be found."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.rivals.instances import ONE, TWO, beside, clustered, examined, outcomes

import weightlift as wl
from weightlift import samples
from weightlift.evidence.gauge import Gauge
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.risk import Students
from weightlift.rivals import Outcome
from weightlift.rivals.analytic import identity
from weightlift.rivals.bases import Bases, Slopes, disjoint_bases
from weightlift.rivals.pieces import (
    RELATIONS,
    Exchange,
    Pieces,
    _by_subsets,
    _in_cone,
    _independent_columns,
    _listed,
    _new_on,
    _new_sides,
    _only_flat,
    _related,
    _small_relation,
    _undecided,
    _units,
    examine_pieces,
    pieces_below,
    pieces_beside_linear,
    polynomials,
    ratio,
    separable,
)
from weightlift.rivals.trial import Bar


def interpolating(truth: wl.Network, X: np.ndarray, rng: np.random.Generator, starts: int = 12) -> list[wl.Network]:
    """Networks of the same class that agree with the truth on every row, from random starts."""
    d, k = truth.n_inputs, truth.n_units
    students = Students.of(*[wl.Network(rng.standard_normal((d, k)), rng.choice([-1.0, 1.0], k)) for _ in range(starts)])
    fit = gauss_newton(samples.open(X, truth.predict(X)), students, free="W", iterations=100)
    fitted = [fit.students.network(i) for i in range(starts)]
    return [net for net in fitted if np.abs(net.predict(X) - truth.predict(X)).max() < 1e-9]


def test_rows_with_other_pieces_are_few() -> None:
    """n − |A| ≤ q (k − rank S_A) for every network that agrees, with equality now and then."""
    rng = np.random.default_rng(5)
    tried = equal = rivals = 0
    for _ in range(40):
        d, k = int(rng.integers(1, 4)), int(rng.integers(2, 4))
        n = d * k + int(rng.integers(1, d * k))
        truth = wl.Network(rng.standard_normal((d, k)), rng.choice([-1.0, 1.0], k))
        X = rng.standard_normal((n, d))
        for net in interpolating(truth, X, rng):
            S = (X @ net.W > 0).astype(float)
            pieces = S @ (net.a * net.W).T
            same = np.abs(pieces - (X @ truth.W > 0) @ (truth.a * truth.W).T).max(axis=1) < 1e-6
            rank = int(np.linalg.matrix_rank(S[same])) if same.any() else 0
            assert n - same.sum() <= d * (k - rank)
            tried, equal = tried + 1, equal + (n - same.sum() == d * (k - rank) > 0)
            rivals += not same.all()
    assert tried > 60
    assert rivals > 10
    assert equal > 0


def test_the_proof_holds_against_every_network_that_can_be_found() -> None:
    """Small instances: where rivals are called impossible, no start ends in one; where they are not, some do."""
    rng = np.random.default_rng(8)
    proved = excused = 0
    for _ in range(40):
        d, k = int(rng.integers(2, 4)), 2
        truth = wl.Network(rng.standard_normal((d, k)), rng.choice([-1.0, 1.0], k))
        X = rng.standard_normal((d * k + int(rng.integers(1, 9)), d))
        impossible = any(f.outcome is Outcome.IMPOSSIBLE for f in examined(truth, X))
        other = [net for net in interpolating(truth, X, rng) if not net.equivalent(truth, 1e-5)]
        proved += impossible
        if impossible:
            assert not other
        else:
            excused += bool(other)
    assert proved > 5
    assert excused > 2


def logistic(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


def test_identities_of_one_variable() -> None:
    """A reflection that is not declared, a period, and a function without either."""
    swish = wl.activations.custom(
        "swish", lambda z: z * logistic(z), lambda z: logistic(z) * (1 + z * (1 - logistic(z))), analytic=True
    )
    found = identity(swish)
    assert found is not None
    np.testing.assert_allclose(found, [-1.0, 0.0], atol=1e-5)
    wave = wl.activations.custom("wave", np.sin, np.cos, reflection=(-1, ()))
    assert identity(wave) is not None
    assert identity(wave, False) is None
    bump = wl.activations.custom(
        "bump",
        lambda z: np.exp(-((z - 0.4) ** 2)) * (1 + 0.3 * z),
        lambda z: np.exp(-((z - 0.4) ** 2)) * (0.3 - 2 * (z - 0.4) * (1 + 0.3 * z)),
        analytic=True,
    )
    assert identity(bump) is None
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4))
    for phi, outcome in ((swish, Outcome.FOUND), (bump, Outcome.NONE_FOUND)):
        net = wl.Network(rng.standard_normal((4, 3)), rng.standard_normal(3), rng.standard_normal(3), activation=phi)
        assert outcome in outcomes(examined(net, X))


def test_units_that_cancel_are_not_counted(seed: int) -> None:
    """Without them the width is one, and in the headline: a second unit could split the first between two rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 1))
    net = wl.Network([[4.0, -0.9, -0.9 - 1e-10]], [-1.0, 1.0, -1.0], [1.5, -0.7, -0.7])
    certificate = wl.certify(net, X, net.predict(X), bias=True)
    assert "of at most 1 relu unit" in certificate.headline
    apart = wl.Network([[4.0, -0.9, -0.5]], [-1.0, 1.0, -1.0], [1.5, -0.7, -0.7])
    assert "of at most 1 relu unit" not in wl.certify(apart, X, apart.predict(X), bias=True).headline


def test_units_are_read_from_their_polynomials(seed: int) -> None:
    """vvᵀ of every unit has v as its only eigenvector, up to sign; a sum of two has none, and ReLU's is v itself."""
    rng = np.random.default_rng(seed)
    for activation in ("relu", "squared_relu"):
        net = wl.Network(rng.standard_normal((3, 2)), [2.0, -0.5], rng.standard_normal(2), 0.0, activation)
        solved = _units(polynomials(net), net, 1e-9)
        assert solved is not None
        for size in (1e-6, 1e6):
            other = replace(net, W=size * net.W, b=size * net.b)
            assert _units(polynomials(other), other, 1e-9) is not None
            assert (_units(polynomials(other)[[0]] + polynomials(other)[1], other, 1e-9) is None) == (activation != "relu")
        V, signs = solved
        squared = activation == "squared_relu"
        own = np.vstack([net.W, net.b]).T * (np.sqrt(np.abs(net.a)) if squared else net.a)[:, None]
        np.testing.assert_allclose(V * np.where((V * own).sum(axis=1) < 0, -1.0, 1.0)[:, None], own, atol=1e-9)
        np.testing.assert_array_equal(signs, [1.0, -1.0] if squared else [1.0, 1.0])
        assert (_units(polynomials(net).sum(axis=0, keepdims=True), net, 1e-9) is None) == squared


def test_new_sides_on_a_few_cells() -> None:
    """By hand: on two cells that only one unit sees each, both may be one's; a third that both see leaves nothing new."""
    two, three = np.eye(2), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    np.testing.assert_array_equal(_new_on(two, 0.0), [[True], [True]])
    np.testing.assert_array_equal(_new_on(two, 0.5), [[False, True], [False, True]])
    for B, alpha in ((two, -1.0), (three, 0.0), (three, -1.0)):
        assert _new_on(B, alpha).shape == (len(B), 0)


def test_new_sides_of_sets_of_units_are_those_of_all_their_cells(seed: int) -> None:
    """Of more cells than are looked at first, sorted as they are; a unit's sides that few cells show among them."""
    rng = np.random.default_rng(seed)
    B = rng.random((3000, 12)) < np.where(np.arange(12) % 3, 0.5, 0.002)
    pieces = of(wl.Network(rng.standard_normal((2, 12))), B)
    for chosen in itertools.combinations(range(0, 12, 2), 3):
        cells, place = np.unique(pieces.different[:, chosen], axis=0, return_inverse=True)
        new = _new_on(cells, 0.0)
        found = _new_sides(pieces, chosen, {})
        assert {v.tobytes() for v in found.T} == ({v.tobytes() for v in new[place.ravel()].T} if new.size else set())


def bent(left: float) -> wl.activations.Activation:
    """z² above zero and `left` z² below."""
    return wl.activations.custom(
        "bent",
        lambda z: np.where(z > 0, 1.0, left) * z * z,
        lambda z: np.where(z > 0, 2.0, 2 * left) * z,
        kinks=(0.0,),
        degree=2,
    )


def of(net: wl.Network, B: np.ndarray, *, bias: bool = True, offset: bool = False, alpha: float = 0.0) -> Pieces:
    return Pieces.of(Gauge.of(net, bias=bias, offset=offset), alpha, np.asarray(B, dtype=float), np.zeros((1, net.n_inputs)))


def test_the_ratio_of_the_slopes_below_and_above() -> None:
    leaky = wl.activations.scaled(wl.activations.leaky_relu(0.3), 0.7)
    known = [("relu", 0.0), ("absolute", -1.0), (leaky, 0.3), ("squared_relu", 0.0), (bent(0.4), 0.4), (bent(-0.6), -0.6)]
    for activation, alpha in known:
        assert ratio(wl.Network(np.eye(2), activation=activation)) == pytest.approx(alpha, abs=1e-15)
    for activation in ("tanh", "softplus", "linear"):
        assert ratio(wl.Network(np.eye(2), activation=activation)) is None


@pytest.mark.parametrize("activation", ["relu", "squared_relu"])
def test_polynomials_of_units_above_the_kink(activation: str, seed: int) -> None:
    """a z and a z² from their coefficients: those off the diagonal stand for two terms."""
    rng = np.random.default_rng(seed)
    net = wl.Network(rng.standard_normal((3, 2)), [2.0, -0.5], rng.standard_normal(2), 0.0, activation)
    x = np.append(rng.standard_normal(3), 1.0)
    pairs = [(i, j) for i in range(4) for j in range(i, 4)]
    terms = [(1 + (i != j)) * x[i] * x[j] for i, j in pairs] if activation == "squared_relu" else x
    z = x[:3] @ net.W + net.b
    np.testing.assert_allclose(polynomials(net) @ terms, net.a * z ** (2 if activation == "squared_relu" else 1), rtol=1e-12)


def test_units_that_the_rows_see_together_take_part_in_what_no_piece_sees() -> None:
    """Columns that are equal cancel; one that is always on does where constants are free; a sum of two is three at a third."""
    net = wl.Network(np.random.default_rng(0).standard_normal((2, 3)), b=[0.1, 0.2, 0.3])
    B = np.array([[1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0]])
    np.testing.assert_allclose(of(net, B).null(), [0.5, 0.5, 0.0], atol=1e-12)
    summed = np.array([[1, 0, 1], [0, 1, 1], [0, 0, 0]])
    np.testing.assert_allclose(of(net, summed).null(), [1 / 3, 1 / 3, 1 / 3], atol=1e-12)
    on = np.array([[1, 1, 0], [1, 0, 1], [1, 1, 1], [1, 0, 0]])
    np.testing.assert_allclose(of(net, on).null(), 0.0, atol=1e-12)
    np.testing.assert_allclose(of(net, on, offset=True).null(), [0.5, 0.0, 0.0], atol=1e-12)  # (1, 0, 0, −1)/√2
    np.testing.assert_allclose(of(net, on, bias=False, offset=True).null(), 0.0, atol=1e-12)
    np.testing.assert_allclose(of(net, B, alpha=0.3).null(), [0.5, 0.5, 0.0], atol=1e-12)
    np.testing.assert_allclose(of(net, B, alpha=1e5).null(), [0.5, 0.5, 0.0], atol=1e-6)
    for size in np.geomspace(1.0, 1e5, 9):  # one cell, and one direction in it, whatever the slope
        np.testing.assert_allclose(of(net, np.zeros((1, 3)), alpha=size * np.pi).null(), [2 / 3, 2 / 3, 2 / 3], atol=1e-9)


@pytest.mark.parametrize("size", [1e-10, 1.0, 1e10])
def test_units_that_the_pieces_need(size: float) -> None:
    """Two that are on together are one, or none where they cancel, whatever their size."""
    B = [[1, 1, 0], [0, 0, 1], [1, 1, 1]]
    W = size * np.array([[1.0, 0.4, -0.3], [0.5, 1.1, 0.7]])
    b = size * np.array([0.3, -0.2, 0.9])
    assert of(wl.Network(W, b=b), B).shown == 2
    assert of(wl.Network(W[:, [0, 0, 2]] * [1.0, 1.0 + 1e-10, 1.0], [1.0, -1.0, 1.0], b[[0, 0, 2]]), B).shown == 1
    assert of(wl.Network(W, b=b), np.eye(3)).shown == 3


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_columns_that_are_a_basis_of_all(size: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    B = (rng.random((20, 4)) < 0.5) * size
    B = np.hstack([B, B[:, [1]], B[:, [0]] + B[:, [2]] - B[:, [3]]])[:, rng.permutation(6)]
    chosen = _independent_columns(B)
    assert chosen.shape == (20, 4)
    assert np.linalg.matrix_rank(np.hstack([chosen, B])) == np.linalg.matrix_rank(chosen) == 4
    np.testing.assert_array_equal(_independent_columns(B[:, :1]), B[:, :1])


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.3, -1.0])
def test_other_sides_are_all_whose_slopes_lie_in_the_space(alpha: float, linear: bool, seed: int) -> None:
    """By brute force over all vectors of eight cells."""
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(6):
        B = np.unique((rng.random((8, 3)) < 0.5).astype(float), axis=0)
        B = B[B.any(axis=1)]
        S = alpha + (1 - alpha) * B
        S = np.hstack([S, np.ones((len(B), 1))]) if linear else S
        if np.linalg.matrix_rank(S) < S.shape[1]:
            continue
        pieces = replace(
            of(wl.Network(rng.standard_normal((2, 3)), activation=wl.activations.leaky_relu(0.3)), B, alpha=alpha),
            linear=linear,
        )
        own = {tuple(u) for u in B.T} | ({tuple(1 - u) for u in B.T} if alpha == -1.0 or linear else set())
        expected = set()
        for bits in itertools.product((0.0, 1.0), repeat=len(B)):
            s = alpha + (1 - alpha) * np.array(bits)
            inside = np.linalg.norm(s - S @ np.linalg.lstsq(S, s)[0]) < 1e-9
            if inside and bits not in own and s.any() and not (linear and sum(bits) in (0, len(B))):
                expected.add(bits)
        listed = _listed(pieces)
        assert listed is not None
        assert {tuple(v.astype(float)) for v in listed.T} == expected
        found += len(expected)
        assert linear or {tuple(v.astype(float)) for v in _new_on(B, alpha).T} == expected
    assert found or alpha == 0.3


def test_integer_relations_of_two_and_three(seed: int) -> None:
    """Five directions of three dimensions have none but in general; a multiple, or a sum of two, is one."""
    rng = np.random.default_rng(seed)
    assert _small_relation(np.array([[1.0], [-1.0]]))
    for _ in range(20):
        theta = rng.standard_normal((5, 3))
        theta /= np.linalg.norm(theta, axis=1, keepdims=True)
        volumes = [abs(np.linalg.det(theta[list(three)])) for three in itertools.combinations(range(5), 3)]
        if min(volumes) < 1e-3:
            continue
        assert not _small_relation(theta)
        two, three = theta.copy(), theta.copy()
        two[4] = -two[1]
        three[4] = rng.choice([-1.0, 1.0]) * three[0] + rng.choice([-1.0, 1.0]) * rng.uniform(0.3, 3.0) * three[3]
        three[4] /= np.linalg.norm(three[4])
        assert _small_relation(two)
        assert _small_relation(three)


def test_what_is_assumed_of_the_units_polynomials(seed: int) -> None:
    """Nothing where they are independent, whatever their lengths; no integer relation where they are more than coefficients."""
    rng = np.random.default_rng(seed)
    W, b = rng.standard_normal((3, 3)), rng.standard_normal(3)
    assert _related(of(wl.Network(W * [1.0, 1e-12, 1e12], b=b * [1.0, 1e-12, 1e12]), np.eye(3))) == ()
    assert _related(of(wl.Network(W[:, [0, 1, 1]], b=b), np.eye(3))) == ()  # two that differ in their constants alone …
    assert _related(of(wl.Network(W[:, [0, 1, 1]], b=b), np.eye(3), offset=True)) is None  # … which c may take up
    assert _related(of(wl.Network(W), np.eye(3), bias=False)) == ()
    assert _related(of(wl.Network(np.column_stack([W[:, :2], W[:, 0] - 2 * W[:, 1]])), np.eye(3), bias=False)) is None
    wide = rng.standard_normal((3, 5))
    assert _related(of(wl.Network(wide), np.eye(5), bias=False)) == (RELATIONS,)
    wide[:, 4] = wide[:, 0] + 3 * wide[:, 2]
    assert _related(of(wl.Network(wide), np.eye(5), bias=False)) is None
    line = wl.Network([[1.0, 1.0]], b=[0.3, -0.4], activation="squared_relu")  # z² of them differ by what is linear
    assert _related(of(line, np.eye(2))) == ()
    assert _related(replace(of(line, np.eye(2)), linear=True)) is None
    for share, independent in ((0.8, False), (1.25, True)):  # singular values √2 and √2 · share · 1e-9
        near = wl.Network(np.array([[1.0, 1.0], [share * 2e-9, 0.0]]), activation="relu")
        assert (_related(of(near, np.eye(2), bias=False)) == ()) == independent
    plane = wl.Network(rng.standard_normal((2, 3)), b=[0.3, -0.4, 0.1], activation="squared_relu")
    assert _related(replace(of(plane, np.eye(3)), linear=True)) == ()  # x², xy and y² are three


def test_rows_outside_the_flat_are_named_where_they_are_too_few() -> None:
    """Six rows for two coordinates in three dimensions leave it open; one more decides, as do enough bases."""
    gauge = Gauge.of(wl.Network(np.eye(2)), bias=False, offset=False)
    found = _undecided(gauge, Bases(1, 6, 3, (1,)), 3)
    assert found is not None
    assert (found.number, found.limit, found.units) == (6.0, 7.0, (1,))
    assert _undecided(gauge, Bases(1, 7, 3, (1,)), 3) is None
    assert _undecided(gauge, Bases(3, 6, 3, (1,)), 3) is None


def test_a_unit_to_spare_beside_few_rows_may_split_any() -> None:
    """Two units that one row alone tells apart are one elsewhere, and a third, known to rounding, is two instead."""
    rng = np.random.default_rng(0)
    steep = rng.uniform(0.5, 1.5, 40) * rng.choice([-1.0, 1.0], 40)
    X = np.vstack([np.column_stack([rng.uniform(-1.0, 1.0, 40), steep]), [[1.0, 0.0]]])
    one = wl.Network(np.array([[1.0, -0.4, -0.2], [5.0, 5.0, -6.0]]))
    two = wl.Network(np.array([[0.6, 0.4, -0.6], [10.0, -3.0, -3.0]]))
    np.testing.assert_allclose(one.predict(X), two.predict(X), rtol=1e-13)
    for net in (one, two):
        found = wl.certify(net, X, one.predict(X))
        assert found.certified_units == ()
        assert found.precision.min() < 1e-12


@pytest.mark.parametrize(("last", "certified"), [([1.0, 2.0], ()), ([1.0, -1.0], (2,))])
def test_of_several_outputs_a_unit_makes_up_a_multiple_of_its_own(last: list[float], certified: tuple[int, ...]) -> None:
    """The same with outputs in proportion; a third unit of another ratio cannot take the place of what the two add there."""
    rng = np.random.default_rng(0)
    steep = rng.uniform(0.5, 1.5, 40) * rng.choice([-1.0, 1.0], 40)
    X = np.vstack([np.column_stack([rng.uniform(-1.0, 1.0, 40), steep]), [[1.0, 0.0]]])
    one = wl.Network(np.array([[1.0, -0.4, -0.2], [5.0, 5.0, -6.0]]), [[1.0, 2.0], [1.0, 2.0], last])
    assert wl.certify(one, X, one.predict(X)).certified_units == certified


def rarely_on(rows: tuple[int, ...], seed: int) -> tuple[wl.Network, np.ndarray]:
    """Four ReLU units of four inputs, the first of them on at so many rows each, one at a time."""
    rng = np.random.default_rng(seed)
    net, X = wl.Network(rng.standard_normal((4, 4)), [1.0, -1.0, 1.0, 1.0]), rng.standard_normal((20_000, 4))
    on = X @ net.W[:, : len(rows)] > 0
    parts = [X[on[:, i] & (on.sum(axis=1) == 1)][:m] for i, m in enumerate(rows)]
    return net, np.vstack([X[~on.any(axis=1)][:150], *parts])


def test_units_beside_a_rare_one_are_as_given(seed: int) -> None:
    """Three rows for four coordinates leave a unit open; the kinks of the others are nowhere near them, as is shown."""
    net, X = rarely_on((3,), seed)
    assert wl.certify(net, X, net.predict(X)).certified_units == (1, 2, 3)


def test_of_two_rare_units_neither_is_as_given(seed: int) -> None:
    """As many rows as coordinates may be met by others, whether or not the bases ended with this unit or with a rarer one."""
    net, X = rarely_on((2, 4), seed)
    found = wl.certify(net, X, net.predict(X))
    assert not {0, 1} & set(found.certified_units)
    assert found.units[1].reason


def test_only_one_flat_is_missed_by_few_rows() -> None:
    """Tiny instances, all flats: where it is said to be the only one, every other is missed by more than q a codimension."""
    rng, told = np.random.default_rng(5), 0
    for _ in range(400):
        k, q, n = 3, int(rng.integers(1, 3)), int(rng.integers(6, 15))
        B = (rng.random((n, k)) < np.array([rng.choice([0.1, 0.5]), 0.5, 0.5])).astype(float)
        bases = disjoint_bases(Slopes(B), q + 1)
        if bases.count > q or not bases.undecided(q):
            continue
        net = wl.Network(rng.standard_normal((q, k)))
        pieces = Pieces.of(Gauge.of(net, bias=False, offset=False), 0.0, B, np.zeros((0, q)))
        if not _only_flat(pieces, bases):
            continue
        told += 1
        assert bases.outside is not None
        few = set()
        for size in range(k):
            for rows in itertools.combinations(range(n), size):
                flat = B[list(rows)].reshape(-1, k)
                rank = int(np.linalg.matrix_rank(flat)) if size else 0
                misses = [int(np.linalg.matrix_rank(np.vstack([flat, b]))) > rank for b in B]
                if sum(misses) <= q * (k - rank):
                    few.add(tuple(misses))
        assert few == {tuple(bases.outside.tolist())}
    assert told >= 20


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_what_lies_in_a_cone_is_separated_by_no_hyperplane(size: float, seed: int) -> None:
    """Two routes: weights that are not negative, and a linear programme."""
    rng = np.random.default_rng(seed)
    inside = 0
    for _ in range(20):
        generators = rng.standard_normal((9, 3)) + np.array([rng.uniform(0.0, 2.0), 0.0, 0.0])
        v = size * rng.standard_normal(3)
        apart = separable(np.vstack([generators, v]), np.append(np.ones(9, dtype=bool), False))
        assert _in_cone(generators, v) is not apart
        assert _in_cone(generators, size * generators[:2].sum(axis=0))
        inside += not apart
    assert 0 < inside < 20


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.8, 3.0, -1.0])
def test_new_sides_at_rows_are_those_of_their_cells(alpha: float, seed: int) -> None:
    """Their slopes as combinations of the units' own: here the sides of two of the units, in another order."""
    rng = np.random.default_rng(seed)
    activation = "absolute" if alpha == -1.0 else "relu" if alpha == 0.0 else wl.activations.leaky_relu(alpha)
    net = wl.Network(rng.standard_normal((2, 3)), b=[0.4, -0.3, 0.2], activation=activation)
    X = rng.standard_normal((200, 2))
    B = X @ net.W + net.b > 0
    for linear in (False, True):
        pieces = replace(of(net, B, alpha=alpha), X=X, linear=linear)
        exchange = Exchange.of(pieces, (0, 1, 2), pieces.different[:, [2, 0]] > 0, few=False)
        np.testing.assert_allclose(exchange.C[:3], np.eye(3)[:, [2, 0]], atol=1e-9)
        np.testing.assert_array_equal(exchange.sides, B[:, [2, 0]])
        np.testing.assert_array_equal(exchange.here, np.column_stack([X, np.ones(200)]))


def test_of_many_units_sides_that_no_hyperplane_separates_are_left_out(limits: Callable[..., None]) -> None:
    """Two units on at either end of a line: both ends together are no unit's side, the middle and one end are."""
    X = np.repeat([[-2.0], [0.0], [2.0]], 3, axis=0)
    net = wl.Network([[1.0, -1.0]], b=[-1.0, -1.0])
    pieces = replace(of(net, X @ net.W + net.b > 0), X=X)
    ends = pieces.different.any(axis=1, keepdims=True)
    assert Exchange.of(pieces, (0, 1), ends).C.shape == (2, 1)
    assert Exchange.of(pieces, (0, 1), ends, few=False).C.shape == (2, 0)
    limits("weightlift.rivals.pieces", swaps=1)
    assert Exchange.of(pieces, (0, 1), ends).C.shape == (2, 0)
    limits("weightlift.rivals.pieces", programmes=0)
    assert Exchange.of(pieces, (0, 1), ends).C.shape == (2, 1)  # too many to be looked at count as possible


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("bias", [False, True])
def test_exchanges_of_three_units_wherever_their_clusters_lie(size: float, bias: bool, seed: int) -> None:
    """Two networks that agree on four clusters, moved and turned: each proposes the other, and no more at another size."""
    rng = np.random.default_rng(seed)
    A = np.linalg.qr(rng.standard_normal((3, 3)))[0] * [1.0, 2.0, 0.5]
    centre = bias * rng.standard_normal(3)
    X = size * (clustered(seed) @ A + centre)
    nets = [wl.Network(np.linalg.solve(A, net.W), b=-centre @ np.linalg.solve(A, net.W) * size) for net in (ONE, TWO)]
    for net, other in (nets, nets[::-1]):
        np.testing.assert_allclose(net.predict(X), other.predict(X), atol=1e-9 * size)
        pieces = replace(of(net, X @ net.W + net.b > 0, bias=bias), X=X)
        listed = _listed(pieces)
        assert listed is not None
        exchange = Exchange.of(pieces, (0, 1, 2), listed)
        proposed = list(exchange.proposals(1e-7))
        assert any(rival.equivalent(other, 1e-9) and units == (0, 1, 2) for units, rival in proposed)
        assert len(proposed) < 20
        for units, rival in proposed:
            np.testing.assert_allclose(rival.predict(X), net.predict(X), atol=1e-6 * size)
            kept = [i for i in range(3) if i not in units]
            np.testing.assert_allclose(rival.W[:, kept], net.W[:, kept], rtol=1e-6)


def cells_of(*columns: str) -> np.ndarray:
    return np.array([[float(c) for c in column] for column in columns]).T


EXCHANGES = [  # sides at four centres, others with the same span, and a z there: one, two and all three of the units give way
    (cells_of("0001", "0010", "1101"), cells_of("1110", "0010", "1101"), [[-3, -3, -3, 3], [-6, -6, 6, -6], [6, 6, -6, 6]]),
    (cells_of("0001", "0010", "1101"), cells_of("1110", "0010", "1101"), [[-3, -3, -6, 6], [6, 6, -6, 6], [6, 6, -6, 6]]),
    (cells_of("0001", "0010", "0110"), cells_of("0011", "0101", "0110"), [[-6, -2, -2, 6], [-2, -6, 6, -2], [6, -6, -6, 6]]),
    (cells_of("0001", "0010", "0100"), cells_of("0011", "0101", "0110"), [[-6, -3, -3, 6], [-6, -3, 6, -3], [-6, 6, -3, -3]]),
]


def planted(case: int, bias: bool, rng: np.random.Generator) -> tuple[wl.Network, wl.Network, np.ndarray]:
    """A network, one of other sides with the same pieces, and rows about four centres; the units in another order."""
    S, other, Z = (np.asarray(A, dtype=float) for A in EXCHANGES[case])
    centres, b = np.linalg.qr(rng.standard_normal((4, 4)))[0] * 2.0, bias * rng.uniform(-1.0, 1.0, 3)
    theta = np.vstack([np.linalg.solve(centres, Z.T - b), b])
    turned = theta @ np.linalg.inv(np.linalg.lstsq(S, other)[0]).T
    signs = [
        np.sign(((2 * A - 1) * (np.column_stack([centres, np.ones(4)]) @ V)).sum(axis=0))
        for A, V in ((S, theta), (other, turned))
    ]
    order = rng.permutation(3)
    one, rival = (
        wl.Network((V[:4] * a)[:, order], a[order], (V[4] * a)[order]) for V, a in zip((theta, turned), signs, strict=True)
    )
    X = np.repeat(centres, 15, axis=0)
    return one, rival, X + 0.02 * rng.standard_normal(X.shape)


@pytest.mark.parametrize("case", range(len(EXCHANGES)))
@pytest.mark.parametrize("bias", [False, True])
def test_some_units_give_way_and_others_change(case: int, bias: bool, seed: int) -> None:
    """The rival's units on their own sides, the rest with other weights; with noise, and at any size, it is still proposed."""
    rng = np.random.default_rng(seed)
    net, rival, X = planted(case, bias, rng)
    np.testing.assert_allclose(rival.predict(X), net.predict(X), atol=1e-9)
    moved = tuple(i for i in range(3) if np.abs(net.W - rival.W[:, [i]]).max(axis=0).min() > 1e-6)
    listed = _listed(replace(of(net, X @ net.W + net.b > 0, bias=bias), X=X))
    assert listed is not None
    for size, noise, tolerance in itertools.product((1e-4, 1.0, 1e12), (0.0, 0.05), (1e-7, 0.2)):
        W, b = net.W + noise * rng.uniform(-1, 1, net.W.shape), net.b + bias * noise * rng.uniform(-1, 1, 3)
        near = replace(net, W=size * W, b=size * b)
        pieces = replace(of(near, X @ net.W + net.b > 0, bias=bias), X=X)
        proposed = list(Exchange.of(pieces, (0, 1, 2), listed).proposals(tolerance))
        found = [
            wl.Network(r.W / size, r.a, r.b / size)
            for _, r in proposed
            if r.equivalent(wl.Network(size * rival.W, rival.a, size * rival.b), 1e-6 + 4 * noise)
        ]
        assert found
        assert all(np.abs(r.predict(X) - wl.Network(W, net.a, b).predict(X)).max() < 1e-9 for r in found)
    assert len(moved) >= 2


@pytest.mark.parametrize(("bias", "offset"), [(False, False), (True, False), (False, True), (True, True)])
def test_bases_that_are_asked_for(bias: bool, offset: bool) -> None:
    """A coordinate of x̃ each and one; beside a linear part those of it and the offset, if they are more."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    net = wl.Network([[1.0, -0.4], [0.5, 1.1]], b=[0.3 * bias, -0.2 * bias], c=0.4 * offset)
    gauge, source = Gauge.of(net, bias=bias, offset=offset), samples.open(X, net.predict(X))
    (found,) = examine_pieces(source, X, gauge, 0.0)
    assert (found.outcome, found.limit) == (Outcome.IMPOSSIBLE, 2.0 + bias + 1)
    (found,) = pieces_beside_linear(source, X, gauge, 0.0)
    assert found.limit == max(2.0 + bias, 2.0 + offset) + 1


def test_more_new_sides_than_are_tried_leave_their_units_open() -> None:
    """Five units, each alone on at its cluster: any set of clusters is the side of a hyperplane, 2⁵ − 1 − 5 new ones."""
    rng = np.random.default_rng(0)
    X = np.repeat(2 * np.eye(5) - 1, 12, axis=0) + 0.1 * rng.standard_normal((60, 5))
    net = wl.Network(np.eye(5))
    source = samples.open(X, net.predict(X))
    (found,) = examine_pieces(source, X, Gauge.of(net, bias=False, offset=False), 0.0)
    assert (found.outcome, found.number, found.limit, found.units) == (Outcome.UNEXAMINED, 26.0, 24.0, (0, 1, 2, 3, 4))


def test_sets_of_two_to_four_units_are_tried_beside_loose_ones(seed: int) -> None:
    """Of five units beside a dead one: 10 + 10 + 5 sets."""
    rng = np.random.default_rng(seed)
    W, X = rng.standard_normal((6, 6)), rng.standard_normal((900, 6))
    net = wl.Network(W, b=[0.1, 0.2, 0.5, 0.3, -0.1, -60.0])
    loose, rest = examine_pieces(samples.open(X, net.predict(X)), X, Gauge.of(net, bias=True, offset=False), 0.0)
    assert (loose.outcome, loose.units, loose.width) == (Outcome.FOUND, (5,), 5)
    assert (rest.outcome, rest.units, rest.limit) == (Outcome.NONE_FOUND, (0, 1, 2, 3, 4), 25.0)


@pytest.mark.parametrize("cells", [1, 3, 6, 1000])
def test_sets_are_judged_on_all_cells(cells: int, seed: int, limits: Callable[..., None]) -> None:
    """However few are looked at first: clusters leave the twin of three units, and rows elsewhere none."""
    rng = np.random.default_rng(seed)
    common = wl.Network(rng.standard_normal((5, 3)), b=rng.standard_normal(3))
    net = beside(ONE, common)
    near, everywhere = np.hstack([clustered(seed), rng.standard_normal((160, 2))]), rng.standard_normal((400, 5))
    for X, outcome, units in ((near, Outcome.FOUND, {0, 1, 2}), (everywhere, Outcome.NONE_FOUND, set(range(6)))):
        pieces = replace(of(net, X @ net.W + net.b > 0, bias=True), X=X)
        limits("weightlift.rivals.pieces", glanced=cells)
        (found,) = _by_subsets(samples.open(X, net.predict(X)), pieces, pieces.units)
        assert (found.outcome, set(found.units)) == (outcome, units)


def test_new_sides_of_sets_do_not_hang_on_the_cells_that_are_looked_at_first(limits: Callable[..., None]) -> None:
    rng = np.random.default_rng(0)
    net = beside(ONE, wl.Network(rng.standard_normal((5, 2)), b=rng.standard_normal(2)))
    X = np.hstack([clustered(0), rng.standard_normal((160, 2))])
    pieces, sets = (
        replace(of(net, X @ net.W + net.b > 0), X=X),
        [s for n in (2, 3, 4) for s in itertools.combinations(range(5), n)],
    )
    found = []
    for cells in (10**6, 1, 2, 3, 6):
        limits("weightlift.rivals.pieces", glanced=cells)
        known = dict[tuple[int, int], np.ndarray]()
        found.append([_new_sides(pieces, chosen, known).tolist() for chosen in sets])
    assert all(sides == found[0] for sides in found)
    suspects = sum(bool(np.size(new)) for new in found[0])
    limits("weightlift.rivals.pieces", suspects=0)
    (none,) = _by_subsets(samples.open(X, net.predict(X)), pieces, pieces.units)
    assert (none.outcome, none.number, none.limit) == (Outcome.UNEXAMINED, suspects, 0.0)


def test_units_beside_a_dead_one_and_a_linear_part(seed: int) -> None:
    """Three clusters at the corners of a triangle, two of them the sides of units: the third one is one of both together."""
    rng = np.random.default_rng(seed)
    corners = np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]])
    X = np.repeat(corners, 20, axis=0) + 0.05 * rng.standard_normal((60, 2))
    net = wl.Network(np.column_stack([corners[0], corners[1], [0.1, 0.1]]), b=[-0.5, -0.5, -9.0])
    loose, beside_it = pieces_beside_linear(samples.open(X, net.predict(X)), X, Gauge.of(net, bias=True, offset=True), 0.0)
    assert (loose.outcome, loose.units) == (Outcome.FOUND, (2,))
    assert (beside_it.outcome, beside_it.units) == (Outcome.UNEXAMINED, (0, 1))


def test_exchanges_end_after_as_many_as_are_asked_for(limits: Callable[..., None]) -> None:
    """The sets of one new side come first: after them no more where the choices are spent."""
    net, _, X = planted(3, False, np.random.default_rng(0))
    pieces = replace(of(net, X @ net.W > 0, bias=False), X=X)
    listed = _listed(pieces)
    assert listed is not None
    exchange = Exchange.of(pieces, (0, 1, 2), listed)
    tried: list[int] = []
    for most in (0, 10, 200_000):
        limits("weightlift.rivals.pieces", choices=most)
        sets = list(exchange._choices())
        asked = list(exchange.proposals(1e9))
        sizes = np.cumsum([len(olds) for _, olds in sets])
        assert len(asked) == min(n for n in [*sizes, sizes[-1]] if n > most or n == sizes[-1])
        tried.append(len(asked))
    assert tried == sorted(set(tried))


def test_kinks_may_lie_where_noise_puts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five standard errors of z, σ √(p/n) on average, σ² the mean weighted square."""
    margins: list[float] = []

    def nothing(samples: object, X: np.ndarray, gauge: Gauge, margin: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        margins.append(margin)
        return np.zeros((0, 2)), X

    monkeypatch.setattr("weightlift.rivals.pieces.cells", nothing)
    X, w = np.random.default_rng(0).standard_normal((50, 3)), np.full(50, 3.0)
    net = wl.Network(np.eye(3)[:, :2], b=[0.1, 0.2])
    source = samples.open(X, net.predict(X), sample_weight=w)
    assert pieces_below(source, X, Gauge.of(net, bias=True, offset=False), Bar(6.0)) is None
    assert margins == [pytest.approx(5.0 * np.sqrt(6.0 / 150.0) * np.sqrt(8 / 50))]


@pytest.mark.parametrize("size", [1e-11, 1.0, 1e11])
def test_separable_sides_at_any_size(size: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = size * rng.standard_normal((60, 3))
    assert separable(X, X @ [1.0, 2.0, -1.0] > 0)
    assert not separable(X, X[:, 0] * X[:, 1] > 0)


@pytest.mark.parametrize("activation", ["relu", "leaky_relu"])
@pytest.mark.parametrize(("key", "which"), [(2, 1), (23, 1), (25, 0), (35, 0), (53, 0)])
def test_two_units_that_are_linear_together_have_sides_that_no_list_holds(activation: str, key: int, which: int) -> None:
    """a φ(z) − a φ(−z), with z another linear function where a unit is reflected: some rivals are found, not all of them."""
    rng = np.random.default_rng(key)
    W, w, _ = rng.standard_normal((2, 3)), rng.standard_normal(2), rng.standard_normal(4)
    X, a, u = rng.standard_normal((240, 2)), [-1.0, 1.0, -1.0, 0.6, -0.6], w - W[:, 0] / 0.6
    nets = [wl.Network(np.column_stack([s * W[:, 0], W[:, 1:], v, -v]), a, activation=activation) for s, v in ((1, w), (-1, u))]
    np.testing.assert_allclose(nets[1].predict(X), nets[0].predict(X), atol=1e-12)
    assert 0 not in wl.certify(nets[which], X, nets[0].predict(X), bias=False, offset=False).certified_units
    plain = wl.Network(W, a[:3], activation=activation)
    assert wl.certify(plain, X, plain.predict(X))


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(("off", "possible"), [(0.19, True), (0.21, False)])
def test_a_choice_is_possible_whose_rows_are_hardly_on_wrong_sides(size: float, off: float, possible: bool) -> None:
    """Of values up to `size` one of the wrong sign: up to a fifth of that noise may have made it, whichever side is told."""
    net = wl.Network(np.ones((1, 1)))
    here = np.column_stack([[1.0, 0.6, -off, 0.4], np.ones(4)])
    pieces = replace(of(net, np.ones((4, 1), dtype=bool), bias=True), theta=np.array([[size, 0.0]]))
    for told in (True, False):
        exchange = Exchange(pieces, (0,), np.ones((1, 1)), np.full((4, 1), told), here)
        assert exchange._possible([0], np.array([[0]]), 0.2).tolist() == [possible]
