"""The numbers that verdicts depend on, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    # rows
    spare_rows: int = 8  # beyond the parameters: two leave no rival for analytic φ, eight keep the conditioning
    copies: float = 1.1  # mean number of times a row occurs: more, and the errors are not independent
    noisy_rows: tuple[int, int] = (3, 30)  # times p, plus: below, second moments of scores have too few rows behind them
    sizes: tuple[float, float] = (1e-70, 1e70)  # of the target: fourth powers are representable
    # agreement and precision
    rounding: float = 4.0  # residuals up to this many bounds are rounding errors: two evaluations, each in any order of sums
    newton: float = 1.5e-8  # √ε: from this relative distance one Gauss–Newton step ends at rounding level
    box: tuple[float, float] = (2.0, 1000.0)  # radius of the box on which J must hardly change, in units of the error that the
    # rows allow: as wide as a relative change of 1e-4, for linear terms to lead, but no wider than needed, nor narrower
    contraction: float = 0.5  # largest relative change of J on the box: the precision grows at most twofold by it
    precision: float = 1e-4  # beyond it nothing is called exact: second-order terms are no longer below 1e-8
    separation: float = 10.0  # precisions by which two units differ, at least
    weak: float = 1e-6  # share of a unit's coordinates in directions that the rows do not determine
    # held-out rows
    confidence: float = 1e-4  # δ
    # noise
    flips: int = 299  # draws of signs: p-values are multiples of 1/300
    level: float = 0.01  # share of right networks that the lack-of-fit test rejects: three of 300 draws
    features: int = 200  # random units that the residual is compared with
    probes: int = 64  # units whose detection is asked for
    power: float = 3.1  # standard deviations: the test finds a unit at the limit with probability 99.9 %
    region: float = 1e-4  # a unit lies outside of its region with this probability
    largest_region: float = 1.0  # relative size of a region: beyond it even the sign is open
    shift: float = 0.04  # gᵀ(JᵀJ)⁻¹g/σ² a parameter: the minimum is within a fifth of a standard error, which costs 0.5 of 95 %
    influence: float = 0.5  # of one row in the sandwich: beyond it, the row is the estimate (Lindeberg's condition)
    leverage: float = 0.8  # of one input with its copies: beyond it no residual shows whether the network is right there
    linearity: tuple[float, float] = (0.6, 10.0)  # Σ w r² on a region's boundary over what the quadratic one is. Above
    # one the region is too wide along its axes: of 222 tanh fits of full rank with up to tenfold, none was outside
    rival: float = 30.0  # gain in Σ w r²/σ² over a rival, and 2 ln 2 a unit: the best of 2ᵏ patterns gains less by chance


LIMITS = Limits()
