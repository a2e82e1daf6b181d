"""Power iteration without whitening, for more components than dimensions  [Anandkumar, Ge & Janzamin 2015, 2017].

Model       T = Σᵢ cᵢ uᵢ^{⊗p}, r components of nearly equal |cᵢ| that are incoherent, |⟨uᵢ, uⱼ⟩| ~ n^{−½}; p ≥ 3.
Method      x ← ±T(I, x, …, x)/‖·‖ from many starts. Near uᵢ the other components act as noise of the size of √r/n (p = 3):
            there are fixed points near the uᵢ as long as r is small beside n^{(p−1)/2}; least squares on T makes them exact.
            Strong components draw all starts, so what is found is fitted and subtracted, and the iteration goes on with the
            rest of T until there are r (`deflate`). Least squares may end in a local minimum; then all is tried again.
Starts      "random": uniform on the sphere; "contracted": the leading eigenvector of T(I, I, G) for a random G, which is
            correlated with the component that has the largest ⟨uᵢ^{⊗p−2}, G⟩.
End         end points in falling |T(x, …, x)|; one within |cos| 0.9 of an earlier one is the same. The first r count.
Cost        O(nᵖ) a start and step, all starts in one product; "contracted" O(n³) a start more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from weightlift.arguments import count, generator
from weightlift.decomposition.components import Decomposition, DecompositionStatus, fit_components, unit_columns
from weightlift.decomposition.least_squares import polish
from weightlift.decomposition.limits import LIMITS
from weightlift.decomposition.tensors import Real, apply_powers, slices, symmetric_tensor
from weightlift.errors import ArgumentError

BEGINNINGS = ("random", "contracted")


def power_iteration(
    T: ArrayLike,
    *,
    rank: int | None = None,
    begin: str = "random",
    starts: int | None = None,
    deflate: bool = True,
    rng: int | np.random.Generator = 0,
) -> Decomposition:
    """Decompose T (n, …, n) into `rank` components (None: n), from `starts` starts a round (None: 20 a component).

    Where fewer than `rank` different end points are found, there are fewer components and the status is NOT_SETTLED.
    Without `deflate` there is one round, on T itself, and no least squares: the fixed points alone.

    begin  "random" starts, or "contracted" ones: the leading eigenvectors of random contractions of T
    rng    a seed or a generator

    >>> from weightlift.decomposition import compose
    >>> U = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0][:, :3]
    >>> power_iteration(compose([3.0, 2.0, 1.0], U, 3), rank=3).weights.round(9)
    array([3., 2., 1.])
    """
    T = symmetric_tensor(T)
    if begin not in BEGINNINGS:
        raise ArgumentError(f"begin must be one of {BEGINNINGS}, not {begin!r}.")
    rng = generator(rng)
    r = len(T) if rank is None else count("rank", rank)
    many = LIMITS.iteration_starts * r if starts is None else count("starts", starts)
    draw = random_starts if begin == "random" else contracted_starts
    found: list[Decomposition] = []
    for _ in range(LIMITS.attempts if deflate else 1):
        U, rest = np.zeros((len(T), 0)), T
        for _ in range(LIMITS.rounds if deflate else 1):
            U = distinct(rest, iterate(rest, draw(rest, many, rng)), r, beside=U)
            if U.shape[1] == r:
                break
            rest = T - fit_components(T, U, method="").tensor()
        failure = None if U.shape[1] == r else DecompositionStatus.NOT_SETTLED
        fit = fit_components(T, U, method=f"power iteration, {begin}", failure=failure)
        found.append(polish(T, fit) if deflate else fit)
        if found[-1].residual <= LIMITS.settled:
            break
    return min(found, key=lambda fit: (not fit.succeeded, fit.residual))


def random_starts(T: Real, count: int, rng: np.random.Generator) -> Real:
    """(n, count) uniform on the sphere."""
    return unit_columns(rng.standard_normal((len(T), count)))


def contracted_starts(T: Real, count: int, rng: np.random.Generator) -> Real:
    """(n, count): of each random slice T(I, I, G) the eigenvector of largest |eigenvalue|."""
    n = len(T)
    values, vectors = np.linalg.eigh(slices(T, rng.standard_normal((n ** (T.ndim - 2), count))))
    return np.asarray(vectors[np.arange(count), :, np.abs(values).argmax(axis=1)].T)


def iterate(T: Real, X: Real) -> Real:
    """Columns x ← T(I, x, …, x)/‖·‖, up to sign, until none moves or the steps are spent."""
    for _ in range(LIMITS.iteration_steps):
        following = unit_columns(apply_powers(T, X, 1))
        following = following * np.where((following * X).sum(axis=0) < 0, -1.0, 1.0)
        moved = float(np.abs(following - X).max())
        X = following
        if moved <= LIMITS.iteration_tolerance:
            break
    return X


def distinct(T: Real, X: Real, most: int, *, beside: Real) -> Real:
    """`beside` and then the columns with the largest |T(x, …, x)|, none within |cos| 0.9 of another, at most `most` in all."""
    U = beside
    for i in np.argsort(-np.abs(apply_powers(T, X, 0)[0]), kind="stable"):
        if U.shape[1] == most:
            break
        if np.abs(U.T @ X[:, i]).max(initial=0.0) < LIMITS.same:
            U = np.hstack([U, X[:, [i]]])
    return U
