"""The array source: folding, weights, order, splits, blocks, digits, bad input."""

import pickle
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

from weightlift import errors, samples
from weightlift.namespaces import array_namespace, matmul_transposed, to_numpy
from weightlift.samples import Block, RandomSigns, Residual
from weightlift.samples.keys import row_keys, uniforms


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


def test_same_source_same_bits(rng):
    X, y, w = data(rng, n=20_000)
    source = samples.open(X, y, sample_weight=w)
    for a, b in zip(source.fold(Moments()), source.fold(Moments()), strict=True):
        assert np.array_equal(a, b)


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


def test_random_signs_are_fair_and_independent():
    rng = np.random.default_rng(0)
    keys = row_keys(rng.normal(size=(20_000, 3)), rng.normal(size=20_000))
    u = np.stack([uniforms(keys, s) for s in range(4)])
    assert np.abs(np.corrcoef(u) - np.eye(4)).max() < 5 / np.sqrt(20_000)
    histogram = np.histogram(u[0], bins=20, range=(0, 1))[0]
    assert np.abs(histogram - 1000).max() < 5 * np.sqrt(1000)
    nearby = row_keys(np.arange(20_000.0)[:, None], np.zeros(20_000))
    v = uniforms(nearby, 0)
    assert abs(np.corrcoef(v[1:], v[:-1])[0, 1]) < 5 / np.sqrt(20_000)
    assert len(set(nearby.tolist())) == 20_000


def test_keys_see_every_column_and_its_place():
    X, y = np.arange(12.0).reshape(3, 4), np.array([1.0, 2.0, 3.0])
    key = row_keys(X, y)
    for j in range(4):
        changed = X.copy()
        changed[:, j] += 1e-12 * np.maximum(1, np.abs(changed[:, j]))
        assert not np.any(row_keys(changed, y) == key)
    assert not np.any(row_keys(X[:, ::-1].copy(), y) == key)
    assert not np.any(row_keys(X, y + 1) == key)
    assert row_keys(np.array([[0.0, -0.0]]), np.array([0.0])) == row_keys(np.array([[-0.0, 0.0]]), np.array([-0.0]))


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


@pytest.mark.parametrize(
    ("X", "y", "weight", "error", "words"),
    [
        (np.zeros(3), np.zeros(3), None, errors.ShapeError, "X"),
        (np.zeros((3, 2)), np.zeros(4), None, errors.ShapeError, "y"),
        (np.zeros((3, 2)), np.zeros((3, 1, 1)), None, errors.ShapeError, "y"),
        (np.zeros((3, 0)), np.zeros(3), None, errors.ShapeError, "X"),
        (np.zeros((0, 2)), np.zeros(0), None, errors.TooFewRowsError, "rows"),
        (np.zeros((1, 2)), np.zeros(1), None, errors.TooFewRowsError, "rows"),
        (np.array([[1.0, np.nan], [0, 0]]), np.zeros(2), None, errors.NotFiniteError, "X"),
        (np.zeros((2, 2)), np.array([np.inf, 0]), None, errors.NotFiniteError, "y"),
        (np.zeros((2, 2)) + 1j, np.zeros(2), None, errors.NotFiniteError, "complex"),
        (np.zeros((2, 2)), np.zeros(2), np.array([-1.0, 1]), errors.ArgumentError, "negative"),
        (np.zeros((2, 2)), np.zeros(2), np.zeros(2), errors.ArgumentError, "zero"),
        (np.zeros((2, 2)), np.zeros(2), np.ones(3), errors.ShapeError, "sample_weight"),
        (np.zeros((2, 2)), np.zeros(2), np.array([1.0, 1e200]), errors.ArgumentError, "sample_weight goes up to 1e.200"),
        (np.zeros((2, 2)), np.zeros(2), np.array([0.0, 1e-200]), errors.ArgumentError, "sample_weight goes up to 1e-200"),
        (np.zeros((2, 2)), None, None, errors.ArgumentError, "y is missing"),
        ("rows.parquet", None, None, errors.ArgumentError, "weightlift.samples.open"),
        (None, np.zeros(2), None, errors.ArgumentError, "X is missing"),
        (np.ma.masked_greater(np.eye(2), 0.5), np.zeros(2), None, errors.NotFiniteError, "X has masked"),
        (np.eye(2), np.zeros(2), np.ma.masked_greater([0.0, 1.0], 0.5), errors.NotFiniteError, "sample_weight has masked"),
        ([["a", "b"], ["c", "d"]], [1.0, 2.0], None, errors.ArgumentError, "X"),
        ([[1.0, 2.0], [3.0]], [1.0, 2.0], None, errors.ArgumentError, "X"),
    ],
)
def test_bad_input_names_the_argument(X, y, weight, error, words):
    with pytest.raises(error, match=words) as caught:
        samples.open(X, y, sample_weight=weight)
    assert isinstance(caught.value, ValueError)


def test_matrices_and_unmasked_arrays_are_arrays(rng):
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    expected = samples.open(X, y).mean(Moments())[2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        matrix = np.matrix(X)
    for form in (matrix, np.ma.array(X), X.tolist()):
        found = samples.open(form, y).mean(Moments())[2]
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, expected)


def test_tensors_that_record_gradients_are_data_like_others(rng, torch):
    X, y, w = (rng.uniform(0.5, 1.5, size=shape) for shape in ((40, 3), 40, 40))
    recorded = [torch.tensor(v, requires_grad=True) for v in (X, y, w)]
    source = samples.open(*recorded[:2], sample_weight=recorded[2])
    found = source.mean(Moments())[2]
    assert not found.requires_grad
    np.testing.assert_allclose(found.numpy(), samples.open(X, y, sample_weight=w).mean(Moments())[2])
    assert source.total == pytest.approx(w.sum())


def test_an_empty_part_says_so():
    source = samples.open(np.eye(3), np.ones(3))
    empty = source.split(1e-9, seed=0)[0]
    assert empty.n == 0
    with pytest.raises(errors.TooFewRowsError):
        empty.mean(Moments())
    with pytest.raises(errors.ArgumentError, match="fractions"):
        source.split(0.7, 0.7, seed=0)


def test_a_source_is_returned_as_it_is():
    source = samples.open(np.eye(3), np.ones(3))
    assert samples.open(source) is source
    with pytest.raises(errors.ArgumentError, match="y"):
        samples.open(source, np.ones(3))


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
