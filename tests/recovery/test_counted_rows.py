"""Every pass over the rows is counted, whoever makes it."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

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
