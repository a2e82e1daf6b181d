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
    newton_steps: int = 3  # solutions of that step: beside units that nearly cancel each leaves some 1 %
    box: tuple[float, float] = (2.0, 1000.0)  # radius of the box on which J must hardly change, in units of the error that the
    # rows allow: as wide as a relative change of 1e-4, for linear terms to lead, but no wider than needed, nor narrower
    contraction: float = 0.5  # largest relative change of J on the box: the precision grows at most twofold by it
    precision: float = 1e-4  # beyond it nothing is called exact: second-order terms are no longer below 1e-8
    separation: float = 10.0  # precisions by which two units differ, at least
    sketched: int = 24  # directions in which leverages are estimated: one above the limit is missed with probability 1e-4
    deciding: float = 0.99  # leverage of a row that is an equation of its own: other rows object to a tenth of it at most.
    # Of n generic rows for p parameters 1 − h is Beta((n − p)/2, p/2): eight rows more leave none beyond it
    weak: float = 1e-6  # share of a unit's coordinates in directions that the rows do not determine
    # held-out rows
    confidence: float = 1e-4  # δ
    # noise
    flips: int = 511  # draws of signs, all of a group of 2⁹ but one: p-values are multiples of 1/512
    level: float = 0.01  # share of right networks that the lack-of-fit test rejects: five of 512 draws
    redrawn: tuple[float, float] = (0.002, 0.04)  # p-values that 511 draws, with a deviation of 0.0044, do not tell from it …
    redraws: int = 7  # … and how many more groups do, with one of 0.0016
    features: int = 200  # random units that the residual is compared with
    probes: int = 64  # units whose detection is asked for
    power: float = 3.1  # standard deviations: the test finds a unit at the limit with probability 99.9 %
    region: float = 1e-4  # a unit lies outside of its region with this probability
    largest_region: float = 1.0  # relative size of a region that errors within a quantum allow: beyond it even the sign is open
    noisy_region: float = 1.25  # of a 99.99 % region, inputs standardised: a standard error of a fifth of the unit; whether
    # there is a unit at all is for significance
    shift: float = 0.04  # gᵀ(JᵀJ)⁻¹g/σ² a parameter: the minimum is within a fifth of a standard error, which costs 0.5 of 95 %
    kink: float = 1e-12  # |z| beside |x|ᵀ|w| + |b| within which a row is on a kink: rounding errors of a thousand ulp
    on_kinks: int = 64  # such rows that are allowed for: a minimum on more of them than parameters is none
    influence: float = 0.5  # of one row in Σ w r²: beyond it σ is that row's. In the sandwich it may be more: what it moves the
    # estimates by is then its residual r/(1 − h), which the sandwich holds
    leverage: float = 0.8  # of one input with its copies: beyond it no residual shows whether the network is right there
    decided: float = 0.1  # growth of a unit's region without such rows: more, and they say what the others do not confirm
    linearity: tuple[float, float] = (0.6, 10.0)  # Σ w r² on a region's boundary over what the quadratic one is. Above
    # one the region is too wide along its axes: of 222 tanh fits of full rank with up to tenfold, none was outside
    valley_steps: int = 4  # back to the floor of a bent valley, and along it: further ones change the increase by 1 %
    valley_growth: float = 1.5  # of the distance in one of them
    valley_damping: float = 1e-3  # of them, beside a unit diagonal
    refit: int = 25  # steps of a fit with one unit less; most converge in ten
    # columns
    constant_column: float = 1e-12  # spread relative to the mean: below, the column varies by rounding alone
    dependent_columns: float = 1e-10  # eigenvalue of the correlations, of the largest: below, it is rounding of the products
    dependent_share: float = 1e-6  # of a column in such directions: it takes part in the dependence
    inflation: float = 10.0  # variance inflation from which columns are named: the customary limit, R² = 0.9
    named_columns: int = 6  # in a sentence
    # several outputs
    joint_spare: int = 2  # rows beyond the unknowns: each excludes a rival almost surely, the second keeps the conditioning
    noiseless: float = 1e-8  # of the largest variance: less is that of a direction in which outputs depend on each other
    race_rows: float = 2000.0  # on which other networks of a noisy joint fit race: more only cost more
    racers: int = 12  # of them, the nearest to begin with
    race: int = 8  # steps of the racers; those that are near then have `refit` more
    reach: float = 20.0  # margins above the least sum of squares: a rival is within a few after the race, other minima are far
    # rivals
    same_minimum: float = 0.01  # of the regions' radius: a refit that ends nearer has come back, and would widen them by 1 %
    rival: float = 30.0  # gain in Σ w r²/σ² over a rival, and 2 ln 2 a unit: the best of 2ᵏ patterns gains less by chance


LIMITS = Limits()
