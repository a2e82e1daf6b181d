"""The numbers of a recovery: rows, steps and shares of the work."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    heldout_share: float = 0.05  # of the rows: 200 of 4,000 bound the disagreement with the truth to 5 %
    heldout_rows: int = 16  # at least, and at most half: fewer agree with a wrong network by chance
    fitted_rows: int = 20  # beyond the parameters, before any is held out: eight spare ones, and the chance of the split
    scarce_rows: float = 1.6  # a parameter, below which every row is fitted and none held out: certificates do not need them
    default_work: float = 15_000.0  # fifty rounds of eight starts
    first_search_rows: float = 4.0  # a parameter, for the first rounds: k = 16 takes 2.7 s instead of 3.9 on 5.7 (3 on 3)
    first_share: float = 0.1  # of the work, for those rounds; with noise more rows may be needed
    search_rows: float = 8.0  # a parameter; the refinement sees all. 3, 8 and 32 certified 30, 31 and 32 of 32 ReLU networks of
    # four or five units, half of them with noise, in 0.35, 0.40 and 0.67 s
    patient_products: float = 1.25e10  # in a search whose risk does not halve: some five seconds of a core. Of 25 networks of
    # five units and 20 inputs each, where every round draws lots, the slowest took 13,100 steps (ReLU, 1.25 rows a parameter),
    # 5,000 (squared ReLU), 23,200 and 24,200 (tanh, sigmoid, 1.5 rows), none failed for ever; these are 15,400, and all work
    least_patience: float = 0.06  # of max_work: rounds. Set on three real tables; d = 10, k = 15 … 30 took less. At three
    # rows a parameter k = 30, d = 60 took 13,500 steps, and may need a larger max_work
    search_slack: float = 1.25  # times as many are not worth a split
    collinear: float = 1e-8  # least eigenvalue of the correlations: below, normal equations in raw columns lose all digits
    least_search_rows: int = 1000  # a search on so many costs nothing yet
    moment_rows: float = 8.0  # a parameter, for moments: so many often lead to the fit; where they do not, all are taken …
    moment_rows_an_entry: float = 4.0  # … of P3(V, V, V): with one eight starts of twelve failed (k = 10, 16, noise 0.1)
    few_rows: float = 4.0  # a parameter; a start is refined on so many before it sees all
    few_steps: int = 100  # of that refinement
    few_tolerance: float = 1e-3  # of it: more rows come next, and go on from there
    few_window: int = 2  # steps of it that gain no more together, however damped: with noise a minimum lies on kinks, and four
    # others gained a ten-thousandth
    some_rows: float = 16.0  # a parameter; with noise a fit of so many is near the one of all, which is left to the last fit
    steps: int = 80  # of a refinement on all rows; quadratic convergence takes about ten
    same_rows_steps: int = 10  # … that the search has fitted already
    moment_steps: int = 30  # of a tensor start that the search may follow: it settles in 23, or the search is shorter
    large_bias_steps: int = 40  # of each refinement, one for every unit that is added
    polish_steps: int = 8  # from nearly rounding to rounding, in raw inputs
    tolerance: float = 1e-8  # relative decrease of the risk: no step of a fit without noise gains less before it is exact
    kink_distance: float = 0.01  # squared standard errors a parameter from a minimum on kinks: a quarter of what is refused
    same_minimum: float = 0.04  # squared standard errors a parameter between two fits of one minimum: each may be half as far
    settled: float = 1e-5  # of the share p/n of the risk, and a step with a kept matrix of less is the last: it costs little
    last_steps: int = 2  # undamped, at the end of a fit to noisy rows: sources then agree in nine digits
    chance: float = 1e-3  # of the share p/n of the risk that p parameters gain by chance: with noise a step of less is the
    # last; the certificate allows 0.04 of it to be left
    known: float = 2e-2  # the same of a fit of some of the rows, which leaves it within a seventh of their standard errors
    loosest: float = 1e-6  # … but none of more, where there may be no noise
    polished: float = 1e-12  # of ½ E y²: a risk above it is noise, or no fit, and has no last digits
    biased_rows_a_parameter: float = 2.8  # one tensor start in two then leads to the network
    biased_rows_a_pair: float = 12.0  # of units, the same
    unbiased_rows_a_parameter: float = 1.7  # one start in three, at a sixth of what a search costs (d = 20, k = 5)
    unbiased_rows_an_entry: float = 1.0  # of P3(V, V, V), k³ of them: with ⅔ three starts of 20 succeed (k = 16)
    free_lengths: float = 6.0  # times as many where lengths are read from moments too
    sign_free_rows: int = 5_000  # below, few rows lie beyond a kink that T_2 does not show, and T_5 is noise
    facing_units: int = 10  # up to so many their 2ᵏ ways to face are compared, a second a thousand rows
    ways_tried: int = 4  # of them, each with a refit: the first led to the least minimum in 22 of 24 networks
    ways_rows: int = 4_000  # for these refits, at least: a millisecond a step. With 336 one right way in ten was lost
    ways_fitted: int = 2  # of those, to all rows, where some rows tell the others from them
    tiny_offset: float = 1e-10  # relative to the target's root mean square: a rounding error
    refining_share: float = 0.1  # of a search's work, kept for refining its candidates; ten full refinements of the default.
    # Of that of tensor starts as much, for their refinement on few rows
    doomed_share: float = 0.01  # of the work, where rows determine no unit: one round, and the best fit is stated as such
    varied_rows: int = 64  # on which a column must leave its usual value to be asked no more, where the width is sought
    quick_share: float = 1 / 40  # of the work, for each width in haste: a round or two, and exact fits come early
    quick_widths: tuple[int, ...] = (0, 1, -1, 2, 3, 4, 5, 6)  # beside the rank of the second moment, in haste
    careful_widths: tuple[int, ...] = (0, 1, -1, 2, -2, 3)  # the same, with what is left of the work
    explored_share: float = 0.04  # of the work, for each trial of an exploration: some twelve of them then cost half a recovery
    explored_gain: float = 0.9  # of the risk, below which a trial's change is kept for the next
    joint_heldout_rows: float = 4.0  # at least, of several outputs: one proves where φ is analytic
    joint_search_rows: float = 12.0  # equations a parameter beyond which a joint search runs on a part of the rows
    joint_least_rows: float = 500.0  # of that part: with noise fewer have deeper minima, in which a few rows make up a unit
    joint_polish_steps: int = 6  # with all that is linear projected out
    noisy_tolerance: float = 1e-13  # relative decrease of the risk: then at the minimum to a millionth of a standard error
    noisy_tries: int = 8  # minima of a joint search that are judged where none agrees to rounding
    tried_widths: int = 8  # among which "auto" divides a joint search's work: three doublings and as many halvings, or five
    same_unit: float = 1e-6  # of directions of an exact fit: what is nearer is one unit, and a search gives 1e-8 and better
    rounded: float = 1e-12  # of ½ E ‖y‖²: single precision leaves 1e-14 or less, and less than this is no local minimum
    nearly_exact: float = 1e-10  # of ½ E ‖y‖²: what two units of directions so near may leave when one goes, before a refit
    not_needed: float = 1e-20  # of ½ E ‖y‖²: what a unit may add to the risk when it is dropped and still be superfluous
    small_system: int = 1_200  # d k of a joint fit up to which a second thread only waits: 16 units of 64 inputs took 22
    # CPU seconds with one thread on busy cores, 158 with two
    dependent_targets: float = 1e-12  # least eigenvalue of the targets' correlations
    one_thread: int = 4_000_000  # numbers in X up to which products are fastest on one thread
    most_undetermined: int = 2_000  # parameters beside fewer rows: a step takes a second, and nothing can be certified
    most_units: int = 5_000  # their output weights solve dense equations of this size: 200 MB a start


LIMITS = Limits()
