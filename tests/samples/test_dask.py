"""The Dask source: the same sums and splits as arrays, on threads and on a cluster; lost workers; bad input."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import optional

import weightlift as wl
from weightlift import errors, moments, samples
from weightlift.samples import ArraySamples, Block, Covariance, RandomSigns, Whitening
from weightlift.samples.dask import DaskSamples, predict

dask = optional("dask")
da = optional("dask.array")
pd = optional("pandas")
dd = optional("dask.dataframe")

D = 5


def data(seed=0, n=3000):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    return X, np.maximum(X @ rng.normal(size=(D, 2)), 0).sum(axis=1), rng.uniform(0.5, 2.0, size=n)


def chunked(*arrays, rows=700):
    return [da.from_array(a, chunks=(rows, *a.shape[1:])) for a in arrays]


def frame(X, y, w, partitions=6):
    columns = {f"x{j}": X[:, j] for j in range(D)} | {"y": y, "w": w}
    return dd.from_pandas(pd.DataFrame(columns), npartitions=partitions)


@pytest.fixture(scope="module")
def client():
    distributed = optional("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def agree(arrays, source, seed=4):
    """The same rows: sums, parts of parts, maps, and the same bits twice."""
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.normal(size=(D, 2)))[0]
    assert (source.n, source.d) == (arrays.n, arrays.d)
    assert source.total == pytest.approx(arrays.total, rel=1e-13)
    pairs = list(zip(arrays.split(0.3, 0.7, seed=seed), source.split(0.3, 0.7, seed=seed), strict=True))
    pairs += zip(pairs[1][0].persist().split(0.5, seed=5), pairs[1][1].persist().split(0.5, seed=5), strict=True)
    pairs += zip(pairs[0][0].split(0.5, seed=6), pairs[0][1].split(0.5, seed=6), strict=True)
    for a, b in [(arrays, source), *pairs]:
        assert a.n == b.n
        white = Whitening.estimated(a)
        p, q = (s.map(white).map(RandomSigns(3)) for s in (a, b))
        for statistic in (Covariance(D), moments.HermiteMoment(D, 3, V)):
            for s, t in zip(p.mean(statistic), q.mean(statistic), strict=True):
                np.testing.assert_allclose(s, t, rtol=1e-11, atol=1e-12)
        for s, t in zip(q.fold(Covariance(D)), q.persist().fold(Covariance(D)), strict=True):
            np.testing.assert_allclose(s, t, rtol=1e-11, atol=1e-10)
        for s, t in zip(q.fold(Covariance(D)), q.fold(Covariance(D)), strict=True):
            assert np.array_equal(s, t)


@pytest.mark.parametrize(("rows", "seed"), [(5000, 0), (700, 1), (201, 2)])
def test_the_same_as_arrays(rows, seed):
    X, y, w = data(seed)
    dX, dy, dw = chunked(X, y, w, rows=rows)
    agree(samples.open(X, y, sample_weight=w), samples.open(dX, dy, sample_weight=dw))
    agree(samples.open(X, y), samples.open(dX, dy.rechunk(300)))


def test_frames_are_read_by_column():
    X, y, w = data()
    table = frame(X, y, w)
    arrays = samples.open(X, y, sample_weight=w)
    agree(arrays, samples.open(table, target="y", weight="w"))
    names = [f"x{j}" for j in range(D)]
    agree(arrays, samples.open(table[names], table["y"], sample_weight=table["w"]))
    two = samples.open(table, target="x1", features=["y", "x0"])
    np.testing.assert_array_equal(next(two.blocks(3000)).X, np.column_stack([y, X[:, 0]]))


def test_empty_partitions_are_nothing():
    X, y, w = data()
    order = np.argsort(X[:, 0])
    X, y, w = X[order], y[order], w[order]
    table, keep = frame(X, y, w), X[:, 0] > 1.2
    left = table[table["x0"] > 1.2]  # in the last partition only
    agree(samples.open(X[keep], y[keep], sample_weight=w[keep]), samples.open(left, target="y", weight="w"))
    with pytest.raises(errors.TooFewRowsError, match="0 rows"):
        samples.open(table[table["x0"] > 100.0], target="y", features=["x0"])
    part = samples.open(table, target="y", weight="w").split(1e-12, seed=0)[0]
    assert part.n == 0
    assert part.persist().n == 0
    with pytest.raises(errors.TooFewRowsError):
        part.fold(Covariance(D))


def test_rows_come_in_order():
    X, y, w = data()
    dX, dy, dw = chunked(X, y, w)
    blocks = list(samples.open(dX, dy, sample_weight=dw).blocks(64, start=130))
    assert {b.y.shape[0] for b in blocks[:-1]} == {64}
    for name, values in (("X", X), ("y", y), ("w", w)):
        np.testing.assert_array_equal(np.concatenate([getattr(b, name) for b in blocks]), values[130:])


def test_a_small_part_is_brought_here():
    X, y, _ = data(n=40_000)
    source = samples.open(*chunked(X, y, rows=9000))
    small, large = source.split(0.004, 0.5, seed=2)
    here = small.map(RandomSigns(1)).persist()
    assert isinstance(here, ArraySamples)
    assert isinstance(large.persist(), DaskSamples)
    expected = samples.open(X, y).split(0.004, seed=2)[0].map(RandomSigns(1))
    np.testing.assert_allclose(here.fold(Covariance(D))[2], expected.fold(Covariance(D))[2], rtol=1e-11)
    assert [p.n for p in here.split(0.5, 0.5, seed=3)] == [p.n for p in expected.split(0.5, 0.5, seed=3)]


def test_predict_is_lazy():
    X, y, w = data()
    network = wl.teachers.conditioned(D, 2, rng=0, activation="squared_relu")
    lazy = predict(network, chunked(X)[0])
    assert isinstance(lazy, da.Array)
    assert lazy.chunks == ((700, 700, 700, 700, 200),)
    np.testing.assert_allclose(lazy.compute(), network.predict(X), rtol=1e-12)
    series = predict(network, frame(X, y, w)[[f"x{j}" for j in range(D)]])
    assert isinstance(series, dd.Series)
    np.testing.assert_allclose(series.compute().to_numpy(), network.predict(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda X, y: (X[X[:, 0] > 0], y), errors.ArgumentError, r"X = X\.compute_chunk_sizes\(\)"),
        (lambda X, y: (X, y[y > 0]), errors.ArgumentError, r"y = y\.compute_chunk_sizes\(\)"),
        (lambda X, y: (X.rechunk((700, 2)), y), errors.ArgumentError, r"X = X\.rechunk\(\{1: -1\}\)"),
        (lambda X, y: (X, y[:-1]), errors.ShapeError, "y has 2999 rows"),
        (lambda X, y: (X, y[:, None, None]), errors.ShapeError, "y must have one or two axes"),
        (lambda X, y: (X[:, 0], y), errors.ShapeError, "X must have two axes"),
        (lambda X, y: (X, y.compute()), errors.ArgumentError, r"y = dask\.array\.from_array"),
        (lambda X, y: (X, None), errors.ArgumentError, "y is missing"),
        (lambda X, y: (X, da.where(y > 3, np.nan, y)), errors.NotFiniteError, r"chunk \d: y holds NaN"),
        (lambda X, y: (X + 1j, y), errors.NotFiniteError, r"chunk \d: X is complex"),
    ],
)
def test_bad_collections_say_what_to_do(change, error, words):
    X, y = chunked(*data()[:2])
    with pytest.raises(error, match=words):
        samples.open(*change(X, y))


def test_bad_frames_say_what_to_do():
    X, y, w = data()
    table = frame(X, y, w)
    with pytest.raises(errors.ArgumentError, match="columns"):
        samples.open(table, target="z")
    with pytest.raises(errors.ShapeError, match="partitioned alike"):
        samples.open(table[["x0"]], table["y"].repartition(npartitions=2))
    with pytest.raises(errors.ArgumentError, match="to_dask_array"):
        samples.open(chunked(X)[0], table["y"])
    with pytest.raises(errors.ArgumentError, match="must hold numbers"):
        samples.open(table.assign(x0=table["x0"].astype(str) + "!"), target="y")
    with pytest.raises(errors.ArgumentError, match="negative"):
        samples.open(table.assign(w=-table["w"]), target="y", weight="w")
    with pytest.raises(errors.ArgumentError, match="zero on every row"):
        samples.open(table.assign(w=0.0 * table["w"]), target="y", weight="w")
    with pytest.raises(errors.NotFiniteError, match="chunk 5"):
        samples.open(table.assign(y=table["y"].map_partitions(without_last)), target="y", features=["x0"])


def without_last(column):
    """The column with a missing value in the frame's last row."""
    return column.where(column.index < 2999)


