"""δ, η_avg, η_var: definitions by brute force, the ensembles of the paper, and their invariances."""


import numpy as np
import pytest

from weightlift import Network, teachers
from weightlift.theory import assumptions
from weightlift.theory.assumptions import largest_product


def test_the_definitions(rng):
    d, r = 4, 9
    W = rng.normal(size=(d, r))
    found = assumptions(W)
    G = np.abs(W.T @ W)
    assert found.delta == max(G[i, j] for i in range(r) for j in range(r) if i != j)
    assert found.eta_avg == pytest.approx(sum(W[:, i] @ W[:, j] for i in range(r) for j in range(r)) / r)
    deviation = sum(np.outer(w, w) for w in W.T) - r / d * np.eye(d)
    assert found.eta_var == pytest.approx(np.abs(np.linalg.eigvalsh(deviation)).max() * d / r)
    assert found.length_error == np.abs(np.linalg.norm(W, axis=0) - 1).max()
    assert not found.unit.holds
    assert found.margin == pytest.approx(1 - found.delta * (1 + found.eta_var) * r / d)
    assert found.even_margin == pytest.approx(1 - found.delta**2 * (1 + found.eta_var) * r / d)


def test_rotations_and_permutations_change_nothing(rng):
    net = teachers.centered_gaussian(6, 15, rng=rng)
    Q = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    first, second = assumptions(net), assumptions(Q @ net.W[:, rng.permutation(15)])
    for name in ("delta", "eta_avg", "eta_var"):
        assert getattr(first, name) == pytest.approx(getattr(second, name), abs=1e-13)


def test_the_ensembles_of_the_paper(rng):
    """Orthonormal (0, 1, 0); centred and rescaled (1/(d−1), 0, 1); simplex (1/d, 0, 0); many simplices (·, 0, 0)."""
    d = 8
    centred = np.sqrt(d / (d - 1)) * (np.eye(d) - 1 / d)
    expected = [
        (teachers.haar(d, d, center=False, rng=rng), 0.0, 1.0, 0.0),
        (centred, 1 / (d - 1), 0.0, 1.0),
        (teachers.simplex(d, rng=rng), 1 / d, 0.0, 0.0),
    ]
    for weights, *numbers in expected:
        found = assumptions(weights)
        assert found.unit.holds
        np.testing.assert_allclose([found.delta, found.eta_avg, found.eta_var], numbers, atol=1e-13)
    many = assumptions(teachers.simplex(d, 4 * (d + 1), rng=rng))
    np.testing.assert_allclose([many.eta_avg, many.eta_var], 0.0, atol=1e-13)
    assert 1 / d < many.delta < 1.0
    stacked = assumptions(teachers.haar(d, 3 * d, center=False, rng=rng))
    assert stacked.eta_var < 1e-13
    assert not assumptions(teachers.haar(d, d, rng=rng)).unit.holds  # centred, not rescaled
    random = assumptions(teachers.centered_gaussian(d, 40 * d, rng=rng))
    assert random.unit.holds
    assert random.eta_avg < 4 / (2 * d)  # χ²_d/d times Var 1/‖g‖ ≈ 1/(2d)
    assert random.eta_var < 0.6


def test_order_of_decomposition():
    assert assumptions(np.eye(3)).decomposition_order == 0.0
    net = Network(np.array([[1.0, 0.5], [0.0, np.sqrt(0.75)]]))
    assert assumptions(net).decomposition_order == pytest.approx(1.0)  # log 2/log 2
    assert assumptions(np.array([[1.0, 1.0]])).decomposition_order == np.inf


def test_blocks_do_not_matter(rng, limits):
    W, V = rng.normal(size=(3, 10)), rng.normal(size=(3, 7))
    whole = largest_product(W), largest_product(W, V)
    limits("weightlift.theory.assumptions", block=20)
    assert (largest_product(W), largest_product(W, V)) == pytest.approx(whole, rel=1e-15)
    assert whole[1] == pytest.approx(np.abs(W.T @ V).max())
