"""The families of hostile cases, by name; each gives one case from a generator and a fit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.hostile_cases import data, designs, networks, structures
from benchmarks.hostile_cases.problems import Case, Fit, portfolio, recovered

Family = Callable[[np.random.Generator, Fit], Case]
FAMILIES: dict[str, Family] = {
    name: family
    for module in (networks, data, structures, designs)
    for name, family in vars(module).items()
    if callable(family) and getattr(family, "__module__", "") == module.__name__
}

__all__ = ["FAMILIES", "Case", "Family", "Fit", "portfolio", "recovered"]
