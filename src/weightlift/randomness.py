"""Where randomness comes from: an explicit `rng`, a seed or a NumPy Generator."""

from __future__ import annotations

import numpy as np

from weightlift.errors import ArgumentError


def generator(rng: int | np.random.Generator) -> np.random.Generator:
    """A Generator from a seed; one that is given is taken as it is, and moves on.

    >>> generator(3).integers(100) == generator(np.random.default_rng(3)).integers(100)
    np.True_
    """
    if isinstance(rng, np.random.Generator):
        return rng
    try:
        if not isinstance(rng, np.random.RandomState):  # has no children to spawn
            return np.random.default_rng(rng)
    except (TypeError, ValueError):
        pass
    raise ArgumentError(f"rng must be a seed, an integer that is not negative, or a numpy.random.Generator, not {rng!r}.")
