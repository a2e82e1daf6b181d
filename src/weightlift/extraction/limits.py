"""Numbers of the extraction, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    # the first look
    first_queries: int = 12  # before anything is decided
    asked_twice: int = 6  # rows, the second time in another order
    same_answer: float = 1e-3  # relative: answers that differ by less are one answer with noise or rounding
    # how answers are rounded
    decimals: int = 12  # decimal places that are looked for; beyond them float64 has too few digits left to tell
    few: int = 3  # answers other than 0 that must agree on a format before it is believed: by chance one in 10¹² and fewer do
    steps: float = 100.0  # largest answer over the grid: of two digits nothing tells rounding from steps
    places: int = 4  # at which the error of coarse answers is looked at, and
    points: int = 6  # answers at each of them
    short: float = 1e-4  # length of their line over the inputs' scale
    roundings: float = 4.0  # errors of an answer in units of √d roundings of its largest term
    # kinks on lines
    span: float = 1e3  # half the length of a line over the inputs' scale: P(|t| > s) = 2/(π s) for a unit's kink
    span_coarse: float = 300.0  # the same for answers rounded to float32 or coarser, whose errors grow with the length
    knots: int = 24  # first pieces of coarse answers on each side of 0
    coarse_beside: float = 0.02  # width of pairs of coarse answers over their interval: float32 has slopes to a thousandth
    curved_places: int = 4  # around which answers are curved before they are called so: a kink is seen once in 10⁴/k places
    attempts: int = 4  # lines that may fail to resolve before the oracle is called something else …
    attempts_coarse: int = 2  # … and of coarse answers, before random rows are searched
    line_end: float = 1e-2  # width of the end pieces over that of the line: kinks are rare out there
    line_beside: float = 1e-5  # half the least width of a pair of values over its interval: kinks fall between by chance
    line_certainty: float = 4.0  # width of a pair over the error of the place where the pieces meet
    line_widest: float = 0.2  # a pair wider than this part of its interval cannot tell kinks apart
    line_levels: int = 60  # splits, one inside the other
    line_splits: tuple[int, int] = (150, 12)  # most pairs: so many, and so many a kink; lines of 128 units took 4 a kink
    same_plane: float = 1e-3  # of the hyperplane of a unit that corrects another: it has that of differences, 1e-5 and less
    # gradients in cells
    cell_step: float = 1e-3  # of a difference over the distance to the next kink, and over ‖ξ‖: one in a thousand crosses
    cell_wider: float = 0.03  # the same where no polish follows: thirty times as exact, and three in a hundred are asked again
    cell_clear: float = 1.1  # distance to the next unit over a step that is known not to have crossed it
    cell_shorter: float = 0.3  # a step that crossed a unit is repeated this part of the way to it
    cell_repairs: int = 6  # of a difference that crossed units: 0.3⁶ of its length is left
    cell_spoilt: float = 4e-9  # relative error of a unit, by a bound on the answers' errors that is some thirty times theirs
    cell_dependent: float = 30.0  # condition of the bends between two measured cells, beyond which they are measured apart
    wide_distances: tuple[float, ...] = (0.3, 0.1, 0.03, 0.01)  # from all hyperplanes: the first that can be had
    wide_moves: int = 40  # towards a wide place, before a nearer distance is tried
    wide_step: float = 0.3  # of the way to the next hyperplane, so that errors of the units do not matter
    side_near: float = 0.05  # a coefficient this far from 0 and 1 is neither of them
    side_listed: int = 42  # most units whose sums are listed by halves: 2²¹ sums, 0.4 GB
    # derivatives of smooth φ
    span_zero: float = 1e-4  # a derivative across the span below this part of the gradient's spread is no further unit
    span_outside: float = 1e-3  # part of a gradient outside the span that is no error of the span
    span_checks: int = 3  # directions across the span that must be flat at a new place before it is called complete
    span_places: int = 2  # such places: at one of them φ′ of a unit may be what it was at the first
    hessian_spread: float = 0.7  # of the places of Hessians: nearer than N(0, I), where units are curved
    parallel: float = 1e8  # condition of the units' directions that no Hessian tells apart
    spots: int = 5  # places of Hessians at most
    unit_grid: tuple[int, int] = (60, 161)  # scales and places that are tried for a unit
    unit_scales: tuple[float, float] = (0.02, 50.0)  # of a unit's weights over the inputs' scale
    unit_reach: float = 8.0  # of a unit's argument: beyond, every φ of the catalogue is straight to 3e-4
    unit_refined: int = 400  # best points of the grid that are refined
    unit_steps: int = 40  # of the refinement
    unit_starts: int = 6  # different solutions that are kept
    unit_seen: tuple[float, float] = (-3.0, 3.0)  # where rows are, along a unit's direction
    unit_alike: float = 0.9999  # correlation there of two solutions that are one function
    unit_other: float = 0.05  # relative difference of scales that makes a solution another
    unit_exchanges: int = 16  # of one unit's solution that are polished: the right one of a small unit was among the first six
    usual_scales: tuple[float, ...] = (-1.0, 1.0)  # of a unit that hardly shows, over those of the others
    usual_places: tuple[float, ...] = (-1.5, -0.5, 0.5, 1.5)  # of its bend: two in three lie among them
    # the search on random rows, where derivatives say too little
    searched: int = 3  # rows a parameter at first: the search needs two and more for every φ of the catalogue
    searched_widths: int = 4  # widths that are tried, from the units that showed on
    searched_growth: float = 1.3  # of widths above the number of inputs: units too many are dropped afterwards
    searched_scales: tuple[float, float] = (1.0, 3.0)  # of their rows: units that are off around the centre are on further out
    searches: int = 2  # of each width, the second on twice the rows
    search_work: float = 5000.0  # Gauss–Newton steps of one: a third of what `recover` may spend, and the same on any machine
    # what is left, and the polish on all answers
    linear_error: float = 1e-5  # relative, of the units that differences give: a smaller linear part is none
    linear_coarse: float = 1e5  # the same for coarse answers, over their relative error
    no_linear: float = 1e-7  # relative linear part of a polished estimate that is none
    rounds: int = 6  # searches on what is left
    tried: int = 12  # random rows that look for what is left before all fresh rows are asked for
    far: float = 8.0  # scale of random rows that look for units which are off around the centre: each is on in a third of them
    dense: int = 4500  # weights of networks that are polished on all answers, and whose equations are written out
    unpolished: float = 1e-8  # relative error of networks with too many weights for the polish
    rough: float = 1e-4  # relative error that is allowed before the polish
    coarse_units: float = 3e4  # error of units from coarse differences over that of the answers
    agrees: float = 4.0  # largest residual in units of the bound on an answer's error
    whole: int = 3  # starts from nothing
    evidence: int = 64  # random rows that show that nothing explains them
    ridges: tuple[float, ...] = (1e-12, 1e-8, 1e-6, 1e-4, 1e-2, 1.0)  # of JᵀJ with unit diagonal; the first is its rounding
    polish_steps: int = 60  # at most; the gain ends it sooner
    polish_gain: float = 0.99  # a step that lowers the residual by less has reached its end …
    polish_end: float = 0.5  # … and so has one that lowers it by less where it is within the answers' errors already
    polish_minimum: float = 1 - 1e-9  # the same where the minimum itself is wanted
    # the certificate
    row_spare: float = 1.03  # fresh rows over the least number that could do, for those that repeat what others say
    row_margin: int = 16  # … and beyond it
    side_rows: float = 1.1  # rows on a side of a unit over its parameters, in the mean of their law, and …
    side_spare: int = 8  # … beyond them: some have fewer than the mean
    side_pilot: int = 2000  # rows that are drawn, and not asked about, to learn how often units are on
    further: int = 3  # times that more fresh rows are asked for, where the certificate finds too few somewhere …
    further_rows: float = 0.5  # … this part of those that there are
    weak: float = 300.0  # precision of a unit over that of coarse answers, beyond which it is asked about alone; most have 30
    alone_rows: float = 3.0  # such rows a parameter of the unit
    alone_widest: float = 100.0  # of such rows over the inputs' scale
    alone_step: float = 0.2  # random step of such a row over its distance from the other units
    rows_tested: float = 0.2  # fresh rows a parameter that test what is too large to be proved
    spare: int = 8  # equations beyond the parameters, at least, as in `certify`
    precision: float = 1e-2  # relative, at which a unit is still one
    safety: float = 3.0  # of a precision that is read off the residuals of random rows
    drift: float = 0.1  # largest residual over the largest difference of two answers to a row: of noise it is 1 and more
    # noisy answers: rows where no budget is given
    noisy_rows: int = 4000  # at least, and
    noisy_rows_an_input: int = 200  # … so many an input, for its weights in all units


LIMITS = Limits()
