"""The numbers of decompositions: tolerances of exact tensors, starts and steps (benchmarks/decomposition.py)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    symmetry: float = 1e-8  # of the largest entry: above the rounding of any moment, below every noise worth a name
    exact_residual: float = 1e-12  # relative residual below which a decomposition counts as exact
    nearly_exact: float = 1e-6  # … and beyond which it is noise that no other method removes
    rounding: float = 4e-15  # twenty ulp a dimension: what backward stable algebra leaves (tests/adversarial)
    condition: float = 1e8  # of the factors: beyond, no digit of the least component is left
    trust: float = 2.0  # times the start's largest weight and condition number: further away is another decomposition
    residual_floor: float = 1e-15  # relative: a few ulp
    guard: float = 1e-12  # of the unit diagonal of G: keeps coalescing components from dividing by zero
    dense_entries: int = 64  # n r of a step that is solved for densely: five conjugate gradients take as long
    cg_tolerance: float = 1e-8  # of a Gauss–Newton step's residual: the step itself errs by its square
    dependent_tries: int = 8  # rounds of eight starts: six components in five dimensions take one or two
    # joint diagonalisation
    exact_off: float = 1e-20  # a criterion that only exact slices reach: no other start can do better
    no_off: float = 1e-26  # one that leaves nothing to do
    better: float = 0.999  # times the criterion: a later start must win by more than rounding
    pencils: int = 4  # pairs of mixtures drawn for the first start
    largest_step: float = 0.9  # ‖W‖ of FFDIAG's steps: below one, I + W stays invertible
    turned: float = -0.3  # cosine of successive steps below which the next is halved …
    ahead: float = 0.3  # … and above which it grows again …
    growth: float = 1.3  # … by this factor
    noise_share: float = 1e-3  # of off, by which the solutions of one criterion and another differ: it decides nothing
    # power iteration with deflation
    iteration_starts: int = 20  # a component: random starts fall to the larger ones
    attempts: int = 6  # from other starts, until the residual settles
    rounds: int = 50  # of deflation in an attempt
    iteration_steps: int = 100  # of a start
    settled: float = 1e-9  # relative residual at which no further attempt is made
    iteration_tolerance: float = 1e-12  # largest change of a start that has converged
    same: float = 0.9  # cosine of two starts that found one component
    # tensor power method
    definite: float = 1e-7  # least over largest eigenvalue of a matrix that can whiten
    margin: float = 0.01  # times the largest eigenvalue: the perceptron corrects what lies below
    extra_steps: int = 30  # of the perceptron, spent on the conditioning of what it finds
    first_iterations: int = 8  # of every start, before the best is taken on
    last_iterations: int = 200  # of the best; convergence is quadratic, fewer are needed
    stayed: float = 0.9  # cosine of a component with its refinement on the whole tensor
    # subspace power method
    subspace_steps: int = 200  # of all starts
    subspace_last_steps: int = 3000  # of the best: convergence is linear
    subspace_tolerance: float = 1e-13  # change of a start that has converged, here and in the tensor power method
    rank_floor: float = 1e-9  # of the largest eigenvalue: below, an exact tensor has no more components
    component: float = 1 - 1e-6  # f of an exact component; less of it is noise
    entries: float = 2.0**34  # of a tensor that is formed from its components: 128 GiB


LIMITS = Limits()
