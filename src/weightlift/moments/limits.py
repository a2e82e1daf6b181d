"""The numbers of moments: what counts as zero, as Gaussian, as too large."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    vanishing: float = 1e-9  # of E φ He_j relative to its size: quadrature is right to 1e-12
    cg_steps: int = 30  # at most; a dozen reach rounding for nearly white inputs
    cg_tolerance: float = 1e-8  # relative residual: far below the sampling error, which is 1/√n
    memory_share: float = 0.5  # of the machine's memory that a dense route may take
    dense_copies: int = 6  # matrices D × D that a route holds at once
    gaussian_level: float = 5.0  # standard errors, beside what the largest of so many normals reaches by chance
    projections: int = 16  # random directions, beside the coordinates, whose third and fourth moments are looked at
    rows_a_term: float = 40.0  # of a control variate: its own errors then add a fortieth to the variance that it leaves …
    cheap_products: float = 2e10  # … and more where its fit costs no more than these, a second: k = 16 takes 850,000 rows
    terms: int = 5000  # of a regression: its normal equations take 200 MB


LIMITS = Limits()
