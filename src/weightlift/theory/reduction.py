"""Learning a network is as hard as decomposing a tensor: labels from the tensor alone  [mondelli2019, Theorem 4].

Model   y(x) = Σᵢ σ(⟨wᵢ, x⟩) with unit wᵢ, i ≤ r, and σ(t) = Σ_p s_p t^p, is Σ_p s_p ⟨T⁽ᵖ⁾, x^{⊗p}⟩ with T⁽ᵖ⁾ = Σᵢ wᵢ^{⊗p}. As
        ‖wᵢ‖ = 1, the trace of T⁽ᵖ⁺²⁾ over any two slots is T⁽ᵖ⁾: one tensor T⁽ˡ⁾ holds all lower orders of its parity.
Part 1  σ of degree ≤ ℓ with the parity of ℓ: labels for any x from T⁽ˡ⁾ alone.
Part 2  σ of degree ≤ ℓ + 1: labels from T⁽ˡ⁾ and T⁽ˡ⁺¹⁾. The constant s₀ r needs r: the full trace of an even tensor, or given.
Use     whoever learns such networks from samples decomposes tensors: draw x, label it from the tensor, learn, and read off the
        weights. `decompose_by` is that algorithm; hardness of the second problem is hardness of the first.
Assumes T⁽ˡ⁾ is symmetric and a sum of powers of unit vectors; what can be seen of that is checked. Of an odd order alone little
        can: Σ cᵢ wᵢ^{⊗ℓ} gives the labels of the network with output weights cᵢ, and a learner that frees them finds the cᵢ.
Cost    O(n dˡ).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from weightlift.activations import Activation
from weightlift.arguments import generator
from weightlift.decomposition import Decomposition
from weightlift.decomposition.components import fit_components
from weightlift.decomposition.tensors import apply_powers, symmetric_tensor
from weightlift.errors import ActivationError, ArgumentError, ShapeError
from weightlift.network import Network
from weightlift.theory.limits import LIMITS

Learner = Callable[[np.ndarray, np.ndarray], Network]



@dataclass(frozen=True, eq=False)
class PowerSums:
    """T⁽ᵖ⁾ = Σ wᵢ^{⊗p} for the orders that a tensor, or two of successive orders, determine."""

    tensors: dict[int, np.ndarray]  # by order; order 0 is the number of units, where it is known

    @property
    def n_inputs(self) -> int:
        return len(self.tensors[max(self.tensors)])

    @property
    def n_units(self) -> int | None:
        """r, if it is given or the full trace of an even order."""
        return round(float(self.tensors[0])) if 0 in self.tensors else None

    def labels(self, X: ArrayLike, activation: Activation | ArrayLike) -> np.ndarray:
        """y(x) = Σ_p s_p ⟨T⁽ᵖ⁾, x^{⊗p}⟩ for the rows of X (n, d); σ as an activation or by its coefficients s₀, s₁, ….

        >>> w = np.array([0.6, 0.8])
        >>> T = np.multiply.outer(np.outer(w, w), w)
        >>> power_sums(T).labels([[1.0, 2.0]], [0.0, 1.0, 0.0, 1.0])        # σ(t) = t + t³ at t = 2.2
        array([12.848])
        """
        X = np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != self.n_inputs:
            raise ShapeError(f"X must have shape (n, {self.n_inputs}), not {X.shape}.")
        s = _coefficients(activation)
        y = np.zeros(len(X))
        for p in np.flatnonzero(s).tolist():
            if p not in self.tensors:
                raise ActivationError(self._lacking(p, len(s) - 1))
            y += s[p] * _evaluate(self.tensors[p], X.T)
        return y

    def _lacking(self, p: int, degree: int) -> str:
        top = max(self.tensors)
        if p == 0:
            return "σ has a constant term, whose sum needs the number of units: pass n_units, or a tensor of even order."
        if p > top:
            return f"σ has degree {degree}, above the order {top} of the tensor; labels need a tensor of that order."
        return f"σ has a term of order {p}, and the tensors are of the other parity only; pass T⁽ˡ⁾ and T⁽ˡ⁺¹⁾."


def power_sums(tensor: ArrayLike, following: ArrayLike | None = None, *, n_units: int | None = None) -> PowerSums:
    """All T⁽ᵖ⁾ that T⁽ˡ⁾, ℓ ≥ 3, or T⁽ˡ⁾ and `following` = T⁽ˡ⁺¹⁾, hold, by traces.

    Refused are tensors that are not symmetric, and those that no r unit vectors have: a full trace of even order that is no
    whole number (or not n_units), or a norm above r.

    tensor  T⁽ˡ⁾ (d, …, d)
    """
    tops = [symmetric_tensor(tensor)]
    if following is not None:
        tops.append(symmetric_tensor(following, "following"))
        expected = (len(tops[0]),) * (tops[0].ndim + 1)
        if tops[1].shape != expected:
            raise ShapeError(f"following must have shape {expected}, one axis more than tensor, not {tops[1].shape}.")
    if n_units is not None and (isinstance(n_units, bool) or not isinstance(n_units, (int, np.integer)) or n_units < 1):
        raise ArgumentError(f"n_units must be a positive integer, not {n_units!r}.")
    tensors: dict[int, np.ndarray] = {}
    for T in tops:
        while T.ndim > 1:
            tensors[T.ndim] = T
            T = np.trace(T, axis1=T.ndim - 2, axis2=T.ndim - 1)
        tensors[T.ndim] = np.asarray(T)
    _check_unit_norms(tensors, n_units)
    if n_units is not None:
        tensors[0] = np.asarray(float(n_units))
    return PowerSums(dict(sorted(tensors.items())))


def decompose_by(
    learner: Learner,
    tensor: ArrayLike,
    following: ArrayLike | None = None,
    *,
    activation: Activation,
    n: int,
    n_units: int | None = None,
    rng: int | np.random.Generator = 0,
) -> Decomposition:
    """Decompose T⁽ˡ⁾ = Σ wᵢ^{⊗ℓ} by a learner of networks: x ~ N(0, I), y from the tensor, `learner(X, y)` gives the units.

    The weights of the network found, each to length one, are the factors. The residual says how well they reproduce the tensor
    with free coefficients; those of the true wᵢ are 1 (for odd ℓ; for even ℓ the signs of wᵢ are not in the tensor).

    following   T⁽ˡ⁺¹⁾ where it is known: its traces give the orders of the other parity
    activation  φ of the networks that are learned, a polynomial
    n           rows that the learner is given
    n_units     r where it is known
    rng         a seed or a generator

    >>> import weightlift as wl
    >>> W = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0][:, :2]
    >>> T = wl.decomposition.compose([1.0, 1.0], W, 3)
    >>> cube = wl.activations.polynomial([0, 0, 0, 1])
    >>> found = decompose_by(lambda X, y: wl.recover(X, y, n_units=2, activation=cube).network, T, activation=cube, n=60)
    >>> found.residual < 1e-10, np.allclose(found.weights, 1)
    (True, True)
    """
    sums = power_sums(tensor, following, n_units=n_units)
    X = generator(rng).standard_normal((n, sums.n_inputs))
    network = learner(X, sums.labels(X, activation))
    if not isinstance(network, Network) or network.n_inputs != sums.n_inputs:
        raise ArgumentError(f"learner must return a Network with {sums.n_inputs} inputs, not {network!r}.")
    T = symmetric_tensor(tensor)
    name = getattr(learner, "__name__", type(learner).__name__)
    return fit_components(T, np.array(network.W), method=f"learner {name}")


def polynomial_coefficients(activation: Activation) -> np.ndarray | None:
    """s₀, s₁, …, s_ℓ of a φ that is a polynomial of degree ℓ ≤ 12; None for any other.

    Read from the catalogue's, interpolated for others: a polynomial agrees with its interpolant everywhere.

    activation  φ, or its name in the catalogue

    >>> from weightlift import activations
    >>> polynomial_coefficients(activations.quadratic), polynomial_coefficients(activations.tanh)
    (array([0., 0., 1.]), None)
    """
    declared = dict(activation.parameters)
    if activation.name == "polynomial" and "coefficients" in declared:
        return np.asarray(declared["coefficients"], dtype=float)
    if activation.kinks:
        return None
    nodes = np.polynomial.chebyshev.chebpts1(LIMITS.degree + 1)
    s = np.polynomial.chebyshev.cheb2poly(np.polynomial.chebyshev.chebfit(nodes, activation(2 * nodes), LIMITS.degree))
    s = s / 2.0 ** np.arange(len(s))
    grid = np.linspace(-5.0, 5.0, 101) + 1 / 97
    size = np.abs(s) @ 2.0 ** np.arange(len(s))
    s = np.where(np.abs(s) * 2.0 ** np.arange(len(s)) > LIMITS.polynomial * size, s, 0.0)
    s = np.trim_zeros(s, "b")
    if not len(s):
        return None
    values, fitted = np.asarray(activation(grid)), np.polynomial.polynomial.polyval(grid, s)
    terms = np.polynomial.polynomial.polyval(np.abs(grid), np.abs(s))
    return s if np.all(np.abs(values - fitted) <= 100 * LIMITS.polynomial * (terms + size)) else None


def _evaluate(T: np.ndarray, X: np.ndarray) -> np.ndarray:
    """⟨T, x^{⊗p}⟩ for the columns of X (d, n)."""
    if T.ndim == 0:
        return np.full(X.shape[1], float(T))
    return T @ X if T.ndim == 1 else np.asarray(apply_powers(T, X, 0)[0])


def _coefficients(activation: Activation | ArrayLike) -> np.ndarray:
    if isinstance(activation, Activation):
        found = polynomial_coefficients(activation)
        if found is None:
            raise ActivationError(f"{activation.name} is not a polynomial; a tensor gives the labels of polynomial σ only.")
        return found
    s = np.asarray(activation, dtype=float)
    if s.ndim != 1 or not s.size or not np.isfinite(s).all():
        raise ArgumentError("activation must be an Activation or the finite coefficients s₀, s₁, … of a polynomial.")
    return s


def _check_unit_norms(tensors: dict[int, np.ndarray], n_units: int | None) -> None:
    r = None if n_units is None else float(n_units)
    if 0 in tensors:
        trace = float(tensors[0])
        if round(trace) < 1 or abs(trace - round(trace)) > LIMITS.whole * max(trace, 1.0):
            raise ArgumentError(
                f"the full trace of the tensor of even order is {trace:.6g}: for unit vectors it is their number. These have "
                "other lengths, or the tensor has coefficients; decompose it by `decompose`, which allows both."
            )
        if r is not None and round(trace) != n_units:
            raise ArgumentError(f"n_units must be {round(trace)}, as the full trace of the even tensor counts, not {n_units}.")
        r = float(round(trace))
    for order, T in tensors.items():
        size = float(np.linalg.norm(T))
        if r is not None and order and size > r * (1 + LIMITS.whole):
            raise ArgumentError(
                f"the tensor of order {order} has norm {size:.6g}, and {r:g} powers of unit vectors at most {r:g} together: "
                "these must be unit vectors, or n_units is too small."
            )
