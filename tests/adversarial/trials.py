"""A trial of sweeps that are killed: in a file of its own, which their worker processes import in a moment."""

from __future__ import annotations

import time

import numpy as np


def trial(rng: np.random.Generator, n: int) -> dict[str, float]:
    time.sleep(0.004)
    return {"mean": float(rng.normal(size=n).mean()), "n": float(n)}
