"""The Parquet source: the same rows, sums and splits as arrays; bounded memory; bad files named."""

import subprocess
import sys

import numpy as np
import pytest
from tests.conftest import optional

from weightlift import errors, moments, samples
from weightlift.samples import ArraySamples, Covariance, RandomSigns, Whitening, parquet
from weightlift.samples.keys import row_keys

pa = optional("pyarrow")
pq = optional("pyarrow.parquet")

D = 5


def table(X, y, w=None, dtype=None):
    names = [f"x{j}" for j in range(X.shape[1])]
    columns = {name: pa.array(X[:, j], type=dtype) for j, name in enumerate(names)} | {"y": pa.array(y)}
    return pa.table(columns | ({} if w is None else {"w": w}))


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(3000, D))
    return X, np.maximum(X @ rng.normal(size=(D, 2)), 0).sum(axis=1), rng.uniform(0.5, 2.0, size=3000)


@pytest.fixture
def folder(rows, tmp_path):
    """Three files in a folder and a subfolder, row groups of different sizes, an empty file, and what other tools leave."""
    X, y, w = rows
    (tmp_path / "b").mkdir()
    cuts = (("a.parquet", slice(0, 1000), 70), ("b/c.parquet", slice(1000, 2990), 3000), ("d.parquet", slice(2990, 3000), 3))
    for name, part, group in cuts:
        pq.write_table(table(X[part], y[part], w[part]), tmp_path / name, row_group_size=group)
    pq.write_table(table(X[:0], y[:0], w[:0]), tmp_path / "b" / "a-empty.parquet")
    (tmp_path / "_metadata").write_bytes(b"PAR1")
    (tmp_path / "b" / "_temporary.parquet").write_bytes(b"half a file")
    (tmp_path / "notes.txt").write_text("not data")
    return tmp_path


@pytest.fixture(params=[2**24, 2**12])
def batches(request, limits):
    """One batch, and many."""
    limits("weightlift.samples.parquet", batch_bytes=request.param)


@pytest.mark.usefixtures("batches")
def test_the_same_as_arrays(rows, folder, rng):
    X, y, w = rows
    arrays = samples.open(X, y, sample_weight=w)
    source = samples.open(folder, target="y", weight="w")
    assert (source.n, source.d) == (3000, D)
    assert source.total == pytest.approx(w.sum(), rel=1e-13)
    V = np.linalg.qr(rng.normal(size=(D, 2)))[0]
    statistics = [Covariance(D), moments.HermiteMoment(D, 2), moments.HermiteMoment(D, 3, V), moments.MomentProduct(V)]
    pairs = list(zip(arrays.split(0.3, 0.7, seed=4), source.split(0.3, 0.7, seed=4), strict=True))
    pairs += zip(pairs[1][0].split(0.5, seed=5), pairs[1][1].split(0.5, seed=5), strict=True)
    for a, b in [(arrays, source), *pairs]:
        assert a.n == b.n
        white = Whitening.estimated(a)
        for p, q in [(a, b), (a.map(white).map(RandomSigns(3)), b.map(white).map(RandomSigns(3)))]:
            for statistic in statistics:
                for s, t in zip(p.mean(statistic), q.mean(statistic), strict=True):
                    np.testing.assert_allclose(s, t, rtol=1e-11, atol=1e-12)
                for s, t in zip(q.fold(statistic), q.fold(statistic), strict=True):
                    assert np.array_equal(s, t), "the same source, the same bits"


@pytest.mark.usefixtures("batches")
def test_rows_come_in_order(rows, folder):
    X, y, w = rows
    source = parquet.open(folder, target="y", weight="w")
    blocks = list(source.blocks(64, start=130))
    assert {b.y.shape[0] for b in blocks[:-1]} == {64}
    np.testing.assert_array_equal(np.concatenate([b.X for b in blocks]), X[130:])
    np.testing.assert_array_equal(np.concatenate([b.y for b in blocks]), y[130:])
    np.testing.assert_array_equal(np.concatenate([b.w for b in blocks]), w[130:])
    np.testing.assert_array_equal(np.concatenate([b.key for b in blocks]), row_keys(X, y)[130:])
    with pytest.raises(StopIteration):
        next(iter(source.blocks(64, start=3000)))


