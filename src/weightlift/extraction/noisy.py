"""Answers with noise: random rows, as many as the budget allows, and `recover`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weightlift.activations import Activation
from weightlift.extraction.probe import Probe
from weightlift.recovery import Recovery, recover
from weightlift.samples import Samples


@dataclass(frozen=True)
class Limits:
    """Numbers of the extraction from noisy answers."""

    rows: int = 4000  # where no budget is given, at least, and
    rows_an_input: int = 200


LIMITS = Limits()


def by_samples(probe: Probe, n_units: int | None, activation: Activation, rng: np.random.Generator) -> tuple[Recovery, Samples]:
    """The recovery from fresh rows x ~ N(center, scale²)."""
    n = int(min(max(LIMITS.rows, LIMITS.rows_an_input * probe.d), probe.oracle.left))
    rows = probe.oracle.draw(n, center=probe.frame.center, scale=probe.frame.scale, rng=rng)
    found = recover(
        rows, n_units="auto" if n_units is None else n_units, activation=activation, bias=True, offset=True, rng=rng
    )
    return found, rows
