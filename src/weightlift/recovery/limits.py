"""The numbers of a recovery: rows, steps and shares of the work."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    heldout_share: float = 0.05  # of the rows: 200 of 4,000 bound the disagreement with the truth to 5 %
    heldout_rows: int = 16  # at least, and at most half: fewer agree with a wrong network by chance
    scarce_rows: float = 1.6  # a parameter, below which every row is fitted and none held out: certificates do not need them
    default_work: float = 15_000.0  # fifty rounds of eight starts
    search_rows: float = 8.0  # a parameter; the refinement sees all; that more do not help a search is supposed, not measured
    search_slack: float = 1.25  # times as many are not worth a split
    least_search_rows: int = 1000  # a search on so many costs nothing yet
    moment_rows: float = 8.0  # a parameter; without noise moments of so many often lead to the exact fit
    few_rows: float = 4.0  # a parameter; a start is refined on so many before it sees all
    few_steps: int = 100  # of that refinement
    steps: int = 80  # of a refinement on all rows; quadratic convergence takes about ten
    same_rows_steps: int = 10  # … that the search has fitted already
    biased_steps: int = 30  # a biased tensor start settles in 20 steps, or the search is shorter
    large_bias_steps: int = 40  # of each refinement, one for every unit that is added
    polish_steps: int = 8  # from nearly rounding to rounding, in raw inputs
    tolerance: float = 1e-8  # relative decrease of the risk: no step of a fit without noise gains less before it is exact
    last_steps: int = 2  # undamped, at the end of a fit to noisy rows: sources then agree in nine digits
    chance: float = 1e-2  # of the share 1/n of the risk that a parameter gains by chance: with noise a step of less is the last
    loosest: float = 1e-6  # … but no step of more
    polished: float = 1e-12  # of ½ E y²: a risk above it is noise, or no fit, and has no last digits
    moment_rows_a_parameter: float = 2.8  # with biases one tensor start in two then leads to the network
    biased_rows_a_pair: float = 12.0  # of units, the same
    unbiased_rows_a_pair: float = 16.0  # of units, without biases: k = 16 needs more than 11 and at most 22, k = 5 less than 16
    free_lengths: float = 6.0  # times as many where lengths are read from moments too
    sign_free_rows: int = 5_000  # below, few rows lie beyond a kink that T_2 does not show, and T_5 is noise
    tiny_offset: float = 1e-10  # relative to the target's root mean square: a rounding error
    refining_share: float = 0.1  # of a search's work, kept for refining its candidates; ten full refinements of the default
    quick_share: float = 1 / 40  # of the work, for each width in haste: a round or two, and exact fits come early
    quick_widths: tuple[int, ...] = (0, 1, -1, 2, 3, 4, 5, 6)  # beside the rank of the second moment, in haste
    careful_widths: tuple[int, ...] = (0, 1, -1, 2, -2, 3)  # the same, with what is left of the work
    one_thread: int = 4_000_000  # numbers in X up to which products are fastest on one thread
    most_undetermined: int = 2_000  # parameters beside fewer rows: a step takes a second, and nothing can be certified
    most_units: int = 5_000  # their output weights solve dense equations of this size: 200 MB a start


LIMITS = Limits()
