"""The theorems of docs/certificate_theory.md by brute force on small sizes, and each hypothesis by an instance without it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.rivals.instances import examined, outcomes

import weightlift as wl
from weightlift import samples
from weightlift.evidence.gauge import Gauge
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.risk import Students
from weightlift.rivals import Outcome
from weightlift.rivals.analytic import identity
from weightlift.rivals.bases import PRIME, Slopes, binary_vectors, disjoint_bases, inverse, residue, spanned
from weightlift.rivals.cells import independent_rows
from weightlift.rivals.pieces import separable


@pytest.mark.parametrize("ones", [False, True])
def test_binary_vectors_of_a_space_are_all_found(ones: bool) -> None:
    rng = np.random.default_rng(3)
    checked = 0
    while checked < 60:
        r, n = int(rng.integers(1, 7)), int(rng.integers(4, 11))
        B = (rng.random((n, r)) < rng.uniform(0.2, 0.8)).astype(float)
        B = np.hstack([B, np.ones((n, 1))]) if ones else B
        if np.linalg.matrix_rank(B) < B.shape[1]:
            continue
        V = binary_vectors(B)
        assert V is not None
        found = {tuple(v) for v in V.T.astype(int)}
        for v in itertools.product([0, 1], repeat=n):
            rest = np.array(v) - B @ np.linalg.lstsq(B, np.array(v, dtype=float))[0]
            assert (np.linalg.norm(rest) < 1e-9) == (v in found)
        checked += 1


def test_halves_that_meet_find_what_all_trials_find(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        X = np.concatenate([3 * rng.standard_normal(3) + 0.2 * rng.standard_normal((9, 3)) for _ in range(5)])
        B = np.unique((X @ rng.standard_normal((3, 10)) > 0).astype(float), axis=0)
        Q = [c for c in range(10) if np.linalg.matrix_rank(B[:, : c + 1]) > np.linalg.matrix_rank(B[:, :c])]
        one_by_one = binary_vectors(B[:, Q])
        monkeypatch.setattr("weightlift.rivals.bases.LIMITS", type("Few", (), {**_limits(), "few_bits": 0})())
        by_halves = binary_vectors(B[:, Q])
        monkeypatch.undo()
        assert one_by_one is not None
        assert by_halves is not None
        assert {v.tobytes() for v in one_by_one.T} == {v.tobytes() for v in by_halves.T}


def _limits() -> dict[str, float]:
    from dataclasses import asdict

    from weightlift.rivals.limits import LIMITS

    return asdict(LIMITS)


def test_the_greedy_bases_never_exceed_edmonds_bound_and_mostly_reach_it() -> None:
    """t disjoint bases exist iff every flat V is missed by at least t · codim V rows; tiny instances, all flats."""
    rng = np.random.default_rng(1)
    reached = total = 0
    for _ in range(150):
        K, n = int(rng.integers(2, 4)), int(rng.integers(4, 13))
        B = (rng.random((n, K)) < 0.5).astype(float)
        most = n // K
        for size in range(K):
            for rows in itertools.combinations(range(n), size):
                flat = B[list(rows)].reshape(-1, K)
                rank = int(np.linalg.matrix_rank(flat)) if size else 0
                missed = sum(int(np.linalg.matrix_rank(np.vstack([flat, b]))) > rank for b in B)
                most = min(most, missed // (K - rank))
        found = disjoint_bases(Slopes(B), 99).count
        assert found <= most
        reached, total = reached + (found == most), total + 1
    assert reached >= 0.9 * total


def test_residues_are_the_rationals_that_floats_are() -> None:
    for value in (0.01, -1.0, 0.3, 5.0, -0.125):
        numerator, denominator = value.as_integer_ratio()
        assert (residue(value) * denominator - numerator) % PRIME == 0
    A = np.random.default_rng(0).integers(0, PRIME, (5, 5))
    product = [[sum(int(a) * int(b) for a, b in zip(row, col, strict=True)) % PRIME for col in inverse(A).T] for row in A]
    np.testing.assert_array_equal(product, np.eye(5))
    B = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    inside = Slopes(B, residue(0.5)).take(np.arange(3)).sum(axis=1, keepdims=True) % PRIME
    assert spanned(Slopes(B, residue(0.5)), np.hstack([inside, inside + np.array([[0], [0], [1]])])).tolist() == [True, False]


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


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "squared_relu", "absolute"])
@pytest.mark.parametrize(("bias", "offset"), [(False, False), (True, False), (True, True), (False, True)])
def test_spread_rows_leave_no_rival(activation: str, bias: bool, offset: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = wl.Network(
        rng.standard_normal((6, 4)), [1.0, -1.0, 1.0, 1.0], 0.5 * rng.standard_normal(4) * bias, 0.7 * offset, activation
    )
    for rows in (300, 3000):
        assert outcomes(examined(net, rng.standard_normal((rows, 6)), bias=bias)) == {Outcome.IMPOSSIBLE}


def test_more_units_than_inputs_rest_on_an_assumption(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = wl.Network(rng.standard_normal((3, 7)), rng.choice([-1.0, 1.0], 7), 0.3 * rng.standard_normal(7))
    (finding,) = examined(net, rng.standard_normal((900, 3)))
    assert finding.outcome is Outcome.IMPOSSIBLE
    assert any("integer combination" in sentence for sentence in finding.assumes)


def test_dependent_polynomials_are_tested_only() -> None:
    W = np.random.default_rng(0).standard_normal((5, 2))
    net = wl.Network(np.column_stack([W, W.sum(axis=1)]))
    X = np.random.default_rng(1).standard_normal((400, 5))
    assert outcomes(examined(net, X)) == {Outcome.NONE_FOUND}


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_copies_multiples_and_mirror_images_are_no_new_rows(activation: str) -> None:
    X = np.random.default_rng(0).standard_normal((20, 3))
    Y = np.vstack([X, X, -X, 2 * X])
    gauge = Gauge.of(wl.Network(np.eye(3), activation=activation), bias=False, offset=False)
    assert independent_rows(samples.open(Y, Y[:, 0]), gauge) == (20 if activation == "relu" else 40)


def test_fewer_rows_than_parameters_are_unexamined(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = wl.Network(rng.standard_normal((3, 2)), [1.0, 0.7], activation="tanh")
    assert Outcome.IMPOSSIBLE not in outcomes(examined(net, rng.standard_normal((8, 3))))
    assert outcomes(examined(net, rng.standard_normal((20, 3)))) == {Outcome.IMPOSSIBLE}


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


def test_separable_sides() -> None:
    X = np.random.default_rng(0).standard_normal((100, 3))
    assert separable(X, X @ [1.0, 2.0, -1.0] > 0)
    assert not separable(X, np.abs(X[:, 0]) > 0.5)
