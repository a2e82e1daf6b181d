"""Numbers of the refinement, each with its reason; those of SGD stand beside it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    # Gauss–Newton
    dense: int = 5000  # parameters up to which normal equations are formed on a host: 200 MB a start …
    dense_on_device: int = 30_000  # … and on an accelerator: 7 GB
    first_damping: float = 1e-1  # of the diagonal of JᵀJ
    least_damping: float = 2e-13  # a sixteenth of it still exceeds rounding
    coarse_damping: float = 3e-5  # least of a step's dampings from which JᵀJ and its factors may be in single precision: its
    # error, some √p · 6e-8 of the diagonal, is then a tenth of the damping at most, and the gradient has none
    single_range: float = 1e8  # sizes of inputs and slopes, and their inverses, whose fourth powers single precision can hold
    largest_damping: float = 1e12  # no step is left
    factors: tuple[float, ...] = (1 / 16, 1 / 2, 4.0)  # of the damping, all tried in one pass: two ways down, one up
    steep: float = 1e-2  # of the risk before: a step that leaves less is one of quadratic convergence, and the least of the
    # next step's dampings is the best; the others took a fifth of its time
    raised: float = 64.0  # times the damping, where none of these lowers the risk, …
    felt: float = 1e-2  # … but to this at least: less of the diagonal gives the same step again
    noiseless: float = 1e-16  # of ½ E y²: residuals below √ε, where what a Gauss–Newton step neglects is below rounding
    window: int = 6  # steps after which the damping no longer matters for stopping
    narrow: int = 100  # S k² up to which building the pairs of inputs costs more than it saves
    cg_steps: int = 200  # of conjugate gradients, at most
    cg_tolerance: float = 1e-3  # a damped step need not be more precise than the model that it minimises
    chord_lengths: tuple[float, ...] = (1.0, 0.5, 0.25, 0.125)  # of a step with a kept matrix: of ReLU an eighth gained most
    # along kinks
    on_kink: float = 1e-12  # |z| beside |x|ᵀ|w| + |b|: rounding errors of a thousand ulp
    kink_steps: int = 60  # fits of 93 parameters to 569 collinear rows took up to 40
    kink_gain: float = 1e-12  # of Σ w r² that a step must promise: less is no part of a standard error
    kink_rank: float = 1e-9  # of the largest singular value of the constraints, and of a force beside those that it balances
    kink_crossings: int = 512  # of rows that are followed in one step; the way ends at the last
    # variable projection
    guard: float = 1e-14  # of the diagonal of FᵀF: far below what its solution is refined to, enough for dead units
    silent: float = 1e-12  # of the largest square of a feature: a smaller one is a dead unit's, and is not scaled up
    last_steps: int = 3  # of W, b and β together; each took the residual down 30-fold and more at condition numbers to 10⁶
    spanned: float = 1e-6  # of a feature's share in its own pseudo-inverse: one that lacks more is in the span of others
    large_system: int = 500  # unknowns from which factors take most of a step's time
    product_damping: float = 1e-3  # the largest of those tried, from which a large system is solved by products
    projected_steps: int = 100  # products with JᵀJ for one step: a tenth of what its factors cost at 1,000 unknowns
    # gradient descent
    power_steps: int = 20  # of the power method: λ_max to a few percent, which a step size needs
    diverged: float = 1e6  # times the first risk: no descent that settles goes there
    # units beside an affine function, and their signs
    affine_ridge: float = 1e-13  # of the largest singular value of the scaled Gram matrix
    affine_dead: float = 1e-8  # of the largest feature
    far: float = 6.0  # standard deviations beyond √d that no row's ‖x‖ exceeds
    affine_margin: float = 4.0  # times that, the affine unit's distance from its kink at the start
    sign_tolerances: tuple[float, ...] = (1e-9, 1e-7, 1e-5, 1e-3, 3e-2)  # of (Σ ‖aᵢ(wᵢ, bᵢ)‖²)^½, until a pattern fits
    patterns: int = 64  # of signs below a tolerance, of which the best is taken
    sign_bits: int = 20  # at most 2²⁰ sums of a half are tried


LIMITS = Limits()
