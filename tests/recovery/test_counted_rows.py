"""Every pass over the rows is counted, whoever makes it."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from tests.conftest import optional

import weightlift as wl
from weightlift import errors, samples
from weightlift.recovery.problem import Counted
from weightlift.samples import Covariance, Whitening


@dataclass(frozen=True, eq=False)
class Witness:
    """A source that notes every fold and every evaluation, its own and those of what is derived from it."""

    source: Any
    seen: list

    def __getattr__(self, name):
        return getattr(self.source, name)

    def fold(self, statistic):
        self.seen.append(type(statistic).__name__)
        return self.source.fold(statistic)

    def mean(self, statistic):
        self.seen.append(type(statistic).__name__)
        return self.source.mean(statistic)

    def persist(self):
        kept = self.source.persist()
        if kept is self.source:
            return self
        self.seen.append("persist")
        return replace(self, source=kept)

    def blocks(self, rows, *, start=0):
        self.seen.append("blocks")
        return self.source.blocks(rows, start=start)

    def map(self, f):
        return replace(self, source=self.source.map(f))

    def split(self, *fractions, seed):
        return tuple(replace(self, source=part) for part in self.source.split(*fractions, seed=seed))


CASES = [
    {"n_units": 3},
    {"n_units": 3, "method": "search"},
    {"n_units": 4, "max_work": 1500},
    {"n_units": "auto"},
    {"n_units": 2, "explore": True, "max_work": 300},
    {"n_units": 2, "linear": "auto", "max_work": 300},
]


@pytest.mark.parametrize("options", CASES)
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_reported_passes_are_those_that_were_made(options, noise):
    truth = wl.teachers.conditioned(6, 3, activation="relu", rng=0)
    witness = Witness(samples.open(*wl.draw(truth, 400, noise_std=noise, rng=1)), [])
    found = wl.recover(witness, **{"max_work": 800, **options})
    assert sum(stage.passes for stage in found.stages) == len(witness.seen) > 30
    assert all(stage.passes >= 0 for stage in found.stages)


@pytest.mark.parametrize("outputs", [1, 2])
def test_targets_of_columns_are_counted_too(outputs):
    truth = wl.teachers.conditioned(6, 3, activation="relu", rng=0)
    X, y = wl.draw(truth, 400, rng=1)
    witness = Witness(samples.open(X, np.stack([y, np.maximum(X @ truth.W[:, 0], 0.0)], axis=1)[:, :outputs]), [])
    found = wl.recover(witness, n_units=3, linear="auto")
    assert found.certificate
    assert sum(stage.passes for stage in found.stages) == len(witness.seen) > 30


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("large", [False, True])
def test_rows_in_files_are_read_as_often_as_is_said(tmp_path, monkeypatch, weight, large):
    """Also to count the rows of a part; what does not fit in memory is not read in vain to find that out."""
    optional("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    from weightlift.samples import parquet
    from weightlift.samples.arrays import ArraySamples

    X, y = wl.draw(wl.teachers.conditioned(4, 2, activation="relu", rng=0), 900, rng=1)
    columns = {**{f"x{i}": x for i, x in enumerate(X.T)}, "y": y, **({weight: 1 + np.arange(900) % 3} if weight else {})}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=200)
    seen = []

    def noted(kind, name):
        made = getattr(kind, name)
        monkeypatch.setattr(kind, name, lambda *given, **named: seen.append(name) or made(*given, **named))

    noted(ArraySamples, "read")
    noted(parquet.ParquetSamples, "_batches")
    if large:
        monkeypatch.setattr(parquet, "LIMITS", replace(parquet.LIMITS, persist_bytes=400))
    found = wl.recover(samples.open(tmp_path / "rows.parquet", target="y", weight=weight), n_units=2)
    assert found.certificate
    assert sum(stage.passes for stage in found.stages) == len(seen) > 30
    assert ("read" in seen) is not large


def test_chunks_are_visited_as_often_as_is_said(monkeypatch):
    da, dask = optional("dask.array"), optional("dask")
    from weightlift.samples.dask import DaskSamples

    seen, persist = [], DaskSamples.persist
    for name in ("_reduce", "read"):
        made = getattr(DaskSamples, name)
        monkeypatch.setattr(DaskSamples, name, lambda self, given, made=made: seen.append(given) or made(self, given))
    monkeypatch.setattr(
        DaskSamples, "persist", lambda self: kept if (kept := persist(self)) is self else seen.append("persist") or kept
    )
    X, y = wl.draw(wl.teachers.conditioned(4, 2, activation="relu", rng=0), 900, rng=1)
    with dask.config.set(scheduler="synchronous"):
        rows = samples.open(da.from_array(X, chunks=(200, 4)), da.from_array(y, chunks=200))
        seen.clear()
        found = wl.recover(rows, n_units=2)
    assert found.certificate
    assert sum(stage.passes for stage in found.stages) == len(seen) > 30


def test_a_count_within_a_count_is_the_same():
    X = np.random.default_rng(0).normal(size=(50, 3))
    outer = Counted(samples.open(X, X[:, 0]))
    inner = Counted(outer)
    assert inner.persist() is inner  # nothing to evaluate
    inner.split(0.5, seed=0)[0].persist().mean(Covariance(3))
    assert inner.passes == outer.passes == 2


def test_what_is_derived_shares_the_count():
    X = np.random.default_rng(0).normal(size=(50, 3))
    rows = Counted(samples.open(X, X[:, 0]))
    part, rest = rows.split(0.5, 0.5, seed=0)
    white = part.map(Whitening.estimated(rows)).persist()
    white.fold(Covariance(3))
    rest.mean(Covariance(3))
    assert rows.passes == part.passes == white.passes == 4
    assert rows.persist().source is rows.source
    assert rows.passes == 4


def test_no_pass_begins_after_the_deadline():
    X = np.random.default_rng(0).normal(size=(50, 3))
    rows = Counted(samples.open(X, X[:, 0]))
    late, soon = rows.until(0.0), rows.until(math.inf)
    soon.fold(Covariance(3))
    for derived in (late, late.map(Whitening.estimated(rows)), late.split(0.5, seed=0)[0]):
        with pytest.raises(errors.TimeSpentError, match="max_time"):
            derived.fold(Covariance(3))
    assert rows.passes == 2