# A cluster of two processes


def test_the_same_on_a_cluster(client):
    X, y, w = data()
    dX, dy, dw = chunked(X, y, w)
    source = samples.dask.open(dX, dy, sample_weight=dw, client=client)
    agree(samples.open(X, y, sample_weight=w), source)
    with pytest.raises(errors.NotFiniteError, match="chunk 4: X holds NaN"):
        samples.dask.open(da.where(da.arange(3000, chunks=700)[:, None] == 2999, np.nan, dX), dy, client=client)


@pytest.mark.parametrize(
    ("activation", "noise", "bias"),
    [("relu", 0.0, False), ("relu", 0.05, True), pytest.param("tanh", 0.05, False, marks=pytest.mark.slow)],
)
def test_every_source_gives_the_same_network(client, torch, tmp_path, activation, noise, bias):
    """Arrays, PyTorch, Parquet, Dask here and on two processes; parameters as they come, no normal form."""
    pq = optional("pyarrow.parquet")
    truth = wl.teachers.conditioned(D, 2, activation=activation, rng=0)
    X, y = wl.draw(truth, 1500, noise_std=noise, rng=0)
    for part in range(3):
        rows = slice(500 * part, 500 * part + 500)
        columns = {f"x{j}": X[rows, j] for j in range(D)} | {"y": y[rows]}
        pq.write_table(optional("pyarrow").table(columns), tmp_path / f"{part}.parquet", row_group_size=130)
    sources = {
        "PyTorch": samples.open(torch.as_tensor(X), torch.as_tensor(y)),
        "Parquet": samples.open(tmp_path, target="y"),
        "Dask": samples.open(*chunked(X, y, rows=400)),
        "two processes": samples.dask.open(*chunked(X, y, rows=400), client=client),
    }
    plain = wl.recover(X, y, n_units=2, activation=activation, bias=bias)
    assert plain.certificate
    for name, source in sources.items():
        found = wl.recover(source, n_units=2, activation=activation, bias=bias)
        assert found.certificate.status is plain.certificate.status, name
        for parameter in ("W", "a", "b"):
            expected = getattr(plain.network, parameter)
            np.testing.assert_allclose(getattr(found.network, parameter), expected, atol=1e-9, err_msg=name)


