"""The numbers of the estimators: columns that are told apart, and the choice of a ridge."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    # work
    work: float = 3000.0  # Gauss–Newton steps before the ridge is tried: real data are seldom a network
    warm_steps: int = 80  # from the last fit's network; a start that is worth it needs no more
    explained: float = 1e-12  # E r²/Var y at which the rows are explained, whatever the certificate says of the units
    told_seconds: float = 2.0  # between two lines of progress
    # columns
    shown: int = 4  # names in a message
    far_mean: float = 30.0  # spreads: three digits of every product are lost there
    far_value: float = 100.0  # interquartile ranges: no law with a variance has such a value by chance
    many_copies: float = 0.01  # share of rows that are copies of others, from which it is said
    constant: float = 1e-13  # spread relative to the largest value: 500 ulp are rounding
    dependent: float = 1e-10  # of the largest pivot: below, a column is a combination of the others
    ratio: float = 1e4  # of the columns' spreads, beyond which they are scaled
    sizes: tuple[float, float] = (1e-60, 1e60)  # of spreads: squares and products of four stay within double precision
    digits_lost: float = 1e-3  # the logit of 1 − t is known to ε/t
    sum_of_shares: float = 1e-6  # |Σ p − 1| of a row's probabilities: float32 ones are within a few 1e-7
    # the ridge: benchmarks/regression.py
    widths: tuple[int, ...] = (2, 4, 8, 16, 32, 64)  # tried where the width is not given
    folds: int = 5  # of the rows that a choice is made on
    starts: int = 2  # of a fold
    rough: float = 1e-4  # relative decrease at which a fit of a fold ends: far below what rows held out can tell
    first_output: float = 0.1  # Σ a² at the start is its square: the line speaks first
    silent: float = 1e-3  # |a| ‖(w, b)‖ in standardised rows, below which a unit says nothing
    least_share: float = 1e-6  # of a residual that leave-one-out divides by: a row that decides its own fit
    last_starts: int = 3  # of the fit on all rows
    steps: int = 12  # of a fold, from one α to the next
    last_steps: int = 200  # at the chosen α
    least_rows: int = 30  # for a choice at all
    most_rows: int = 4000  # that a choice is made on
    parameters_a_row: float = 3.0  # of a network that is tried: a penalty, not their number, bounds what they say
    newton_parameters: int = 300  # beyond, a hundred steps of L-BFGS cost less than a dozen of Gauss–Newton
    cheap_steps: int = 120  # of L-BFGS, from one α to the next: the folds' risks stand still there on digits
    cheap_rough: float = 1e-6  # decrease of the penalised risk, of a target of variance one, at which L-BFGS ends
    kept_bits: int = 20  # of standardised rows in L-BFGS: a rounding error of 1e-15 shows in one of 1e9 numbers
    remembered: int = 20  # steps that L-BFGS takes its curvature from
    enough: float = 0.99  # of a narrower network's risk, above which wider ones are not tried
    gain: float = 1.0  # standard errors s by which units must beat the line: of a gain g they then have the share 1 − (s/g)²
    worse: int = 2  # times in a row that a smaller α may fail to help
    jacobian_entries: int = 2**21  # of J at a time: 16 MB
    first_damping: float = 1e-2  # of the diagonal of JᵀJ
    least_damping: float = 1e-12  # below is rounding
    largest_damping: float = 1e8  # no step is left
    eased: float = 0.2  # times the damping after a step that helped …
    raised: float = 6.0  # … and after one that did not


LIMITS = Limits()
