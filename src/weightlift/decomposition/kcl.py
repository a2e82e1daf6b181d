"""KCL: a tensor's factors by joint diagonalisation of random slices, then of slices at the factors found.

Model       R = Σᵢ cᵢ uᵢ^{⊗p} + noise, uᵢ (r,) independent, cᵢ of any sign; p = 3, or 4 for ReLU, whose M₃ vanishes.
Method      R(I, I, G) = U diag(cᵢ ⟨uᵢ^{⊗p−2}, G⟩) Uᵀ for every G. Stage 1: L random G; stage 2 ("plug-in"):
            G_i = ûᵢ^{⊗p−2}, started at stage 1's result. [Kuleshov, Chaganty & Liang 2015; zhong2017, §5.2 and, for
            L = 100, §7.] The plug-in projects on the factors; on the dual rows of B noise would grow.
Assumes     rank equal to the side of R, as after projection on the span of the factors.
Cost        O(L rᵖ) for the slices, O(r⁴) a sweep (L random slices are compressed to r).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from weightlift.arguments import generator
from weightlift.decomposition.components import Decomposition, DecompositionStatus, fit_components
from weightlift.decomposition.joint_diagonalization import joint_diagonalize
from weightlift.decomposition.tensors import power_columns, slices, symmetric_tensor
from weightlift.errors import ArgumentError


def kcl(
    R: ArrayLike,
    *,
    projections: int = 100,
    diagonalizer: str = "ffdiag",
    rng: int | np.random.Generator = 0,
) -> Decomposition:
    """Decompose R (r, …, r) of rank r into signed powers of independent factors.

    projections   random contractions of R that are diagonalised together
    diagonalizer  method of `joint_diagonalize`: "ffdiag" or "qrj1d"
    rng           a seed or a generator

    >>> from weightlift.decomposition import compose
    >>> U = np.array([[1.0, 0.6], [0.0, 0.8]])
    >>> found = kcl(compose([2.0, -1.0], U, 4))
    >>> found.weights
    array([ 2., -1.])
    """
    T = symmetric_tensor(R, "R")
    if projections < 2:
        raise ArgumentError(f"projections must be at least 2, not {projections}: one slice does not fix the factors.")
    rng = generator(rng)
    n, free = len(T), T.ndim - 2
    G = rng.standard_normal((n**free, projections))
    G /= np.linalg.norm(G, axis=0)
    first = joint_diagonalize(slices(T, G), method=diagonalizer, rng=rng)
    plug_in = slices(T, power_columns(first.factors, free))
    second = joint_diagonalize(plug_in, method=diagonalizer, start=first.B)
    best = second if second.converged else first
    failure = None if best.converged else DecompositionStatus.NOT_SETTLED
    return fit_components(T, best.factors, method="kcl", failure=failure)
