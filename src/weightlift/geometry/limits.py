"""The numbers of exact distances: where series end, and which errors are worth another route."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    close: float = 0.9  # cosines above it take more orders than the bulk: 0.9²⁵⁶ = 2e-12
    block: int = 2**18  # floats of a block of pairs: 2 MB stay in the second-level cache
    order: int = 1024  # of a series of analytic φ; its coefficients decay geometrically
    kinked_order: int = 256  # of kinked φ: coefficients decay algebraically, and more orders gain little
    unseen: float = 1e-14  # of its largest value: what φ² times the density may be where quadrature ends
    paired_work: int = 2**27  # orders times pairs of pairs; 704 orders, enough for |cos| ≤ 0.95, are always allowed
    sharp: float = 1e-12  # relative error a unit with which the plain quadratic form is content
    rough: float = 1e-2  # relative error above which samples are drawn too
    sampling_work: float = 2e9  # multiplications: a second of one core
    rare: float = 0.01  # share of one sample in the sum of all, above which its standard error is not to be trusted


LIMITS = Limits()
