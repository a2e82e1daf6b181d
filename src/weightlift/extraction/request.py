"""The arguments of `extract`, checked before any query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from weightlift.activations import Activation, get
from weightlift.arguments import count, generator
from weightlift.errors import ArgumentError, ShapeError
from weightlift.extraction.estimate import Frame
from weightlift.extraction.limits import LIMITS

MOST_INPUTS = 20_000  # a basis of as many directions takes 3.2 GB


@dataclass(frozen=True, eq=False)
class ExtractionRequest:
    """What is asked for. None stands for what is to be found."""

    n_inputs: int
    n_units: int | None
    activation: Activation | None
    linear: bool | None
    frame: Frame
    rng: np.random.Generator

    @classmethod
    def of(cls, n_inputs: Any, n_units: Any, activation: Any, linear: Any, center: Any, scale: Any, rng: Any) -> Self:
        d = count("n_inputs", n_inputs)
        if d > MOST_INPUTS:
            raise ArgumentError(f"n_inputs = {d:,}: a basis of more than {MOST_INPUTS:,} is too large; hold some fixed.")
        if not isinstance(linear, bool | np.bool_) and not (isinstance(linear, str) and linear == "auto"):
            raise ArgumentError(f"linear must be True, False or 'auto', not {linear!r}.")
        return cls(
            d,
            None if isinstance(n_units, str) and n_units == "auto" else count("n_units", n_units),
            None if isinstance(activation, str) and activation == "auto" else get(activation),
            None if linear == "auto" else bool(linear),
            Frame(_vector("center", center, d, 0.0), _positive("scale", _vector("scale", scale, d, 1.0))),
            generator(rng),
        )

    def check_budget(self, budget: int | None) -> None:
        """Refuse a budget that cannot do for one unit: its gradient on both sides, and a confirmation."""
        least = LIMITS.first_queries + 2 * (self.n_inputs + 1) + self.n_inputs + 12
        if budget is not None and budget < least:
            raise ArgumentError(f"budget is {budget}; one unit with {self.n_inputs} inputs needs {least} queries at least.")


def _vector(name: str, value: Any, d: int, default: float) -> np.ndarray:
    if value is None:
        return np.full(d, default)
    try:
        vector = np.array(np.broadcast_to(np.asarray(value, dtype=float), (d,)))
    except (TypeError, ValueError):
        raise ShapeError(f"{name} must be a number or have one entry an input, {d} in all.") from None
    if not np.isfinite(vector).all():
        raise ArgumentError(f"{name} must be finite; it holds NaN or infinity.")
    return vector


def _positive(name: str, vector: np.ndarray) -> np.ndarray:
    if (vector <= 0).any():
        raise ArgumentError(f"{name} must be positive; entry {int(np.argmin(vector))} is {vector.min():g}.")
    return vector
