"""What stands in the way at any number of rows: their shape, and units of the same function."""

from __future__ import annotations

import numpy as np
import pytest

import weightlift as wl
from weightlift.activations import custom
from weightlift.evidence.gauge import Gauge
from weightlift.rivals import Outcome, examine_uncounted
from weightlift.rivals.finding import Finding


def uncounted(X: np.ndarray, k: int, activation: object, *, noisy: bool = False) -> list[Finding]:
    rng = np.random.default_rng(5)
    net = wl.Network(rng.standard_normal((X.shape[1], k)), np.ones(k), activation=activation)
    return list(examine_uncounted(X, Gauge.of(net, bias=True, offset=False), noisy=noisy))


@pytest.mark.parametrize("noisy", [False, True])
def test_rows_of_a_density_leave_nothing_at_any_number(noisy: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for n in (1, 6, 60):
        for activation in ("tanh", "relu", "softplus"):
            assert uncounted(rng.standard_normal((n, 3)), 2, activation, noisy=noisy) == []


@pytest.mark.parametrize("noisy", [False, True])
def test_rows_on_lines_levels_and_lattices_leave_others(noisy: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    lines = rng.standard_normal((40, 3)) * (np.arange(3) == np.arange(40)[:, None] % 3) @ Q
    assert [f.outcome for f in uncounted(lines, 2, "tanh", noisy=noisy)] == [Outcome.UNEXAMINED]
    whole = np.column_stack([rng.standard_normal((40, 2)), rng.integers(0, 9, 40)]) @ Q
    (found,) = uncounted(whole, 1, "sine", noisy=noisy)
    assert found.outcome is Outcome.FOUND
    assert found.units == ()
    fine = np.column_stack([rng.standard_normal((40, 2)), rng.integers(0, 1000, 40)]) @ Q
    (found,) = uncounted(fine, 1, "sine", noisy=noisy)
    assert found.outcome is Outcome.NONE_FOUND
    assert found.assumes
    few = np.array([[-1.0], [0.5], [1.0]])[rng.integers(0, 3, 60)]
    assert [f.outcome for f in uncounted(few, 1, "tanh", noisy=noisy)] == [Outcome.UNEXAMINED] * (2 - noisy)


def test_a_wave_that_repeats_is_told_on_two_rows() -> None:
    wave = custom("waves", lambda z: np.sin(z) + 0.3 * np.cos(2 * z), lambda z: np.cos(z) - 0.6 * np.sin(2 * z), analytic=True)
    X = np.random.default_rng(0).standard_normal((2, 3))
    assert [f.outcome for f in uncounted(X, 2, wave)] == [Outcome.FOUND]
    assert [f.outcome for f in uncounted(X[:, :1], 2, wave)] == [Outcome.UNEXAMINED]
    assert uncounted(X, 2, "sine") == []
