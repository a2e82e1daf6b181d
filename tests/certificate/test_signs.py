"""Signs from a group: fair, alike for copies, and their sums by the Walsh transform."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weightlift import samples
from weightlift.certificate.signs import CELLS, cells_of, over_draws, sums_over_cells
from weightlift.namespaces import to_numpy


def table() -> np.ndarray:
    """(−1)^{⟨h, b⟩} by counting bits, (cells, draws)."""
    return np.asarray(1.0 - 2.0 * (np.bitwise_count(np.arange(CELLS)[:, None] & np.arange(1, CELLS)) % 2))


def test_sums_over_cells_and_draws_by_brute_force(seed: int, xp: Any) -> None:
    rng = np.random.default_rng(seed)
    cells, weights, rows = rng.integers(CELLS, size=700), rng.standard_normal(700), rng.standard_normal((700, 3))
    sums = to_numpy(sums_over_cells(*(xp.asarray(v) for v in (cells, weights, rows))))
    expected = np.zeros((CELLS, 3))
    np.add.at(expected, cells, weights[:, None] * rows)
    np.testing.assert_allclose(sums, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(over_draws(sums), table()[cells].T @ (weights[:, None] * rows), rtol=1e-10, atol=1e-10)
    several = rng.standard_normal((CELLS, 2, 5))
    np.testing.assert_allclose(over_draws(several), np.tensordot(table().T, several, axes=1), rtol=1e-10, atol=1e-10)


def test_devices_that_add_slowly_multiply(monkeypatch: pytest.MonkeyPatch, seed: int, xp: Any) -> None:
    """The same sums by the product with the table of cells."""
    rng = np.random.default_rng(seed)
    given = rng.integers(CELLS, size=90), rng.standard_normal(90), rng.standard_normal((90, 3))
    expected = np.zeros((CELLS, 3))
    np.add.at(expected, given[0], given[1][:, None] * given[2])
    monkeypatch.setattr("weightlift.certificate.signs.on_host", lambda device: False)
    np.testing.assert_allclose(to_numpy(sums_over_cells(*(xp.asarray(v) for v in given))), expected, rtol=1e-12, atol=1e-12)


def test_cells_are_even_and_belong_to_the_rows(seed: int) -> None:
    """χ² with 511 degrees of freedom has a standard deviation of 32; another seed gives other cells."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((20_000, 2)), rng.standard_normal(20_000)
    X[10_000:10_003], y[10_000:10_003] = X[:3], y[:3]
    (block,) = samples.open(X, y).blocks(20_000)
    (turned,) = samples.open(X[::-1].copy(), y[::-1].copy()).blocks(20_000)
    cells = np.asarray(cells_of(block, seed))
    counts = np.bincount(cells, minlength=CELLS)
    assert len(counts) == CELLS
    assert abs(np.sum((counts - 20_000 / CELLS) ** 2) / (20_000 / CELLS) - 511) < 5 * 32
    assert np.array_equal(np.asarray(cells_of(turned, seed))[::-1], cells)
    assert np.array_equal(cells[10_000:10_003], cells[:3])
    assert np.mean(np.asarray(cells_of(block, seed + 1)) == cells) < 0.01