@dataclass(frozen=True, eq=False)
class Lethal:
    """A statistic whose worker dies in the middle of its block, once."""

    statistic: Any
    flag: Path

    @property
    def floats_per_row(self) -> int:
        return self.statistic.floats_per_row

    def __call__(self, block: Block) -> Any:
        sums = self.statistic(block)
        if not self.flag.exists():
            self.flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return sums

    def merge(self, left: Any, right: Any) -> Any:
        return samples.stream.merge_of(self.statistic)(left, right)

    def finish(self, sums: Any) -> Any:
        return samples.stream.finished(self.statistic, sums)


def test_a_lost_worker_changes_nothing(client, tmp_path):
    dX, dy = chunked(*data()[:2])
    part = samples.dask.open(dX, dy, client=client).split(0.8, seed=1)[0].map(RandomSigns(2)).persist()
    expected = part.fold(Covariance(D))
    found = part.fold(Lethal(Covariance(D), tmp_path / "flag"))
    assert (tmp_path / "flag").exists()
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.slow
def test_a_worker_lost_in_every_phase_changes_nothing(client, monkeypatch, tmp_path):
    """Opening, whitening, moments, refinement and certificate each lose a worker; the network is the same to the last bit."""
    truth = wl.teachers.conditioned(8, 2, activation="relu", rng=0)
    X, y = wl.draw(truth, 1500, noise_std=0.05, rng=1)
    dX, dy = chunked(X, y)

    def recover():
        return wl.recover(samples.dask.open(dX, dy, client=client), n_units=2, method="tensor", rng=3)

    expected = recover()
    phases = {"_Sizes", "Covariance", "HermiteMoment", "NormalEquations", "Residuals"}
    plain = DaskSamples._reduce

    def reduce(source, task):
        name = type(task.statistic).__name__
        if name in phases:
            task = samples.dask._Task(Lethal(task.statistic, tmp_path / name), task.parts, task.maps)
        return plain(source, task)

    monkeypatch.setattr(DaskSamples, "_reduce", reduce)
    found = recover()
    assert {f.name for f in tmp_path.iterdir()} == phases, "every phase lost a worker"
    np.testing.assert_array_equal(found.network.W, expected.network.W)
    np.testing.assert_array_equal(found.network.a, expected.network.a)
    assert found.certificate.status is expected.certificate.status is wl.Status.STATISTICAL


