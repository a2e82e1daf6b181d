"""Arguments that many functions share: numbers of things, flags, and `rng`, a seed or a NumPy Generator."""

from __future__ import annotations

import operator
import sys
from typing import Any

import numpy as np

from weightlift.errors import ArgumentError


def count(name: str, value: Any) -> int:
    """A positive integer.

    >>> count("n_units", np.int64(3))
    3
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{name} must be an integer, not {value!r}.") from None
    if number < 1:
        raise ArgumentError(f"{name} must be at least 1, not {number}.")
    if number > sys.maxsize:
        raise ArgumentError(f"{name} must be below 2⁶³; it has {number.bit_length()} bits.")
    return number


def flag(name: str, value: Any) -> bool:
    """True or False, of Python or of NumPy; 0 and 1 stand for them.

    >>> flag("bias", np.True_)
    True
    """
    if not (isinstance(value, bool | np.bool_) or (isinstance(value, int | np.integer) and value in (0, 1))):
        raise ArgumentError(f"{name} must be True or False, not {value!r}.")
    return bool(value)


def probability(name: str, value: Any) -> float:
    """A number between 0 and 1, neither of them.

    >>> probability("level", 0.95)
    0.95
    """
    if not (isinstance(value, float | np.floating) and 0 < value < 1):
        raise ArgumentError(f"{name} must be between 0 and 1, not {value!r}.")
    return float(value)


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
