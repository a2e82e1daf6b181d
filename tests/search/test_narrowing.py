"""From wide fits to narrow ones."""

import time

import numpy as np

import weightlift as wl
from weightlift.namespaces import to_numpy
from weightlift.risk import Students
from weightlift.samples import open as open_samples
from weightlift.search import Budget
from weightlift.search.narrowing import narrowed


class Passes:
    """Rows that count the passes over them."""

    def __init__(self, source):
        self.source, self.count = source, 0

    def __getattr__(self, name):
        return getattr(self.source, name)

    def mean(self, statistic):
        self.count += 1
        return self.source.mean(statistic)


def test_after_the_deadline_units_go_at_once(rng):
    truth = wl.teachers.conditioned(6, 4, activation="relu", rng=0)
    X, y = wl.draw(truth, 200, rng=1)
    wide = Students.of(wl.Network(rng.normal(size=(6, 12)), np.ones(12)))
    passes = []
    for width in (11, 4):
        rows = Passes(open_samples(X, y))
        late = Budget(deadline=time.perf_counter() - 1.0)
        found = narrowed(rows, wide, width, free="Wa", energy=0.5 * float(np.mean(y**2)), budget=late)
        assert to_numpy(found.students.W).shape == (6, 1, width)
        assert found.work == 0.0
        passes.append(rows.count)
    assert passes[0] == passes[1]
