"""Rivals piece by piece: what is proved holds against every network that can be found."""

from __future__ import annotations

import numpy as np
from tests.rivals.instances import examined, outcomes

import weightlift as wl
from weightlift import samples
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.risk import Students
from weightlift.rivals import Outcome
from weightlift.rivals.analytic import identity
from weightlift.rivals.pieces import _new_on, _units, polynomials


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
