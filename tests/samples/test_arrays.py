"""The array source: folding, weights, order, splits, blocks, digits, bad input."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from weightlift import errors, samples
from weightlift.namespaces import array_namespace, matmul_transposed, to_numpy
from weightlift.samples import Block


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


def test_mean_is_the_weighted_average(rng, as_xp):
    X, y, w = data(rng)
    source = samples.open(as_xp(X), as_xp(y), sample_weight=as_xp(w))
    one, first, second = (to_numpy(s) for s in source.mean(Moments()))
    assert one == pytest.approx(1.0)
    np.testing.assert_allclose(first, np.average(X, axis=0, weights=w), rtol=1e-12)
    np.testing.assert_allclose(second, (X * (w * y)[:, None]).T @ X / w.sum(), rtol=1e-12)
    assert source.total == pytest.approx(w.sum())
    assert (source.n, source.d) == (300, 4)


def test_duplicating_a_row_equals_weight_two(rng):
    X, y, _ = data(rng, n=50)
    weighted = samples.open(X, y, sample_weight=np.r_[2.0, np.ones(49)])
    duplicated = samples.open(np.vstack([X, X[:1]]), np.r_[y, y[:1]])
    assert weighted.total == duplicated.total == 51
    for a, b in zip(weighted.mean(Moments()), duplicated.mean(Moments()), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
    for left, right in zip(weighted.split(0.5, 0.5, seed=3), duplicated.split(0.5, 0.5, seed=3), strict=True):
        for a, b in zip(left.mean(Moments()), right.mean(Moments()), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_same_source_same_bits(rng):
    X, y, w = data(rng, n=20_000)
    source = samples.open(X, y, sample_weight=w)
    for a, b in zip(source.fold(Moments()), source.fold(Moments()), strict=True):
        assert np.array_equal(a, b)


def test_float32_data_keep_their_digits():
    """Sums over float32 rows are those of the rows taken as float64, however many there are."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(200_000, 3)) + 10).astype(np.float32)
    y = rng.normal(size=200_000).astype(np.float32)
    source = samples.open(X, y)
    exact = (X.astype(np.float64) * y.astype(np.float64)[:, None]).T @ X.astype(np.float64) / len(y)
    np.testing.assert_allclose(source.mean(Moments())[2], exact, rtol=0, atol=1e-13 * 100)
    single = samples.open(X, y, dtype="float32")
    assert next(single.blocks(5)).X.dtype == np.float32
    assert single.mean(Moments())[2].dtype == np.float64


def test_an_empty_part_says_so():
    source = samples.open(np.eye(3), np.ones(3))
    empty = source.split(1e-9, seed=0)[0]
    assert empty.n == 0
    with pytest.raises(errors.TooFewRowsError):
        empty.mean(Moments())
    with pytest.raises(errors.ArgumentError, match="fractions"):
        source.split(0.7, 0.7, seed=0)


def at_an_odd_byte(buffer):
    """A copy of the buffer's bytes that starts one byte after a word."""
    raw = np.empty(buffer.nbytes + 72, dtype=np.uint8)
    start = 1 - raw.ctypes.data % 64
    view = raw[start % 64 :][: buffer.nbytes]
    view[:] = np.frombuffer(buffer, dtype=np.uint8)
    return view


def test_rows_that_another_process_sent_are_aligned(rng):
    """Unpickled from buffers that start anywhere, or given as such, they give the same bits."""
    X, y = rng.normal(size=(300, 8)), rng.normal(size=300)
    source = samples.open(X, y)
    buffers = []
    sent = pickle.dumps(source, protocol=5, buffer_callback=buffers.append)
    arrived = pickle.loads(sent, buffers=[at_an_odd_byte(b.raw()) for b in buffers])
    odd = at_an_odd_byte(memoryview(X).cast("B")).view(np.float64).reshape(X.shape)
    assert not odd.flags.aligned
    for other in (arrived, samples.open(odd, y)):
        assert other.X.flags.aligned
        for a, b in zip(source.fold(Moments()), other.fold(Moments()), strict=True):
            assert np.array_equal(a, b)
