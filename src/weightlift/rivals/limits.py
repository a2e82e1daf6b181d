"""The numbers of this room, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass

PRIME = 2**31 - 1  # products of two residues fit int64; a 0/1 matrix times residues is exact in float64 up to 2²² columns


@dataclass(frozen=True)
class Limits:
    on_kink: float = 1e-9  # |z| beside |x|ᵀ|w| + |b| below which a side is chance: units are known to 1e-12 or better
    rows: int = 2**17  # rows whose sides are kept, those with the least hashes: 16 MB with their keys at k = 1000
    word: int = 52  # units whose sides are the digits of a number that a float holds
    rare: float = 1.0  # leverage beside its mean from which rows are spent in its order, last: 3 found one basis less in 15 %
    near: int = 1024  # rows that are tried before all others when a basis is completed
    listed_units: int = 36  # 2¹⁸ sums a half, eight values of the check rows: 0.7 s
    listed_rows: int = 64  # rows a column that the vectors are sifted by; those that remain are checked on all
    few_bits: int = 12  # 2¹² vectors are tried one by one
    block: int = 2**18  # vectors that are sifted at a time: 64 MB at r = 36
    check_rows: int = 3  # 2³ targets a half sum: 2³⁰⁺³/2³¹ pairs by chance at k = 30
    pairs: int = 2**23  # halves that may match before the listing counts as too long: 1 s
    sets_of_functions: int = 2024  # of m, that may be what m units take: all of three among 24
    extras: int = 24  # new columns from which rivals are built; more are reported as unexamined
    swaps: int = 4  # units exchanged at once where the proof does not reach
    choices: int = 200_000  # exchanges of units that are solved: 1 s at four units
    subsets: int = 50_000  # sets of units whose cells are looked at: all of four among 30, 1 s
    some: int = 1024  # rows that are looked at one by one: what is wrong on none of them is then checked on all
    programmes: int = 96  # linear programmes on new sides, 15 ms each; the rest counts as possible
    glanced: int = 512  # cells at first in which four units are looked for on all 16 sides: one is missed there once in 2⁴⁶
    suspects: int = 1000  # of those sets, the ones whose cells leave other sides: 1 ms each
    spare: int = 8  # equations beyond the parameters: two exclude a rival, eight keep the conditioning
    excluding: int = 2  # of them where φ is analytic and all rows of this spread have so few: the first excludes every rival
    clear: float = 10.0  # times that size, which a part must have elsewhere to be missed
    between: int = 4  # points a dimension that show how many there could be
    features: int = 24  # random units of the class that count the equations; three times what is asked for
    flat: float = 1e-7  # relative size below which a feature's part off the range of J is rounding
    shift: float = 200.0  # of an argument, up to which a φ of the user's own is compared with itself
    agreement: float = 1e3  # a rival's residual in rounding bounds: a refit need not end as exactly as the fit
    same: float = 1e-7  # relative distance below which two units are one
    independent: float = 1e-9  # least singular value beside the largest of the units' polynomials
    plainly: float = 1e-3  # the same of columns of length one that even their products show to be independent
    same_function: float = 1e-9  # change of the function beside its units' below which a reflection leaves it as it is
    noisy_units: float = 0.2  # relative width within which noise may have moved units; beyond it no exchange of them is sought
    far: float = 100.0  # margins of Σ w r² that a network whose units may change places may leave, to first order, to be tried;
    # below it a refit may wander and yet come near: one went from 55 to 5 in four of its steps
    noisy_kink: float = 5.0  # standard errors of z, σ √(p/n) on average, within which noise may have moved a kink
    least_gain: float = 1e-3  # of the margin between a network's Σ w r² and the ceiling: a step that gains less ends a refit
    returning: float = 1e-2  # relative distance beyond which a refit has not come back: it is not looked at more closely
    returned: float = 1e-2  # share of the margin in Σ w r² within which it has: its last step gained a thousandth or less
    noisy_values: float = 1e-3  # relative difference below which noisy values of z are one
    tied: float = 1e-9  # relative difference below which what comes first does not hang on last bits
    moved: float = 1e-6  # relative change of a unit in a rival that concerns it; refits end at 1e-9
    compared: int = 8  # rivals whose units are compared with the network's
    suspect: float = 1e-3  # change of f beside y that a shift of the units may undo; what it leaves is its square
    reach: float = 10.0  # margins that a step may leave of a rival's Σ w r² for it to be refitted
    deviations: float = 10.0  # of a sum over some of the rows, beyond which it is not chance that a rival is far there
    nearest: int = 8  # rivals that move a few steps in any case: with four, and five steps, 3 of 23 fits with a rival lost it
    patterns: int = 32  # reflected networks that are refitted
    sets: int = 10  # units of which all sets are reflected
    first_rows: tuple[int, int] = (6, 1000)  # rows a parameter, and at least, for first steps of a refit: on 72 one was lost
    iterations: int = 25  # of a refit; a right one converges in five
    first_iterations: int = 10  # after which those that are not near the ceiling are given up
    memory: int = 2**23  # floats for the normal equations of all refits together
    damping: float = 1e-6  # a refit starts beside its end: nearly undamped
    touched: int = 16  # rows at which the flat that touches a surface is looked at: each of k flats holds one in k of them
    searches: int = 32  # random choices from which a function that takes units' values is looked for: 16 miss twice as many
    search_steps: int = 400  # of each; 200 miss three times as many
    searched_rows: int = 6  # rows an unknown that the search sees: all of them cost seven times as much and find no more
    searched_sets: int = 12  # of units: 0.2 s each at q = 60
    looked_every: int = 10  # steps between looks at what has ended, which cost as much as a step
    relaxation: float = 0.5  # β, between 0 and 2
    lattice: float = 1e9  # weight of a rest beside a factor in a reduction: rows are known to 1e-13 of their size
    lattice_inputs: int = 40  # beyond which no lattice is looked for: 2 s there, and cubic in them
    divisors: int = 6  # reductions, each with a row more on which a part of the vector that was found is not whole
    reductions: int = 100  # times the squared dimension, exchanges in one: random rows took 60
    levels: int = 256  # different places of discrete columns that are looked at
    atom: float = 0.02  # share of the rows with one value that makes a column discrete


LIMITS = Limits()
