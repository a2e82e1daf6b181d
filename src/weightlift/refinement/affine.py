"""ReLU units beside an affine function: g(x) = Σᵢ aᵢ σ(uᵢ) + ⟨v, x⟩ + c, uᵢ = ⟨wᵢ, x⟩ + bᵢ, the form that knows no signs.

Signs       σ(u) = u + σ(−u): a unit of the other sign is the same unit and an affine term. So the span of the features
            σ(uᵢ), σ(−uᵢ), 1, x of [awasthi2021, §5(v)] is that of σ(uᵢ), 1, x: units are needed up to sign only, and units that
            are linear on almost every row are in ⟨v, x⟩ + c already.
Outputs     `fit_affine`: truncated least squares in that span. On a population it is the zero-error regression of
            [awasthi2021, Thm. 4.2], β = E[φφᵀ]⁺ E[φ y], with the exact Gram matrix.
Network     `consolidated`: ⟨v, x⟩ + c = σ(L) − σ(−L), at most two units more  [awasthi2021, Claim D.14].
Cost        O(n (k + d)²) a pass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from weightlift import activations
from weightlift.errors import ActivationError, ArgumentError
from weightlift.geometry import gram
from weightlift.namespaces import Array, array_namespace, as_like, matmul_transposed, matrix, to_numpy
from weightlift.network import Network
from weightlift.refinement.limits import LIMITS
from weightlift.samples import Block, Samples, Sums


@dataclass(frozen=True, eq=False)
class AffineNetwork:
    """Σᵢ aᵢ σ(⟨wᵢ, x⟩ + bᵢ) + ⟨v, x⟩ + c; `units` is None where there is no unit."""

    units: Network | None
    v: np.ndarray  # (d,)
    c: float

    @property
    def n_units(self) -> int:
        return 0 if self.units is None else self.units.n_units

    def predict(self, X: Array) -> Array:
        """The function at the rows of X (n, d)."""
        X = matrix(X, len(self.v))
        xp = array_namespace(X)
        line = xp.matmul(X, as_like(self.v, X)) + self.c
        return line if self.units is None else line + self.units.predict(X)

    __call__ = predict

    def consolidated(self) -> Network:
        """The same function as an ordinary network of at most k + 2 units  [awasthi2021, Claim D.14].

        >>> g = AffineNetwork(Network([[1.0], [2.0]], a=[3.0]), np.array([0.5, -1.0]), 0.25)
        >>> x = np.array([[0.3, 0.7]])
        >>> g.consolidated().n_units, bool(abs(g.consolidated().predict(x) - g.predict(x))[0] < 1e-15)
        (3, True)
        """
        W, a, b = _parts(self.units, len(self.v))
        if self.v.any():
            W = np.column_stack([W, self.v, -self.v])
            a, b = np.append(a, [1.0, -1.0]), np.append(b, [self.c, -self.c])
        elif self.c or not len(a):
            W, a, b = np.column_stack([W, self.v]), np.append(a, math.copysign(1.0, self.c)), np.append(b, abs(self.c))
        return Network(W, a, b, activation="relu")


def fit_affine(samples: Samples, units: Network | None, *, truncation: float = math.inf) -> AffineNetwork:
    """Least-squares output weights, v and c for given units (up to sign); rows with a feature above `truncation` are left out.

    samples  rows, as `samples.open` gives them

    >>> import weightlift as wl
    >>> truth = wl.teachers.biased(4, 3, rng=0)
    >>> wrong_signs = Network(-truth.W, np.ones(3), -truth.b)
    >>> g = fit_affine(wl.samples.population(truth), wrong_signs)
    >>> float(wl.distance(g.consolidated(), truth)) < 1e-12
    True
    """
    if units is not None:
        require_relu(units)
    total, target = (to_numpy(s) for s in samples.mean(AffineRegression(samples.d, units, truncation)))
    root = np.sqrt(np.diagonal(total))
    root = np.where(root > LIMITS.affine_dead * root.max(), root, np.inf)  # a unit that no row activates has output weight zero
    scaled = total / np.outer(root, root)
    solution = np.linalg.lstsq(scaled, target / root, rcond=LIMITS.affine_ridge)[0] / root
    k = 0 if units is None else units.n_units
    network = None if units is None else replace(units, a=solution[:k], c=0.0)
    return AffineNetwork(network, solution[k + 1 :], float(solution[k]))


@dataclass(frozen=True, eq=False)
class AffineRegression:
    """Normal equations of y on σ(uᵢ), 1, x: Gram matrix (k + 1 + d, ·) and products with y, over rows with no large feature."""

    n_inputs: int
    units: Network | None
    truncation: float = math.inf

    @property
    def floats_per_row(self) -> int:
        return 3 * (self.n_inputs + 1 + (0 if self.units is None else self.units.n_units))

    def __call__(self, block: Block) -> Sums:
        xp, X = array_namespace(block.X), block.X
        parts = [xp.ones((X.shape[0], 1), dtype=X.dtype, device=X.device), X]
        if self.units is not None:
            z = xp.matmul(X, as_like(self.units.W, X)) + as_like(self.units.b, X)
            parts.insert(0, xp.maximum(z, 0.0 * z))
        F = xp.concat(parts, axis=1)
        w = xp.ones_like(block.y) if block.w is None else block.w
        if math.isfinite(self.truncation):
            w = w * xp.astype(xp.max(xp.abs(F), axis=1) <= self.truncation, X.dtype)
        weighted = w[:, None] * F
        return matmul_transposed(F, weighted), xp.matmul(block.y, weighted)

    def expectation(self, network: Network) -> tuple[np.ndarray, np.ndarray]:
        """Exact, from inner products of units: 1 and x_j are linear units, as their activation is homogeneous of degree 1."""
        d = self.n_inputs
        W, _, b = _parts(self.units, d)
        V, e = np.column_stack([np.zeros(d), np.eye(d)]), np.append(1.0, np.zeros(d))
        own, cross = _inner("relu", W, b, "relu", W, b), _inner("relu", W, b, "linear", V, e)
        line, phi = np.eye(d + 1), network.activation
        target = [_inner(p, U, h, phi, network.W, network.b) @ network.a for p, U, h in (("relu", W, b), ("linear", V, e))]
        constant = np.concatenate([cross[:, 0], line[:, 0]])  # E of each feature
        return np.block([[own, cross], [cross.T, line]]), np.concatenate(target) + network.c * constant


def require_relu(network: Network) -> None:
    if not isinstance(network, Network):
        raise ArgumentError(f"units must be a Network, not {type(network).__name__}.")
    if network.activation != activations.relu:
        raise ActivationError(
            f"units beside an affine function must be ReLU units, not {network.activation.name}: "
            "for them σ(u) = u + σ(−u) makes signs an affine matter [awasthi2021, §5]."
        )


def _parts(units: Network | None, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if units is None:
        return np.zeros((d, 0)), np.zeros(0), np.zeros(0)
    return units.W, units.a, units.b


def _inner(
    phi: str, W: np.ndarray, b: np.ndarray, psi: str | activations.Activation, V: np.ndarray, c: np.ndarray
) -> np.ndarray:
    if not W.shape[1] or not V.shape[1]:
        return np.zeros((W.shape[1], V.shape[1]))
    return gram(phi, W, b, V, c, activation2=psi)
