"""Folds, splits, maps and blocks of a stream of rows."""

from dataclasses import dataclass

import numpy as np
import pytest

from weightlift import samples
from weightlift.namespaces import array_namespace, matmul_transposed, to_numpy
from weightlift.samples import Block, RandomSigns, Residual
from weightlift.samples.keys import row_keys


@dataclass(frozen=True)
class Moments:
    """(Σw, Σwx, Σwyxxᵀ): enough to see weights, order and blocking."""

    floats_per_row: int = 8

    def __call__(self, block: Block):
        xp = array_namespace(block.X)
        w = xp.ones_like(block.y) if block.w is None else block.w
        return xp.sum(w), xp.matmul(w, block.X), matmul_transposed(block.X, block.wy[:, None] * block.X)


def data(rng, n=300, d=4):
    return rng.normal(size=(n, d)), rng.normal(size=n), rng.uniform(0.5, 2.0, size=n)


def test_order_and_blocking_change_rounding_only(rng, limits):
    X, y, w = data(rng, n=1000)
    source = samples.open(X, y, sample_weight=w)
    order = rng.permutation(1000)
    shuffled = samples.open(X[order], y[order], sample_weight=w[order])
    expected = source.mean(Moments())
    parts = source.split(0.3, 0.7, seed=1)
    for a, b in zip(expected, shuffled.mean(Moments()), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)
    for part, other in zip(parts, shuffled.split(0.3, 0.7, seed=1), strict=True):
        assert part.n == other.n
        for a, b in zip(part.mean(Moments()), other.mean(Moments()), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)
    limits("weightlift.samples.stream", cache_bytes=1024, block_bytes=1024)
    for a, b in zip(expected, source.mean(Moments()), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def test_split_partitions_the_rows(rng, as_xp):
    X, y, _ = data(rng, n=4000)
    source = samples.open(as_xp(X), as_xp(y))
    parts = source.split(0.5, 0.25, 0.25, seed=7)
    assert sum(p.n for p in parts) == 4000
    for part, fraction in zip(parts, (0.5, 0.25, 0.25), strict=True):
        assert abs(part.n - 4000 * fraction) < 5 * np.sqrt(4000 * fraction * (1 - fraction))
    whole = [to_numpy(s) for s in source.fold(Moments())]
    summed = [sum(to_numpy(s) for s in column) for column in zip(*(p.fold(Moments()) for p in parts), strict=True)]
    for a, b in zip(whole, summed, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)
    nested = parts[0].split(0.5, 0.5, seed=7)
    assert {p.n for p in nested} == {parts[0].n, 0}, "the same seed cuts at the same numbers"
    other = parts[0].split(0.5, 0.5, seed=8)
    assert abs(other[0].n - parts[0].n / 2) < 5 * np.sqrt(parts[0].n) / 2


def test_split_is_the_same_for_every_namespace_and_dtype(rng, as_xp):
    X, y, _ = data(rng, n=500)
    X, y = X.astype(np.float32), y.astype(np.float32)
    expected = [p.n for p in samples.open(X.astype(np.float64), y.astype(np.float64)).split(0.4, 0.6, seed=2)]
    source = samples.open(as_xp(X), as_xp(y))
    assert [p.n for p in source.split(0.4, 0.6, seed=2)] == expected


def test_maps_apply_in_order_and_persist(rng, as_xp):
    X, y, w = data(rng)
    source = samples.open(as_xp(X), as_xp(y), sample_weight=as_xp(w))
    part = source.split(0.6, seed=0)[0]
    mapped = part.map(Residual(lambda Z: Z[:, 0])).map(RandomSigns(3))
    kept = mapped.persist()
    for a, b in zip(mapped.mean(Moments()), kept.mean(Moments()), strict=True):
        np.testing.assert_allclose(to_numpy(a), to_numpy(b), rtol=1e-11, atol=1e-12)
    block = next(kept.blocks(kept.n))
    rows = np.flatnonzero(np.isin(X[:, 0], to_numpy(block.X)[:, 0]))
    np.testing.assert_allclose(np.abs(to_numpy(block.y)), np.abs(y - X[:, 0])[rows], rtol=1e-12)
    assert to_numpy(block.key).tolist() == row_keys(X, y)[rows].tolist(), "keys are those of the raw rows"


@pytest.mark.parametrize("rows", [1, 7, 64, 1000])
@pytest.mark.parametrize("start", [0, 5, 250])
def test_blocks_are_exact_and_resumable(rows, start):
    rng = np.random.default_rng(0)
    X, y, w = data(rng, n=300)
    source = samples.open(X, y, sample_weight=w)
    blocks = list(source.blocks(rows, start=start))
    assert all(b.y.shape[0] == rows for b in blocks[:-1])
    np.testing.assert_array_equal(np.concatenate([b.X for b in blocks]), X[start:])
    np.testing.assert_array_equal(np.concatenate([b.y for b in blocks]), y[start:])
    np.testing.assert_array_equal(np.concatenate([b.w for b in blocks]), w[start:])
    np.testing.assert_array_equal(np.concatenate([b.key for b in blocks]), row_keys(X, y)[start:])