def test_little_travels_to_the_client(client):
    """A client in a process of its own receives less than 1 % of the rows' bytes while it fits."""
    script = Path(__file__).with_name("received_bytes.py")
    command = [sys.executable, str(script), client.scheduler.address]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    received, held = map(int, done.stdout.split()[-2:])
    assert held >= 20_000_000
    assert received < 0.01 * held


@dataclass(frozen=True)
class Sleep:
    floats_per_row: int = 1

    def __call__(self, block: Block) -> Any:
        time.sleep(0.5)
        return (block.y.sum(),)


@pytest.mark.parametrize("loss", [pytest.param("workers", marks=pytest.mark.slow), "scheduler"])
def test_a_cluster_that_disappears_is_an_error(loss, limits, tmp_path):
    distributed = optional("distributed")
    limits("weightlift.samples.dask", patience=3.0)
    started = [tool("scheduler", tmp_path, "--port", "0", "--host", "127.0.0.1")]
    started.append(tool("worker", tmp_path, "--no-nanny", "--nthreads", "1"))
    try:
        client = distributed.Client(scheduler_file=str(tmp_path / "scheduler.json"), set_as_default=False)
        client.wait_for_workers(1, timeout=60)  # what has not come yet has not disappeared
        with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
            source = samples.dask.open(*chunked(*data(n=20_000)[:2]), client=client)
            threading.Timer(0.5, started[loss == "workers"].kill).start()
            began = time.monotonic()
            with pytest.raises(errors.ClusterError, match="cluster"):
                source.fold(Sleep())
            assert time.monotonic() - began < 20
            with pytest.raises(errors.ClusterError):
                source.fold(Sleep())
            client.close(timeout=1)
            with pytest.raises(errors.ClusterError, match="closed"):
                source.fold(Sleep())
    finally:
        for process in started:
            process.kill()
            process.wait()


def tool(name, folder, *options):
    """A scheduler or a worker as a process of its own."""
    command = [sys.executable, "-m", f"distributed.cli.dask_{name}", "--scheduler-file", str(folder / "scheduler.json")]
    return subprocess.Popen([*command, "--no-dashboard", *options], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
