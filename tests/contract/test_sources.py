"""The same rows through every source, the same seed: the same network to 1e-9, scales fixed."""

import numpy as np
import pytest
from tests.conftest import one_threaded_torch, optional

import weightlift as wl


def arrays(X, y, folder):
    return wl.samples.open(X, y)


def torch(X, y, folder):
    tensor = one_threaded_torch().asarray
    return wl.samples.open(tensor(X), tensor(y))


def strict(X, y, folder):
    xp = optional("array_api_strict")
    where = xp.Device("device1")
    return wl.samples.open(xp.asarray(X, device=where), xp.asarray(y, device=where))


def parquet(X, y, folder):
    pa, pq = optional("pyarrow"), optional("pyarrow.parquet")
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    pq.write_table(pa.table(columns | {"y": y}), folder / "data.parquet", row_group_size=400)
    return wl.samples.parquet.open(folder, target="y")


def dask(X, y, folder):
    optional("dask")
    da = optional("dask.array")
    return wl.samples.open(da.from_array(X, chunks=(333, -1)), da.from_array(y, chunks=333))


PROBLEMS = [("relu", 0.0, 300, "EXACT"), ("relu", 0.05, 1500, "STATISTICAL"), ("tanh", 0.05, 1500, "STATISTICAL")]


@pytest.fixture(scope="module", params=PROBLEMS, ids=lambda p: f"{p[0]}, noise {p[1]}")
def problem(request):
    activation, noise, n, status = request.param
    X, y = wl.draw(wl.teachers.conditioned(8, 2, activation=activation, rng=0), n, noise_std=noise, rng=1)
    expected = wl.recover(X, y, n_units=2, activation=activation, rng=3)
    assert expected.certificate.status.name == status
    return X, y, expected


@pytest.mark.parametrize("source", [torch, strict, parquet, dask], ids=lambda f: f.__name__)
def test_every_source_gives_the_same_network(problem, source, tmp_path):
    X, y, expected = problem
    activation = expected.network.activation
    found = wl.recover(source(X, y, tmp_path), n_units=2, activation=activation, rng=3)
    assert found.certificate.status is expected.certificate.status
    a, b = ((n.absorbed() if activation.degree else n) for n in (expected.network, found.network))
    np.testing.assert_allclose(b.W, a.W, rtol=0, atol=1e-9)
    np.testing.assert_allclose(b.a, a.a, rtol=0, atol=1e-9)
