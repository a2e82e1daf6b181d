"""Answers with noise: random rows, as many as the budget allows, and `recover`."""

from __future__ import annotations

import numpy as np

from weightlift.activations import Activation
from weightlift.extraction.limits import LIMITS
from weightlift.extraction.probe import Probe
from weightlift.recovery import Recovery, recover
from weightlift.samples import Samples


def by_samples(probe: Probe, n_units: int | None, activation: Activation, rng: np.random.Generator) -> tuple[Recovery, Samples]:
    """The recovery from fresh rows x ~ N(center, scale²)."""
    n = int(min(max(LIMITS.noisy_rows, LIMITS.noisy_rows_an_input * probe.d), probe.oracle.left))
    rows = probe.oracle.draw(n, center=probe.frame.center, scale=probe.frame.scale, rng=rng)
    found = recover(
        rows, n_units="auto" if n_units is None else n_units, activation=activation, bias=True, offset=True, rng=rng
    )
    return found, rows
