"""Directions from two consecutive tensors, merged where they are the same."""

import numpy as np

import weightlift as wl
from weightlift import samples
from weightlift.initialization.directions import joint_directions
from weightlift.initialization.two_tensors import TensorDirections, merge, two_tensor_directions


def planted(d, k, rng, activation="relu"):
    """Biases 0 (twice), 1, −1 among others: roots of He_1 and He_2, where T_3 or T_4 loses a unit."""
    net = wl.teachers.biased(d, k, bias=1.5, activation=activation, rng=rng)
    b = net.b.copy()
    b[:4] = [0.0, 0.0, 1.0, -1.0][:k]
    return wl.Network(net.W, net.a, b, activation=activation)


def test_either_tensor_alone_loses_units_and_together_they_do_not(rng):
    """b = 0 is missing from T_3, b = ±1 from T_4."""
    truth = planted(8, 6, rng)
    exact = samples.population(truth)
    shown = [np.linalg.matrix_rank(exact.mean(wl.moments.HermiteMoment(8, 2, None, q, np.ones(8)))[0], 1e-9) for q in (1, 2)]
    assert shown == [4, 4]
    for find in (lambda s: two_tensor_directions(s, None), lambda s: joint_directions(s, 6, truth.activation)):
        U = find(samples.population(truth)).U
        cosines = np.abs(U.T @ truth.W)
        assert U.shape == (8, 6)
        np.testing.assert_allclose(cosines.max(axis=0), 1.0, atol=1e-12)
        np.testing.assert_allclose(cosines.max(axis=1), 1.0, atol=1e-12)


def test_duplicates_and_antipodes_are_merged_and_the_stronger_kept(rng):
    U = np.linalg.qr(rng.normal(size=(5, 4)))[0]
    noise = 1e-2 * rng.normal(size=(5, 3))

    def shown(columns, strength):
        n = columns.shape[1]
        return TensorDirections(columns, strength, np.full(n, 0.02), np.zeros(n), np.ones(n), 0.02, 1.0)

    other = -(U[:, [2, 1, 3]] + noise)
    other /= np.linalg.norm(other, axis=0)
    first = shown(U[:, :3], np.array([1.0, 0.2, 3.0]))
    merged, _ = merge([first, shown(other, np.array([2.0, 0.5, 0.7]))], None)
    assert merged.shape == (5, 4)
    np.testing.assert_array_equal(merged[:, 0], U[:, 2])  # 3.0 beats 2.0
    assert any(np.array_equal(column, other[:, 1]) for column in merged.T)  # 0.5 beats 0.2
    assert merge([first, shown(other, np.array([2.0, 0.5, 0.7]))], 2)[0].shape == (5, 2)
