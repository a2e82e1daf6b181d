"""What a check says: whether a property holds, and the evidence; and integrals as far as they exist numerically."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from weightlift.errors import ActivationError


@dataclass(frozen=True)
class Verdict:
    """Whether a property holds, and what shows it."""

    holds: bool
    evidence: str

    def __str__(self) -> str:
        return f"{'holds' if self.holds else 'FAILS'}: {self.evidence}"


def settled_integrals(scales: np.ndarray, function: Callable[[np.ndarray], np.ndarray]) -> list[np.ndarray]:
    """The scales at which the integrals of φ exist numerically, and the integrals there."""
    with np.errstate(all="ignore"):
        try:
            return [scales, *function(scales)]
        except ActivationError:
            found = [(i, values) for i in range(scales.size) if (values := _or_none(scales[i : i + 1], function)) is not None]
    if not found:
        raise ActivationError("no Gaussian integral of φ settles at these scales; pass smaller `scales`, or declare the kinks.")
    kept, columns = zip(*found, strict=True)
    return [scales[list(kept)], *np.concatenate(columns, axis=1)]


def _or_none(scale: np.ndarray, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray | None:
    try:
        return function(scale)
    except ActivationError:
        return None