def test_parts_that_begin_alike_are_told_apart(rows, folder):
    X, y, _ = rows
    arrays, source = samples.open(X, y), parquet.open(folder, target="y", features=[f"x{j}" for j in range(D)])
    for fraction in (0.5, 0.8, 0.2):
        assert source.split(fraction, seed=1)[0].n == arrays.split(fraction, seed=1)[0].n


def test_columns_are_chosen_and_ordered_by_name(rows, folder):
    X, y, _ = rows
    source = samples.open(str(folder), target="x1", features=["y", "x4", "x0"])
    assert source.d == 3
    block = next(source.blocks(3000))
    np.testing.assert_array_equal(block.X, np.column_stack([y, X[:, 4], X[:, 0]]))
    np.testing.assert_array_equal(block.y, X[:, 1])
    assert samples.open(folder / "a.parquet", target="y", features=["x2"]).n == 1000


def test_persist_keeps_small_parts_only(rows, folder, limits):
    X, y, w = rows
    part = samples.open(folder, target="y", weight="w").split(0.4, seed=1)[0].map(RandomSigns(2))
    kept = part.persist()
    assert isinstance(kept, ArraySamples)
    for a, b in zip(part.fold(Covariance(D)), kept.fold(Covariance(D)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)
    expected = samples.open(X, y, sample_weight=w).split(0.4, seed=1)[0]
    assert [p.n for p in kept.split(0.5, 0.5, seed=9)] == [p.n for p in expected.split(0.5, 0.5, seed=9)]
    limits("weightlift.samples.parquet", persist_bytes=1000)
    assert part.persist() is part


@pytest.mark.parametrize("kind", ["float32", "int32", "mixed"])
def test_other_numbers(kind, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(-5, 6, size=(200, 3)).astype(np.float64)
    y = rng.normal(size=200).astype(np.float32)
    data = table(X, y, dtype=pa.int32() if kind == "int32" else pa.float32())
    if kind == "mixed":
        data = data.set_column(1, "x1", pa.array(X[:, 1].astype(np.int8)))
    pq.write_table(data, tmp_path / "data.parquet")
    source = parquet.open(tmp_path, target="y")
    expected = samples.open(X, y.astype(np.float64))
    np.testing.assert_allclose(source.fold(Covariance(3))[2], expected.fold(Covariance(3))[2], rtol=1e-12)
    assert next(source.blocks(5)).X.dtype == np.float64
    assert [p.n for p in source.split(0.3, 0.7, seed=1)] == [p.n for p in expected.split(0.3, 0.7, seed=1)]
    single = parquet.open(tmp_path, target="y", dtype="float32")
    assert next(single.blocks(5)).X.dtype == np.float32
    assert single.fold(Covariance(3))[2].dtype == np.float64


def test_nulls_and_infinities_are_found(rows, tmp_path):
    X, y, _ = rows
    last = table(X, y).to_pydict()
    last["x3"][-1] = None
    data = pa.table(last)
    pq.write_table(data, tmp_path / "told.parquet", row_group_size=500)
    with pytest.raises(errors.NotFiniteError, match=r"'x3'.*1 nulls \(row group 5\)"):
        parquet.open(tmp_path / "told.parquet", target="y")
    assert parquet.open(tmp_path / "told.parquet", target="y", features=["x0", "x1"]).n == 3000
    pq.write_table(data, tmp_path / "untold.parquet", row_group_size=500, write_statistics=False)
    with pytest.raises(errors.NotFiniteError, match=r"'x3'.*nulls"):
        parquet.open(tmp_path / "untold.parquet", target="y").fold(Covariance(D))


@pytest.mark.parametrize("row", [0, 1500, 2999])
def test_infinities_are_found_in_any_batch(row, tmp_path, limits):
    limits("weightlift.samples.parquet", batch_bytes=2**12)
    X = np.zeros((3000, D))
    X[row, 2] = np.inf
    pq.write_table(table(X, np.ones(3000)), tmp_path / "infinite.parquet")
    source = parquet.open(tmp_path / "infinite.parquet", target="y")
    for _ in range(2):
        with pytest.raises(errors.NotFiniteError, match=r"'x2'.*NaN or infinity"):
            source.fold(Covariance(D))


def test_huge_numbers_are_not_infinite(tmp_path):
    pq.write_table(table(np.full((10, 1), 1e308), np.arange(10.0)), tmp_path / "huge.parquet")
    block = next(parquet.open(tmp_path, target="y").blocks(10))
    assert (block.X == 1e308).all()


def test_files_must_agree(rows, tmp_path):
    X, y, w = rows
    pq.write_table(table(X, y), tmp_path / "a.parquet")
    pq.write_table(table(X, y, w), tmp_path / "b.parquet")
    with pytest.raises(errors.ArgumentError, match=r"b\.parquet.*a\.parquet.*same columns \('w'\); name the features"):
        parquet.open(tmp_path, target="y")
    names = [f"x{j}" for j in range(D)]
    assert parquet.open(tmp_path, target="y", features=names).n == 6000
    pq.write_table(table(X, y, dtype=pa.float32()), tmp_path / "b.parquet")
    with pytest.raises(errors.ArgumentError, match=r"'x0' is float in .*b\.parquet and double in .*a\.parquet"):
        parquet.open(tmp_path, target="y")
    pq.write_table(table(X[:, :4], y), tmp_path / "b.parquet")
    with pytest.raises(errors.ArgumentError, match=r"b\.parquet has no column 'x4'"):
        parquet.open(tmp_path, target="y", features=names)
    shuffled = table(X, y).select(["y", *reversed(names)])
    pq.write_table(shuffled, tmp_path / "b.parquet")
    np.testing.assert_array_equal(next(parquet.open(tmp_path, target="y").blocks(6000)).X, np.vstack([X, X]))


def test_bad_arguments_are_named(rows, tmp_path):
    X, y, w = rows
    file = tmp_path / "data.parquet"
    pq.write_table(table(X, y, -w).append_column("name", pa.array(["a"] * 3000)), file)
    numeric = ["x0", "x1"]
    for arguments, words in [
        ({"target": "z", "features": numeric}, "no column 'z'.*'x0'"),
        ({"target": "y"}, "'name'.*string"),
        ({"target": "y", "features": []}, "features"),
        ({"target": "y", "features": ["x0", "x0"]}, "features"),
        ({"target": "y", "features": ["x0", "y"]}, "features"),
        ({"target": "y", "features": numeric, "dtype": "float16"}, "dtype"),
    ]:
        with pytest.raises(errors.ArgumentError, match=words):
            parquet.open(file, **arguments)
    with pytest.raises(errors.ArgumentError, match="'w' holds negative weights"):
        parquet.open(file, target="y", features=numeric, weight="w").fold(Covariance(2))
    with pytest.raises(errors.ArgumentError, match="does not exist"):
        samples.open(tmp_path / "nowhere", target="y")
    with pytest.raises(errors.ArgumentError, match="target"):
        samples.open(file)
    with pytest.raises(errors.ArgumentError, match="columns"):
        samples.open(X, y, target="y")
    (tmp_path / "empty").mkdir()
    with pytest.raises(errors.ArgumentError, match=r"must hold files.*\.parquet"):
        parquet.open(tmp_path / "empty", target="y")
    pq.write_table(table(X[:1], y[:1]), tmp_path / "empty" / "one.parquet")
    with pytest.raises(errors.TooFewRowsError, match="1 rows"):
        parquet.open(tmp_path / "empty", target="y")
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(errors.FileFormatError, match=r"data\.parquet"):
        parquet.open(file, target="y")


def test_a_reader_that_is_left_early_stops(rows, folder):
    source = parquet.open(folder, target="y", weight="w")
    blocks = source.blocks(10)
    next(blocks)
    blocks.close()
    assert source.fold(Covariance(D))[0] == pytest.approx(rows[2].sum())


MEMORY = """
import resource, sys
import numpy as np
import weightlift as wl
from weightlift.samples import Covariance, parquet
from weightlift.moments import HermiteMoment
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
source = parquet.open(sys.argv[1], target="y")
next(source.blocks(10)); before = peak()
part = source.split(0.9, seed=1)[0].persist()
part.fold(HermiteMoment(source.d, 2))
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("group", [1_000_000, 20_000])
def test_memory_is_bounded(group, tmp_path):
    """240 MB of rows grow the process by less than half of that, however the file is cut."""
    X = np.random.default_rng(0).normal(size=(600_000, 50))
    pq.write_table(table(X, X[:, 0]), tmp_path / "data.parquet", row_group_size=group, use_dictionary=False)
    done = subprocess.run([sys.executable, "-c", MEMORY, str(tmp_path)], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 120
